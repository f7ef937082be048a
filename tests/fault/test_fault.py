# SPDX-License-Identifier: Apache-2.0
"""The N-th allocation, open, write, mapping or socket of strata fails: no crash, no harm, an error text."""

import pytest
from harness import emit_words, preloadable, strict_json

KINDS = ("alloc", "open", "write", "map", "socket")
PAIRS = 3000


@pytest.fixture(scope="session")
def fail_nth(build_dir, tmp_path_factory):
    path = build_dir / "tests" / "fault" / "fail_nth.so"
    if not path.is_file():
        pytest.fail(f"no {path}")
    return preloadable(path, tmp_path_factory.mktemp("fault"))


def plan(fail_nth, kind, number, ever):
    env = {"LD_PRELOAD": str(fail_nth), "FAIL_KIND": kind, "FAIL_NTH": str(number), "FAIL_PROGRAM": "strata"}
    return env | ({"FAIL_EVER": "1"} if ever else {})


def numbers(scale):
    """Every early call, then ever wider steps: the first calls are where most paths differ."""
    step = 1.0
    at = 1.0
    while at < 3000:
        yield int(at)
        at += step
        step *= 1.01 if scale == "full" else 1.08


def is_one_line(done):
    lines = done.err.strip().splitlines()
    return len(lines) == 1 and len(lines[0]) > 10


@pytest.fixture(scope="module")
def result(shared_strata, target):
    command = [target, "--threads", "3", "--pairs", "2000", "--labels", "200", "--depth", "2", "--fork", "2"]
    return shared_strata.collect(*command).result


@pytest.mark.parametrize("ever", [False, True], ids=["once", "ever"])
@pytest.mark.parametrize("kind", KINDS)
def test_report(strata, result, fail_nth, scale, kind, ever):
    """A report is whole, or fails with one line; it is never half."""
    whole = strata("report", "tasks", "-r", result, "-format", "json").stdout
    (result / "index.strata").unlink(missing_ok=True)
    wrong, failed = [], 0
    for number in numbers(scale):
        (result / "index.strata").unlink(missing_ok=True)
        env = plan(fail_nth, kind, number, ever)
        done = strata("report", "tasks", "-r", result, "-format", "json", env=env, timeout=30)
        failed += done.status != 0
        problem = wrong_report(done, whole)
        if problem:
            wrong.append(f"{kind} {number}: {problem}")
    assert not wrong, "\n".join(wrong)
    if kind in ("alloc", "open"):
        assert failed, "no failure was ever injected"


SQL = "SELECT task_type, count(*) AS n, max(wall_ns) AS max_ns FROM slices WHERE tid > 0 GROUP BY 1 ORDER BY 2, 1"


@pytest.mark.parametrize("ever", [False, True], ids=["once", "ever"])
def test_query(strata, result, fail_nth, scale, ever):
    """The same of a query: SQLite's allocations are among those that fail."""
    whole = strata("query", "-r", result, SQL, "-format", "json").stdout
    wrong, failed = [], 0
    for number in numbers(scale):
        done = strata("query", "-r", result, SQL, "-format", "json", env=plan(fail_nth, "alloc", number, ever))
        failed += done.status != 0
        problem = wrong_report(done, whole)
        if problem:
            wrong.append(f"alloc {number}: {problem}")
    assert not wrong, "\n".join(wrong)
    assert failed, "no failure was ever injected"


def wrong_report(done, whole):
    """What is wrong with a report after a fault, or None."""
    if done.status not in (0, 1):
        return f"status {done.status}: {done.err.strip()}"
    if done.status:
        return None if is_one_line(done) and not done.stdout else f"not one line: {done.err!r}"
    if done.stdout == whole:
        return None
    quality = strict_json(done.stdout)["quality"]
    return None if admits(quality) else "another answer, and nobody says why"


def admits(quality):
    return bool(quality["notes"]) or any(value for value in quality.values() if isinstance(value, int))


@pytest.mark.parametrize("ever", [False, True], ids=["once", "ever"])
@pytest.mark.parametrize("kind", KINDS)
def test_collect(strata, target, fail_nth, scale, kind, ever):
    """The program's output and status are its own, or it was not started and strata says why."""
    script = '"$@" && echo the end; exit 3'
    wrong = []
    for number in numbers(scale):
        path = strata.folder / f"{kind}{number}"
        done = strata.collect(
            "bash",
            "-c",
            script,
            "bash",
            *emit_words(target, PAIRS),
            options=["-no-summary"],
            result=path,
            ok=False,
            env=plan(fail_nth, kind, number, ever),
            timeout=30,
        )
        problem = wrong_run(strata, path, done)
        if problem:
            wrong.append(f"{kind} {number}: {problem}")
    assert not wrong, "\n".join(wrong)


def wrong_run(strata, path, done):
    """What is wrong with a run after a fault, or None."""
    if done.status in (125, 126) and not done.stdout:
        if not is_one_line(done):
            return f"not one line: {done.err!r}"
        return "a folder is left behind" if path.exists() else None
    if (done.status, done.stdout) != (3, b"the end\n"):
        return f"status {done.status}, output {done.stdout!r}: {done.err.strip()}"
    return wrong_result(strata, path, done) if path.exists() else None


def wrong_result(strata, path, done):
    """What was kept opens; what is missing is told on stderr or in the result."""
    report = strata("report", "tasks", "-r", path, "-format", "json")
    if report.status:
        return None if done.err.strip() else f"does not open: {report.err.strip()}"
    answer = strict_json(report.stdout)
    missing = answer["totals"].get("count", 0) != PAIRS
    if missing and not done.err.strip() and not admits(answer["quality"]):
        return "tasks are missing and nobody says so"
    return None
