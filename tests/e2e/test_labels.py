# SPDX-License-Identifier: Apache-2.0
"""Labels of every kind: nothing lost, nothing crashes, every output parses strictly."""

import json
import re

import pytest
from harness import TARGETS, strict_csv

TEXTS = [
    "plain",
    'say "hi"',
    "it's, with; separators|",
    "back\\slash \\n \\u0000",
    "two\nlines\n",
    "carriage\rreturn\r\n",
    "tab\tand bell\x07 and \x01\x1f\x7f",
    "emoji \U0001f525 \U0001f469\u200d\U0001f680",
    "Grüße, κόσμε, Привет, 漢字, עברית",
    "line separators \u2028 \u2029 \ufeff \ufffe",
    "</script><b>&amp;",
    "=1+1",
    "%s%n%d {} {0}",
    " leading and trailing ",
    '{"json": [1, null]}',
    "\x1b[31mred\x1b[0m",
    "",
    "x" * 65536,
    "é" * 32768,
]
BROKEN = [
    b"\xff\xfe stray",
    b"cut \xe2\x82",
    b"overlong \xc0\xaf",
    b"surrogate \xed\xa0\x80",
    b"beyond \xf4\x90\x80\x80",
    b"latin1 \xe9t\xe9",
]


def folded(text):
    """Bad bytes become U+FFFD; how many of them is the writer's choice."""
    return re.sub("\ufffd+", "\ufffd", text)


def decoded(label):
    return folded(label.decode("utf-8", errors="replace")) if isinstance(label, bytes) else label


def in_every_output(strata, result, wanted):
    """`wanted`, {label: count}, is in JSON, CSV and the Chrome export; returns the JSON rows."""
    rows = {folded(name): row for name, row in strata.types(result).items()}
    for label, count in wanted.items():
        assert label in rows, f"{label[:40]!r} is not in the JSON report"
        assert rows[label]["count"] == count, f"{label[:40]!r}"
    done = strata("report", "tasks", "-group-by", "task-type", "-r", result, "-format", "csv")
    assert done.status == 0, done.err
    table = {folded(row["task_type"]): int(row["count"]) for row in strict_csv(done.stdout)}
    assert {label: table.get(label) for label in wanted} == wanted
    trace = strata.chrome(result, strata.folder / "chrome.json")
    drawn = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            name = folded(event["name"])
            drawn[name] = drawn.get(name, 0) + 1
    assert {label: drawn.get(label) for label in wanted} == wanted
    return rows


@pytest.mark.torch
def test_through_torch(strata, python):
    labels = strata.folder / "labels.json"
    labels.write_text(json.dumps(TEXTS))
    done = strata.collect(python, TARGETS / "labels.py", labels, timeout=120)
    assert done.stdout == f"{len(TEXTS)}\n".encode()
    wanted = {label: 1 for label in TEXTS}
    wanted |= {f"mark {number}": 1 for number in range(4)} | {"outer": 1, "inside outer": 1}
    rows = in_every_output(strata, done.result, wanted)
    assert len(rows) == len(wanted)
    quality = strata.report(done.result, "tasks")["quality"]
    assert quality["unmatched_ends"] == 5, quality
    assert quality.get("labels_cut", 0) == 0
    inside = [one for one in strata.slices(done.result) if one.name == "inside outer"]
    assert inside[0].parent.name == "outer"
    strata.opens(done.result)


def test_broken_bytes(strata, programs):
    """Labels that are not UTF-8, through a C program; ends that close nothing; tasks that never end."""
    file = strata.folder / "labels"
    texts = [text.encode() for text in TEXTS if text] + BROKEN + [b""]
    file.write_bytes(b"".join(text + b"\0" for text in texts))
    done = strata.collect(programs / "odd_labels", file, "3", "2")
    assert done.stdout == f"{len(texts)}\n".encode()
    wanted = {decoded(text): 1 for text in texts if text}
    wanted |= {"in the odd domain": 1, "never ended": 2}
    rows = in_every_output(strata, done.result, wanted)
    # The empty label and the task without a name may share a row or not; both were counted.
    others = {name: row["count"] for name, row in rows.items() if name not in wanted}
    assert sum(others.values()) == 2, others
    quality = strata.report(done.result, "tasks")["quality"]
    assert quality["unmatched_ends"] == 6
    assert quality["unfinished"] == 2
    strata.opens(done.result)


def test_odd_domain(strata, programs):
    file = strata.folder / "labels"
    file.write_bytes(b"one\0")
    done = strata.collect(programs / "odd_labels", file, "0", "0")
    report = strata.report(done.result, "tasks", "-group-by", "task-domain")
    domains = {folded(row["task_domain"]): row["count"] for row in report["rows"]}
    assert domains == {"labels": 2, 'odd "domain"\n\ufffd\t': 1}


def test_longer_than_kept(strata, programs):
    """Past the stated maximum a label is cut, and the cut is counted and shown."""
    file = strata.folder / "labels"
    file.write_bytes(b"y" * 300_000 + b"\0" + b"z\0")
    done = strata.collect(programs / "odd_labels", file, "0", "0")
    counts = strata.counts(done.result)
    longest = max(counts, key=len)
    assert 65536 <= len(longest) < 300_000 and set(longest[:65536]) == {"y"}
    assert counts["z"] == 1
    quality = strata.report(done.result, "tasks")["quality"]
    assert quality["labels_cut"] >= 1, quality


def test_text_report_is_safe_for_a_terminal(strata, programs):
    """Control characters in labels never reach a terminal; a label takes one line."""
    file = strata.folder / "labels"
    file.write_bytes(b"\x1b[31mred\0two\nlines\0bell\x07\0\xc2\x9b31m\0")
    done = strata.collect(programs / "odd_labels", file, "0", "0")
    for name in ("summary", "tasks", "top-down", "timeline"):
        text = strata("report", name, "-r", done.result).stdout
        assert b"\x1b" not in text and b"\x07" not in text and b"\xc2\x9b" not in text, name
        text.decode("utf-8", errors="strict")
    # The summary at the end of the run as well.
    assert b"\x1b[31mred" not in done.stderr


def test_filter_finds_odd_labels(strata, programs):
    file = strata.folder / "labels"
    file.write_bytes(b'say "hi"\0a,b=c\0plain\0')
    done = strata.collect(programs / "odd_labels", file, "0", "0")
    assert strata.counts(done.result, "-filter", 'task-type=say "hi"') == {'say "hi"': 1}
    assert strata.counts(done.result, "-filter", "task-type=a,b=c") == {"a,b=c": 1}
