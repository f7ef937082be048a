#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what two builds print for the same results, byte by byte: for changes of shape that must not change answers.

usage: compare_outputs.py OLD_STRATA NEW_STRATA RESULT... [--only PATTERN] [--shown N]

Every report in every format with every grouping, filter and sort it accepts, every export and every SQL table is
asked of both builds, each on copies of its own that have no index. What can be asked is what the old build lists.
Standard library only.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import csv
import difflib
import fnmatch
import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROW = re.compile(r"^([a-z0-9_-]+)  *\S", re.MULTILINE)
INDENTED = re.compile(r"^  ([a-z-]+) ", re.MULTILINE)
# Its size is the only thing in a report that depends on the index and not on what was recorded.
INDEX_SIZE = re.compile(rb'("?index\.strata"?[ ,:\t]+)[\d.,]+( [kMG]?B)?')
VIEWS = (["-show-as", "samples"], ["-show-as", "percent"], ["-call-stack-mode", "all"])
VIEWS += (["-call-stack-mode", "user-only"], ["-inline-mode", "off"], ["-limit", "3"])
VIEWS += (["-python-frames", "only"], ["-python-frames", "none"])
PARTS = (["-reverse"], ["-parts", "none"], ["-group-by", "thread"], ["-time-filter", "0.01:"])


class Build:
    """One binary with its own copies of the results, in a folder whose path is as long as the other's."""

    def __init__(self, binary: str, results: list[Path]) -> None:
        self.binary = os.path.abspath(binary)
        self.folder = Path(tempfile.mkdtemp(prefix="outputs."))
        for result in results:
            shutil.copytree(result, self.folder / result.name)
            (self.folder / result.name / "index.strata").unlink(missing_ok=True)
            self.run(["report", "info", "-r", result.name])  # so that no two of the others make the index at once

    def run(self, words: list[str]) -> bytes:
        """Status, both outputs and, where -o names a file, what is in it; without what must differ."""
        env = {key: value for key, value in os.environ.items() if not key.startswith("STRATA")}
        done = subprocess.run(
            [self.binary, *words],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=env | {"TZ": "UTC", "LC_ALL": "C.UTF-8"},
            check=False,
        )
        told = b"status %d\n%s\n--- stderr\n%s" % (done.returncode, done.stdout, done.stderr)
        told = told.replace(str(self.folder).encode(), b"<FOLDER>").replace(self.binary.encode(), b"<STRATA>")
        written = self.folder / words[words.index("-o") + 1] if "-o" in words else None
        if written and written.is_file():
            data = written.read_bytes()
            told += b"\n--- file\n" + (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)
            written.unlink()
        return INDEX_SIZE.sub(rb"\1<SIZE>", told)

    def text(self, words: list[str]) -> str:
        """Standard output alone."""
        return self.run(words).decode(errors="replace").split("\n--- stderr")[0].partition("\n")[2]

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def first_values(build: Build, base: list[str], grouping: str) -> list[str]:
    rows = list(csv.reader(io.StringIO(build.text([*base, "-group-by", grouping, "-format", "csv"]))))
    return [row[0] for row in rows[1:] if row and row[0]][:1]


def report_cases(build: Build, report: str, result: str) -> list[list[str]]:
    base = ["report", report, "-r", result]
    cases = [[*base, "-format", form] for form in ("text", "csv", "json")] + [[*base, "-report-width", "80"]]
    cases += [[*base, *view] for view in VIEWS]
    lists = {option: build.text([*base, option, "?"]) for option in ("-group-by", "-filter", "-sort-desc", "-column")}
    cases += [[*base, option, "?"] for option in lists]
    groupings = ROW.findall(lists["-group-by"])
    for first in groupings:
        cases += [[*base, "-group-by", first, "-format", form] for form in ("text", "json")]
        pairs = [f"{first},{second}" for second in groupings if second != first]
        cases += [[*base, "-group-by", pair, "-format", "csv"] for pair in pairs]
    for name in ROW.findall(lists["-filter"]):
        for value in first_values(build, base, name):
            cases += [[*base, "-filter", f"{name}{sign}{value}", "-format", "csv"] for sign in ("=", "!=")]
    for metric in ROW.findall(lists["-sort-desc"]):
        cases += [[*base, option, metric, "-limit", "5"] for option in ("-sort-desc", "-sort-asc")]
    return cases


def section(text: str, head: str) -> list[str]:
    return INDENTED.findall(text.partition(head + "\n")[2].partition("\n\n")[0])


def all_cases(build: Build, results: list[str]) -> list[list[str]]:
    reports = section(build.text(["help", "report"]), "Reports:")
    formats = section(build.text(["help", "export"]), "Formats:")
    schema = build.text(["query", "-schema"])
    cases = [["help"], ["query", "-schema"]]
    cases += [["help", name] for name in ("collect", "report", "compare", "export", "query", "import")]
    for result in results:
        for report in reports:
            cases += report_cases(build, report, result)
        for form in formats:
            base = ["export", form, "-r", result, "-o"]
            cases += [[*base, f"out.{len(cases)}{end}"] for end in (".gz", ".html")]
            cases += [[*base, "-", *part] for part in PARTS]
        for table in re.findall(r"^(\w+): ", schema, re.MULTILINE):
            cases += [["query", "-r", result, f"SELECT * FROM {table}", "-format", form] for form in ("json", "csv")]
        for other in results:
            cases += [["compare", name, result, other, "-format", form] for name in reports for form in ("text", "csv")]
    return cases


def show(words: list[str], old: bytes, new: bytes) -> None:
    print(f"DIFFERS: strata {' '.join(words)}")
    lines = [text.decode(errors="replace").splitlines()[:5000] for text in (old, new)]
    for line in list(difflib.unified_diff(*lines, "old", "new", n=1, lineterm=""))[:16]:
        print(f"  {line[:240]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("result", nargs="+", type=Path, help="folders of results; their names must differ")
    parser.add_argument("--only", default="*", help="only command lines that match this shell pattern")
    parser.add_argument("--shown", type=int, default=10, help="how many differences to show")
    options = parser.parse_args()
    builds = []
    try:
        builds = [Build(binary, options.result) for binary in (options.old, options.new)]
        cases = all_cases(builds[0], [result.name for result in options.result])
        cases = [words for words in cases if fnmatch.fnmatch(" ".join(words), options.only)]
        different = 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            answers = pool.map(lambda words: [build.run(words) for build in builds], cases)
            for words, (old, new) in zip(cases, answers):
                different += old != new
                if old != new and different <= options.shown:
                    show(words, old, new)
    finally:
        for build in builds:
            build.close()
    print(f"{len(cases)} outputs, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
