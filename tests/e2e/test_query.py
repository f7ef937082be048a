# SPDX-License-Identifier: Apache-2.0
"""strata query: SQL answers equal the reports', nothing but reading is possible, and its page is true."""

import re
import signal
import subprocess

import pytest
from harness import ROOT, check_report, strict_csv, strict_json, until


@pytest.fixture(scope="module")
def result(shared_strata, target, programs):
    """Nested tasks of numbered types on named threads of two processes, one left open, one program not entered."""
    words = "--threads 3 --pairs 400 --labels 2 --label-prefix step_ --depth 3 --thread-name w --fork 2 --open-task"
    script = '"$0" "$@"; "$STATIC"; true'
    done = shared_strata.collect(
        "bash", "-c", script, target, *words.split(), "--quiet", env={"STATIC": str(programs / "static_child")}
    )
    return done.result


@pytest.fixture
def ask(shared_strata, result):
    def run(sql, *options):
        done = shared_strata("query", "-r", result, sql, "-format", "json", *options)
        assert done.status == 0, done.err
        report = strict_json(done.stdout)
        check_report(report, "query")
        return [{key: value for key, value in row.items() if key != "children"} for row in report["rows"]]

    return run


def by(rows, key, *values):
    found = {row[key]: tuple(row[value] for value in values) for row in rows}
    assert len(found) == len(rows) > 0, "rows that share a key, or none"
    return found


# Ten questions -------------------------------------------------------------------------------------

# Total counts nested tasks of one group once: only those with none of their type around them.
OUTERMOST = """
WITH RECURSIVE above(row, parent, task_type) AS (
  SELECT row, parent, task_type FROM slices WHERE parent IS NOT NULL
  UNION ALL
  SELECT above.row, p.parent, above.task_type FROM above JOIN slices p ON p.row = above.parent
  WHERE p.parent IS NOT NULL AND p.task_type <> above.task_type),
inner_rows AS (
  SELECT DISTINCT above.row FROM above JOIN slices p ON p.row = above.parent WHERE p.task_type = above.task_type)
SELECT task_type, sum(wall_ns) AS wall_total_ns FROM slices
WHERE row NOT IN (SELECT row FROM inner_rows) GROUP BY task_type
"""


def test_1_counts_and_self_by_type(shared_strata, result, ask):
    rows = ask("SELECT task_type, count(*) AS count, sum(self_ns) AS wall_self_ns FROM slices GROUP BY 1")
    report = shared_strata.report(result, "tasks", "-group-by", "task-type")["rows"]
    assert by(rows, "task_type", "count", "wall_self_ns") == by(report, "task_type", "count", "wall_self_ns")


def test_2_totals_count_nested_once(shared_strata, result, ask):
    report = shared_strata.report(result, "tasks", "-group-by", "task-type")["rows"]
    assert by(ask(OUTERMOST), "task_type", "wall_total_ns") == by(report, "task_type", "wall_total_ns")


def test_3_percentiles_by_nearest_rank(shared_strata, result, ask):
    rows = ask(
        """WITH ranked AS (
             SELECT task_type, wall_ns, row_number() OVER (PARTITION BY task_type ORDER BY wall_ns) AS place,
                    count(*) OVER (PARTITION BY task_type) AS n FROM slices)
           SELECT task_type, min(wall_ns) AS wall_min_ns,
                  min(CASE WHEN place * 100 >= n * 50 THEN wall_ns END) AS wall_median_ns,
                  min(CASE WHEN place * 100 >= n * 95 THEN wall_ns END) AS wall_p95_ns,
                  min(CASE WHEN place * 100 >= n * 99 THEN wall_ns END) AS wall_p99_ns,
                  max(wall_ns) AS wall_max_ns FROM ranked GROUP BY 1"""
    )
    keys = ["wall_min_ns", "wall_median_ns", "wall_p95_ns", "wall_p99_ns", "wall_max_ns"]
    report = shared_strata.report(result, "tasks", "-group-by", "task-type")["rows"]
    assert set(keys) <= set(report[0])
    assert by(rows, "task_type", *keys) == by(report, "task_type", *keys)


@pytest.mark.parametrize("key", ["thread", "process", "task_domain", "task_family"])
def test_4_to_7_groups(shared_strata, result, ask, key):
    """Per thread, per process, per domain, per family; a thread is a track: two may share a text."""
    rows = ask(f"SELECT {key}, count(*) AS count, sum(self_ns) AS wall_self_ns FROM slices GROUP BY 1")
    report = shared_strata.report(result, "tasks", "-group-by", key.replace("_", "-"))["rows"]
    assert by(rows, key, "count", "wall_self_ns") == by(report, key, "count", "wall_self_ns")


def test_8_time_window(shared_strata, result, ask):
    starts = [row["start_ns"] for row in ask("SELECT start_ns FROM slices ORDER BY 1")]
    begin, end = starts[len(starts) // 4], starts[len(starts) * 3 // 4]
    overlaps = f"(end_ns > {begin} OR start_ns = {begin})"  # a task without any length is in if it begins there
    (row,) = ask(f"SELECT count(*) AS count FROM slices WHERE start_ns < {end} AND {overlaps}")
    window = f"{begin // 10**9}.{begin % 10**9:09d}:{end // 10**9}.{end % 10**9:09d}"
    totals = shared_strata.report(result, "tasks", "-time-filter", window)["totals"]
    assert 0 < row["count"] == totals["count"]


def test_9_depth_and_unfinished(shared_strata, result, ask):
    (row,) = ask("SELECT max(depth) AS depth, sum(unfinished) AS unfinished, count(*) AS count FROM slices")
    instances = shared_strata.report(result, "tasks", "-group-by", "task")
    assert row["depth"] == max(one["depth"] for one in instances["rows"]) >= 2
    assert row["unfinished"] == instances["quality"]["unfinished"] >= 1
    assert row["count"] == len(instances["rows"])
    items = {row["name"]: row["value"] for row in ask("SELECT name, value FROM quality")}
    quality = {key: value for key, value in instances["quality"].items() if isinstance(value, int)}
    quality.pop("lost")  # the sum of several of them
    assert items == quality


def test_10_not_entered_and_info(shared_strata, result, ask):
    info = shared_strata.report(result, "info")["rows"]
    rows = ask("SELECT executable, reason, pid, count FROM not_entered")
    assert [(row["executable"], row["reason"], row["pid"], row["count"]) for row in rows] == [
        (row["name"], row["value"], row["pid"], row["count"]) for row in info if row["section"] == "not_entered"
    ]
    assert any("static_child" in row["executable"] for row in rows)
    facts = ask("SELECT section, key, value FROM info")
    assert [tuple(row.values()) for row in facts] == [
        (row["section"], row["name"], row["value"]) for row in info if row["section"] in ("run", "host", "strata")
    ]


def test_push_down_changes_nothing(ask):
    for condition in (
        "tid IN (SELECT tid FROM threads LIMIT 2)",
        "task_type = 'step_1'",
        "thread LIKE 'w%' AND start_ns > (SELECT min(start_ns) FROM slices)",
    ):
        pushed = ask(f"SELECT row, thread, task_type FROM slices WHERE {condition} ORDER BY row")
        copied = ask(
            "WITH copy AS MATERIALIZED (SELECT * FROM slices) "
            f"SELECT row, thread, task_type FROM copy WHERE {condition} ORDER BY row"
        )
        assert pushed == copied and pushed, condition


# The command ---------------------------------------------------------------------------------------


def test_spellings_and_formats(shared_strata, result):
    sql = "SELECT task_type, wall_ns, NULL AS n, x'00ff' AS b FROM slices WHERE row < 2"
    outputs = set()
    for words in (["query", "-r", result, sql], ["query", result, sql], ["query", sql, result]):
        outputs.add(shared_strata(*words, "-format=csv").stdout)
    outputs.add(shared_strata("-query", sql, "-r", result, "-format", "csv").stdout)
    assert len(outputs) == 1
    (first, _) = strict_csv(outputs.pop())
    assert first["n"] == "" and first["b"] == "00ff" and first["wall_ns"].isdigit()
    text = shared_strata("query", result, sql).out.splitlines()
    assert text[0].split() == ["task_type", "wall_ns", "n", "b"] and set(text[1]) == {"-", " "} and len(text) >= 4
    report = strict_json(shared_strata("query", result, sql, "-format=json").stdout)
    assert report["rows"][0]["n"] is None and report["columns"][1]["unit"] == "ns"
    assert report["quality"]["state"] == "finished"
    assert shared_strata("query", result, "SELECT 1 WHERE 0").out.startswith("No rows.\n")
    done = shared_strata("query", result, sql, "-format", "json", "-report-output", "answer")
    assert done.status == 0 and not done.stdout
    assert strict_json((shared_strata.folder / "answer.json").read_bytes()) == report


def test_headings_of_any_kind(shared_strata, result):
    sql = 'SELECT max(1, 2), 1, 1, 5 AS "a,""b", 6 AS children FROM slices LIMIT 1'
    (row,) = strict_csv(shared_strata("query", result, sql, "-format=csv").stdout)
    assert row == {"max(1, 2)": "2", "1": "1", "1_2": "1", 'a,"b': "5", "children_2": "6"}
    check_report(strict_json(shared_strata("query", result, sql, "-format=json").stdout), "query")


def test_every_wrong_word_is_said(shared_strata, result):
    cases = (
        (["-r", result], "requires SQL"),
        ([result], "requires SQL"),
        ([result, "SELECT 1", "x"], "unexpected argument"),
        (["-r", result, "SELECT * FROM slics"], "did you mean 'slices'"),
        (["-r", result, "SELECT wal_ns FROM slices"], "column 8"),
        (["-r", result, "DELETE FROM slices"], "strata: error"),
        (["-r", result, "ATTACH 'other.db' AS other"], "read-only"),
        (["-r", result, "SELECT 1; SELECT 2"], "one statement"),
        (["-r", result, "SELECT 1", "-memory-limit", "0"], "memory-limit"),
        (["-r", result, "SELECT 1", "-format", "xml"], "-format"),
        (["-r", result, "SELECT 1", "-limit", "3"], "option of 'report'"),
        (["-r", result, "SELECT s.*, t.*, u.* FROM slices s, slices t, slices u LIMIT 1"], "78 columns"),
    )
    for words, needle in cases:
        done = shared_strata("query", *words)
        assert done.status == 2 and not done.stdout, (words, done)
        assert needle in done.err and len(done.err.splitlines()) == 1, (words, done.err)
    done = shared_strata("query", "-r", "nowhere", "SELECT 1")
    assert done.status == 1 and "nowhere" in done.err
    assert not (shared_strata.folder / "other.db").exists()


def test_memory_is_capped(shared_strata, result):
    sql = "SELECT a.thread || b.thread || c.row FROM slices a, slices b, slices c ORDER BY 1"
    done = shared_strata("query", "-r", result, sql, "-memory-limit", "20", timeout=60)
    assert done.status == 1 and "more than 20 MB" in done.err and not done.stdout


def test_interrupt_ends_a_query(shared_strata, result):
    sql = "SELECT count(*) FROM slices a, slices b, slices c, slices d"
    process = shared_strata.popen(
        [shared_strata.binary, "query", "-r", result, sql], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )

    def catches():
        status = open(f"/proc/{process.pid}/status").read()
        return int(re.search(r"SigCgt:\s*(\w+)", status).group(1), 16) & 1 << (signal.SIGINT - 1)

    until(catches, what="the handler")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130 and out == b"" and b"stopped" in err


def test_schema_page_is_what_the_program_says(strata):
    done = strata("query", "--schema")
    assert done.status == 0 and strata("query", "-schema").stdout == done.stdout
    page = (ROOT / "docs" / "query-schema.md").read_text()
    assert re.search(r"```\n(.*?)```", page, re.S).group(1) == done.out


def test_examples_of_the_guide_run(shared_strata, result):
    guide = (ROOT / "docs" / "user-guide.md").read_text()
    examples = re.findall(r'^strata query "(.*?)"', guide, re.M | re.S)
    assert len(examples) >= 4
    for sql in examples:
        done = shared_strata("query", "-r", result, sql)
        assert done.status == 0, (sql, done.err)
