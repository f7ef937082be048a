# SPDX-License-Identifier: Apache-2.0
"""Samples of Python programs, from the handler to the report, in every CPython that is installed here.

Truth is what the program itself says: the CPU time that its lines took by the thread's own clock, and what
stood above each of its leaves.
"""

import math
from collections import Counter, defaultdict

import pytest
from harness import TARGETS, strict_json
from pythons import SYSTEM, VERSIONS, check_coverage, interpreter

CUT, TOP_UNKNOWN, MISMATCH = 8, 16, 32
TRUNCATED, RECOVERED, DEPTH_CUT = 1, 2, 2048
WEAK = CUT | TOP_UNKNOWN | MISMATCH | TRUNCATED | RECOVERED


def hotspots(strata, *program, timeout=300):
    result = strata.folder / f"result{len(strata.history)}"
    done = strata("-collect", "hotspots", "-knob", "sampling-interval=1", "-r", result, "--", *program, timeout=timeout)
    assert done.status == 0, done.err
    return result, strict_json(done.stdout)


def query(strata, result, sql):
    done = strata("query", "-r", result, "-format", "json", sql)
    assert done.status == 0, done.err
    return strict_json(done.stdout)["rows"]


class Stacks:
    """The samples of a result; frames are (name, kind, line, eval), outermost first."""

    def __init__(self, strata, result):
        self.samples = query(strata, result, "select weight_ns, node, flags from samples where state = 'running'")
        functions = {
            row["function"]: (row["name"], row["kind"])
            for row in query(strata, result, "select function, name, kind from functions")
        }
        self.frame_of = {
            row["node"]: row["frame"] for row in query(strata, result, "select node, frame from stack_nodes")
        }
        self.frames = {
            row["frame"]: (row["parent"], (*functions[row["function"]], row["line"], row["eval"]))
            for row in query(strata, result, "select frame, parent, function, line, eval from stack_frames")
            if row["frame"]
        }
        self.known = {0: []}

    def of(self, node):
        missing = []
        frame = self.frame_of.get(node, 0)
        while frame not in self.known:
            missing.append(frame)
            frame = self.frames[frame][0]
        stack = self.known[frame]
        for frame in reversed(missing):
            stack = [*stack, self.frames[frame][1]]
            self.known[frame] = stack
        return stack


def test_versions():
    check_coverage()


@pytest.mark.parametrize("version", VERSIONS)
def test_lines_take_what_their_clock_says(version, strata, scale):
    seconds = 30 if scale == "full" else 1.5
    result, said = hotspots(strata, interpreter(version), TARGETS / "python_burn.py", str(seconds))
    stacks = Stacks(strata, result)
    took = Counter()
    flags = Counter()
    for sample in stacks.samples:
        stack = stacks.of(sample["node"])
        innermost = next((frame for frame in reversed(stack) if frame[1] == "python"), None)
        if innermost and innermost[0] == "burn":
            took[str(innermost[2])] += sample["weight_ns"]
        for bit in (CUT, TOP_UNKNOWN, MISMATCH, TRUNCATED):
            flags[bit] += bool(sample["flags"] & bit)
    total = sum(took[line] for line in said)
    # Periodic sampling of two alternating lines: a share's error is at most that of independent samples.
    tolerance = 0.01 if scale == "full" else 4 * math.sqrt(0.24 / (seconds * 1000))
    for line, own in said.items():
        share, truth = took[line] / total, own / sum(said.values())
        print(f"CPython {version} line {line}: {share:.4f} of samples, {truth:.4f} of the clock (± {tolerance:.4f})")
        assert abs(share - truth) < tolerance
    # The sums are CPU time, not counts.
    assert abs(total / 1e9 - sum(said.values())) < 0.05 * sum(said.values())
    assert flags[MISMATCH] <= 0.002 * len(stacks.samples), flags
    assert flags[CUT] <= 0.01 * len(stacks.samples), flags


def python_names(stack):
    return [name for name, kind, _, _ in stack if kind == "python"]


def between(stack, outer, inner):
    """Names of the native frames between two Python frames."""
    names = [name if kind == "python" else None for name, kind, _, _ in stack]
    begin = names.index(outer)
    return [frame[0] for frame in stack[begin + 1 : names.index(inner, begin)]]


@pytest.mark.parametrize("version", [*VERSIONS, SYSTEM])
def test_ancestors_are_what_python_says(version, strata, scale):
    seconds = 2 if scale == "full" else 0.2
    result, said = hotspots(strata, interpreter(version), TARGETS / "python_tree.py", str(seconds))
    stacks = Stacks(strata, result)
    right, wrong = Counter(), defaultdict(Counter)
    weak = Counter()
    for sample in stacks.samples:
        stack = stacks.of(sample["node"])
        names = python_names(stack)
        leaf = names[-1] if names and names[-1].startswith("leaf_") else None
        if leaf == "leaf_deep":
            # 5000 calls: the innermost ones are there, and the sample says that others are not.
            assert sample["flags"] & CUT, sample
            if version in ("3.8", "3.9", "3.10"):  # a native frame for each Python frame
                assert sample["flags"] & (DEPTH_CUT | TRUNCATED), sample
            assert set(names) <= {"deep", "leaf_deep"}
            assert len(names) > 100
            right[leaf] += 1
        elif leaf and sample["flags"] & WEAK:
            weak[leaf] += 1
        elif leaf:
            check_stack(stack, leaf, version != SYSTEM)
            if names == said[leaf]:
                right[leaf] += 1
            else:
                wrong[leaf][tuple(names)] += 1
    print(f"CPython {version}: {dict(right)}, weak {dict(weak)}, wrong {dict(wrong)}")
    assert not wrong
    assert set(right) == set(said)
    for leaf in said:
        assert right[leaf] > 0.4 * seconds * 1000, (leaf, right)
        assert weak[leaf] <= 0.05 * right[leaf] or leaf == "leaf_callback", (leaf, weak)


@pytest.mark.parametrize("version", VERSIONS)
def test_replaced_code_is_noticed(version, strata):
    """Code at the address of another, with a file's name and the same globals: a few samples may be the other's."""
    result, said = hotspots(strata, interpreter(version), TARGETS / "replaced_code.py", "100")
    assert said["most"] > 10, "no address was used again: this test shows nothing"
    stacks, found = Stacks(strata, result), Counter()
    for sample in stacks.samples:
        made = [name for name in python_names(stacks.of(sample["node"])) if name.startswith("made_")]
        found[made[-1] if made else None] += sample["weight_ns"] / 1e9
    total = sum(said["spent"].values())
    print(f"CPython {version}: one address {said['most']} times, {found} for {said['spent']}")
    wrong = sum(abs(found.get(name, 0) - took) for name, took in said["spent"].items())
    assert wrong <= 0.05 * total, (found, said)


@pytest.mark.parametrize("depth", [1, 40])
@pytest.mark.parametrize("version", VERSIONS)
def test_code_at_the_same_place_is_noticed(version, depth, strata):
    """Before 3.12 only texts tell such code from what was there; of more than 36 functions not all are read ahead."""
    result, said = hotspots(strata, interpreter(version), TARGETS / "same_place.py", "60", str(depth))
    said = {f"made_{number}": took for number, took in enumerate(said)}
    total = sum(said.values())
    if total < 0.8 or max(said.values()) > 0.5 * total:
        pytest.skip(f"code hardly ever came to the same place: {said}")
    stacks, found = Stacks(strata, result), Counter()
    for sample in stacks.samples:
        made = [name for name in python_names(stacks.of(sample["node"])) if name.startswith("made_")]
        found[made[-1] if made else None] += sample["weight_ns"] / 1e9
    print(f"CPython {version}: {found} for {said}")
    wrong = sum(abs(found.get(name, 0) - took) for name, took in said.items())
    assert wrong <= 0.4 * total, (found, said)


def check_stack(stack, leaf, symbols):
    """What lies between the Python frames is what calls them; evaluation frames stand before their frames."""
    inner = next((name for name in python_names(stack) if name.endswith("<lambda>")), None)
    if leaf == "leaf_sort" and symbols:
        assert any("sort" in name for name in between(stack, "by_sort", inner)), stack
    if leaf == "leaf_callback" and symbols:
        assert any("ffi" in name or "_CallPythonObject" in name for name in between(stack, "by_callback", inner))
    for (_, kind, _, is_eval), (_, inner_kind, _, inner_eval) in zip(stack, stack[1:]):
        assert not is_eval or inner_eval or inner_kind == "python"  # functions inlined into it are part of it
        assert kind == "python" or is_eval or inner_kind != "python"


def test_forbidden_reads(strata, programs, python):
    """Where no fault-proof read is allowed there are no Python frames, and the result says why."""
    result = strata.folder / "result"
    filtered = [programs / "filtered", "eperm", "process_vm_readv", "--"]
    command = ["-collect", "hotspots", "-knob", "sampling-interval=1", "-r", result, "--"]
    done = strata.run([*filtered, strata.binary, *command, python, TARGETS / "python_burn.py", "0.5"])
    assert done.status == 0, done.err
    assert "forbids process_vm_readv" in " ".join(done.err.split())
    stacks = Stacks(strata, result)
    assert len(stacks.samples) > 300
    assert not any(kind == "python" for sample in stacks.samples for _, kind, _, _ in stacks.of(sample["node"]))
    assert sum(bool(sample["flags"] & CUT) for sample in stacks.samples) > 300


def test_forbidden_writes(strata, programs, python):
    """Frames are read by process_vm_writev; where only that is forbidden, by process_vm_readv."""
    result = strata.folder / "result"
    filtered = [programs / "filtered", "eperm", "process_vm_writev", "--"]
    command = ["-collect", "hotspots", "-knob", "sampling-interval=1", "-r", result, "--"]
    done = strata.run([*filtered, strata.binary, *command, python, TARGETS / "python_burn.py", "0.5"])
    assert done.status == 0, done.err
    stacks = Stacks(strata, result)
    assert len(stacks.samples) > 300
    found = [any(kind == "python" for _, kind, _, _ in stacks.of(sample["node"])) for sample in stacks.samples]
    assert sum(found) > 0.9 * len(found)
