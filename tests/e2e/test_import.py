# SPDX-License-Identifier: Apache-2.0
"""Results made of what perf recorded. The truth is perf's own text, added up here, for every way of recording."""

import re
import shutil
from collections import Counter

import pytest
from harness import strict_json
from trace_reader import Result

FRAME = re.compile(r"\s+[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \((.*)\)$")
HEAD = re.compile(r"\s*(\S.*?)\s+(\d+)/(\d+)\s+(\d+)\.(\d+):\s+(\d+)\s+(\S+?):+\s")
WAYS = {
    "frame pointers": ["-e", "cpu-clock", "--call-graph", "fp"],
    "copied stacks": ["-e", "task-clock", "--call-graph", "dwarf,8192"],
    "no stacks": ["-e", "cpu-clock"],
    "compressed": ["-e", "cpu-clock", "--call-graph", "fp", "-z"],
    "two events": ["-e", "page-faults,task-clock", "--call-graph", "fp"],
    "user only": ["-e", "task-clock:u", "--call-graph", "fp"],
}


@pytest.fixture(scope="module")
def perf():
    path = shutil.which("perf")
    if not path:
        pytest.fail("no perf: install linux-perf")
    return path


def record(strata, perf, programs, *options, seconds="0.3"):
    data = strata.folder / "perf.data"
    program = [programs / "hot_parts", seconds, "threads"]
    done = strata.run([perf, "record", "-q", "-F", "997", "-o", data, *options, *program])
    assert done.status == 0, done.err
    return data


def script(strata, perf, data):
    """What perf makes of it: text, and (tid, ns, weight, frames innermost first) of each sample."""
    fields = "comm,pid,tid,time,period,event,ip,sym,symoff,dso"
    done = strata.run([perf, "script", "-i", data, "-F", fields, "--ns", "--no-inline"])
    assert done.status == 0, done.err
    samples = []
    for line in done.out.splitlines():
        head, frame = HEAD.match(line), FRAME.match(line)
        if head:
            _, _, tid, whole, part, period, event = head.groups()
            samples.append((int(tid), int(whole) * 10**9 + int(part), int(period), event, []))
            frame = FRAME.match(line[head.end() :])
        if frame:
            samples[-1][4].append(frame.group(1))
    return done.stdout, samples


def load(strata, path, *more):
    result = strata.folder / f"imported{len(strata.history)}"
    done = strata("import", path, "-r", result, *more)
    assert done.status == 0, done.err
    return result, done


def query(strata, result, sql):
    done = strata("query", result, sql, "-format", "json")
    assert done.status == 0, done.err
    return [tuple(value for key, value in row.items() if key != "children") for row in strict_json(done.stdout)["rows"]]


def self_times(strata, result):
    """By function, as the linker knows them: what is inlined counts for the one around it."""
    rows = query(
        strata,
        result,
        """SELECT f.name, sum(s.weight_ns) AS weight, count(*) AS count FROM samples s
           JOIN stack_frames fr ON fr.node = s.node AND NOT fr.inlined
           JOIN functions f USING (function) WHERE s.state = 'running' GROUP BY 1""",
    )
    return {name: (weight, count) for name, weight, count in rows}


def inside(strata, result, name):
    """Samples with the function anywhere in their stacks."""
    rows = query(
        strata,
        result,
        f"""WITH RECURSIVE up(sample, frame) AS (
                SELECT sample, frame FROM samples JOIN stack_nodes USING (node)
                UNION SELECT sample, f.parent FROM up JOIN stack_frames f USING (frame) WHERE f.parent)
            SELECT count(DISTINCT sample) AS count FROM up JOIN stack_frames USING (frame)
            JOIN functions f USING (function) WHERE f.name = '{name}'""",
    )
    return rows[0][0]


@pytest.mark.parametrize("way", WAYS)
def test_same_as_perf(strata, perf, programs, way):
    data = record(strata, perf, programs, *WAYS[way])
    _, samples = script(strata, perf, data)
    samples = [one for one in samples if "clock" in one[3]]
    assert len(samples) > 200
    result, done = load(strata, data)
    read = Result(result)
    # The same samples, one by one, in the files.
    found = sorted((one.track.tid, one.ticks, one.weight_ns) for one in read.samples)
    assert found == sorted(one[:3] for one in samples)
    assert all(process.sampler["rung"] == 7 for process in read.processes.values())
    # The same functions, by the names that our own reader of symbols gives.
    want_weight, want_count = Counter(), Counter()
    for _, _, weight, _, frames in samples:
        want_weight[frames[0]] += weight
        want_count[frames[0]] += 1
    got = self_times(strata, result)
    for name, count in want_count.most_common(3):
        assert got[name] == (want_weight[name], count), (name, got)
    assert sum(weight for weight, _ in got.values()) == sum(want_weight.values())
    if way == "two events":
        assert "samples of other events were skipped" in done.err
    if way == "no stacks":
        return
    for name in ("hot_seventy", "hot_twenty", "hot_ten", "main"):
        want = sum(name in frames for *_, frames in samples)
        # A few stacks that one of the two cannot unwind, in the first instructions of a function.
        assert abs(inside(strata, result, name) - want) <= max(3, len(samples) // 100), name


def test_script_text_keeps_its_names(strata, perf, programs):
    data = record(strata, perf, programs, *WAYS["frame pointers"])
    text, samples = script(strata, perf, data)
    path = strata.folder / "script.txt"
    path.write_bytes(text)
    result, _ = load(strata, path)
    want = Counter()
    for _, _, weight, _, frames in samples:
        want[frames[0]] += weight
    assert {name: weight for name, (weight, _) in self_times(strata, result).items()} == want
    for name in ("hot_seventy", "main"):
        assert inside(strata, result, name) == sum(name in frames for *_, frames in samples)
    modules = dict(query(strata, result, "SELECT DISTINCT name, module FROM functions"))
    assert modules["hot_seventy"] == "hot_parts"


def test_from_standard_input(strata, perf, programs):
    data = record(strata, perf, programs, *WAYS["frame pointers"])
    text, samples = script(strata, perf, data)
    done = strata("import", "-", "-r", strata.folder / "piped", data=text)
    assert done.status == 0, done.err
    assert len(Result(strata.folder / "piped").samples) == len(samples)


def test_every_report_opens_it(strata, perf, programs):
    result, done = load(strata, record(strata, perf, programs, *WAYS["frame pointers"]))
    assert "samples from 2 threads" in done.err
    told = strata.result_json(result)
    assert told["type"] == "hotspots" and told["source"] == "perf.data, event cpu-clock"
    assert told["command"].startswith("perf record") or "perf record" in told["command"]
    for report in ("summary", "hotspots", "top-down", "callstacks"):
        shown = strata("report", report, "-r", result)
        assert shown.status == 0, (report, shown.err)
        assert "burn" in shown.out, report
    folded = strata("export", "folded", result, "-o", "-")
    assert folded.status == 0 and "hot_seventy" in folded.out


def test_what_is_wrong_is_said(strata, perf, programs, tmp_path):
    data = record(strata, perf, programs, *WAYS["frame pointers"], seconds="0.1")
    whole = data.read_bytes()

    def refused(content, *words):
        path = tmp_path / "bad.data"
        path.write_bytes(content)
        done = strata("import", path, "-r", tmp_path / "never")
        assert done.status == 1 and not (tmp_path / "never").exists(), done.err
        for word in words:
            assert word in done.err, (word, done.err)

    refused(whole[:50], "bad.data", "header")
    begin = int.from_bytes(whole[40:48], "little")
    refused(whole[: begin + 200], "truncated")
    refused(b"2ELIFREP" + whole[8:], "byte order")
    refused(b"\x00\x01" * 100, "neither a perf.data file")
    refused(b"hello\nworld\n", "neither a perf.data file")
    refused(b"", "empty")
    # A record that says it has 3 bytes; the records begin where the header says.
    refused(whole[: begin + 6] + b"\x03\x00" + whole[begin + 8 :], f"record 0 at byte {begin}", "3 bytes")
    assert strata("import", tmp_path / "no such", "-r", tmp_path / "never").status == 1
    assert strata("import").status == 2
    assert strata("import", data, data).status == 2
