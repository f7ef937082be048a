# SPDX-License-Identifier: Apache-2.0
"""The reports of everything that is no nested task: against what a program says it did, and against SQL.

The program calls every function of a real ITT static part from eight threads and their copies in a forked child, and
keeps a journal of its calls; what a report must say is counted from the journal.
"""

import collections
import shutil
import struct

import pytest
import real_calls
from harness import TARGETS, check_report, strict_csv, strict_json, walk

RELATIONS = "unknown dependent_on sibling_of parent_of continuation_of child_of continued_by predecessor_to".split()
REPORTS = "frames regions overlapped markers counters sync relations metadata histograms heap".split()


@pytest.fixture(scope="module")
def run(shared_strata, programs, ittapi, tmp_path_factory):
    """A result, and the calls it holds: name → list of journal lines."""
    folder = tmp_path_factory.mktemp("journal")
    command = [ittapi, TARGETS / "real_part.py", programs / "real_static_part.so", folder, "call_all", "torch", "3"]
    done = shared_strata.collect(*command, options=("-knob", "ring-size=4096"))
    calls = collections.defaultdict(list)
    for lines in real_calls.journals(folder).values():
        for line in lines:
            calls[line["call"]].append(line)
    return done.result, calls


@pytest.fixture
def report(shared_strata, run):
    def ask(name, *options):
        return shared_strata.report(run[0], name, *options)

    return ask


@pytest.fixture
def ask(shared_strata, run):
    def run_sql(sql):
        done = shared_strata("query", "-r", run[0], sql, "-format", "json")
        assert done.status == 0, done.err
        rows = strict_json(done.stdout)["rows"]
        return [{key: value for key, value in row.items() if key != "children"} for row in rows]

    return run_sql


def counted(rows, key, *values):
    """Key → figures; several rows of a key (counters of two processes) are a list."""
    found = collections.defaultdict(list)
    for row in rows:
        found[row[key]].append(tuple(row[value] for value in values))
    return {key: sorted(value) for key, value in found.items()}


def tally(lines, key):
    return collections.Counter(line[key] for line in lines)


def counts(rows, key):
    return {row[key]: row["count"] for row in rows}


# Against the journal -------------------------------------------------------------------------------


def test_frames(run, report):
    calls = run[1]
    wanted = tally(calls["frame_begin_v3"] + calls["frame_submit_v3"], "domain") + tally(calls["frame_begin"], "object")
    found = report("frames")
    assert counts(found["rows"], "frame_domain") == wanted
    assert found["totals"]["count"] == wanted.total()
    for row in found["rows"]:
        assert row["wall_min_ns"] <= row["wall_median_ns"] <= row["wall_p95_ns"] <= row["wall_max_ns"]
        assert row["frame_rate_hz"] == pytest.approx(row["count"] * 1e9 / row["wall_total_ns"])
    single = report("frames", "-group-by", "frame-domain,frame")
    assert sum(len(row["children"]) for row in single["rows"]) == wanted.total()
    ids = {row["id"] for row in walk(single["rows"]) if row.get("id")}
    given = [line["id"] for line in calls["frame_begin_v3"] + calls["frame_submit_v3"] if any(line.get("id", [0]))]
    assert ids == {":".join(map(str, one)) for one in given}


def test_regions_and_overlapped(run, report):
    calls = run[1]
    assert counts(report("regions")["rows"], "region") == tally(calls["region_begin"], "name")
    # Tasks whose times the program gave do not fit between the calls around them.
    begun = calls["task_begin_overlapped"] + calls["task_begin_overlapped_ex"] + calls["task_begin_ex"]
    found = report("overlapped")
    named = {name: count for name, count in counts(found["rows"], "task_type").items() if not name.startswith("0x")}
    wanted = tally(begun, "name")
    assert {name: named.get(name) for name in wanted} == wanted
    assert found["totals"]["count"] == wanted.total() + len(calls["task_begin_fn_ex"])
    # And they are in no figure of nested tasks.
    assert report("tasks")["totals"]["count"] == len(calls["task_begin"]) + len(calls["task_begin_fn"])


def test_markers(run, report):
    calls = run[1]
    wanted = tally(calls["marker"] + calls["marker_ex"], "name")
    wanted += tally(calls["event_start"] + calls["mark"] + calls["mark_global"], "object")
    found = report("markers")
    assert tally(found["rows"], "instance") == wanted
    assert counts(report("markers", "-group-by", "marker")["rows"], "marker") == wanted
    starts = [row["start_ns"] for row in found["rows"]]
    assert starts == sorted(starts)
    scopes = tally((row for row in found["rows"] if row["kind"] == "marker"), "scope")
    names = {0: "unknown", 1: "global", 2: "process", 3: "thread", 4: "task", 5: "marker"}
    assert scopes == tally([{"scope": names[line["detail"]]} for line in calls["marker"] + calls["marker_ex"]], "scope")
    texts = collections.Counter(row["text"] for row in found["rows"] if row.get("text"))
    given = [line["text"] for line in calls["mark"] + calls["mark_global"] if line.get("text")]
    assert texts == collections.Counter(given)


def test_counters(run, report):
    calls = run[1]
    rows = report("counters")["rows"]
    samples = collections.Counter()
    for row in rows:
        samples[row["counter"]] += row["count"]
    changes = [line for name in calls if name.startswith(("counter_inc", "counter_dec")) for line in calls[name]]
    wanted = tally([line for name in calls if name.startswith("counter_set_value") for line in calls[name]], "object")
    wanted += collections.Counter(line.get("object") or line["name"] for line in changes)
    assert samples == wanted
    # Whatever is added is taken away again.
    plain = [row for row in rows if row["counter"].endswith(" plain")]
    assert plain and all(row["last"] == 0 and row["delta_sum"] == 0 and row["min"] == 0 for row in plain)
    largest = max(line["add"] for line in calls["counter_inc_delta"])
    assert max(row["max"] for row in plain) == largest + 1
    units = {row["counter"]: row.get("unit") for row in rows if row.get("unit")}
    assert units == {line["name"]: "widgets" for line in calls["bind_context_metadata_to_counter"]}


def test_values_of_every_type(run, report):
    given, found = collections.defaultdict(list), collections.defaultdict(list)
    for name in ("counter_set_value", "counter_set_value_v3", "counter_set_value_ex"):
        for line in run[1][name]:
            bits = real_calls.widened(line)
            if line["type"] in (7, 8):
                value = struct.unpack("<d", struct.pack("<Q", bits))[0]
            else:
                value = bits - (1 << 64) if line["type"] in (2, 4, 6) and bits >> 63 else bits
            given[line["object"]].append(value)
    rows = report("counters", "-group-by", "sample", "-filter", "counter=*type*")["rows"]
    for row in rows:
        found[row["counter"]].append(row["value"])
    assert len(given) >= 8 and set(found) == set(given)
    for name, values in given.items():
        assert sorted(found[name]) == pytest.approx(sorted(values), rel=1e-14), name


def test_counter_samples_run_up(run, report):
    """The value of a counter is the sum of what was added so far, in order of time."""
    for counter in report("counters", "-group-by", "counter,sample", "-filter", "counter=*plain")["rows"]:
        value, last = 0, 0
        for sample in counter["children"]:
            assert sample["start_ns"] >= last
            last = sample["start_ns"]
            value += sample["delta"]
            assert sample["value"] == value


def test_sync(run, report):
    calls = run[1]
    totals = report("sync")["totals"]
    kinds = ("sync", "fsync", "notify_sync")
    assert totals["count"] == sum(len(calls[f"{kind}_prepare"]) for kind in kinds)
    assert totals["cancelled"] == sum(len(calls[f"{kind}_cancel"]) for kind in kinds)
    assert totals["acquisitions"] == sum(len(calls[f"{kind}_acquired"]) for kind in kinds)
    assert totals["releases"] == sum(len(calls[f"{kind}_releasing"]) for kind in kinds)
    threads = report("sync", "-group-by", "thread")["rows"]
    assert sum(row["releases"] for row in threads) == totals["releases"]


def test_relations(run, report):
    calls = run[1]
    lines = [line for name in calls if name.startswith("relation_add") for line in calls[name]]
    found = report("relations", "-group-by", "relation")
    assert counts(found["rows"], "relation") == tally([{"r": RELATIONS[line["detail"]]} for line in lines], "r")
    heads = report("relations")
    assert heads["group_by"] == ["head", "relation", "tail"]
    assert heads["totals"]["count"] == len(lines)
    tails = {row["tail_id"] for row in report("relations", "-group-by", "instance")["rows"]}
    assert tails == {":".join(map(str, line["other"])) for line in lines}


def test_metadata(run, report):
    calls = run[1]
    lines = [line for name in calls if "metadata" in name and "bind" not in name for line in calls[name]]
    rows = report("metadata")["rows"]
    assert len(rows) == len(lines)
    assert tally(rows, "key") == tally(lines, "name")
    formatted = collections.Counter(row["value"] for row in rows if row["type"] == "formatted")
    given = calls["formatted_metadata_add"] + calls["formatted_metadata_add_overlapped"]
    assert formatted == tally(given, "text")
    words = [line for line in calls["metadata_add"] if line["detail"] == 5]
    arrays = [
        str([int(line["hex"][i + 2 : i + 4] + line["hex"][i : i + 2], 16) for i in range(0, len(line["hex"]), 4)])
        for line in words + [line for line in calls["metadata_add_with_scope"] if line["type"] == 5]
    ]
    found = collections.Counter(row["value"] for row in rows if row["type"] == "u16")
    assert found == collections.Counter(array.replace(" ", "") for array in arrays)


def test_heap_and_histograms(run, report):
    calls = run[1]
    totals = report("heap")["totals"]
    ends = calls["heap_allocate_end"] + calls["heap_reallocate_end"]
    assert totals["allocations"] == len(calls["heap_allocate_end"])
    assert totals["reallocations"] == len(calls["heap_reallocate_end"])
    assert totals["frees"] == len(calls["heap_free_end"])
    assert totals["alloc_bytes"] == sum(line["extra"] for line in ends)
    assert totals["delta_bytes"] == 0  # the program frees what it takes
    rows = report("histograms")["rows"]
    assert counts(rows, "histogram") == tally(calls["histogram_submit"], "object")
    assert sum(row["elements"] for row in rows) == sum(line["extra"] for line in calls["histogram_submit"])


# Ten questions, asked in SQL and as a report -------------------------------------------------------

QUESTIONS = [
    (
        ("frames",),
        "frame_domain",
        ("count", "wall_total_ns", "wall_min_ns", "wall_max_ns"),
        "SELECT frame_domain, count(*) AS count, sum(wall_ns) AS wall_total_ns, min(wall_ns) AS wall_min_ns, "
        "max(wall_ns) AS wall_max_ns FROM frames GROUP BY 1",
    ),
    (
        ("regions",),
        "region",
        ("count", "wall_total_ns"),
        "SELECT name AS region, count(*) AS count, sum(end_ns - start_ns) AS wall_total_ns FROM spans "
        "WHERE kind = 'region' GROUP BY 1",
    ),
    (
        ("overlapped",),
        "task_type",
        ("count", "wall_total_ns"),
        "SELECT name AS task_type, count(*) AS count, sum(end_ns - start_ns) AS wall_total_ns FROM spans "
        "WHERE kind IN ('overlapped', 'timed') GROUP BY 1",
    ),
    (
        ("markers", "-group-by", "marker"),
        "marker",
        ("count", "wall_total_ns"),
        "SELECT marker, count(*) AS count, sum(wall_ns) AS wall_total_ns FROM markers GROUP BY 1",
    ),
    (
        ("counters",),
        "counter",
        ("count", "min", "max", "first", "last"),
        "SELECT c.name AS counter, v.count, v.min, v.max, "
        "(SELECT value FROM counter_values WHERE counter_row = c.counter ORDER BY start_ns, row LIMIT 1) AS first, "
        "(SELECT value FROM counter_values WHERE counter_row = c.counter "
        "ORDER BY start_ns DESC, row DESC LIMIT 1) AS last "
        "FROM counters c JOIN (SELECT counter_row, count(*) AS count, min(value) AS min, max(value) AS max "
        "FROM counter_values GROUP BY 1) v ON v.counter_row = c.counter",
    ),
    (
        ("sync", "-group-by", "thread"),
        "thread",
        ("count", "wall_total_ns", "cancelled", "acquisitions", "releases", "hold_total_ns"),
        "SELECT thread, sum(kind = 'wait') AS count, sum((kind = 'wait') * wall_ns) AS wall_total_ns, "
        "sum(kind = 'wait' AND flags LIKE '%cancelled%') AS cancelled, sum(kind = 'acquired') AS acquisitions, "
        "sum(kind = 'releasing') AS releases, sum((kind = 'hold') * wall_ns) AS hold_total_ns "
        "FROM waits GROUP BY track",
    ),
    (
        ("relations", "-group-by", "relation"),
        "relation",
        ("count",),
        "SELECT relation, count(*) AS count FROM relations GROUP BY 1",
    ),
    (
        ("metadata", "-group-by", "key"),
        "key",
        ("count",),
        "SELECT name AS key, count(*) AS count FROM events WHERE kind LIKE 'metadata%' GROUP BY 1",
    ),
    (
        ("heap",),
        "heap_function",
        ("count", "allocations", "frees", "alloc_bytes"),
        "SELECT heap_function, count(*) AS count, sum(kind = 'allocate') AS allocations, sum(kind = 'free') AS frees, "
        "coalesce(sum(size_bytes), 0) AS alloc_bytes FROM heap GROUP BY 1",
    ),
    (
        ("tasks", "-group-by", "caller"),
        "caller",
        ("count", "wall_self_ns"),
        "SELECT coalesce(caller, '[unknown]') AS caller, sum(NOT copy) AS count, "
        "sum((NOT copy) * self_ns) AS wall_self_ns FROM slices GROUP BY 1",
    ),
]


@pytest.mark.parametrize("words, key, values, sql", QUESTIONS, ids=[question[0][0] for question in QUESTIONS])
def test_sql_and_reports_agree(report, ask, words, key, values, sql):
    rows = report(*words)["rows"]
    assert rows
    assert counted(ask(sql), key, *values) == counted(rows, key, *values)


# Forms ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REPORTS)
def test_every_form(shared_strata, run, name):
    """JSON holds what CSV holds, in its order; text has the same rows."""
    found = shared_strata.report(run[0], name)
    check_report(found, name)
    done = shared_strata("report", name, "-r", run[0], "-format", "csv")
    rows = strict_csv(done.stdout)
    leaves = [row for row in walk(found["rows"]) if not row["children"]]
    assert len(rows) == len(leaves) > 0
    assert list(rows[0]) == [column["key"] for column in found["columns"]]
    text = shared_strata("report", name, "-r", run[0], "-limit", "2")
    assert text.status == 0 and text.out.count("\n") > 4


def test_filters_times_limits_and_orders(run, report):
    whole = report("frames", "-sort-desc", "count")
    assert [row["count"] for row in whole["rows"]] == sorted((row["count"] for row in whole["rows"]), reverse=True)
    name = whole["rows"][0]["frame_domain"]
    (row,) = report("frames", "-filter", f"frame-domain={name}")["rows"]
    assert row["count"] == whole["rows"][0]["count"]
    cut = report("frames", "-limit", "1")
    assert [row["frame_domain"] for row in cut["rows"]][1] == "[Others]"
    assert sum(row["count"] for row in cut["rows"]) == whole["totals"]["count"]
    starts = sorted(row["start_ns"] for row in report("markers")["rows"])
    middle = starts[len(starts) // 2]
    first = report("markers", "-time-filter", f":{middle / 1e9:.9f}", "-filter", "category=marker")
    assert all(row["start_ns"] < middle for row in first["rows"]) and first["rows"]


def test_columns_are_chosen(shared_strata, run, report):
    found = report("counters", "-column", "MAX,Type")
    assert [column["key"] for column in found["columns"]] == ["counter", "type", "max"]
    done = shared_strata("report", "summary", "-r", run[0], "-column", "count")
    assert done.status == 0 and "Task Count" in done.out and "Share" not in done.out
    listed = shared_strata("report", "frames", "-r", run[0], "-column", "?")
    assert "frame_rate_hz" in listed.out
    wrong = shared_strata("report", "frames", "-r", run[0], "-column", "no such")
    assert wrong.status == 2 and "frame_rate_hz" in wrong.err


def test_lists_are_those_of_the_report(shared_strata, run):
    """What a report can be sorted by, in its own words; a report that takes no such option says so."""
    listed = shared_strata("report", "counters", "-r", run[0], "-sort-desc", "?")
    assert listed.out.split() == ["count", "Samples"]
    refusals = (("info", "-group-by"), ("info", "-filter"), ("summary", "-sort-asc"), ("summary", "-group-by"))
    for report, option in refusals:
        refused = shared_strata("report", report, "-r", run[0], option, "?")
        assert (refused.status, refused.out) == (2, "")
        assert f"report {report} does not support {option}" in refused.err


@pytest.mark.parametrize("kind", ["operators", "samples", "tasks"])
def test_filters_are_those_that_are_listed(shared_strata, tmp_path, kind):
    """A filter that is listed is taken and any other one refused, whatever the rows are."""
    result = shutil.copytree(TARGETS.parents[1] / "data" / "result_v1_5" / kind, tmp_path / kind)
    every = shared_strata("report", "-group-by=?").out.splitlines()
    # Without samples there is nothing that a filter could leave out.
    reports = {"operators", "memory", "tasks", "hotspots", "sync", "summary", "top-down", "memory-timeline"}
    for report in reports - ({"hotspots"} if kind == "tasks" else set()):
        listed = shared_strata("report", report, "-r", result, "-filter", "?")
        assert listed.status == 0, listed.err
        names = {line.split()[0] for line in listed.out.splitlines()}
        for name in (line.split()[0] for line in every):
            done = shared_strata("report", report, "-r", result, "-filter", f"{name}=*", "-format", "json")
            assert done.status == (0 if name in names else 2), (report, name, done.err)


def test_groupings_are_listed_for_the_result(shared_strata, run, target):
    def listed(*words):
        done = shared_strata("report", *words, "-group-by=?")
        assert done.status == 0, done.err
        return [line.split()[0] for line in done.out.splitlines()]

    assert listed("frames", "-r", run[0]) == ["process", "thread", "category", "frame-domain", "frame"]
    everything = listed("tasks", "-r", run[0])
    assert "caller" in everything and "python-line" not in everything
    refused = shared_strata("report", "tasks", "-r", run[0], "-group-by", "python-line")
    assert refused.status == 2 and "task-lines" in refused.err
    assert shared_strata("report", "frames", "-r", run[0], "-group-by", "task-stack").status == 2


def test_what_is_not_there_is_said(strata, target):
    result = strata.collect(target, "--threads", "1", "--pairs", "3", "--quiet").result
    for name in REPORTS:
        done = strata("report", name, "-r", result)
        assert done.status == 0 and "This result has no" in done.out and "__itt_" in done.out, (name, done.out)
        assert strata.report(result, name)["rows"] == []


def test_summary_has_a_line_of_each(shared_strata, run):
    text = shared_strata("report", "summary", "-r", run[0]).out
    for word in ("FRAMES", "OVERLAP", "WAITS", "COUNTER"):
        assert sum(line.startswith(word) for line in text.splitlines()) == 1, text
    assert len(text.splitlines()) <= 40
    # What loses nothing is not for the first look.
    quality = " ".join(shared_strata("report", "quality", "-r", run[0]).out.split())
    assert "times converted from the program's own clock" in quality
