# SPDX-License-Identifier: Apache-2.0
"""What reports say of waits: every table of one result has the same sums, and a wait is where the program waits.

Programs measure with their own clock how long each line waits; nothing is compared with nominal times.
"""

import json
import sys

import pytest
from harness import strict_json
from waiting import tid_of

# Lines that wait are found by the comment behind them.
PROGRAM = """
import json, queue, threading, time
from concurrent.futures import ThreadPoolExecutor

lock = threading.Lock()  # made
items = queue.Queue()
replies = queue.Queue()
took = {"lock": 0, "queue": 0}


def hold(ready):
    for _ in range(10):
        with lock:
            ready.set()
            time.sleep(0.02)
        time.sleep(0.001)


def serve():
    while items.get() is not None:  # serve
        time.sleep(0.01)
        replies.put(1)


def contend():
    for _ in range(10):
        began = time.perf_counter_ns()
        lock.acquire()  # lock
        took["lock"] += time.perf_counter_ns() - began
        lock.release()
        time.sleep(0.002)


def ask():
    for _ in range(10):
        items.put(1)
        began = time.perf_counter_ns()
        replies.get()  # queue
        took["queue"] += time.perf_counter_ns() - began
    items.put(None)


ready = threading.Event()
holder = threading.Thread(target=hold, args=(ready,), name="holder")
server = threading.Thread(target=serve, name="server")
with ThreadPoolExecutor(1, thread_name_prefix="pool") as pool:
    pool.submit(time.sleep, 0.001).result()
    holder.start()
    server.start()
    ready.wait()  # event
    contend()
    ask()
    holder.join()
    server.join()
print(json.dumps(took))
"""


def line_of(word):
    (number,) = [i for i, text in enumerate(PROGRAM.splitlines(), 1) if text.endswith(f"# {word}")]
    return number


@pytest.fixture(scope="module")
def run(shared_strata):
    """(result, ns that the program's own clock has for each of its waits)"""
    script = shared_strata.folder / "waiting.py"
    script.write_text(PROGRAM)
    result = shared_strata.folder / "waiting"
    done = shared_strata("-collect", "threading", "-quiet", "-r", result, "--", sys.executable, script)
    assert done.status == 0, done.err
    return result, json.loads(done.stdout)


def rows_by(strata, result, report, grouping, *more):
    rows = strata.report(result, report, "-group-by", grouping, *more)["rows"]
    key = grouping.replace("-", "_")
    found = {}
    for row in rows:  # two modules may have a function of one name
        ns, count = found.get(row[key], (0, 0))
        found[row[key]] = (ns + row["wait_ns"], count + row["wait_count"])
    return {name: figures for name, figures in found.items() if figures != (0, 0)}


@pytest.mark.parametrize(
    "grouping",
    ["wait-class", "sync-type", "sync-object", "waker", "thread", "process", "python-line", "function", "task-type"],
)
def test_two_tables_agree(shared_strata, run, grouping):
    """Waits as rows, and waits among the samples: not a nanosecond is counted otherwise."""
    assert rows_by(shared_strata, run[0], "waits", grouping) == rows_by(shared_strata, run[0], "threading", grouping)


@pytest.mark.parametrize("chosen", [("-filter", "wait-class=Synchronization"), ("-time-filter", "0.05:0.2")])
def test_two_tables_agree_on_a_part(shared_strata, run, chosen):
    of_rows = rows_by(shared_strata, run[0], "waits", "sync-object", *chosen)
    assert of_rows
    assert of_rows == rows_by(shared_strata, run[0], "threading", "sync-object", *chosen)


def test_titles_say_which_waits_they_are_of(shared_strata, run):
    """The average is of all waits; of short ones only number and sum are known."""
    columns = {column["key"]: column["title"] for column in shared_strata.report(run[0], "waits")["columns"]}
    assert columns["wall_median_ns"] == "Median (Not Short)"
    assert columns["wall_p95_ns"] == "P95 (Not Short)"


def test_sql_has_the_same_sums(shared_strata, run):
    done = shared_strata(
        "query",
        "SELECT wait_class, SUM(wall_ns) AS ns, COUNT(*) AS waits FROM waits WHERE kind = 'wait' GROUP BY 1",
        *("-r", run[0], "-format", "json"),
    )
    assert done.status == 0, done.err
    rows = shared_strata.report(run[0], "waits", "-group-by", "wait-class")["rows"]
    told = {row["wait_class"]: row for row in rows}
    for row in strict_json(done.stdout)["rows"]:
        short = told[row["wait_class"]]
        assert row["ns"] == short["wait_ns"] - short["short_wait_ns"]
        assert row["waits"] == short["wait_count"] - short["short_waits"]


def test_parts_of_wait_time(shared_strata, run):
    """Time for other threads, and that of workers without work, are those of their classes."""
    classes = rows_by(shared_strata, run[0], "waits", "wait-class")
    totals = shared_strata.report(run[0], "threading", "-group-by", "function")["totals"]
    assert totals["wait_ns"] == sum(ns for ns, _ in classes.values())
    assert totals["idle_wait_ns"] == classes["Idle Worker"][0]
    assert totals["sync_wait_ns"] == classes["Synchronization"][0] + classes.get("Python GIL", (0, 0))[0]


def test_preemption_is_that_of_the_threads(shared_strata, run):
    """Task by task and thread by thread it adds up to what the kernel told of each thread."""
    totals = shared_strata.report(run[0], "threading", "-group-by", "function")["totals"]
    rows = shared_strata.report(run[0], "thread-time", "-group-by", "wait-class")["rows"]
    told = sum(row["wall_total_ns"] for row in rows if row["wait_class"] == "Preempted")
    if "preempted_ns" not in totals:
        assert told == 0
        return
    assert totals["preempted_ns"] == pytest.approx(told, rel=0.02, abs=100_000)
    for grouping in ("thread", "task-type"):
        rows = shared_strata.report(run[0], "threading", "-group-by", grouping)["rows"]
        assert sum(row["preempted_ns"] for row in rows) == totals["preempted_ns"]


@pytest.mark.parametrize("word", ["lock", "queue"])
def test_python_waits_where_the_program_does(shared_strata, run, word):
    """The line that calls, not one of threading.py or queue.py; and as long as the program's clock says."""
    result, took = run
    lines = rows_by(shared_strata, result, "waits", "python-line")
    (found,) = [figures for line, figures in lines.items() if line.endswith(f"waiting.py:{line_of(word)}")]
    # What the thread did to get there, or without a CPU, is no wait.
    assert 0.5 * took[word] < found[0] < 1.02 * took[word] + 1_000_000
    assert not [line for line in lines if "/threading.py:" in line or "/queue.py:" in line]


def test_locks_have_names(shared_strata, run):
    objects = rows_by(shared_strata, run[0], "sync-objects", "sync-object")
    assert f"Queue.get (waiting.py:{line_of('queue')})" in objects
    assert f"Queue.get (waiting.py:{line_of('serve')})" in objects
    (lock,) = [name for name in objects if name.endswith(f"(waiting.py:{line_of('made')})")]
    assert lock.startswith("Lock 0x")


def test_a_worker_without_work_is_idle(shared_strata, run):
    """And nobody else is: a thread of the program that waits for its queue is not one of a pool."""
    rows = shared_strata.report(run[0], "waits", "-group-by", "thread,wait-class")["rows"]
    classes = {row["thread"].split(" ")[0]: {child["wait_class"] for child in row["children"]} for row in rows}
    assert "Idle Worker" in classes["pool_0"]
    assert "Synchronization" not in classes["pool_0"]
    assert all("Idle Worker" not in classes[name] for name in ("holder", "server"))


def test_single_waits_have_places(shared_strata, run):
    done = shared_strata(
        "query",
        "SELECT w.python_line AS line, w.function AS function, s.state AS state, s.weight_ns - w.wall_ns AS off "
        "FROM waits w JOIN samples s ON s.sample = w.sample",
        *("-r", run[0], "-format", "json"),
    )
    assert done.status == 0, done.err
    rows = strict_json(done.stdout)["rows"]
    assert {row["state"] for row in rows} == {"waiting"}
    assert any(row["line"].endswith(f"waiting.py:{line_of('queue')}") for row in rows if row["line"])
    assert all(row["function"] for row in rows)
    assert all(abs(row["off"]) < 1000 for row in rows)


def test_single_waits_in_a_report_are_those_of_the_table(shared_strata, run):
    result, _ = run
    done = shared_strata("query", "SELECT function, wall_ns FROM waits", "-r", result, "-format", "json")
    table = sorted((row["wall_ns"], row["function"] or "") for row in strict_json(done.stdout)["rows"])
    rows = shared_strata.report(result, "waits", "-group-by", "instance")["rows"]
    assert sorted((row["wall_total_ns"], row.get("function") or "") for row in rows) == table
    assert any(function for _, function in table)


def test_stacks_of_waits_are_trees_of_wait_time(shared_strata, run):
    done = shared_strata("report", "threading", "-group-by", "sync-object,callstack", "-r", run[0])
    assert done.status == 0, done.err
    assert "of wait time" in done.out
    tree = shared_strata.report(run[0], "threading", "-group-by", "sync-object,callstack")["rows"]
    for row in tree:
        assert row["wait_ns"] >= sum(child["wait_ns"] for child in row["children"])


# Exports -----------------------------------------------------------------------------------------------


def test_stacks_of_waits_are_exported_where_a_filter_asks_for_waits(shared_strata, run):
    """Weighted by wait time: as much as the waits that have stacks took; CPU time is another file."""
    done = shared_strata("export", "folded", "-filter", "wait-class=Synchronization", "-o", "-", "-r", run[0])
    assert done.status == 0, done.err
    lines = [line.rsplit(" ", 1) for line in done.out.splitlines()]
    asked = shared_strata(
        "query",
        "SELECT SUM(s.weight_ns) AS ns FROM waits w JOIN samples s ON s.sample = w.sample "
        "WHERE w.wait_class = 'Synchronization'",
        *("-r", run[0], "-format", "json"),
    )
    assert sum(int(ns) for _, ns in lines) == strict_json(asked.stdout)["rows"][0]["ns"]
    assert any("ask" in stack for stack, _ in lines)
    picture = shared_strata("export", "flamegraph", "-filter", "wait-class!=Idle Worker", "-o", "-", "-r", run[0])
    assert "Wait time: " in picture.out and "CPU time" not in picture.out
    assert "CPU time: " in shared_strata("export", "flamegraph", "-o", "-", "-r", run[0]).out


def test_chrome_has_waits_on_their_threads(shared_strata, run):
    """One behind the other on each thread, and a flow from who ends a wait to who goes on."""
    done = shared_strata("export", "chrome", "-o", "-", "-r", run[0])
    assert done.status == 0, done.err
    events = strict_json(done.stdout)["traceEvents"]
    waits = [event for event in events if event.get("cat") == "wait"]
    assert waits and {event["ph"] for event in waits} == {"X"}
    told = strict_json(
        shared_strata(
            "query",
            "SELECT COUNT(*) AS waits, SUM(wall_ns) AS ns, COUNT(waker) AS wakers FROM waits WHERE kind = 'wait'",
            *("-r", run[0], "-format", "json"),
        ).stdout
    )["rows"][0]
    assert len(waits) == told["waits"]
    assert sum(event["dur"] for event in waits) * 1000 == pytest.approx(told["ns"], abs=len(waits))
    last = {}
    for event in sorted(waits, key=lambda event: event["ts"]):
        key = (event["pid"], event["tid"])
        assert event["ts"] >= last.get(key, 0) - 0.001
        last[key] = event["ts"] + event["dur"]
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert len(starts) == told["wakers"] > 0
    assert starts.keys() == ends.keys()
    assert all(starts[flow]["tid"] != ends[flow]["tid"] for flow in starts)


# Critical paths ----------------------------------------------------------------------------------------


def test_a_path_adds_up_and_leads_to_who_is_waited_for(shared_strata, run):
    """Of the first thread from its first moment to its last; what it waits for is what others do, or nobody."""
    result, _ = run
    report = shared_strata.report(result, "critical-path", "-group-by", "thread,wait-class")
    query = "SELECT * FROM threads ORDER BY start_ns LIMIT 1"
    done = shared_strata("query", query, "-r", result, "-format", "json")
    (main,) = strict_json(done.stdout)["rows"]
    assert sum(row["wall_total_ns"] for row in report["rows"]) == main["end_ns"] - main["start_ns"]
    found = {row["thread"].split(" ")[0]: row for row in report["rows"]}
    classes = {child["wait_class"]: child["wall_total_ns"] for child in found["server"]["children"]}
    waits = shared_strata.report(result, "waits", "-group-by", "thread,wait-class")["rows"]
    (server,) = [row for row in waits if row["thread"].startswith("server")]
    slept = {child["wait_class"]: child["wait_ns"] for child in server["children"]}["Sleep"]
    # While the first thread waits for the server, that one sleeps: nearly all of its sleep is on the path.
    assert 0.5 * slept < classes["Sleep"] <= slept
    # The holder of the lock sleeps, too; and who waits for a lock is nowhere on the path.
    assert "Sleep" in {child["wait_class"] for child in found["holder"]["children"]}


def test_a_path_is_a_table_too(shared_strata, run):
    query = "SELECT thread, SUM(wall_ns) AS ns FROM critical_path GROUP BY thread"
    done = shared_strata("query", query, "-r", run[0], "-format", "json")
    assert done.status == 0, done.err
    rows = shared_strata.report(run[0], "critical-path", "-group-by", "thread")["rows"]
    told = {row["thread"]: row["wall_total_ns"] for row in rows}
    assert {row["thread"]: row["ns"] for row in strict_json(done.stdout)["rows"]} == told


# Who ends the wait of the first thread begins to live long after it began.
LATE = """
import queue, threading, time
items = queue.Queue()

def answer():
    global lives, answerer
    lives, answerer = time.perf_counter_ns(), threading.get_native_id()
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        sum(range(1000))
    items.put(1)

def start():
    time.sleep(0.3)
    threading.Thread(target=answer).start()

threading.Thread(target=start).start()
began = time.perf_counter_ns()
items.get()
print(lives - began, answerer, threading.get_native_id())
"""


def test_nobody_is_on_a_path_before_he_lives(strata):
    result, script = strata.folder / "late", strata.folder / "late.py"
    script.write_text(LATE)
    done = strata("-collect", "threading", "-quiet", "-r", result, "--", sys.executable, script)
    assert done.status == 0, done.err
    late_ns, answerer, main = map(int, done.out.split())
    query = "SELECT tid, end_ns - start_ns AS ns FROM threads"
    threads = strict_json(strata("query", query, "-r", result, "-format", "json").stdout)["rows"]
    (life_ns,) = [row["ns"] for row in threads if row["tid"] == answerer]
    rows = strata.report(result, "critical-path", "-group-by", "thread,wait-class")["rows"]
    found = {tid_of(row["thread"]): row for row in rows}
    assert 0 < found[answerer]["wall_total_ns"] <= life_ns
    waited = {child["wait_class"]: child["wall_total_ns"] for child in found[main]["children"]}
    assert waited["Synchronization"] > 0.9 * late_ns


def test_a_path_goes_on_behind_an_exec(shared_strata):
    """As that of a launcher written in shell, which executes the program it is called for."""
    result = shared_strata.folder / "launched"
    sleeper = [sys.executable, "-c", "import time; time.sleep(0.2)"]
    command = ["sh", "-c", 'sleep 0.05; exec "$@"', "sh", *sleeper]
    done = shared_strata("-collect", "threading", "-quiet", "-r", result, "--", *command)
    assert done.status == 0, done.err
    rows = shared_strata.report(result, "critical-path", "-group-by", "thread")["rows"]
    assert sum(row["wall_total_ns"] for row in rows) > 0.25e9
