# SPDX-License-Identifier: Apache-2.0
"""Reports torch-averages and torch-events against torch's own profiler, which ran in the same process."""

import json
import re
import statistics
import sys
from collections import Counter
from types import SimpleNamespace

import pytest
from harness import TARGETS

pytestmark = pytest.mark.torch

# What each phase of the target told the profiler to record, as knobs.
PHASES = {
    "plain": {"record_shapes": "false"},
    "full": {"profile_memory": "true", "with_flops": "true"},
    "threads": {},
}
ATTRIBUTES = ("flops", "cpu_memory_usage", "self_cpu_memory_usage", "scope", "sequence_nr", "is_user_annotation")


def knobs(options):
    return [word for name, value in options.items() for word in ("-report-knob", f"{name}={value}")]


class Recorded:
    def __init__(self, strata, result, truth):
        self.strata, self.result, self.truth = strata, result, truth
        self.places = {row["key"]: row for row in strata.report(result, "torch-events")["rows"]}

    def window(self, phase):
        begin, end = self.places[f"begin {phase}"]["end_us"], self.places[f"end {phase}"]["start_us"]
        return ["-time-filter", f"{begin / 1e6:.9f}:{end / 1e6:.9f}"]

    def words(self, phase, **options):
        return [*self.window(phase), *knobs({**PHASES.get(phase, {}), **options})]

    def rows(self, report, phase, **options):
        return self.strata.report(self.result, report, *self.words(phase, **options))["rows"]

    def text(self, report, phase, **options):
        done = self.strata("report", report, "-r", self.result, *self.words(phase, **options))
        assert done.status == 0, done.err
        return done.out


@pytest.fixture(scope="module")
def package(build_dir):
    """The package of the build tree, in this process."""
    folder = str(build_dir / "python")
    sys.path.insert(0, folder)
    import strata
    import strata.events

    yield strata
    sys.path.remove(folder)


@pytest.fixture(scope="module")
def recorded(shared_strata, python):
    result, truth = shared_strata.folder / "viewed", shared_strata.folder / "viewed.json"
    done = shared_strata(
        "-collect", "operators", "-knob", "operator-stacks=true", "-quiet", "-r", result, "--",
        python, TARGETS / "torch_view.py", truth,
    )  # fmt: skip
    assert done.status == 0, done.err
    return Recorded(shared_strata, result, json.loads(truth.read_text()))


@pytest.mark.parametrize("phase", PHASES)
def test_events_are_torchs(recorded, phase):
    ours, theirs = recorded.rows("torch-events", phase), recorded.truth[phase]["events"]
    assert len(theirs) > 500
    place = {row["id"]: number for number, row in enumerate(ours)}
    assert len(place) == len(ours)
    threads = {}
    for mine, torchs in zip(ours, theirs):
        about = (mine["key"], torchs)
        assert mine["key"] == torchs["name"], about
        assert mine["input_shapes"] == str(torchs["input_shapes"]), about
        assert {name: mine[name] for name in ATTRIBUTES} == {name: torchs[name] for name in ATTRIBUTES}, about
        assert place.get(mine.get("cpu_parent")) == torchs["parent"], about
        assert (mine["fwd_thread"] != 0) == torchs["has_forward"], about
        if torchs["trace_name"]:
            assert mine.get("trace_name", mine["key"]) == torchs["trace_name"], about
        if torchs["structured_input_shapes"]:
            assert json.loads(mine["structured_input_shapes"]) == torchs["structured_input_shapes"], about
        assert threads.setdefault(torchs["thread"], mine["thread"]) == mine["thread"], about
    assert len(ours) == len(theirs)
    assert len(set(threads.values())) == len(threads) == (2 if phase == "threads" else 1)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("grouped", [False, True])
def test_averages_are_torchs(recorded, phase, grouped):
    """The rows in torch's order, and all of their figures but the times."""
    ours = recorded.rows("torch-averages", phase, group_by_input_shape=str(grouped).lower())
    theirs = recorded.truth[phase]["by_shape" if grouped else "averages"]
    named = ("key", "count", "input_shapes", "flops", "scope", "is_user_annotation")
    named += ("cpu_memory_usage", "self_cpu_memory_usage")
    assert [[row[name] for name in named] for row in ours] == [[row[name] for name in named] for row in theirs]
    for row in ours:
        assert row["cpu_time"] == pytest.approx(row["cpu_time_total"] / row["count"])


def test_memory_outside_of_operators_is_counted_each_time(recorded):
    rows = {row["key"]: row for row in recorded.rows("torch-averages", "full")}
    assert rows["[memory]"]["count"] > 3
    assert rows["[memory]"]["cpu_memory_usage"] < 0
    assert "[memory]" not in {row["key"] for row in recorded.rows("torch-averages", "plain")}


@pytest.mark.parametrize("phase", PHASES)
def test_times_are_torchs(recorded, phase):
    """Two recorders of one operator differ by what each of them takes: it is seen on short ones."""
    ours, theirs = recorded.rows("torch-events", phase), recorded.truth[phase]["events"]
    pairs = [(mine["cpu_time_total"], torchs["cpu_time_total"]) for mine, torchs in zip(ours, theirs)]
    ratios = [mine / torchs for mine, torchs in pairs if torchs > 200]
    assert len(ratios) > 5
    assert 0.9 < statistics.median(ratios) < 1.1
    ours, theirs = recorded.rows("torch-averages", phase), recorded.truth[phase]["averages"]
    sums = [sum(row["self_cpu_time_total"] for row in rows) for rows in (ours, theirs)]
    assert sums[0] == pytest.approx(sums[1], rel=0.2)


def function_names(stack):
    """Without lines, of which torch has the first of the function; without what is no frame of Python, and without
    the frames of record_function itself.
    """
    frames = [frame for frame in stack if not frame.startswith(("<built-in", "nn.Module: "))]
    marks = [at for at, frame in enumerate(frames[:2]) if re.fullmatch(r"torch/autograd/profiler.*: __enter__", frame)]
    frames = frames[marks[0] + 1 :] if marks else frames
    return [re.sub(r".*/|\(\d+\)", "", frame) for frame in frames if not frame.endswith("_wrapped_call_impl")]


def test_stacks_are_torchs(recorded):
    """Also of backward nodes, which have those of their forward operators."""
    ours, theirs = recorded.rows("torch-events", "stacks", with_stack="true"), recorded.truth["stacks"]
    assert [[row["key"], function_names(row["stack"].split("\n") if row["stack"] else [])] for row in ours] == [
        [name, function_names(stack)] for name, stack in theirs
    ]
    stacks = {row["key"]: row["stack"].split("\n") for row in ours}
    lines = (TARGETS / "torch_view.py").read_text().splitlines()
    number = lines.index("        x = torch.relu(self.norm(self.conv(x)))") + 1
    for name in ("aten::relu", "ReluBackward0"):
        assert stacks[name][0] == f"{TARGETS / 'torch_view.py'}({number}): forward", name
    assert stacks["aten::conv2d"][0].startswith("torch/nn/modules/conv.py(")
    (label,) = [name for name in stacks if name.startswith("LABEL")]
    (number,) = [at for at, line in enumerate(lines, 1) if 'record_function("LABEL' in line]
    assert stacks[label][0] == f"{TARGETS / 'torch_view.py'}({number}): forward"
    assert not any(row["stack"] for row in recorded.rows("torch-events", "stacks"))


def test_averages_by_stack(recorded):
    rows = recorded.rows("torch-averages", "stacks", group_by_stack_n=2)
    events = recorded.rows("torch-events", "stacks", with_stack="true")
    expected = Counter((row["key"], "\n".join(row["stack"].split("\n")[:2])) for row in events)
    assert {(row["key"], row["stack"]): row["count"] for row in rows} == expected
    text = recorded.text("torch-averages", "stacks", group_by_stack_n=2, row_limit=-1)
    assert text.splitlines()[1].rstrip().endswith("Source Location")
    assert len(text.splitlines()) == 5 + sum(2 + row["stack"].count("\n") for row in rows)


TABLES = [
    ("plain", {}, {}),
    ("plain", {}, {"sort_by": "self_cpu_time_total", "row_limit": 10}),
    ("plain", {}, {"row_limit": 0}),
    ("plain", {}, {"row_limit": -1, "time_unit": "ms"}),
    ("plain", {}, {"sort_by": "cpu_time", "row_limit": 5, "time_unit": "s", "header": "The header"}),
    ("plain", {}, {"sort_by": "count", "row_limit": 20, "time_unit": "us", "top_level_events_only": True}),
    ("plain", {}, {"sort_by": "self_cuda_time_total", "max_name_column_width": 20}),
    ("plain", {}, {"sort_by": "self_xpu_time_total", "max_name_column_width": None}),
    ("plain", {"group_by_input_shape": True}, {"sort_by": "cpu_time_total"}),
    ("full", {"group_by_input_shape": True}, {"sort_by": "self_cpu_memory_usage", "row_limit": 30}),
    ("full", {"group_by_input_shape": True}, {"sort_by": "flops", "max_shapes_column_width": 30}),
    ("full", {"group_by_input_shape": True}, {"sort_by": "privateuse1_memory_usage", "max_shapes_column_width": None}),
    ("full", {}, {"sort_by": "cpu_memory_usage", "row_limit": 15, "header": "", "top_level_events_only": True}),
    ("full", {}, {"sort_by": "key", "row_limit": 1000}),
    ("stacks", {"group_by_stack_n": 5}, {"sort_by": "cpu_time_total", "row_limit": 20}),
    ("stacks", {"group_by_stack_n": 1, "group_by_input_shape": True}, {"max_src_column_width": 30}),
    ("stacks", {"group_by_stack_n": 3, "with_flops": True}, {"max_src_column_width": None}),
]


def test_text_is_torchs_to_the_byte(recorded, python):
    """torch's own code lays out our rows: the text must be ours."""
    cases, texts = [], []
    for phase, grouping, table in TABLES:
        options = {name: "none" if value is None else str(value) for name, value in {**grouping, **table}.items()}
        texts.append(recorded.text("torch-averages", phase, **options))
        rows = recorded.rows("torch-averages", phase, **{name: str(value) for name, value in grouping.items()})
        profile = {"profile_memory": phase == "full", "with_flops": phase == "full" or "with_flops" in grouping}
        cases.append({"rows": rows, "profile": profile, "table": table})
    asked = recorded.strata.folder / "tables.json"
    asked.write_text(json.dumps(cases))
    done = recorded.strata.run([python, TARGETS / "torch_tables.py", asked])
    assert done.status == 0, done.err
    for case, mine, torchs in zip(TABLES, texts, json.loads(done.out)):
        assert mine == torchs, case
    assert "LABEL: a name that is too long for the column that t...  " in texts[0]


def test_header_and_columns_of_a_profile(recorded):
    """The same lines around the rows as in the program's own table."""
    ours = recorded.text("torch-averages", "full", sort_by="self_cpu_time_total", row_limit=10).splitlines()
    theirs = recorded.truth["full"]["table"].splitlines()
    assert len(ours) == len(theirs)
    at = [0, 1, 2, -2]
    assert [ours[line] for line in at] == [theirs[line] for line in at]


def test_empty_window_says_so(recorded):
    done = recorded.strata("report", "torch-averages", "-r", recorded.result, "-time-filter", "0:0.000001")
    assert (done.status, done.out.strip()) == (0, "No operators match.")


def test_limit_cuts_rows_in_every_form(recorded):
    words = [*recorded.window("plain"), "-limit", "3"]
    assert len(recorded.strata.report(recorded.result, "torch-averages", *words)["rows"]) == 3
    assert len(recorded.strata("report", "torch-averages", "-r", recorded.result, *words).out.splitlines()) == 8


def test_wrong_knobs_are_refused(recorded):
    for knob, word in (
        ("sort_by=nonsense", "nonsense"),
        ("time_unit=h", "s, ms or us"),
        ("row_limit=x", "row-limit"),
        ("profile_memory=2", "true or false"),
        ("max_name_column_width=0", "max-name-column-width"),
    ):
        done = recorded.strata("report", "torch-averages", "-r", recorded.result, "-report-knob", knob)
        assert done.status == 2 and word in done.err, (knob, done.err)
    done = recorded.strata("report", "operators", "-r", recorded.result, "-report-knob", "sort_by=count")
    assert done.status == 2 and "torch" in done.err, done.err


def test_filter_by_thread(recorded):
    tids = {row["thread"] for row in recorded.rows("torch-events", "threads")}
    counts = []
    for tid in tids:
        rows = recorded.strata.report(
            recorded.result, "torch-averages", *recorded.words("threads"), "-filter", f"thread={tid}"
        )["rows"]
        counts.append(sum(row["count"] for row in rows))
    assert len(counts) == 2 and sum(counts) == len(recorded.truth["threads"]["events"])


@pytest.fixture(scope="module")
def lists(package, recorded):
    """An EventList for each phase."""
    with package.open(recorded.result) as result:
        made = {}
        for phase, knob in PHASES.items():
            begin, end = recorded.places[f"begin {phase}"]["end_us"], recorded.places[f"end {phase}"]["start_us"]
            options = {"record_shapes": knob.get("record_shapes") != "false"}
            options.update({name: name in knob for name in ("profile_memory", "with_flops")})
            made[phase] = package.events.EventList.of(
                result, round(begin * 1000), round(end * 1000), SimpleNamespace(**options)
            )
        yield made


def test_stacks_of_objects(package, recorded):
    window = [recorded.places[name] for name in ("begin stacks", "end stacks")]
    times = [round(window[0]["end_us"] * 1000), round(window[1]["start_us"] * 1000)]
    with package.open(recorded.result) as result:
        events = package.events.EventList.of(result, *times, {"with_stack": True})
        assert [[evt.name, function_names(evt.stack)] for evt in events] == [
            [name, function_names(stack)] for name, stack in recorded.truth["stacks"]
        ]
        averages = events.key_averages(group_by_stack_n=5)
        assert max(len(avg.stack) for avg in averages) == 5
        assert averages.table() == recorded.text("torch-averages", "stacks", group_by_stack_n=5, record_shapes="false")
        plain = package.events.EventList.of(result, *times, {})
        assert not any(evt.stack for evt in plain)
        assert "Source Location" not in plain.key_averages(group_by_stack_n=5).table()


@pytest.mark.parametrize("phase", PHASES)
def test_objects_are_torchs(lists, recorded, phase):
    events, theirs = lists[phase], recorded.truth[phase]["events"]
    assert isinstance(events, list) and len(events) == len(theirs)
    place = {id(event): number for number, event in enumerate(events)}
    for mine, torchs in zip(events, theirs):
        for name in ("name", "trace_name", "input_shapes", "is_async", *ATTRIBUTES):
            assert getattr(mine, name) == torchs[name], (name, mine)
        assert place.get(id(mine.cpu_parent)) == torchs["parent"], mine
        assert mine.cpu_parent is None or any(mine is child for child in mine.cpu_parent.cpu_children)
        children_us = sum(child.cpu_time_total for child in mine.cpu_children)
        assert mine.self_cpu_time_total == pytest.approx(mine.time_range.elapsed_us() - children_us, abs=0.01)
        assert mine.key == mine.name and mine.count == 1 and str(mine.id) in repr(mine)
    total, expected = events.total_average(), recorded.truth[phase]["total"]
    for name in ("key", "count", "flops", "cpu_memory_usage", "self_cpu_memory_usage"):
        assert getattr(total, name) == expected[name], name
    assert events.self_cpu_time_total == pytest.approx(sum(event.self_cpu_time_total for event in events))


def test_averages_as_objects(lists, recorded):
    averages = lists["full"].key_averages(group_by_input_shapes=True)
    assert [(avg.key, avg.count, str(avg.input_shapes)) for avg in averages] == [
        (row["key"], row["count"], row["input_shapes"]) for row in recorded.truth["full"]["by_shape"]
    ]
    first = averages[0]
    assert first.cpu_time == first.cpu_time_total / first.count
    assert first.cpu_time_str.endswith("s") and first.cpu_parent is None and first.cpu_children
    with pytest.warns(FutureWarning, match="cuda_time_total"):
        assert first.cuda_time_total == 0
    with pytest.raises(AssertionError):
        averages.key_averages()
    added = type(first)()
    added += averages[1]
    assert (added.key, added.count, added.flops) == (averages[1].key, averages[1].count, averages[1].flops)


def test_tables_of_lists(lists, recorded):
    """The same text as the command's, and none of the events made for it."""
    made = lists["full"].key_averages()
    options = {"row_limit": 7, "header": "H", "time_unit": "ms"}
    mine = made.table(sort_by="self_cuda_time_total", max_name_column_width=None, **options)
    options.update(sort_by="self_device_time_total", max_name_column_width="none")
    assert mine == recorded.text("torch-averages", "full", **options)
    assert str(made) == recorded.text("torch-averages", "full") and made._waiting
    assert lists["full"].table(row_limit=5) == recorded.text("torch-events", "full", row_limit=5)
    with pytest.raises(AttributeError, match="nonsense"):
        made.table(sort_by="nonsense")


def test_changed_lists(package, lists):
    """A list that was sorted or cut has the table of what is left."""
    averages = lists["full"].key_averages()
    averages.sort(key=lambda average: average.count)
    del averages[:-3]
    text = averages.table()
    assert len(text.splitlines()) == 8
    assert [row.strip().split()[0] for row in text.splitlines()[3:6]] == [avg.key.split()[0] for avg in averages]
    averages.append(package.events.FunctionEventAvg())
    with pytest.raises(TypeError, match="another profile"):
        averages.table()
    assert package.events.EventList().table() == ""
    with pytest.raises(TypeError, match="no profile"):
        package.events.EventList([1]).table()


def test_frames_of_lists(lists, recorded):
    pandas = pytest.importorskip("pandas")
    frame = lists["full"].key_averages().to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert dict(zip(frame["key"], frame["count"])) == {
        row["key"]: row["count"] for row in recorded.truth["full"]["averages"]
    }
    rows = lists["plain"].to_dicts()
    assert len(rows) == len(recorded.truth["plain"]["events"])
    assert rows[0]["cpu_parent"] is None and rows[0]["start_us"] >= 0
