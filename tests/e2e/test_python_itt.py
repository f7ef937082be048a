# SPDX-License-Identifier: Apache-2.0
"""ITT from Python: the package ittapi with all it offers, and scripts that import NERSC's `itt`."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from harness import TARGETS, clean_env, strict_csv
from test_task_lines import VERSIONS, interpreter
from trace_reader import Result

# ittapi ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def surface(shared_strata, ittapi):
    done = shared_strata.collect(ittapi, TARGETS / "ittapi_surface.py")
    return done.result, Result(done.result)


MARKS = {3: "PAUSE", 4: "RESUME", 5: "DETACH"}  # numbers of docs/format/trace.md


def marks(reader):
    return Counter(MARKS[mark.mark] for track in reader.tracks for mark in track.marks if mark.mark in MARKS)


def line_of(text):
    """The number of the only line of the script that holds the text."""
    lines = (TARGETS / "ittapi_surface.py").read_text().splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if text in line]
    return number


def test_tasks(surface, shared_strata):
    result, reader = surface
    expected = {
        ("ittapi", "context"): 3,
        ("own", "inner"): 3,
        ("ittapi", "decorated"): 3,
        ("own", "named decorator"): 1,
        ("ittapi", "Worker.method"): 1,
        ("ittapi", "object"): 2,
        ("ittapi", f"ittapi_surface.py:{line_of('named by this file')}"): 1,
        ("own", "parent"): 1,
        ("own", "child"): 1,
        ("own", "low level"): 1,
        ("ittapi", "between"): 1,
        ("ittapi", "not switched"): 1,
        ("ittapi", "active"): 1,
        ("ittapi", "in thread"): 1,
        ("compat", "compat task"): 5,
        ("ittapi", "last"): 1,
    }
    assert Counter((one.domain.decode(), one.name.decode()) for one in reader.slices) == expected
    assert not any(reader.loss.values()), reader.loss
    report = shared_strata.report(result, "tasks", "-group-by", "task-domain,task-type")
    told = {
        (domain["task_domain"], row["task_type"]): row["count"]
        for domain in report["rows"]
        for row in domain["children"]
    }
    assert told == expected


def test_nesting(surface):
    _, reader = surface
    parents = Counter((one.name, one.parent.name if one.parent else None) for one in reader.slices)
    assert parents[b"inner", b"context"] == parents[b"decorated", b"inner"] == 3
    assert parents[b"child", b"parent"] == 1
    assert parents[b"compat task", None] == 5


def test_ids_and_parents(surface):
    """Every task object has an id of its own; the low level and compat ones have none."""
    _, reader = surface
    ids = [event for event in reader.events if event.kind == "TASK_ID"]
    # All but the low-level one and those of compat.
    assert len(ids) == len(list(reader.slices)) - 1 - 5
    (child,) = [event for event in ids if event.slice.name == b"child"]
    objects = {event.id for event in ids if event.slice.name == b"object"}
    assert {child.other} == objects and all(event.id[0] for event in ids)
    assert all(event.other is None for event in ids if event is not child)


def test_overlapped(surface):
    _, reader = surface
    begins = [event for event in reader.events if event.kind == "OVERLAPPED_BEGIN"]
    ends = [event for event in reader.events if event.kind == "OVERLAPPED_END"]
    names = [event.name.decode() for event in begins]
    assert names == ["first", "second", "third", "low overlapped", "crossing"]
    assert {event.domain for event in begins + ends} == {b"own"}
    first, second, third, low, crossing = (event.id for event in begins)
    assert [event.id for event in ends] == [first, second, third, low, crossing]
    assert low == crossing and len({first, second, third, low}) == 4
    assert [event.other for event in begins] == [None, first, None, None, None]
    order = [event.kind for event in reader.events if event.id in (first, second) and "OVERLAPPED" in event.kind]
    assert order == ["OVERLAPPED_BEGIN"] * 2 + ["OVERLAPPED_END"] * 2


def test_events(surface):
    _, reader = surface
    counts = Counter(
        (event.kind, event.the_object().name.decode()) for event in reader.events if event.kind.startswith("USER_")
    )
    expected = {"event": 4, "Worker.fires": 1, "two": 1}
    assert counts == {(kind, name): n for name, n in expected.items() for kind in ("USER_START", "USER_END")}


def test_spans_in_queries(surface, shared_strata):
    """The pairs, as strata itself puts them together."""
    result, reader = surface
    query = "SELECT kind, domain, name, start_ns, end_ns, track, end_track, unfinished, clipped FROM spans"
    rows = strict_csv(shared_strata("query", "-r", result, query, "-format", "csv").stdout)
    counts = Counter((row["kind"], row["domain"], row["name"]) for row in rows)
    overlapped = ["first", "second", "third", "low overlapped", "crossing"]
    events = {"event": 4, "Worker.fires": 1, "two": 1}
    assert counts == {("overlapped", "own", name): 1 for name in overlapped} | {
        ("event", "", name): count for name, count in events.items()
    }
    assert all(row["unfinished"] == row["clipped"] == "0" and row["track"] == row["end_track"] for row in rows)
    assert all(int(row["end_ns"]) >= int(row["start_ns"]) for row in rows)
    begin, end = (
        {row["name"]: int(row[key]) for row in rows if row["kind"] == "overlapped"} for key in ("start_ns", "end_ns")
    )
    assert begin["first"] <= begin["second"] <= end["first"] <= end["second"] <= begin["third"]


def test_pt_regions(surface):
    """Their marks are for the processor's trace only; the regions themselves are known."""
    _, reader = surface
    (process,) = reader.processes.values()
    regions = [one.name.decode() for one in process.objects.values() if one.kind == "PT_REGION"]
    assert regions == ["pt context", "pt object", "compat region"]


def test_control(surface, shared_strata):
    result, reader = surface
    assert marks(reader) == {"PAUSE": 4, "RESUME": 4, "DETACH": 1}
    assert "unseen" not in shared_strata.counts(result)


def test_thread_names(surface, shared_strata):
    result, _ = surface
    report = shared_strata.report(result, "tasks", "-group-by", "thread")
    names = {row["thread"].rsplit(" (", 1)[0] for row in report["rows"]}
    assert names == {"worker \xfc", "the main one"}


# itt, of NERSC ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_nersc_script(strata, version):
    """It runs unmodified, and everything it says is recorded."""
    done = strata.collect(interpreter(version), TARGETS / "nersc.py")
    reader = Result(done.result)
    counts = Counter((one.domain.decode(), one.name.decode()) for one in reader.slices)
    domain = "Example.Domain.Global"
    assert counts == {(domain, "CreateTrainer"): 1, (domain, "step"): 3, (domain, "last"): 1}
    assert {one.parent.name for one in reader.slices if one.name == b"step"} == {b"CreateTrainer"}
    users = Counter(
        (event.kind, event.the_object().name.decode()) for event in reader.events if event.kind.startswith("USER_")
    )
    expected = {"iteration": 4, "cookbook": 1}
    assert users == {(kind, name): n for name, n in expected.items() for kind in ("USER_START", "USER_END")}
    (process,) = reader.processes.values()
    regions = {one.name for one in process.objects.values() if one.kind == "PT_REGION"}
    assert regions == {b"iteration", b"cookbook"}
    assert marks(reader) == {"PAUSE": 1, "RESUME": 1, "DETACH": 1}


def test_start_paused(strata):
    """As the samples are run: recording begins with itt.resume()."""
    done = strata.collect(interpreter("3.11"), TARGETS / "nersc.py", options=["-start-paused"])
    assert strata.counts(done.result) == {"CreateTrainer": 1, "step": 3, "last": 1}


AGAIN = "del sys.modules['itt']; import itt"
WAYS = {
    "import": "import itt",
    "from": "from itt import task_begin, task_end, domain_create",
    "star": "from itt import *",
    "builtin": "itt = __import__('itt')",
    "importlib": "import importlib; itt = importlib.import_module('itt')",
    "find_spec": "import importlib.util as u; s = u.find_spec('itt'); s.loader.exec_module(u.module_from_spec(s))",
    "again": f"import itt, sys; {AGAIN}; sys.meta_path.pop(); {AGAIN}",
    "thread": "import threading as t; a = t.Thread(target=__import__, args=('itt',)); a.start(); a.join(); import itt",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("version", ["3.8", "3.11", "3.13", "3.14"])
def test_ways_to_import(strata, version, way):
    done = strata.collect(interpreter(version), "-c", WAYS[way])
    assert done.status == 0


@pytest.mark.parametrize("version", ["3.8", "3.11", "3.13", "3.14"])
def test_installed_one_wins(strata, version):
    (strata.folder / "itt.py").write_text("theirs = True\n")
    script = "import itt, sys; print(itt.theirs, itt.__file__)"
    done = strata.collect(interpreter(version), "-c", script, env={"PYTHONPATH": str(strata.folder)})
    assert done.out.split() == ["True", str(strata.folder / "itt.py")]


@pytest.mark.parametrize("flag", ["-I", "-E"])
def test_not_offered_to_the_isolated(strata, flag):
    script = "import sys\ntry:\n import itt\nexcept ModuleNotFoundError as e: print(e.name, len(sys.meta_path))"
    plain = strata.run([interpreter("3.11"), flag, "-c", script])
    done = strata.collect(interpreter("3.11"), flag, "-c", script)
    assert done.out == plain.out and done.out.startswith("itt ")
    told = "a Python program run with -I or -E imported itt, which strata cannot provide there"
    assert told in " ".join(done.err.split())
    assert told in strata("query", "-r", done.result, "SELECT * FROM notes").out


def test_not_offered_when_switched_off(strata):
    script = "try:\n import itt\nexcept ModuleNotFoundError as e: print(e)"
    done = strata.collect(interpreter("3.11"), "-c", script, options=["-knob", "offer-itt=false"])
    assert done.out == "No module named 'itt'\n"


def test_wrong_calls_are_errors(strata):
    script = """if 1:
    import itt
    for call in (lambda: itt.task_begin("no domain", "x"), lambda: itt.task_begin(), lambda: itt.domain_create(None),
                 lambda: itt.task_end(3), lambda: itt.pt_region_begin("x"), lambda: itt.pause(1),
                 lambda: itt.domain_create("a\\0b")):
        try:
            call()
            print("no error")
        except (TypeError, ValueError) as e:
            print(type(e).__name__)
    """
    done = strata.collect(interpreter("3.11"), "-c", script)
    # A domain that is none is a ValueError (as is the text with a zero), all others are TypeErrors.
    assert [name[0] for name in done.out.split()] == ["V", "T", "T", "V", "T", "T", "V"]


STATE = """
import sys
events = []
if AUDIT: sys.addaudithook(lambda event, args: events.append(event))
import json, decimal, xml.dom, os
try:
    import no_such_module
except ImportError:
    pass
[id(x) for x in range(3)]
sys._getframe()
print([getattr(f, '__name__', type(f)) for f in sys.meta_path], len(sys.path_hooks), sys.path)
print(sorted(sys.modules), sorted(sys.builtin_module_names), sys.flags, sys.argv)
print(events)
import _imp
one = _imp.is_builtin
print(one("sys"), one("json"), one("itt"))
print(repr(one), one.__doc__, one.__module__, one.__name__, one.__text_signature__, one.__self__)
for args in (), ("a", "b"), (None,), ("a\\0b",):
    try:
        print(one(*args))
    except (TypeError, ValueError) as error:
        print(error)
"""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("audit", [False, True])
def test_others_notice_nothing(strata, version, audit):
    """A script that does not import itt sees the same interpreter with strata and without it."""
    script = strata.folder / "state.py"
    script.write_text(STATE.replace("AUDIT", str(audit)))
    plain = strata.run([interpreter(version), script])
    done = strata.collect(interpreter(version), script)
    assert plain.status == 0 and done.stdout == plain.stdout


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.11", "3.12"])
def test_sub_interpreters(strata, version):
    """Each one gets a module of its own, up to 3.12."""
    script = """if 1:
    import itt, _xxsubinterpreters as s
    for _ in range(2):
        one = s.create()
        s.run_string(one, "\\nimport itt; d = itt.domain_create('sub'); itt.task_begin(d, 't'); itt.task_end(d)")
        s.destroy(one)
    itt.task_begin(itt.domain_create('main'), 't')
    """
    done = strata.collect(interpreter(version), "-c", script, options=["-knob", "task-lines=true"])
    reader = Result(done.result)
    assert Counter(one.domain for one in reader.slices) == {b"sub": 2, b"main": 1}
    lines = {event.slice.domain: event.name for event in reader.events if event.kind == "TASK_LINE"}
    assert lines == {b"sub": b"<string>:2", b"main": b"<string>:7"}


def test_forked_children(strata):
    script = """if 1:
    import itt, os
    domain = itt.domain_create('family')
    for _ in range(3):
        pid = os.fork()
        if not pid:
            itt.task_begin(domain, 'child')
            itt.task_end(domain)
            os._exit(0)
        os.waitpid(pid, 0)
    itt.task_begin(domain, 'parent')
    itt.task_end(domain)
    """
    done = strata.collect(interpreter("3.11"), "-c", script)
    assert strata.counts(done.result) == {"child": 3, "parent": 1}


def test_nothing_without_strata(build_dir):
    """The library alone, with nobody to record for, offers nothing."""
    library = next(build_dir.rglob("libstrata_collector.so"))
    env = clean_env({"LD_PRELOAD": str(library)})
    command = [interpreter("3.11"), TARGETS / "nersc.py"]
    done = subprocess.run(command, env=env, capture_output=True, timeout=60)
    assert b"No module named 'itt'" in done.stderr


def test_target_is_what_people_wrote():
    """The script must not lean on us."""
    assert "strata" not in Path(TARGETS / "nersc.py").read_text().replace("knows nothing of strata", "")
