# SPDX-License-Identifier: Apache-2.0
"""Programs of the usual kinds: what is recorded of them is what torch.profiler records in the same run, one for one."""

import json
import statistics
import subprocess
from collections import Counter

import pytest
from harness import TARGETS, clean_env

pytestmark = pytest.mark.torch

PROGRAM = TARGETS / "operator_truth.py"
QUICK = ("resnet", "encoder", "train", "parallel", "threads", "long")
# First: workers are forked before anything has made threads.
ALL = ("loader", *QUICK)
COLUMNS = (
    "SELECT o.row, o.name, o.scope, o.shapes, o.sequence, s.parent, s.start_ns, s.end_ns, s.wall_ns, s.tid, s.pid,"
    " s.unfinished, s.mismatched FROM operators o JOIN slices s ON s.row = o.row"
    " WHERE o.scope IS NOT NULL ORDER BY o.row"
)


def ask(strata, result, sql):
    done = strata("query", "-r", result, "-format", "json", "-memory-limit", "1024", sql)
    assert done.status == 0, done.err
    return json.loads(done.stdout)["rows"]


def without(sections, file, python, env=None, words=()):
    """The same program without strata and without a profiler."""
    program = [python, PROGRAM, file, *sections, "--alone", *words]
    subprocess.run(program, env=clean_env(env), check=True, capture_output=True, timeout=300)
    return json.loads(file.read_text())


class Run:
    """One collection, with what the program says of itself."""

    def __init__(self, strata, python, sections, words=(), env=None, **more):
        self.strata = strata
        folder = strata.folder / "-".join(sections)
        folder.mkdir()
        self.result = folder / "result"
        program = [python, PROGRAM, folder / "said.json", *sections, *words]
        done = strata("-collect", "operators", "-quiet", "-r", self.result, "--", *program, env=env, **more)
        assert done.status == 0, done.err
        self.said = json.loads((folder / "said.json").read_text())
        self.workers = [json.loads(path.read_text()) for path in sorted(folder.glob("worker*.json"))]
        self.rows = ask(strata, self.result, COLUMNS)
        self.by_row = {row["row"]: row for row in self.rows}

    def window(self, name, pid=None):
        """From the end of the mark before a section to the begin of the one behind it."""
        times = []
        for mark, key in (("before", "end_ns"), ("after", "start_ns")):
            (row,) = (r for r in self.rows if r["name"] == f"{mark} {name}" and pid in (None, r["pid"]))
            times.append(row[key])
        return (*times, row["pid"])

    def section(self, name, pid=None):
        """Rows of a section by thread, modules left out."""
        begin, end, owner = self.window(name, pid)
        found = {}
        for row in self.rows:
            if row["scope"] != "module" and row["pid"] == owner and begin <= row["start_ns"] < end:
                found.setdefault(row["tid"], []).append(row)
        return found

    def depth(self, row):
        """Operators and ranges around a row."""
        depth, parent = 0, row["parent"]
        while parent is not None:
            around = self.by_row[parent]
            depth += around["scope"] != "module"
            parent = around["parent"]
        return depth

    def folded(self, name, *options, pid=None):
        begin, end, owner = self.window(name, pid)
        times = f"{begin / 1e9:.9f}:{end / 1e9:.9f}"
        knobs = ("-report-knob", "torch-folding=true", "-time-filter", times, "-filter", f"process=*({owner})")
        return self.strata.report(self.result, "operators", *knobs, *options)["rows"]


@pytest.fixture(scope="module")
def run(shared_strata, python):
    return Run(shared_strata, python, ALL)


def sizes(shapes):
    """As Kineto's events have them: nothing for lists of tensors."""
    return [[] if any(isinstance(size, list) for size in one) else one for one in json.loads(shapes)]


def check(run, said, name, pid=None):
    """Threads, order, names, inputs, nesting and sequence numbers; every slice whole."""
    threads = {}
    for tid, *event in said["events"]:
        threads.setdefault(tid, []).append(event)
    ours = run.section(name, pid)
    if pid:
        # What a worker made is sent by a thread, which its profiler does not see.
        ours = {pid: ours[pid]}
    assert set(ours) == set(threads), "operators on other threads"
    for tid, rows in ours.items():
        events = threads[tid]
        assert [row["name"] for row in rows] == [event[0] for event in events]
        assert [run.depth(row) for row in rows] == [event[2] for event in events]
        assert [sizes(row["shapes"]) for row in rows] == [event[1] for event in events]
        for row, (own, _, _, sequence, _) in zip(rows, events):
            # Kineto copies the number of the node onto what runs it.
            if not own.startswith("autograd::engine::evaluate_function"):
                assert (-1 if row["sequence"] is None else row["sequence"]) == sequence, own
            assert not row["unfinished"], own
            # A range that begins under a mode begins inside of the call that asks the mode, and outlives it.
            assert not row["mismatched"] or own == "PythonDispatchMode", own


def check_folded(run, said, name, pid=None):
    """Torch's own counts, by name and by shapes."""
    only = ("-filter", f"thread=*({pid})") if pid else ()
    assert {row["operator"]: row["count"] for row in run.folded(name, *only, pid=pid)} == dict(said["names"])
    found = Counter()
    for row in run.folded(name, *only, "-group-by", "operator,input-shapes", pid=pid):
        for inner in row["children"]:
            found[row["operator"], inner["input_shapes"]] += inner["count"]
    expected = Counter()
    for own, shapes, count in said["shapes"]:
        expected[own, shapes] += count
    assert found == expected


@pytest.mark.parametrize("name", QUICK)
def test_one_for_one(run, name):
    check(run, run.said[name], name)


@pytest.mark.parametrize("name", QUICK)
def test_counts_as_torch_folds_them(run, name):
    check_folded(run, run.said[name], name)


def test_programs_are_what_they_should_be(run):
    """Enough operators, of the kinds that they are there for."""
    counts = {name: Counter(event[1] for event in run.said[name]["events"]) for name in QUICK}
    assert counts["resnet"]["aten::conv2d"] == 20
    assert counts["encoder"]["aten::_transformer_encoder_layer_fwd"] == 3
    assert counts["encoder"]["aten::scaled_dot_product_attention"] == 3
    assert counts["train"]["ConvolutionBackward0"] == 3 and counts["train"]["Optimizer.step#Adam.step"] == 3
    assert len({event[0] for event in run.said["threads"]["events"]}) == 2


def test_losses_are_the_same_bits(run, python, shared_strata):
    alone = without(ALL, shared_strata.folder / "alone.json", python)
    assert {name: alone[name]["losses"] for name in ALL} == {name: run.said[name]["losses"] for name in ALL}


def test_workers_of_a_loader(run):
    """Each worker under a profiler of its own."""
    assert len(run.workers) == 2
    for said in run.workers:
        assert len(said["events"]) > 10
        check(run, said, "worker", said["pid"])
        check_folded(run, said, "worker", said["pid"])


LONG = ("aten::mm", "aten::conv2d", "aten::lgamma", "aten::exp")
# Those whose own time is the same in each process. Not exp: its result of 16 MB comes with new pages or with old ones,
# as the C library's heap will have it, which is 7 ms or 1.3; and even without a profiler processes differ by 7 %.
STEADY = ("aten::mm", "aten::conv2d", "aten::lgamma")


def test_durations_in_the_same_run(run):
    """Operators of a millisecond and more, one by one."""
    ((_, rows),) = run.section("long").items()
    pairs = zip(rows, run.said["long"]["events"])
    ratios = [row["wall_ns"] / event[5] for row, event in pairs if event[5] > 1e6 and event[1] in LONG]
    assert len(ratios) >= 10
    assert 0.98 < statistics.median(ratios) < 1.02


def fastest(pairs):
    """Of (name, ns): the shortest of each operator, which no other process has interrupted."""
    found = {}
    for name, took in pairs:
        found[name] = min(took, found.get(name, took))
    return {name: found[name] for name in STEADY}


@pytest.mark.alone
def test_durations_in_interleaved_runs(strata, python, scale):
    """With strata alone and with torch.profiler alone, turn by turn."""
    if scale != "full":
        pytest.skip("twenty runs of each: only at full scale")
    ratios = {}
    for turn in range(20):
        strata.folder = strata.folder.parent / f"turn{turn}"
        strata.folder.mkdir()
        ours = Run(strata, python, ("long",), words=("--alone", "--repeat", "12"))
        file = strata.folder / "profiled.json"
        subprocess.run(
            [python, PROGRAM, file, "long", "--repeat", "12"], env=clean_env(), check=True, capture_output=True
        )
        theirs = fastest((event[1], event[5]) for event in json.loads(file.read_text())["long"]["events"])
        (rows,) = ours.section("long").values()
        for name, took in fastest((row["name"], row["wall_ns"]) for row in rows).items():
            ratios.setdefault(name, []).append(took / theirs[name])
            assert took > 1e6, f"{name} is too short to tell"
    for name, found in ratios.items():
        assert 0.95 < statistics.median(found) < 1.05, (name, sorted(found))


def test_torch_of_debian(strata, scale, debian_torch):
    """A release of another layout, built by others: learned from the program's first operators."""
    if scale != "full":
        pytest.skip("a second torch: only at full scale")
    sections = ("train", "resnet", "encoder")
    run = Run(strata, debian_torch, sections, words=("--warm",))
    # Not as it folds them: its times are whole microseconds, so that neighbours seem to lie in each other.
    for name in sections:
        check(run, run.said[name], name)
    assert run.said["version"].startswith("1.13")
    (source,) = ask(strata, run.result, "SELECT * FROM operator_sources")
    assert (source["framework"], source["level"], source["why"]) == ("PyTorch 1.13", "in place", None)
    assert not source["untested"]
    alone = without(sections, strata.folder / "alone.json", debian_torch, words=("--warm",))
    for name in sections:
        assert alone[name]["losses"] == run.said[name]["losses"]


def test_compiled_by_inductor(strata, python, scale):
    """Operators of compiling and of running, and dynamo does what it does without us."""
    if scale != "full":
        pytest.skip("compiles two models twice: only at full scale")
    alone = without(
        ("compile",), strata.folder / "alone.json", python, {"TORCHINDUCTOR_CACHE_DIR": str(strata.folder / "cold")}
    )
    env = {"TORCHINDUCTOR_CACHE_DIR": str(strata.folder / "ours")}
    run = Run(strata, python, ("compile",), env=env, timeout=300)
    check(run, run.said["compile"], "compile")
    check_folded(run, run.said["compile"], "compile")
    names = Counter(event[1] for event in run.said["compile"]["events"])
    assert names["CompiledFunctionBackward"] == 2
    assert any(name.startswith("Torch-Compiled Region") for name in names)
    assert alone["counters"]["graph_break"] == run.said["counters"]["graph_break"]
    assert sum(alone["counters"]["graph_break"].values()) == 1
    for kind in ("stats", "frames"):
        assert alone["counters"].get(kind) == run.said["counters"].get(kind)
    assert alone["compile"]["losses"] == run.said["compile"]["losses"]
