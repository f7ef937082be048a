# SPDX-License-Identifier: Apache-2.0
"""The examples of strata.profile and strata bottleneck: what they show, and that they compute the same as alone."""

import json
import os
import re

import pytest
from harness import ROOT, TARGETS, strict_json

pytestmark = pytest.mark.torch

CASES = (
    "cnn_inference.py",
    "masking_module.py double",
    "masking_module.py single",
    "masking_module.py torch",
    "training_schedule.py",
)
SLOW = "slow_training.py"
HELLO = "Intel_Extension_For_PyTorch_Hello_World.py"
SHAPES = (
    "[[5, 3, 64, 64], [16, 3, 3, 3], [16], [], [], [], []]",
    "[[5, 16, 32, 32], [32, 16, 3, 3], [32], [], [], [], []]",
)


@pytest.fixture(scope="module")
def env(build_dir):
    return {"PYTHONPATH": os.fspath(build_dir / "python"), "OMP_NUM_THREADS": "1"}


def run(strata, python, env, cases):
    done = strata.run([python, "-W", "error::RuntimeWarning", TARGETS / "run_examples.py", *cases], env=env)
    assert done.status == 0, done.err
    return json.loads(done.out)


@pytest.fixture(scope="module")
def profiled(shared_strata, python, env):
    return run(shared_strata, python, env, CASES)


@pytest.fixture(scope="module")
def plain(shared_strata, python):
    """Without the package strata, too."""
    cases = [f"{case} --plain" for case in CASES]
    return run(shared_strata, python, {"OMP_NUM_THREADS": "1"}, [*cases, SLOW])


def tables(text):
    """The tables in a text: title -> cell, for each row."""
    found, lines = [], text.splitlines()
    rules = [i for i, line in enumerate(lines) if line.startswith("-----")]
    assert len(rules) % 3 == 0, text
    for first, second, last in zip(rules[::3], rules[1::3], rules[2::3], strict=True):
        titles = re.split(r"\s{2,}", lines[first + 1].strip())
        rows = [re.split(r"\s{2,}", line.strip()) for line in lines[second + 1 : last]]
        found.append([dict(zip(titles, row, strict=False)) for row in rows])
    return found


def by_name(table):
    return {row["Name"]: row for row in table}


def us(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]


def kilobytes(text):
    number, unit = text.split()
    return float(number) * {"B": 1 / 1024, "KB": 1, "MB": 1024}[unit]


def computed(text, words):
    return [line for line in text.splitlines() if line.startswith(words)]


@pytest.mark.parametrize("case", CASES)
def test_they_compute_the_same(profiled, plain, case):
    """Losses and outputs, to the last bit."""
    words = ("loss", "sum of", "double:", "single:", "torch:")
    alone = computed(plain[f"{case} --plain"], words)
    assert alone
    assert plain[f"{case} --plain"].splitlines() == alone
    assert computed(profiled[case], words) == alone


def test_they_compute_the_same_under_the_command(shared_strata, python, plain):
    """The scripts as they are, with everything recorded of them that can be."""
    words = (python, TARGETS / "run_examples.py", *plain)
    more = ("-knob", "operator-stacks=true")
    done = shared_strata(
        "-collect", "operators", *more, "-quiet", "-r", "all", "--", *words, env={"OMP_NUM_THREADS": "1"}
    )
    assert done.status == 0, done.err
    assert json.loads(done.out) == plain
    rows = shared_strata.report(shared_strata.folder / "all", "operators")["rows"]
    assert {"aten::conv2d", "aten::addmm", "AddmmBackward0"} <= {row["operator"] for row in rows}


@pytest.mark.parametrize("kind", ["hotspots", "operators"])
def test_marked_training_computes_the_same(strata, python, scale, kind):
    """Under emit_itt as well; alone the module itt, which strata brings along, is an empty one."""
    if kind == "hotspots" and scale != "full":
        pytest.skip("only at STRATA_TEST_SCALE=full")
    (strata.folder / "itt.py").write_text("def resume(): pass\ndef pause(): pass\n")
    words = (python, ROOT / "examples" / HELLO, "10")
    env = {"OMP_NUM_THREADS": "1"}
    alone = strata.run(words, env={**env, "PYTHONPATH": str(strata.folder)})
    assert alone.status == 0 and "0x" in alone.out, alone.err
    done = strata("-collect", kind, "-quiet", "-r", "r", "--", *words, env=env)
    assert (done.status, done.out) == (0, alone.out), done.err


def test_cnn_inference(profiled):
    """Time, time by shape, memory: ten rows each, in the order asked for."""
    by_time, by_shape, by_memory = tables(profiled["cnn_inference.py"])
    assert [len(table) for table in (by_time, by_shape, by_memory)] == [10, 10, 10]
    for table in (by_time, by_shape):
        totals = [us(row["CPU total"]) for row in table]
        assert totals == sorted(totals, reverse=True)
        assert table[0]["Name"] == "model_inference"
    assert by_name(by_time)["aten::conv2d"]["# of Calls"] == "2"
    convolutions = [row for row in by_shape if row["Name"] == "aten::conv2d"]
    assert convolutions
    for row in convolutions:
        assert row["# of Calls"] == "1"
        assert row["Input Shapes"] in SHAPES
    own = [kilobytes(row["Self CPU Mem"]) for row in by_memory]
    assert own == sorted(own, reverse=True)
    # The outputs of two ReLUs: 5 x 16 x 64 x 64 and 5 x 32 x 32 x 32 floats.
    assert kilobytes(by_name(by_memory)["aten::clamp_min"]["Self CPU Mem"]) == pytest.approx(1920, abs=6)


def test_masking_module_shows_why(profiled):
    """The label's time is NumPy's; single precision takes half of the bytes; torch's masking is operators."""
    double, single, torch = (by_name(tables(profiled[case])[0]) for case in CASES[1:4])
    for version in (double, single):
        label = version["LABEL2: masking"]
        numpy = sum(us(row["Self CPU"]) for name, row in version.items() if "numpy" in name)
        assert numpy > us(label["CPU total"]) / 2
        assert any(name.startswith("<built-in method nonzero of numpy.ndarray") for name in version)
        assert "aten::nonzero" not in version
    assert double["aten::addmm"]["Self CPU Mem"] == "256.00 KB"
    assert single["aten::addmm"]["Self CPU Mem"] == "128.00 KB"
    assert torch["aten::nonzero"]["# of Calls"] == "1"
    assert us(torch["aten::nonzero"]["CPU total"]) < us(torch["LABEL2: masking"]["CPU total"])
    for version in (double, single, torch):
        assert version["LABEL1: linear pass"]["# of Calls"] == "1"


def line_of(text):
    """The number of the line of masking_module.py that holds it."""
    lines = (ROOT / "examples" / "masking_module.py").read_text().splitlines()
    (found,) = [number for number, line in enumerate(lines, 1) if text in line]
    return found


def test_masking_module_shows_where(profiled):
    """The second table has the functions that NumPy is called in."""
    _, by_stack = tables(profiled["masking_module.py double"])
    names = [row["Name"] for row in by_stack]
    at = next(place for place, name in enumerate(names) if name.startswith("<built-in method nonzero of numpy"))
    place = f"masking_module.py({line_of('def forward')}): forward"
    assert any(name.endswith(place) for name in names[at + 1 : at + 5])


def test_label_line_and_native_function_in_one_report(strata, python, env):
    """Of samples: the label, in it the line of the module, in it what NumPy does there."""
    words = (python, ROOT / "examples" / "masking_module.py", "double", "--plain")
    done = strata("-collect", "hotspots", "-q", "-r", "r", "-knob", "sampling-interval=2", "--", *words, env=env)
    assert done.status == 0, done.err
    asked = strata(
        "report", "hotspots", "-r", "r", "-format", "json", "-group-by", "task-type,python-line,function",
        "-filter", "task-type=LABEL2*",
    )  # fmt: skip
    # Operators inside of it have rows of their own.
    (label,) = [row for row in strict_json(asked.stdout)["rows"] if row["task_type"] == "LABEL2: masking"]
    place = f"masking_module.py:{line_of('np.argwhere')}"
    (line,) = [row for row in label["children"] if row["python_line"].endswith(place)]
    names = [row["function"] for row in line["children"]]
    assert "MyModule.forward" in names
    nonzero = [row["function"] for part in label["children"] for row in part["children"]]
    assert any("nonzero" in name.lower() for name in nonzero)
    # A label with a number that never changes is no step, so that there is something to find in it.
    found = strict_json(strata("report", "findings", "-r", "r", "-format", "json").stdout)["rows"]
    (work,) = [row for row in found if row["rule"] == "work-in-range"]
    assert "LABEL2: masking" in work["what"] and "NumPy" in work["what"] and place in work["what"]


def test_training_schedule(profiled, shared_strata):
    """Two groups of two steps: a table and a trace each."""
    first, second = tables(profiled["training_schedule.py"])
    for table in (first, second):
        assert len(table) == 5
    for number in (4, 8):
        trace = strict_json((shared_strata.folder / f"trace_{number}.json").read_bytes())
        steps = [event["name"] for event in trace["traceEvents"] if event["name"].startswith("ProfilerStep#")]
        assert sorted(set(steps)) == [f"ProfilerStep#{number - 2}", f"ProfilerStep#{number - 1}"]
        forward = [event for event in trace["traceEvents"] if event["name"] == "aten::addmm" and event["ph"] == "X"]
        assert len(forward) == 4


@pytest.mark.alone
def test_bottleneck(strata, python, env, plain):
    """One page about the slow loop, and what slows it; the loss is that of the script alone."""
    done = strata("bottleneck", "-q", "-interpreter", python, ROOT / "examples" / SLOW, env=env)
    assert done.status == 0, done.err
    own, page = done.out.split("\n", 1)
    assert own + "\n" == plain[SLOW]
    assert len(page.splitlines()) <= 60
    assert max(map(len, page.splitlines())) <= 100
    # The list of sines; a comprehension is a function of its own up to Python 3.11.
    (batches,) = [
        line for line in page.splitlines() if re.search(r"slow_training\.py:\d+\((<listcomp>|make_batch)\)", line)
    ]
    assert batches.split()[0] == "100"
    asked = strata("report", "python-calls", "-r", "r000hs", "-format", "json")
    calls = {row["python_function"]: row["calls"] for row in strict_json(asked.stdout)["rows"]}
    assert calls["{built-in method math.sin}"] == 100 * 64 * 128
    assert any(line.split()[:1] == ["aten::addmm"] and line.split()[-1] == "200" for line in page.splitlines())
    assert "a step ends with the optimizer" in page
    assert "double-precision" in page
