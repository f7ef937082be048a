# SPDX-License-Identifier: Apache-2.0
"""strata.profile(): a process that records itself, held against torch.profiler; and everything it must leave alone."""

import json
import os
import re
import sys
from pathlib import Path

import pytest
from harness import TARGETS, until

pytestmark = pytest.mark.torch

PROGRAM = TARGETS / "profiled.py"


@pytest.fixture(scope="module")
def package(build_dir):
    folder = build_dir / "python"
    if not (folder / "strata" / "_session.py").is_file():
        pytest.fail(f"no package in {folder}: build it")
    return folder


@pytest.fixture(scope="module")
def env(package, tmp_path_factory):
    """Temporary folders where leftovers are seen."""
    return {"PYTHONPATH": str(package), "TMPDIR": str(tmp_path_factory.mktemp("tmp"))}


def ran(done):
    assert done.status == 0, done.err
    return json.loads(done.out)


def ask(strata, result, sql):
    done = strata("query", "-r", result, "-format", "json", sql)
    assert done.status == 0, done.err
    return json.loads(done.stdout)["rows"]


def leftovers(env):
    return [entry.name for entry in Path(env["TMPDIR"]).iterdir() if entry.name.startswith("strata")]


CASES = (
    "same_as_torch", "loss", "schedule", "options", "stacks", "nested", "thread", "exception", "fork", "null", "wait",
    "without_effect", "accumulated", "legacy", "itt", "killed",
    "kept", "lists", "long_lists", "twice", "interrupted",
)  # fmt: skip


@pytest.fixture(scope="module")
def cases(shared_strata, python, env):
    """All of them in one process, torch imported first."""
    done = shared_strata.run([python, PROGRAM, *CASES], env=env)
    return ran(done), done


def test_operators_are_torchs(cases):
    """Counts per operator are those of torch.profiler in the same run; sizes, bytes and modules are there."""
    found = cases[0]["same_as_torch"]
    ours, theirs = found["ours"], found["theirs"]
    assert sum(theirs.values()) > 100
    assert {name: ours.get(name) for name in theirs} == theirs
    assert found["shapes"] == 2
    assert found["modules"] == ["Sequential", "Sequential.0", "Sequential.1", "Sequential.2", "Sequential.3"]
    assert {name: found["our_memory"].get(name, 0) for name in found["their_memory"]} == found["their_memory"]
    assert found["our_memory"]["aten::addmm"] == 2 * 2 * 10 * 4


def test_loss(cases):
    found = cases[0]["loss"]
    assert len(set(found["plain"])) > 1
    assert found["plain"] == found["ours"] == found["after"]


def test_cycles_of_a_schedule(cases):
    found = cases[0]["schedule"]
    assert found["seen"] == [
        [6, ["ProfilerStep#4", "ProfilerStep#5"], 2],
        [10, ["ProfilerStep#8", "ProfilerStep#9"], 2],
    ]
    assert [text for text in found["told"] if "clears events at the end of each cycle" in text] == found["told"]
    assert len(found["told"]) == 1


def test_options_in_turn(cases):
    assert cases[0]["options"] == [
        [0, 0, 0, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1], [0, 0, 0, 1],
    ]  # fmt: skip


def test_stacks(cases):
    (line,) = [at for at, text in enumerate(PROGRAM.read_text().splitlines(), 1) if ".square().mean()" in text]
    first, none, later = cases[0]["stacks"]
    assert first == later == [f"profiled.py:{line}"]
    assert "no grouping python-line" in none


def test_nested(cases):
    assert cases[0]["nested"] == {"outer": 4, "inner": 2, "early": 2, "one_folder": True}


def test_threads(cases):
    found = cases[0]["thread"]
    assert (found["across"], found["later"]) == (1, 1)
    assert found["inside"] >= 1


def test_exception(cases):
    assert cases[0]["exception"] == {"said": "'mine'", "first": 1, "again": 1}


def test_fork(cases):
    found = cases[0]["fork"]
    assert found["status"] == 0
    assert "failed" not in found["child"], found
    assert "before the fork" in found["child"]["word"]
    assert (found["child"]["own"], found["parent"], found["pids"]) == (3, 1, 1)
    assert found["childs_folder_gone"]


def test_nullcontext(cases):
    assert cases[0]["null"] == [True, False]


def test_nobody_hears_of_us(cases):
    """os.wait() and SIGCHLD of the program."""
    found = cases[0]["wait"]
    assert found["found"] == [True] * 8
    assert found["heard"] == 1


def test_no_effect_is_said_once(cases):
    found = cases[0]["without_effect"]
    expected = ("CUDA is not available, disabling CUDA profiling", "adjust_profiler_step has no effect")
    for text in expected:
        assert sum(text in one for one in found["told"]) == 1, found["told"]
        assert any(text in one for one in found["notes"]), found["notes"]
    assert not any("verbose" in one for one in found["told"])


def test_accumulated_events(cases):
    found = cases[0]["accumulated"]
    assert found["False"] == [2, ["ProfilerStep#6", "ProfilerStep#7"]]
    assert found["True"] == [4, ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#6", "ProfilerStep#7"]]


def test_legacy_module(cases):
    found = cases[0]["legacy"]
    assert any("`use_cuda` will be deprecated soon" in text for text in found["told"]), found["told"]
    assert found["off"] and found["label"] and found["total"] and found["memory"]
    assert found["conv"] == [1]
    assert found["new"][0][:2] == [[2, 3, 16, 16], [4, 3, 3, 3]]


def test_itt_inside(cases):
    """Torch came first: its ranges come through a wrapper, which goes with the profile."""
    found = cases[0]["itt"]
    assert found["restored"] and found["inside"]
    assert found["rows"] == [["PyTorch", "a range"], ["mine", "a task"]]
    assert found["primitives"] == 0
    assert len(found["notes"]) == 1 and "oneDNN" in found["notes"][0]


def test_interrupted(cases):
    found = cases[0]["interrupted"]
    for part in ("start", "stop"):
        lines, stayed_on, again = found[part]
        # In front of the first line of stop() nothing can be done about it yet.
        assert lines > 30 and again == 1 and stayed_on == ([1] if part == "stop" else []), found


def test_killed(cases):
    found = cases[0]["killed"]
    for told in found["told"]:
        assert any("strata ended before the profile" in one for one in told), found
    assert found["again"] == [1, 1, 1]
    assert re.match(r"PyTorch [\d.]+(\+\w+)?: ", found["source"]), found  # its version once


def test_lists_outlive_their_cycle(cases):
    found = cases[0]["kept"]
    assert found == {"events": [1, 3, 5], "averages": [1, 3, 5], "tables": [True] * 3}


def test_lists_are_lists(cases):
    """Added, copied, pickled; limits of rows that torch takes for none."""
    found = cases[0]["lists"]
    assert (found["behind"], found["before"], found["pickled"], found["copied"]) == (3, 3, 3, [3, 3, 3])
    averages, *others = found["averages"]
    assert ["aten::relu", 3, [[2]]] in averages and others == [averages, averages]
    assert found["same table"] and found["tables"] == [True] * 3


def test_lists_longer_than_are_kept(cases):
    """What there is of them can be read; that there was more is said."""
    found = cases[0]["long_lists"]
    ours, theirs = found["counts"]
    assert ours == theirs and ours["aten::stack"] == 1
    assert found["add"] == [[[3, 4, 5]] * 200] and found["stack"] == []
    assert found["table"].count("  […] ") == 2, "of stack, and of the cat in it"


def test_started_and_stopped_twice(cases):
    found = cases[0]["twice"]
    assert found == {"torch": 2, "strata": 2, "told": ["strata.profile: this profile is already stopped"],
                     "still on": 0}  # fmt: skip


def test_nothing_is_left_behind(cases, env):
    """Folders, and words on standard error beyond torch.profiler's own."""
    assert leftovers(env) == []
    lines = [line for line in cases[1].err.splitlines() if "USDT" not in line and "Memory block of" not in line]
    clone = str(TARGETS.parents[2])
    assert [line for line in lines if "strata" in line.replace(clone, "").lower()] == []


@pytest.mark.alone
def test_hundred_cycles(strata, python, env):
    found = ran(strata.run([python, PROGRAM, "cycles"], env=env))["cycles"]
    before, after = found["before"], found["after"]
    assert found["found"] == [1]
    for key in ("fds", "tasks", "folders"):
        assert after[key] == before[key], found
    assert after["maps"] <= before["maps"] + 4, found
    assert after["rss_kb"] <= before["rss_kb"] + 4096, found
    assert found["ms"] <= 100, found  # of 20 that are promised: tests share the machine
    assert leftovers(env) == []


@pytest.mark.parametrize("kind", ["operators", "tasks", "hotspots"])
def test_inside_a_collection(strata, python, env, kind, scale):
    """The window is one of the running result; what was on before stays on, what was not ends with the profile."""
    if kind == "hotspots" and scale != "full":
        pytest.skip("at full scale")
    result = strata.folder / kind
    options = [] if kind == "operators" else ["-knob", "collect-operators=false"]
    done = strata("-collect", kind, "-quiet", *options, "-r", result, "--", python, PROGRAM, "outer", env=env)
    found = ran(done)["outer"]
    assert found["folder"] == str(result.resolve())
    assert (found["first"], found["again"]) == (2, 3)
    rows = ask(strata, result, "SELECT count(*) AS n FROM operators WHERE name = 'aten::conv2d'")
    assert rows[0]["n"] == {"operators": 7}.get(kind, 5)
    assert leftovers(env) == []


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_collection_around_it_ends(strata, python, env, build_dir, how):
    """The program goes on; what is profiled then is empty, and that is said."""
    result, file = strata.folder / "outer", strata.folder / "found.json"
    # A folder of its own: a killed strata leaves one behind.
    env = {**env, "TMPDIR": str(strata.folder), "PATH": f"{build_dir / 'bin'}:{os.environ['PATH']}"}
    program = (python, TARGETS / "outer_ends.py", how, result, file)
    strata("-collect", "operators", "-quiet", "-no-summary", "-r", result, "--", *program, env=env)
    assert until(file.exists)
    before, *after = json.loads(file.read_text())
    assert before == [1, []]
    assert [count for count, _ in after] == [0, 0]
    assert any("ended" in text or "stopped" in text for text in after[0][1]), after


@pytest.mark.parametrize("by", ["fake", "mode", "profiler"])
def test_watched(strata, python, env, by):
    """Modes of the program's and other profilers see none of our own operators, and cannot refuse them."""
    said = ran(strata.run([python, TARGETS / "watched.py", by], env=env))
    times = 2 if by == "mode" else 1  # once in front of the mode and once behind it
    fresh = 1 if by == "fake" else 0  # how it finds out what an operator gives
    assert said["ours"]["aten::add [[3, 5], [], []]"] == times * 100 + fresh
    assert said["ours"]["aten::relu [[3, 5]]"] == times * 100 + fresh
    assert said["later"]["aten::add [[3, 5], [], []]"] == said["later"]["aten::relu [[3, 5]]"] == 3
    assert not any("strided" in name and "empty" not in name for name in said["theirs"])
    if by == "mode":
        assert said["theirs"] == {"ones.default": 1, "add.Tensor": 100, "relu.default": 100}


def check_crossing(found, took):
    """In milliseconds: no less than between the inner sides of a range's ends, no more than between the outer ones."""
    for name, ms in found.items():
        inside, outside = took[name]
        assert inside - 0.1 <= ms <= outside + 0.1, (name, ms, took)


CROSSING = ["A", "B", "C", "first", "second", "open"]


def test_ranges_that_cross(strata, python, env):
    """As in coroutines: each has its own end. One that is open when the profile stops ends there."""
    said = ran(strata.run([python, TARGETS / "crossing_ranges.py"], env=env))
    ours = [(name, None if parent == "open" else parent) for name, parent, _ in said["ours"]]
    assert ours == [(name, parent) for name, parent, _ in said["theirs"]]
    found = {name: us / 1e3 for name, _, us in said["ours"] if not name.startswith("aten::")}
    assert list(found) == CROSSING
    check_crossing(found, said["took"][-1])


def test_ranges_that_cross_in_a_collection(strata, python, env):
    result = strata.folder / "crossing"
    program = (python, TARGETS / "crossing_ranges.py")
    said = ran(strata("-collect", "operators", "-quiet", "-no-summary", "-r", result, "--", *program, env=env))
    rows = ask(strata, result, "SELECT o.name, s.wall_ns, s.mismatched, s.unfinished FROM operators o JOIN slices s"
               " ON s.row = o.row WHERE o.scope = 'user' ORDER BY s.start_ns")  # fmt: skip
    assert [row["name"] for row in rows] == 3 * CROSSING
    for i, took in enumerate(said["took"]):  # but for the last, which goes on behind the profile's end here
        check_crossing({row["name"]: row["wall_ns"] / 1e6 for row in rows[6 * i : 6 * i + 5]}, took)
    assert {row["name"] for row in rows if row["mismatched"]} == {"A", "B", "first"}
    assert not any(row["unfinished"] for row in rows)
    assert "9 tasks ended out of order" in " ".join(strata("report", "summary", "-r", result).out.split())


SLEPT_MS = 20


def test_ranges_that_hooks_end(strata, python, env):
    """What they end in goes on: its time is whole, and what it calls lies in it."""
    said = ran(strata.run([python, TARGETS / "hooked_ranges.py"], env=env))
    assert said["ours"]["parents"] == said["theirs"]["parents"]
    took = said["ours"]["took"]
    assert took["autograd::engine::evaluate_function: ReluBackward0"] >= SLEPT_MS
    assert took["loading"] < took["autograd::engine::evaluate_function: ReluBackward0"]
    inside, found = said["two"]
    assert found["second"] >= inside >= SLEPT_MS and "first" not in found
    assert said["two by hook"] >= SLEPT_MS
    assert said["surplus"] == 100


def test_ranges_that_hooks_end_in_a_collection(strata, python, env):
    result = strata.folder / "hooked"
    program = (python, TARGETS / "hooked_ranges.py")
    ran(strata("-collect", "operators", "-quiet", "-no-summary", "-r", result, "--", *program, env=env))
    rows = ask(strata, result, "SELECT o.name, s.wall_ns, p.name AS parent FROM operators o"
               " JOIN slices s ON s.row = o.row LEFT JOIN operators p ON p.row = s.parent"
               " WHERE o.scope = 'module'")  # fmt: skip
    assert rows
    for row in rows:
        assert row["parent"] == ("Sequential" if "." in row["name"] else "loading"), row
        assert row["name"] == "Sequential.0" or row["wall_ns"] >= SLEPT_MS * 1e6, row


def test_memory_of_ranges_that_cross(strata, python, env):
    """What is allocated behind the end of a range is not in it, though it lies in one that began there."""
    script = strata.folder / "memory.py"
    script.write_text(
        "import torch\n"
        "first, second = map(torch.profiler.record_function, ('first', 'second'))\n"
        "first.__enter__()\n"
        "second.__enter__()\n"
        "first.__exit__(None, None, None)\n"
        "torch.empty(1_000_000)\n"
        "second.__exit__(None, None, None)\n"
        "third = torch.profiler.record_function('third')\n"
        "def hook(gradient):\n"
        "    torch.zeros(500_000)\n"
        "    third.__exit__(None, None, None)\n"
        "    torch.zeros(300_000)\n"
        "out = torch.ones(4, requires_grad=True).relu()\n"
        "out.register_hook(hook)\n"
        "third.__enter__()\n"
        "out.sum().backward()\n"
    )
    result = strata.folder / "memory"
    done = strata("-collect", "operators", "-quiet", "-no-summary", "-r", result, "--", python, script, env=env)
    assert done.status == 0, done.err
    rows = {row["operator"]: row for row in strata.report(result, "operators")["rows"]}
    assert rows["second"]["allocated_bytes"] == 4_000_000
    assert not rows["first"].get("allocated_bytes")
    # Before a hook ended it, in an operator that goes on; and not what came behind.
    assert 2_000_000 <= rows["third"]["allocated_bytes"] < 2_100_000


def test_many_ranges_that_another_thread_ends(strata, python, env):
    """They end when they end, as many as there is room for; the others are counted."""
    script = strata.folder / "ended.py"
    script.write_text(
        "import json, threading, time, torch, warnings, strata\n"
        "told, found = [], {}\n"
        "warnings.showwarning = lambda text, *_: told.append(str(text))\n"
        "warnings.simplefilter('always')\n"
        "for count in (12, 40):\n"
        "    with strata.profile() as prof:\n"
        "        ranges = [torch.profiler.record_function(f'range{i}') for i in range(count)]\n"
        "        for one in ranges: one.__enter__()\n"
        "        work = lambda: [one.__exit__(None, None, None) for one in reversed(ranges)]\n"
        "        other = threading.Thread(target=work)\n"
        "        other.start()\n"
        "        other.join()\n"
        "        began = time.perf_counter()\n"
        "        time.sleep(0.05)\n"
        "        torch.ones(4)\n"
        "        slept = time.perf_counter() - began\n"
        "    took = [row.cpu_time_total for row in prof.key_averages() if row.key.startswith('range')]\n"
        "    found[count] = [len(took), sum(us >= 1e6 * slept for us in took), told]\n"
        "print(json.dumps(found))\n"
    )
    found = ran(strata.run([python, script], env=env))
    assert found["12"][:2] == [12, 0]
    rows, late, notes = found["40"]
    assert rows == 40 and 0 < late < 40
    assert any(f"{late} tasks dropped" in note for note in notes), notes


def test_strata_first(strata, python, env):
    found = ran(strata.run([python, PROGRAM, "--strata-first", "itt", "loss", "options"], env=env))
    assert found["itt"]["rows"] == [["PyTorch", "a range"], ["mine", "a task"]]
    assert found["itt"]["inside"] and not found["itt"]["before"]
    assert found["itt"]["primitives"] > 0
    assert found["itt"]["notes"] == []
    assert found["loss"]["plain"] == found["loss"]["ours"]
    assert [row[-1] for row in found["options"]] == [1] * 6


def test_without_torch(strata, env):
    """A word, and the program goes on; tasks of strata.itt have nowhere to go."""
    code = """
import sys
sys.modules["torch"] = None
import strata
with strata.profile(record_shapes=True) as prof:
    with strata.record_function("label"):
        pass
print(prof.result.query("SELECT count(*) AS n FROM operators")[0]["n"])
print(prof.window.notes[0])
with strata.profile(): pass
"""
    done = strata.run([sys.executable, "-c", code], env=env)
    assert done.status == 0, done.err
    assert done.out == "0\nPyTorch is not installed: only tasks are recorded, no operators\n"
    assert done.err.count("PyTorch is not installed") == 1
    assert leftovers(env) == []


def test_program_ends_inside(strata, env):
    """By sys.exit, os._exit and a kill: the status is the program's, no folder and no process stays."""
    code = """
import os, signal, sys
sys.modules["torch"] = None
import strata
with strata.profile() as prof:
    {}
"""
    for end, status in (("sys.exit(3)", 3), ("os._exit(4)", 4), ("os.kill(os.getpid(), 9)", -9)):
        done = strata.run([sys.executable, "-W", "ignore", "-c", code.format(end)], env=env)
        assert done.status == status, done.err
        until(lambda: not leftovers(env), what=f"the folder is gone after {end}")


SURFACE = """
import inspect, itertools, json, warnings
import strata, torch.profiler as theirs
from strata._profile import _TRANSITIONS

def signature(it):
    return [(p.name, str(p.kind), repr(p.default)) for p in inspect.signature(it).parameters.values()]

warnings.simplefilter("ignore")
checked, wrong = 0, []
numbers = itertools.product((0, 1, 3), (0, 1, 2), (1, 2, 3), (0, 1, 2), (0, 2), (0, 1))
for wait, warmup, active, repeat, skip, first in numbers:
    words = dict(wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=skip, skip_first_wait=first)
    ours, its = strata.schedule(**words), theirs.schedule(**words)
    for step in range(24):
        checked += 1
        if ours(step).name != its(step).name:
            wrong.append((words, step))
said = []
for words in (dict(wait=-1, warmup=1, active=1), dict(wait=1, warmup=1, active=0), dict(wait=1, warmup=0, active=1)):
    for make in (strata.schedule, theirs.schedule):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                make(**words)(-1)
            except AssertionError as why:
                said.append([str(why), [str(one.message) for one in told]])
names = {"prepare_trace": "prepare", "start_trace": "start", "stop_trace": "stop", "_trace_ready": "ready"}
moves = {}
for (before, after), steps in theirs.profile().action_map.items():
    if "DEVICE_STOPPED" not in (before.name, after and after.name):
        words = [names.get(getattr(step, "__name__", "")) or step.args[0] for step in steps]
        moves[f"{before.name} {after and after.name}"] = words
our_moves = {f"{before.name} {after and after.name}": list(words) for (before, after), words in _TRANSITIONS.items()}
print(json.dumps({
    "checked": checked, "wrong": wrong, "said": said, "moves": moves, "our_moves": our_moves,
    "actions": [[(one.name, one.value) for one in of.ProfilerAction] for of in (strata, theirs)],
    "signatures": [[signature(of.profile), signature(of.schedule)] for of in (strata, theirs)],
    "missing": [n for n in dir(theirs.profile) if not n.startswith("_") and not hasattr(strata.profile, n)],
}))
"""


@pytest.fixture(scope="module")
def surface(shared_strata, python, env):
    return ran(shared_strata.run([python, "-c", SURFACE], env=env))


def test_schedule_is_torchs(surface):
    """The same actions for the same numbers, and the same words where they are wrong."""
    assert surface["checked"] > 7000
    assert surface["wrong"] == []
    assert len(surface["said"]) == 6
    assert surface["said"][0::2] == surface["said"][1::2]
    assert surface["actions"][0] == surface["actions"][1]


def test_transitions_are_torchs(surface):
    """What is done from one action to the next."""
    assert len(surface["moves"]) > 15
    assert {key: surface["our_moves"].get(key, []) for key in surface["moves"]} == surface["moves"]


def test_signatures_are_torchs(surface):
    assert surface["signatures"][0] == surface["signatures"][1]
    assert surface["missing"] == ["prepare_trace", "start_trace", "stop_trace"]


def test_import_is_light(strata, package):
    """The package loads nothing before a profile is made, and no collector before one is started."""
    code = "import strata, sys; strata.profile; print('ctypes' in sys.modules, 'torch' in sys.modules)"
    code += "\nprint('collector' in open('/proc/self/maps').read())"
    done = strata.run([sys.executable, "-c", code], env={"PYTHONPATH": str(package)})
    assert done.out == "True False\nFalse\n", done.err
    assert os.environ.get("INTEL_LIBITTNOTIFY64") is None
