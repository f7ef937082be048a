# SPDX-License-Identifier: Apache-2.0
"""The family: children by every usual way are followed into the same result, each with its own tasks."""

import os
import shutil
from pathlib import Path

import pytest
from harness import TARGETS, emit, emit_words

COUNT = 50


def processes(strata, result):
    """Process row → {task name: count}, only of processes that recorded something."""
    report = strata.report(result, "tasks", "-group-by", "process,task-type")
    return {row["process"]: {child["task_type"]: child["count"] for child in row["children"]} for row in report["rows"]}


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_dataloader(strata, python, context):
    """Two workers and the main process: three processes, tasks in each, every item once."""
    items, batch = 24, 4
    command = [python, TARGETS / "loader.py", context, str(items), str(batch)]
    done = strata.collect(*command, timeout=180)
    assert done.stdout == b"total 276.0\n"
    found = processes(strata, done.result)
    assert len(found) == 3, found
    mains = [tasks for tasks in found.values() if any(name.startswith("batch_") for name in tasks)]
    workers = [tasks for tasks in found.values() if any(name.startswith("item_") for name in tasks)]
    assert len(mains) == 1 and len(workers) == 2
    assert {name: 1 for name in (f"batch_{n}" for n in range(items // batch))}.items() <= mains[0].items()
    seen = {}
    for tasks in workers:
        own = {name: count for name, count in tasks.items() if name.startswith("item_")}
        assert len(own) == items // 2
        assert tasks["work"] == items // 2
        seen.update(own)
    assert seen == {f"item_{n}": 1 for n in range(items)}


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_worker_names_survive(strata, python, context):
    """A forked worker uses names that its parent defined: they must mean the same in the child."""
    done = strata.collect(python, TARGETS / "loader.py", context, "8", "2", timeout=180)
    labels = set().union(*processes(strata, done.result).values())
    assert all(label and "?" not in label for label in labels), labels


@pytest.mark.torch
@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_multiprocessing(strata, ittapi, target, how):
    done = strata.collect(ittapi, TARGETS / "family.py", how, str(COUNT), target)
    found = processes(strata, done.result)
    assert sorted(map(sorted, (tasks.items() for tasks in found.values()))) == [
        [("child_0", COUNT)],
        [("child_1", COUNT)],
        [("parent", COUNT)],
    ]


@pytest.mark.torch
@pytest.mark.parametrize("how, started", [("subprocess", 2), ("posix_spawn", 1), ("fork_exec", 1), ("popen_shell", 2)])
def test_started_programs(strata, ittapi, target, how, started):
    done = strata.collect(ittapi, TARGETS / "family.py", how, str(COUNT), target)
    found = list(processes(strata, done.result).values())
    assert found.count({"parent": COUNT}) == 1
    assert found.count({"program0": COUNT}) == started
    assert len(found) == 1 + started


@pytest.mark.torch
def test_exec_keeps_the_pid_and_both_parts(strata, ittapi, target):
    """exec: one pid, two programs, each with its own tasks in the result."""
    done = strata.collect(ittapi, TARGETS / "family.py", "exec", str(COUNT), target)
    assert strata.counts(done.result) == {"parent": COUNT, "program0": COUNT}


def test_shell_chain(strata, target):
    """A wrapper script's chain: every link in the result, the shell's status kept."""
    script = f"{emit(target, COUNT, 'a')} && {emit(target, COUNT, 'b')} && ( {emit(target, COUNT, 'c')} ) && "
    script += f"{emit(target, COUNT, 'd')} | cat; exit 9"
    done = strata.collect("bash", "-c", script, ok=False)
    assert done.status == 9
    assert strata.counts(done.result) == dict.fromkeys(["a0", "b0", "c0", "d0"], COUNT)
    assert len(processes(strata, done.result)) == 4


def test_many_short_children(strata, target):
    """Dozens of children that come and go, some recording nothing."""
    script = f"for i in $(seq 40); do {emit(target, 10)}; true; /bin/true; done"
    done = strata.collect("bash", "-c", script)
    assert strata.counts(done.result) == {"t0": 400}
    assert len(processes(strata, done.result)) == 40


def test_background_children(strata, target):
    """Children that record at the same time, and outlive the shell that started them."""
    script = f"for i in 1 2 3 4; do {emit(target, 20000)} & done"
    done = strata.collect("bash", "-c", script)
    assert strata.counts(done.result) == {"t0": 80000}


def test_changed_directory_and_closed_descriptors(strata, target):
    """The rendezvous is by absolute names and needs no inherited descriptor."""
    closing = 'for n in $(seq 3 255); do eval "exec $n>&-"; done;'
    done = strata.collect("bash", "-c", f"cd / && {closing} exec {emit(target, COUNT)}")
    assert strata.counts(done.result) == {"t0": COUNT}


@pytest.mark.root
def test_child_that_drops_root(strata, target, root):
    """Root's program that becomes another user: its path to the socket is closed, the abstract one is not."""
    place = Path("/var/tmp") / f"strata-e2e-drop-{os.getpid()}"
    place.mkdir(mode=0o755)
    try:
        program = place / "itt_target"
        shutil.copy(target, program)
        drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        done = strata.collect(*drop, *emit_words(program, COUNT), cwd=place, result=strata.folder / "r")
        text = strata("report", "summary", "-r", done.result).out
        # The collector itself lies where only root may look: then the child is named, not lost silently.
        assert strata.counts(done.result) == {"t0": COUNT} or "itt_target" in text
    finally:
        shutil.rmtree(place)


def test_new_namespaces(strata, target):
    """A child in a mount or network namespace of its own still finds strata, where the kernel lets us."""
    for flag in ("--mount", "--net"):
        probe = strata.run(["unshare", flag, "true"])
        if probe.status:
            pytest.skip(f"unshare {flag} is not allowed here: {probe.err.strip()}")
        done = strata.collect("unshare", flag, *emit_words(target, COUNT))
        assert strata.counts(done.result) == {"t0": COUNT}, flag


def test_parents_are_known(strata, target):
    """result info: each process tells its parent and how it ended."""
    done = strata.collect("bash", "-c", f"{emit(target, 3)}; {emit(target, 3, 'u')}; true")
    text = strata("report", "info", "-r", done.result).out
    assert "itt_target" in text
