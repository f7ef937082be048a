# SPDX-License-Identifier: Apache-2.0
"""strata in the place of torch.profiler: the same program under both, and what its user gets from each."""

import gzip
import json
import re
from collections import Counter
from types import SimpleNamespace

import pytest
from harness import TARGETS, strict_json

pytestmark = pytest.mark.torch

PROGRAM = TARGETS / "drop_in.py"
TIMES = ("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg")
EMPTY = {"aten::empty_strided", "aten::as_strided", "aten::empty", "aten::sum", "aten::expand", "aten::zeros"}
FORMS = {"%": r"\d+\.\d\d%", "s": r"\d+\.\d\d\d(s|ms|us)"}


@pytest.fixture(scope="module")
def both(shared_strata, python, build_dir):
    folder = shared_strata.folder / "drop_in"
    folder.mkdir()
    done = shared_strata.run([python, PROGRAM, folder], env={"PYTHONPATH": str(build_dir / "python")})
    assert done.status == 0, done.err
    said = json.loads((folder / "said.json").read_text())
    return SimpleNamespace(folder=folder, torch=said["torch"], strata=said["strata"])


def without_times(table):
    """The cells that every run has the same, row by row."""
    header = table["cells"][0]
    keep = [at for at, title in enumerate(header) if title not in TIMES]
    return [[row[at] for at in keep] for row in table["cells"]]


def check_table(ours, theirs):
    """Titles, widths, lines around, units: as far as no time decides it."""
    assert ours["cells"][0] == theirs["cells"][0]
    assert ours["rules"] == theirs["rules"]
    assert ours["above"] == theirs["above"]
    assert len(ours["cells"]) == len(theirs["cells"])
    at = [ours["cells"][0].index(title) for title in TIMES]
    for row in ours["cells"][1:]:
        for place, title in zip(at, TIMES):
            assert re.fullmatch(FORMS["%" if "%" in title else "s"], row[place]), row
    for table in (ours, theirs):
        (footer,) = [line for line in table["below"] if line]
        assert re.fullmatch(r"Self CPU time total: \d+\.\d\d\d(s|ms|us)", footer)


@pytest.mark.parametrize("case", ["table", "shapes", "memory", "flops"])
def test_averages(both, case):
    """Every row in torch's order, with all that is not a time."""
    ours, theirs = both.strata[case], both.torch[case]
    assert len(theirs["facts"]) > 40
    assert ours["facts"] == theirs["facts"]
    check_table(ours["all"], theirs["all"])
    if case in ("table", "shapes"):  # in the order of the list
        assert without_times(ours["all"]) == without_times(theirs["all"])
    else:
        assert sorted(without_times(ours["all"])) == sorted(without_times(theirs["all"]))


@pytest.mark.parametrize("case", ["table", "shapes", "memory"])
def test_ten_rows(both, case):
    ours, theirs = both.strata[case]["table"], both.torch[case]["table"]
    assert len(ours["cells"]) == 11
    check_table(ours, theirs)
    assert ours["cells"][1][0] == theirs["cells"][1][0]


def test_rows_by_memory(both):
    """Sizes decide the order, and the list does among equals: the rows are torch's."""
    for name in ("table", "by_shape"):
        ours, theirs = without_times(both.strata["memory"][name]), without_times(both.torch["memory"][name])
        assert ours == theirs and "Self CPU Mem" in ours[0]


def test_sort_keys_and_words_of_tables(both):
    ours, theirs = both.strata["sorted"], both.torch["sorted"]
    assert theirs["nonsense"] == ["AttributeError"] * 2 and theirs["self_xpu_time_total"] == [None] * 2
    assert ours == theirs


def test_events(both):
    """One by one: names, nesting, shapes, types, bytes."""
    ours, theirs = both.strata["events"], both.torch["events"]
    assert len(theirs["list"]) > 100
    for mine, torchs in zip(ours["list"], theirs["list"]):
        assert mine[:-1] == torchs[:-1]
        for kind, other in zip(mine[-1], torchs[-1]):  # what an empty list would be of is not recorded
            assert kind == other or (kind, other, mine[0] in EMPTY) == ("", "ScalarList", True), (mine, torchs)
        assert len(mine[-1]) == len(torchs[-1])
    for key in ("total", "sums", "whole", "range"):
        assert ours[key] == theirs[key], key
    assert len(ours["list"]) == len(theirs["list"])


def test_attributes(both):
    """Whatever a script asks of an event, an average or their list."""
    ours, theirs = both.strata["events"], both.torch["events"]
    makers = {"append_kernel", "append_cpu_child", "set_cpu_parent"}  # what builds torch's own lists
    for key in ("event", "average"):
        missing = {name: kind for name, kind in theirs[key].items() if ours[key].get(name) != kind}
        assert set(missing) <= makers, (key, missing)
    assert set(theirs["methods"]) <= set(ours["methods"])


@pytest.mark.parametrize("depth", ["1", "5"])
def test_stacks(both, depth):
    """Grouped by as many Python functions and built-ins around each; calls themselves are in test_traced_calls.py."""
    found = {}
    for which, said in (("ours", both.strata), ("theirs", both.torch)):
        rows = Counter()
        for key, count, stack in said["stacks"][depth]:
            if not re.search(r"\.py\(\d+\): |^<|^nn\.Module: ", key):
                rows[re.sub(r"0x[0-9a-f]+", "0x", f"{key} {stack}")] += count
        found[which] = rows
    assert len(found["theirs"]) > 20
    assert found["ours"] == found["theirs"]
    assert both.strata["stacks"][f"table {depth}"]["cells"][0] == both.torch["stacks"][f"table {depth}"]["cells"][0]


def test_stacks_in_files(both):
    """export_stacks, and Python functions in the trace."""
    for which in ("strata", "torch"):
        text = (both.folder / which / "stacks.txt").read_text()
        assert any("forward" in line and "drop_in.py" in line for line in text.splitlines()), which
        trace = strict_json((both.folder / which / "stacks.json").read_bytes())
        functions = {one["name"] for one in trace["traceEvents"] if one.get("cat") == "python_function"}
        assert any(re.fullmatch(r"(.*/)?drop_in\.py\(\d+\): forward", name) for name in functions), which


def test_schedule_with_a_handler(both):
    assert [one[0] for one in both.torch["schedule"]["seen"]] == [19, 28]
    assert both.strata["schedule"] == both.torch["schedule"]
    for name in both.torch["schedule"]["files"]:
        ours, theirs = (
            Counter(
                (one["cat"], one["name"])
                for one in strict_json((both.folder / which / name).read_bytes())["traceEvents"]
                if one["ph"] == "X" and one["cat"] != "Trace"
            )
            for which in ("strata", "torch")
        )
        assert ours == theirs and sum(theirs.values()) > 300


def test_two_traces_for_the_board(both):
    assert both.strata["board"] == both.torch["board"] == [5, 5]


def keys_of(trace):
    return Counter(
        (one["ph"], one.get("cat"), *sorted(one.get("args", {})))
        for one in trace["traceEvents"]
        if one["ph"] != "M" and one.get("cat") not in ("python_function", "user_annotation")
    )


def test_files(both):
    """The trace has the same events with the same keys; words of the user's are in it."""
    ours, theirs = (
        strict_json(gzip.decompress((both.folder / which / "whole.json.gz").read_bytes()))
        for which in ("strata", "torch")
    )
    assert set(ours) == set(theirs)
    for key in ("text", "json", "record_shapes", "profile_memory", "with_stack", "schemaVersion", "displayTimeUnit"):
        assert ours[key] == theirs[key], key
    assert keys_of(ours) == keys_of(theirs)
    memory = [
        json.loads(gzip.decompress((both.folder / which / "memory.raw.json.gz").read_bytes()))
        for which in ("strata", "torch")
    ]
    assert [len(one) for one in memory[0]][:1] == [len(one) for one in memory[1]][:1]
    for which in ("strata", "torch"):
        times, sizes = json.loads((both.folder / which / "memory.json").read_text())
        assert len(times) == len(sizes) > 20
    assert (both.folder / "strata" / "memory.html").stat().st_size > 1000


def test_threads(both):
    """Those of the thread that began, and of what PyTorch does for it elsewhere; all with profile_all_threads."""
    assert "aten::cos" not in both.torch["threads"]["own"] and "<forked function>" in both.torch["threads"]["own"]
    assert both.strata["threads"] == both.torch["threads"]


def test_misuse(both):
    assert both.torch["misuse"]["no stacks"] == "AssertionError"
    assert both.strata["misuse"] == both.torch["misuse"]


def test_legacy(both):
    ours, theirs = both.strata["legacy"], both.torch["legacy"]
    for said in (ours, theirs):
        told = {text.removeprefix("strata.profile: ") for text in said.pop("told")}
        assert told == {"CUDA is not available", "The attribute `use_cuda` will be deprecated soon"}
    assert ours == theirs
