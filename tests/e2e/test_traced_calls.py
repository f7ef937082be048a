# SPDX-License-Identifier: Apache-2.0
"""Calls of Python functions and built-ins in a profile with_stack=True: the same program under torch.profiler and under
strata, in a process each. Left out is what either profiler does itself: calls of its own files, and what these call.
"""

import json
import re
from collections import Counter
from decimal import Decimal
from types import SimpleNamespace

import pytest
from harness import TARGETS, strict_json
from pythons import VERSIONS, interpreter

PROGRAM = TARGETS / "traced_calls.py"
OWN = re.compile(r"^(torch/profiler/profiler|strata/\w+)\.py\(\d+\): ")
TITLES = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]


def masked(name):
    return re.sub(r"0x[0-9a-f]+", "0x", name)


def theirs_only(events):
    """The program's own events, with the name of what each lies in, and of the call it was made in."""
    left_out, kept = set(), []
    names = {one["id"]: masked(one["name"]) for one in events if one["id"] >= 0}
    for at, one in enumerate(events):
        if OWN.match(one["name"]) or one["parent"] in left_out:
            left_out.add(at)
            continue
        up = None if one["parent"] is None else masked(events[one["parent"]]["name"])
        kept.append({**one, "name": masked(one["name"]), "parent": up, "stack": [masked(x) for x in one["stack"]]})
        kept[-1]["above"] = names.get(one["above"])
    return kept


@pytest.fixture(scope="module")
def both(shared_strata, python, build_dir):
    found = {}
    for which, module in (("torch", "torch.profiler"), ("strata", "strata")):
        folder = shared_strata.folder / f"traced_{which}"
        folder.mkdir()
        environment = {"PYTHONPATH": str(build_dir / "python")}
        done = shared_strata.run([python, PROGRAM, module, folder], env=environment)
        assert done.status == 0, done.err
        found[which] = json.loads((folder / "said.json").read_text())
        text = (folder / "trace.json").read_text()
        strict_json(text)
        found[which]["trace"] = json.loads(text, parse_float=Decimal)  # times are longer than floats are exact
    return SimpleNamespace(**found)


def thread_of(events):
    """The one that began the profile."""
    return next(one["thread"] for one in events if one["name"].endswith(": <module>"))


def main_thread(events):
    return [one for one in theirs_only(events) if one["thread"] == thread_of(events)]


@pytest.mark.torch
def test_events(both):
    """One by one and in order: names, what lies in what, by time and by call, stacks, scopes."""
    ours, theirs = main_thread(both.strata["events"]), main_thread(both.torch["events"])
    keys = ("name", "python", "parent", "scope", "user", "stack", "above", "module", "kind")
    assert [[one[key] for key in keys] for one in ours] == [[one[key] for key in keys] for one in theirs]
    assert len(ours) > 200
    names = {one["name"] for one in ours}
    assert {"nn.Module: Block_0", "nn.Module: Linear_1", "<built-in function sorted>", "aten::addmm"} <= names
    assert any(re.fullmatch(r"traced_calls\.py\(\d+\): fails", name) for name in names)


@pytest.mark.torch
def test_other_threads(both):
    """Python of threads that were there when the profile began; their operators are not of this profile."""
    found = []
    for said in (both.strata, both.torch):
        first = thread_of(said["events"])
        found.append(Counter(one["name"] for one in theirs_only(said["events"]) if one["thread"] != first))
    assert found[0] == found[1]
    assert any("elsewhere" in name for name in found[0]) and not any("aten" in name for name in found[0])


def own_names(said):
    """Names that a profiler's own work has a part in: their counts are not the program's."""
    left_out, names = set(), set()
    for at, one in enumerate(said["events"]):
        if OWN.match(one["name"]) or one["parent"] in left_out:
            left_out.add(at)
            names.add(masked(one["name"]))
    return names


@pytest.mark.torch
@pytest.mark.parametrize("key", ["averages", "by 1", "by 5", "shapes"])
def test_averages(both, key):
    own = own_names(both.strata) | own_names(both.torch)
    ours, theirs = (
        [json.loads(masked(json.dumps(row))) for row in said[key] if masked(row[0]) not in own]
        for said in (both.strata, both.torch)
    )
    assert len(ours) > 100
    if key == "averages":  # in the order of the list; threads begin as they like
        main = [
            [row for row in rows if row[0] in {one["name"] for one in main_thread(said["events"])}]
            for rows, said in ((ours, both.strata), (theirs, both.torch))
        ]
        assert main[0] == main[1]
    assert Counter(map(json.dumps, ours)) == Counter(map(json.dumps, theirs))


@pytest.mark.torch
def test_times(both):
    """Self is what no child has; the whole is that of the outermost."""
    events = both.strata["events"]
    inside = [0.0] * len(events)
    for one in events:
        if one["parent"] is not None:
            inside[one["parent"]] += one["total"]
    for one, children in zip(events, inside):
        assert abs(one["total"] - one["self"] - children) < 0.01, one
    outermost = [one for one in events if one["parent"] is None and one["thread"] == thread_of(events)]
    assert [masked(one["name"]).split("): ")[1] for one in outermost] == ["<module>"]
    footer = re.search(r"Self CPU time total: (\S+)ms", both.strata["table"])
    assert abs(float(footer[1]) * 1000 - sum(one["self"] for one in events)) < 1


@pytest.mark.torch
def test_tables(both):
    for key in ("table", "table 1", "table 5", "plain"):
        ours, theirs = (re.split(r"\s{2,}", said[key].splitlines()[1].strip()) for said in (both.strata, both.torch))
        assert ours == theirs and ours[:6] == TITLES, key
    assert "Source Location" in both.strata["table 5"]
    # Which of them began first is not the same in every run.
    assert any("traced_calls.py" in line for line in both.strata["plain"].splitlines()[3:9])


@pytest.mark.torch
def test_memory(both):
    """Bytes belong to the innermost call, too."""
    found = []
    for said in (both.strata, both.torch):
        rows = Counter()
        for one in main_thread(said["memory"]):
            rows[one["name"]] += one["memory"]
        found.append(rows)
    assert found[0] == found[1]
    assert any(bytes_ and name.endswith(": tensors") for name, bytes_ in found[0].items())


def nested(trace, strict):
    """Names of a thread's slices in order, with the one around each; strict: nothing may overlap."""
    kinds = {"python_function", "cpu_op", "user_annotation"}
    threads = {}
    for one in trace["traceEvents"]:
        if one.get("cat") in kinds and one["ph"] == "X":
            begin, end = int(one["ts"] * 1000), int((one["ts"] + one["dur"]) * 1000)
            threads.setdefault(one["tid"], []).append((begin, -end, len(threads), one))
    found = {}
    for tid, slices in threads.items():
        slices.sort(key=lambda one: one[:2])
        above, rows = [], []
        for begin, end, _, one in slices:
            while above and (begin >= -above[-1][0] or (not strict and -end > -above[-1][0])):
                above.pop()
            assert not above or -end <= -above[-1][0], (one, above[-1])
            rows.append((masked(one["name"]), masked(above[-1][1]["name"]) if above else None, one["args"], above[:]))
            above.append((end, one))
        found[tid] = rows
    return found


def of_program(rows):
    return [
        (name, up)
        for name, up, _, above in rows
        if not OWN.match(name) and not any(OWN.match(one["name"]) for _, one in above)
    ]


@pytest.mark.torch
def test_trace(both):
    """Read back strictly: slices nest, and are those of torch's trace, each in what torch has around it."""
    ours, theirs = nested(both.strata["trace"], True), nested(both.torch["trace"], False)
    first = [max(found.values(), key=len) for found in (ours, theirs)]
    assert of_program(first[0]) == of_program(first[1])
    assert Counter(len(rows) > 0 for rows in ours.values()) == Counter(len(rows) > 0 for rows in theirs.values())
    functions = [one for one in both.strata["trace"]["traceEvents"] if one.get("cat") == "python_function"]
    ids = {one["args"]["Python id"]: one for one in functions}
    assert len(ids) == len(functions)
    for one in functions:
        up = ids.get(one["args"]["Python parent id"])
        assert up is None or up["ts"] <= one["ts"], one
    modules = {one["name"]: one["args"]["Python module id"] for one in functions if "nn.Module" in one["name"]}
    assert modules == {"nn.Module: Block_0": 0, "nn.Module: Linear_0": 0, "nn.Module: Linear_1": 1}
    # As many as the table has, with the recursion that it folds.
    raw = Counter(masked(one["name"]) for one in functions)
    table = Counter(masked(one["name"]) for one in both.strata["events"] if one["python"])
    assert set(raw) == set(table)
    more = {name.split(": ")[1]: count - table[name] for name, count in raw.items() if count != table[name]}
    assert more == {"factorial": 4, "fails": 3}


WITHOUT_TORCH = TARGETS / "traced_python.py"


@pytest.mark.parametrize("version", VERSIONS)
def test_versions(shared_strata, build_dir, version):
    """Every CPython: what its own sys.setprofile is told is what is recorded; a program's own tools go on working."""
    environment = {"PYTHONPATH": str(build_dir / "python")}
    done = shared_strata.run([interpreter(version), WITHOUT_TORCH], env=environment)
    assert done.status == 0, done.err
    said = json.loads(done.stdout)
    assert len(said["told"]) > 30
    assert said["recorded"] == said["told"]
    assert said["grown"] < 50
    assert said["left"] == [None, None]
    assert said["profiled"]["stats"] == said["profiled"]["alone"]
    assert said["profiled"]["own"] == said["told"]
    assert said["refused"] == (said["minor"] < 12)
    assert said["kept"]


def test_in_a_collection(strata, python, build_dir):
    """Under `strata -collect` the profile is a part of that result, of which no other report counts the calls."""
    environment = {"PYTHONPATH": str(build_dir / "python")}
    words = ("-collect", "tasks", "-q", "-r", "r", "--", python, "-c", NESTED, WITHOUT_TORCH)
    done = strata(*words, env=environment)
    assert done.status == 0, done.err
    said = json.loads(done.stdout.splitlines()[0])
    assert said == {"outer": 3, "inner": 1, "child": 1, "left": None}
    rows = strata("report", "tasks", "-r", "r", "-format", "json")
    assert [row["task_type"] for row in json.loads(rows.stdout)["rows"]] == ["mark"]


NESTED = """
import json, os, runpy, sys, warnings
warnings.simplefilter("ignore")
import strata
from strata import itt

work = runpy.run_path(sys.argv[1])["work"]

def count(prof):
    return sum(one.count for one in prof.key_averages() if one.key.endswith(": work"))

with strata.profile(with_stack=True) as outer:
    work()
    child = os.fork()
    if not child:
        left = sys.getprofile()
        with strata.profile(with_stack=True) as own:
            work()
        os._exit(0 if left is None and count(own) == 1 else 1)
    status = os.waitpid(child, 0)[1]
    with strata.profile(with_stack=True) as inner, itt.task("mark"):
        work()
    work()
print(json.dumps({"outer": count(outer), "inner": count(inner), "child": int(not status), "left": sys.getprofile()}))
"""


LOSSES = TARGETS / "traced_losses.py"


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_missing_is_said(shared_strata, build_dir, version):
    """In the profile that it is missing in, with its number, once; a profile that has everything says nothing."""
    environment = {"PYTHONPATH": str(build_dir / "python")}
    done = shared_strata.run([interpreter(version), LOSSES], env=environment)
    assert done.status == 0, done.err
    said = json.loads(done.stdout)
    has_profile_function = said["minor"] < 12
    for case, count in (("function", 0), ("profiler", 1100), ("thread", 1100)):
        notes = said[case]["said"]
        assert len(notes) == has_profile_function, (case, notes)
        assert all("its own profile function 1 time:" in note for note in notes), (case, notes)
        # From 3.12 on ours goes on beside it.
        assert said[case]["leaf"] == count + (0 if has_profile_function else 10), case
    for case in ("later", "elsewhere", "interrupted", "last"):
        assert (said[case]["said"], said[case]["leaf"]) == ([], 3), case
    assert said["interrupted"]["raised"] >= 3
    assert (said["interrupted"]["traced"], said["interrupted"]["on"]) == (0, 0)
    assert said["renamed"] == []


def number_before(words, notes):
    (note,) = notes
    return int(re.search(rf"([\d,]+) {re.escape(words)}", note)[1].replace(",", ""))


def test_limits_are_said(shared_strata, python, build_dir):
    """Too deep, and more functions than there is room for names of."""
    done = shared_strata.run([python, LOSSES, "many"], env={"PYTHONPATH": str(build_dir / "python")})
    assert done.status == 0, done.err
    said = json.loads(done.stdout)
    assert said["callers"]["leaf"] == 3
    assert 800 - 512 < number_before("tasks dropped", said["callers"]["said"]) < 800 - 512 + 30
    assert 20000 - (16 << 10) < number_before("tasks dropped", said["deep"]["said"]) < 20100 - (16 << 10) + 100
    assert "schedule=" in said["deep"]["said"][0]
    assert (said["known"]["own"], said["known"]["said"]) == (72000, [])
    without = said["unknown"]["all"] - said["unknown"]["own"]
    assert said["unknown"]["all"] == 72000 and without > 5000
    assert without <= number_before("tasks known only by family", said["unknown"]["said"]) < without + 100
    assert "new process" in said["unknown"]["said"][0]
