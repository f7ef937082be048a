# SPDX-License-Identifier: Apache-2.0
"""Calls of nn.Module: each is a slice, with the right path, and PyTorch does not notice."""

import json
from collections import Counter

import pytest
from harness import TARGETS
from pythons import VERSIONS, interpreter


def module_calls(strata, result):
    """Thread name -> [[depth among modules, path], …] in order of begin."""
    done = strata(
        "query", "-r", result, "-format", "json",
        "SELECT row, parent, task_domain, task_type, thread, unfinished, mismatched FROM slices ORDER BY row",
    )  # fmt: skip
    assert done.status == 0, done.err
    depths, calls = {None: 0}, {}
    for row in json.loads(done.stdout)["rows"]:
        is_module = row["task_domain"] == "torch.module"
        depth = depths[row["parent"]]
        depths[row["row"]] = depth + is_module
        if is_module:
            assert not row["unfinished"] and not row["mismatched"], row
            calls.setdefault(row["thread"], []).append([depth, row["task_type"]])
    return calls


def collect(strata, *program, options=(), **more):
    result = strata.folder / f"result{len(strata.history)}"
    done = strata("-collect", "operators", "-r", result, *options, "--", *program, **more)
    assert done.status == 0, done.err
    return done, result


@pytest.mark.torch
def test_every_call_has_its_path(strata, python):
    """In order, nested as they were, on their threads: against a run with hooks of torch itself."""
    hooked = json.loads(strata.run([python, TARGETS / "module_calls.py", "hooks"]).stdout)
    done, result = collect(strata, python, TARGETS / "module_calls.py")
    told = json.loads(done.stdout)
    assert told["told"] == hooked["told"], "the program computes something else"
    assert told["public"] == hooked["public"] and told["call"] == hooked["call"]
    found = module_calls(strata, result)
    assert sorted(found.values()) == sorted(hooked["calls"].values())


@pytest.mark.torch
def test_late_parts_have_their_path(strata, python):
    """Whose call it is that a part is called in does not follow from what is open."""
    _, result = collect(strata, python, TARGETS / "late_modules.py")
    done = strata(
        "query", "-r", result, "-format", "json",
        "SELECT task_type, count(*) AS n FROM slices WHERE task_domain = 'torch.module' GROUP BY task_type",
    )  # fmt: skip
    counts = {row["task_type"]: row["n"] for row in json.loads(done.stdout)["rows"]}
    assert counts["EndsRange.late"] == 3 and counts["Below.late"] >= 3 and counts["Forks.late"] == 2, counts
    assert set(counts) == {"EndsRange", "EndsRange.late", "Deep", "Below", "Below.late", "Forks", "Forks.late"}


@pytest.mark.torch
def test_compilers_do_not_notice(strata, python):
    """Graphs, breaks and traces are the same with and without us, and so is what is computed."""
    alone = strata.run([python, TARGETS / "module_compile.py"])
    done, result = collect(strata, python, TARGETS / "module_compile.py")
    assert json.loads(done.stdout) == json.loads(alone.stdout)
    calls = [call for thread in module_calls(strata, result).values() for call in thread]
    assert sum(path == "OptimizedModule" for _, path in calls) == 6
    # At the end, in a class whose calls were reset by the symbolic trace in between.
    assert [0, "Net"] in calls and [1, "Net.rest"] in calls and [2, "Net.rest.1"] in calls


@pytest.fixture
def package(strata):
    """A folder with as much of PyTorch as there is without it."""
    folder = strata.folder / "package"
    (folder / "torch/nn/modules").mkdir(parents=True)
    for part in ("torch", "torch/nn", "torch/nn/modules"):
        (folder / part / "__init__.py").touch()
    (folder / "torch/nn/modules/module.py").write_bytes((TARGETS / "plain_module.py").read_bytes())
    return folder


@pytest.mark.parametrize("version", VERSIONS)
def test_every_cpython(strata, package, version):
    """The slot is where it is thought to be, and late classes are seen."""
    done, result = collect(strata, interpreter(version), TARGETS / "plain_modules.py", package)
    (calls,) = module_calls(strata, result).values()
    inner = ["one", "one", "two", "two"]
    expected = 10 * ([[0, "Late"]] + [[1, f"Late.{name}"] for name in inner])
    expected += [[0, "Fails"]] + 300 * [[0, "Early"]]
    expected += [[0, "Later"]] + [[1, f"Later.{name}"] for name in inner]
    assert calls == expected, Counter(map(tuple, calls))
    assert not done.out


def test_forks_and_ends(strata, package):
    """A child goes on inside a call that its parent began; modules are called by destructors and by a thread that the
    interpreter stops in the middle."""
    program = [interpreter("3.11"), TARGETS / "module_end.py", package]
    alone = strata.run(program)
    done, result = collect(strata, *program)
    assert (done.out, alone.status) == (alone.out, 0)
    rows = json.loads(
        strata(
            "query", "-r", result, "-format", "json",
            "SELECT process_id, task_type, count(*) AS n, sum(unfinished) AS open FROM slices"
            " WHERE task_type NOT LIKE 'Endless%' GROUP BY process_id, task_type ORDER BY process_id",
        ).stdout
    )["rows"]  # fmt: skip
    parent, *_, child = [row["process_id"] for row in rows]
    counts = {(row["process_id"], row["task_type"]): row["n"] for row in rows}
    gone = done.out.split().count("gone")
    assert counts.pop((parent, "Last")) + counts.pop((child, "Last")) == gone + 2, "two more by atexit"
    assert counts == {(parent, "Forks"): 1, (parent, "Forks.part"): 1, (child, "Forks.part"): 1}
    assert not any(row["open"] for row in rows)


def test_modules_can_be_left_out(strata, package):
    _, result = collect(
        strata, interpreter("3.11"), TARGETS / "plain_modules.py", package, options=("-knob", "operator-modules=false")
    )
    assert not module_calls(strata, result)
