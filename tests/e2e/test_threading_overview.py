# SPDX-License-Identifier: Apache-2.0
"""`strata report threading`: all about threads on one page, whose figures are those of the reports it points to."""

import shlex
import sys

import pytest
from pythons import interpreter
from waiting import compiled, threading

LINES, COLUMNS = 60, 100

GIL = """
import threading
def compute():
    sum = 0
    for i in range(1_500_000):
        sum += i * i
threads = [threading.Thread(target=compute) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""

ALONE = """
sum = 0
for i in range(3_000_000):
    sum += i * i
"""

TRAINING = """
import time, torch
from torch.utils.data import DataLoader, Dataset
torch.set_num_threads(2)
class Slow(Dataset):
    def __len__(self): return 32
    def __getitem__(self, at):
        time.sleep(0.005)
        return torch.randn(3, 32, 32), at % 10
loader = DataLoader(Slow(), batch_size=8, num_workers=2)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3), torch.nn.Flatten(), torch.nn.Linear(32 * 30 * 30, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for images, labels in loader:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()
"""


def program(strata, kind):
    if kind == "mutex":
        return [compiled(strata, "gcc", "wait_static.c", "-pthread")]
    if kind == "openmp":
        return [compiled(strata, "gcc", "openmp_balance.c", "-fopenmp")]
    script = strata.folder / f"{kind}.py"
    script.write_text({"gil": GIL, "alone": ALONE, "training": TRAINING}[kind])
    return [sys.executable if kind == "training" else interpreter("3.11"), script]


@pytest.fixture(scope="module", params=["mutex", "gil", "alone", "openmp", "training"])
def page(shared_strata, request):
    """(kind, result, facts by section)"""
    if request.param == "training":
        pytest.importorskip("torch")
    done = threading(shared_strata, *program(shared_strata, request.param), options=["-quiet"])
    assert done.status == 0, done.err
    sections = {}
    for row in shared_strata.report(done.result, "threading")["rows"]:
        sections.setdefault(row["section"], []).append(row)
    return request.param, done.result, sections


def test_fits_on_a_page(shared_strata, page):
    _, result, _ = page
    done = shared_strata("report", "threading", "-r", result)
    body = done.out.split("\ndata quality")[0].split("\nnote ")[0].splitlines()
    assert 8 <= len(body) <= LINES
    assert max(map(len, body)) <= COLUMNS


def test_has_what_the_program_does(page):
    kind, _, sections = page
    assert {"run", "cpu", "concurrency", "threads"} <= set(sections)
    names = {
        section: [row["name"] for row in sections.get(section, [])] for section in ("objects", "where", "gil", "openmp")
    }
    assert bool(names["openmp"]) == (kind in ("openmp", "training"))
    assert bool(names["gil"]) == (kind in ("gil", "training"))
    if kind == "mutex":
        assert [name for name in names["objects"] if name.startswith(("global_lock (", "static_lock (", "pool+64 ("))]
        assert names["where"][0].startswith("hold")
    if kind == "gil":
        assert names["where"][0].startswith("gil.py:")
    if kind == "openmp":
        assert names["openmp"][0].startswith("uneven (openmp_balance.c:")
    if kind == "training":
        assert any(name.startswith("training.py:8") for name in names["where"])
    if kind == "alone":
        assert not names["objects"]


def test_classes_add_up(shared_strata, page):
    """To the lives of all threads, and class by class to what report thread-time says."""
    _, result, sections = page
    (all_threads, *classes) = sections["threads"]
    assert sum(row["time_ns"] for row in classes) == pytest.approx(all_threads["time_ns"], rel=0.005)
    said = shared_strata.report(result, "thread-time", "-group-by", "wait-class")["rows"]
    by_class = {row["wait_class"]: row["wall_total_ns"] for row in said}
    assert {row["name"]: row["time_ns"] for row in classes if row["time_ns"]} == by_class


def test_figures_are_those_of_the_reports(shared_strata, page):
    _, result, sections = page
    by_object = {
        row["sync_object"]: (row["wait_ns"], row["wait_count"])
        for row in shared_strata.report(
            result, "waits", "-group-by", "sync-object", "-filter", "wait-class=Synchronization"
        )["rows"]
    }
    for row in sections.get("objects", []):
        assert by_object[row["name"]] == (row["time_ns"], row["count"])
    levels = sections["concurrency"]
    use = shared_strata.report(result, "utilization")
    assert sum(row["time_ns"] for row in levels) == use["totals"]["elapsed_ns"]
    assert [row["time_ns"] for row in levels] == [row["elapsed_ns"] for row in use["rows"]] or len(use["rows"]) > 5
    for row in sections.get("longest", []):
        assert row["time_ns"] <= shared_strata.report(result, "waits")["totals"]["wall_max_ns"]


def test_places_have_the_figures_of_their_kind(shared_strata, page):
    """A line that waits for several things has a row for each: no kind has more at one line than in all."""
    _, result, sections = page
    busy = ("-filter", "wait-class!=Idle Worker")
    kinds = {
        row["sync_type"]: (row["wait_ns"], row["wait_count"])
        for row in shared_strata.report(result, "waits", "-group-by", "sync-type", *busy)["rows"]
    }
    told = set()
    for grouping in ("python-line", "function"):
        for row in shared_strata.report(result, "waits", "-group-by", f"{grouping},sync-type", *busy)["rows"]:
            name = row[grouping.replace("-", "_")]
            name = name.rpartition("/")[2] if name.startswith("/") else name
            told |= {(name, child["sync_type"], child["wait_ns"], child["wait_count"]) for child in row["children"]}
    for row in sections.get("where", []):
        kind = row.get("place") or row["name"]
        assert (row["name"], kind, row["time_ns"], row["count"]) in told, row
        assert (row["time_ns"], row["count"]) <= kinds[kind]
    for kind, (ns, count) in kinds.items():
        rows = [row for row in sections.get("where", []) if (row.get("place") or row["name"]) == kind]
        assert sum(row["time_ns"] for row in rows) <= ns
        assert sum(row["count"] for row in rows) <= count


def test_nobody_is_behind_own_threads_that_are_few(page):
    """Where threads waited behind those of the program, these were more than the CPUs."""
    _, _, sections = page
    facts = {row["name"]: row["time_ns"] for row in sections["cpu"]}
    if "ready, behind own threads" in facts:
        assert bool(facts["ready, behind own threads"]) <= bool(facts["more threads ready than CPUs"]), facts


def test_page_says_why_figures_differ(shared_strata, page):
    _, result, _ = page
    text = " ".join(shared_strata("report", "threading", "-r", result).out.split())
    assert "only while the thread was off the CPU" in text
    assert "whole waits, with the spinning and the preemption in them" in text


def test_every_part_says_where_there_is_more(shared_strata, page):
    _, result, sections = page
    commands = {row["details"] for rows in sections.values() for row in rows}
    assert len(commands) >= 3
    for command in commands:
        done = shared_strata("report", *shlex.split(command), "-r", result)
        assert done.status == 0, (command, done.err)


def test_without_waits(strata):
    """A result that has none says how to record them."""
    script = strata.folder / "alone.py"
    script.write_text(ALONE)
    result = strata.folder / "hs"
    assert strata("-collect", "hotspots", "-quiet", "-r", result, "--", interpreter("3.11"), script).status == 0
    done = strata("report", "threading", "-r", result)
    assert "-collect threading" in done.out
    assert "CPUS" in done.out


def test_comparison_is_of_functions(shared_strata, page):
    """An overview has nothing to be compared by."""
    _, result, _ = page
    compared = shared_strata("report", "threading", "-r", result, "-r", result)
    assert compared.status == 0, compared.err
    assert "Function" in compared.out.splitlines()[0] or "Function" in compared.out
