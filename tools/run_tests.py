#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every suite, one after the other (the soak beside the fuzzers), and prints one closing table.

quick: reduced counts, for every change. full: the counts the project promises.
`--only rules,unit,few` is the inner loop (make check): rules of the tree, unit tests, a few telling end-to-end cases.
Standard library only; the suites bring their own needs (tools/setup.sh installs them).
A dated ledger of what ran is kept in .cache/ledger; the working tree is left as it was.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "test"
LEDGER = ROOT / ".cache" / "ledger"


@dataclass
class Suite:
    """The outcome of one suite. A suite that could not run at all counts as one failure."""

    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)  # how many for which reason


def run(name: str, command: list[str], env: dict[str, str] | None = None, timeout: float | None = None) -> int:
    """Runs a command with its output in the suite's log and, on failure, the end of it on stderr."""
    log = CACHE / f"{name}.log"
    with log.open("ab") as out:
        out.write(f"$ {' '.join(command)}\n".encode())
        out.flush()
        try:
            rc = subprocess.run(
                command,
                cwd=ROOT,
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=timeout,
            ).returncode
        except subprocess.TimeoutExpired:
            out.write(b"\nran into its time limit\n")
            rc = 124
    if rc:
        tail = log.read_text(errors="replace").splitlines()[-80:]
        sys.stderr.write("\n".join(tail) + f"\n{name}: status {rc}; whole log in {log.relative_to(ROOT)}\n")
    return rc


def first_line(message: str | None) -> str:
    line = (message or "no reason given").strip().splitlines()[0]
    return line if len(line) <= 160 else line[:159] + "…"


def read_junit(path: Path, suite: Suite) -> None:
    """Adds up the cases of a JUnit file, and names the failed ones and why others were skipped."""
    if not path.exists():
        return
    for case in ET.parse(path).getroot().iter("testcase"):
        label = case.get("name", "?")
        if case.get("classname") and case.get("classname") != label:
            label = f"{case.get('classname')}::{label}"
        skip = case.find("skipped")
        bad = [part for part in (case.find("failure"), case.find("error")) if part is not None]
        if bad:
            suite.failed += 1
            suite.notes.append(f"FAILED {label}: {first_line(bad[0].get('message'))}")
        elif skip is not None or case.get("status") == "disabled":
            suite.skipped += 1
            reason = first_line(skip.get("message") if skip is not None else None)
            suite.left_out[reason] = suite.left_out.get(reason, 0) + 1
        else:
            suite.passed += 1


def settle(suite: Suite, rc: int) -> None:
    """A non-zero status with no failed case is a failure of its own (a crash, a time limit)."""
    if rc and not suite.failed:
        suite.failed += 1
        suite.notes.append(f"FAILED {suite.name}: status {rc}")


def build(suite: Suite, preset: str, *targets: str) -> bool:
    command = ["tools/build.sh", preset]
    if targets:
        command += ["--target", *targets]
    rc = run(suite.name, command)
    settle(suite, rc)
    return rc == 0


def suite_ctest(suite: Suite, preset: str, options: argparse.Namespace, env: dict[str, str]) -> None:
    if not build(suite, preset):
        return
    junit = CACHE / f"{suite.name}.xml"
    rc = run(
        suite.name,
        ["ctest", "--test-dir", f"build/{preset}", "--output-on-failure", "--no-tests=error"]
        + ["-j", str(options.jobs), "--output-junit", str(junit)],
        env,
    )
    read_junit(junit, suite)
    settle(suite, rc)


def suite_unit(suite: Suite, options: argparse.Namespace) -> None:
    suite_ctest(suite, "dev", options, {})


def suite_asan(suite: Suite, options: argparse.Namespace) -> None:
    env = {
        "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:abort_on_error=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    suite_ctest(suite, "asan", options, env)


def run_pytest(suite: Suite, options: argparse.Namespace, name: str, words: list[str]) -> None:
    python = ROOT / ".venv" / "bin" / "python"
    env = {
        "STRATA_TEST_SCALE": options.scale,
        "STRATA_BIN": str(ROOT / "build/dev/bin/strata"),
        "STRATA_TEST_PROGRAMS": str(ROOT / "build/dev/tests/programs"),
        "STRATA_TEST_PYTHON": str(python),
        "STRATA_TEST_LEDGER": str(LEDGER / "e2e"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    junit = CACHE / f"{name}.xml"
    junit.unlink(missing_ok=True)
    command = [str(python), "-m", "pytest", "-c", "tests/e2e/pytest.ini", "--rootdir", ".", "-q"]
    command += ["-p", "no:cacheprovider", f"--junitxml={junit}"]
    failed = suite.failed
    rc = run(suite.name, [*command, *words], env)
    read_junit(junit, suite)
    if rc and suite.failed == failed:
        suite.failed += 1
        suite.notes.append(f"FAILED {name}: status {rc}")


def together(options: argparse.Namespace) -> list[str]:
    """A file stays with one process: its tests share recordings. One of them mostly waits: one more than cores."""
    return ["-m", "not alone", "-n", str(options.jobs + 1), "--dist", "loadfile"]


def suite_e2e(suite: Suite, options: argparse.Namespace) -> None:
    """First several at a time; then, one by one, those that measure what others would disturb."""
    folders = [name for name in ("tests/e2e", "tests/golden", "tests/fault") if any((ROOT / name).glob("**/test_*.py"))]
    if not folders:
        settle(suite, 5)
        return
    if not build(suite, "dev"):
        return
    run_pytest(suite, options, "e2e", [*together(options), *folders])
    run_pytest(suite, options, "e2e-alone", ["-m", "alone", *folders])


# Fast and telling: recording against known times, what each kind of result answers, losing power, wrong words.
FEW = (
    "test_truth.py",
    "test_reports.py",
    "test_hotspots_answers.py",
    "test_operator_modules.py::test_every_call_has_its_path",
    "test_query.py",
    "test_export_things.py",
    "test_pause.py",
    "test_kill.py::test_kill_both",
    "test_damage.py::test_truncated_trace_keeps_what_is_whole",
    "test_import.py::test_same_as_perf",
    "test_answers.py",
    "test_errors.py::test_wrong_question",
)


def suite_few(suite: Suite, options: argparse.Namespace) -> None:
    """The end-to-end cases of make check."""
    if build(suite, "dev"):
        run_pytest(suite, options, "few", [*together(options), *(f"tests/e2e/{name}" for name in FEW)])


def suite_rules(suite: Suite, options: argparse.Namespace) -> None:
    """What lint checks in seconds and without a build."""
    del options
    for name in ("layers", "banned", "style", "docs"):
        rc = run(suite.name, [sys.executable, f"tools/check_{name}.py"])
        suite.passed += rc == 0
        suite.failed += rc != 0
        suite.notes += [f"FAILED tools/check_{name}.py"] if rc else []


def fuzz_one(suite: Suite, program: Path, seconds: int) -> None:
    """New inputs go to .cache, found crashes too; the kept corpus is read and never written."""
    short = program.name.removeprefix("fuzz_")
    work = CACHE / "fuzz" / program.name
    work.mkdir(parents=True, exist_ok=True)
    kept = [ROOT / "tests" / "fuzz" / "corpus" / name for name in (program.name, short)]
    rc = run(
        program.name.replace("_", "-"),
        [str(program), f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]
        + [f"-artifact_prefix={work}/", str(work), *[str(path) for path in kept if path.is_dir()]],
        timeout=seconds + 120,
    )
    if rc:
        suite.failed += 1
        suite.notes.append(f"FAILED {program.name}: status {rc}")
    else:
        suite.passed += 1


def add_fuzz_time(name: str, seconds: float) -> float:
    """Adds to the hours each target has been fuzzed for on this machine; gives all of them."""
    path = LEDGER / "fuzz-hours.json"
    hours = json.loads(path.read_text()) if path.exists() else {}
    hours[name] = round(hours.get(name, 0.0) + seconds / 3600, 4)
    LEDGER.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(hours, indent=1, sort_keys=True) + "\n")
    return hours[name]


def suite_fuzz(suite: Suite, options: argparse.Namespace) -> None:
    if not shutil.which("clang-14"):
        suite.skipped = 1
        suite.notes.append("skipped fuzz: clang-14 is not installed")
        return
    if not build(suite, "fuzz", "fuzzers"):
        return
    programs = sorted(path for path in (ROOT / "build/fuzz/tests/fuzz").glob("fuzz_*") if os.access(path, os.X_OK))
    programs = [path for path in programs if path.is_file()]
    if not programs:
        settle(suite, 1)
    seconds = 10 if options.scale == "quick" else 600
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda program: fuzz_one(suite, program, seconds), programs))
    for program in programs:
        hours = add_fuzz_time(program.name, seconds)
        if options.scale == "full":
            suite.notes.append(f"{program.name}: {hours:.2f} hours in all")


def suite_soak(suite: Suite, options: argparse.Namespace) -> None:
    """Two minutes at either scale; half an hour is `make soak`."""
    if not build(suite, "dev"):
        return
    rc = run(suite.name, [sys.executable, "tools/soak.py", "--seconds", "120", "--window", "5"], timeout=300)
    suite.passed += rc == 0
    settle(suite, rc)


SUITES = {"unit": suite_unit, "e2e": suite_e2e, "asan": suite_asan, "fuzz": suite_fuzz, "soak": suite_soak}
# Parts of others, for make check; run only when named.
PARTS = {"rules": suite_rules, "few": suite_few}
# Mostly waiting, so it runs while another one works.
BESIDE = {"fuzz": "soak"}


def print_table(suites: list[Suite]) -> None:
    print(f"\n{'suite':<8}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>10}")
    for suite in suites:
        print(f"{suite.name:<8}{suite.passed:>8}{suite.failed:>8}{suite.skipped:>9}{suite.seconds:>10.1f}")
    total = sum(suite.seconds for suite in suites)
    print(f"{'total':<8}{'':>25}{total:>10.1f}\n")
    for suite in suites:
        for reason, count in suite.left_out.items():
            print(f"{suite.name}: {count} skipped: {reason}")
        for note in suite.notes:
            print(f"{suite.name}: {note}")


def keep_ledger(suites: list[Suite], scale: str) -> Path:
    now = datetime.datetime.now(datetime.timezone.utc)
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    entry = {
        "date": now.isoformat(timespec="seconds"),
        "scale": scale,
        "commit": commit,
        "machine": {"kernel": platform.release(), "cpus": os.cpu_count(), "arch": platform.machine()},
        "suites": [asdict(suite) for suite in suites],
    }
    LEDGER.mkdir(parents=True, exist_ok=True)
    path = LEDGER / f"{now:%Y%m%dT%H%M%SZ}-{scale}.json"
    path.write_text(json.dumps(entry, indent=1) + "\n")
    (LEDGER / "last.json").write_text(json.dumps(entry, indent=1) + "\n")
    return path


def run_suite(name: str, options: argparse.Namespace) -> Suite:
    suite = Suite(name)
    for log in CACHE.glob(f"{name}*.log"):
        log.unlink()
    (CACHE / f"{name}.xml").unlink(missing_ok=True)
    print(f"{name} …", flush=True)
    begin = time.monotonic()
    (SUITES | PARTS)[name](suite, options)
    suite.seconds = time.monotonic() - begin
    print(f"{name}: {suite.passed} passed, {suite.failed} failed, {suite.seconds:.1f} s", flush=True)
    return suite


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", choices=["quick", "full"], default="quick")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default=",".join(SUITES), help="suites, separated by commas")
    options = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    names = options.only.split(",")
    for name in names:
        if name not in SUITES | PARTS:
            parser.error(f"no suite '{name}'; there are: {', '.join(SUITES | PARTS)}")
    suites = []
    while names:
        beside = BESIDE.get(names[0])
        together = [names.pop(0)]
        if beside in names:
            names.remove(beside)
            together.append(beside)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            suites += pool.map(lambda name: run_suite(name, options), together)
    print_table(suites)
    print(f"ledger: {keep_ledger(suites, options.scale).relative_to(ROOT)}")
    failed = sum(suite.failed for suite in suites)
    print(f"{sum(suite.passed for suite in suites)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
