#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on every C file of src/, on all cores, and remembers which were found clean.

A file that is built into several programs is looked at once, as the first of them builds it.

What a verdict depends on is its key: clang-tidy's version, its configuration, the compiler's words, and the bytes
of the file and of all that it includes. A clean file is looked at again when one of them changes. Findings are
never kept.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "tidy"
TIDY = "clang-tidy-14"


@functools.cache
def digest(path: str) -> str:
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()


def included(command: list[str]) -> list[str]:
    """The file and everything it includes, by the compiler that builds it: make's rule, taken apart."""
    words = [word for word in command if word not in ("-c", "-MD")]
    for option in ("-o", "-MF", "-MT"):
        if option in words:
            at = words.index(option)
            del words[at : at + 2]
    rule = subprocess.run([*words, "-M", "-MT", "x"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(shlex.split(rule.replace("\\\n", " "))[1:])


def key_of(version: str, command: list[str]) -> str:
    parts = [version, digest(".clang-tidy"), *command]
    parts += [f"{path} {digest(path)}" for path in included(command)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def look(version: str, file: str, command: list[str]) -> tuple[str, float, str]:
    """(file, seconds it took, findings): no seconds when it was known to be clean."""
    clean = CACHE / key_of(version, command)
    if clean.exists():
        clean.touch()
        return file, 0.0, ""
    begin = time.monotonic()
    done = subprocess.run([TIDY, "--quiet", "-p", CACHE, file], cwd=ROOT, capture_output=True, text=True, check=False)
    findings = ""
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "warnings generated" not in line]
        findings = "\n".join([done.stdout, *errors])
    else:
        clean.touch()
    return file, time.monotonic() - begin, findings


def commands_of(build: str) -> dict[str, list[str]]:
    """File → how it is built, which is also what clang-tidy finds in the cache: it would go through all ways."""
    rows = {}
    for row in json.loads((ROOT / build / "compile_commands.json").read_text()):
        rows.setdefault(os.path.relpath(row["file"], ROOT), row)
    (CACHE / "compile_commands.json").write_text(json.dumps(list(rows.values())))
    return {file: shlex.split(row["command"]) for file, row in rows.items()}


def forget_old() -> None:
    """Keys that no run of a month has asked for."""
    for path in CACHE.iterdir():
        if path.stat().st_mtime < time.time() - 30 * 86400:
            path.unlink(missing_ok=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-p", dest="build", default="build/dev", help="folder of compile_commands.json")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--slowest", type=int, default=0, help="name that many files that took longest")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    forget_old()
    version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout
    commands = commands_of(options.build)
    unknown = [file for file in options.files if file not in commands]
    if unknown:
        print(f"no compile command for {', '.join(unknown)}: configure {options.build} anew", file=sys.stderr)
        return 1
    # Long files first, so that the last ones are short.
    files = sorted(options.files, key=lambda file: -(ROOT / file).stat().st_size)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda file: look(version, file, commands[file]), files))
    for file, _, findings in rows:
        if findings:
            print(f"{file}:\n{findings}")
    for file, seconds, _ in sorted(rows, key=lambda row: -row[1])[: options.slowest]:
        print(f"{seconds:7.1f} s  {file}")
    return 1 if any(findings for _, _, findings in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
