#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what clang-format cannot: licence lines, sizes, headers that compile alone, folder READMEs,
names with two meanings, and paths of somebody's machine."""

from __future__ import annotations

import concurrent.futures
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70
README_LINES_MAX = 20
# Files that are what they are: inputs of tests.
DATA = ("tests/fuzz/corpus/", "tests/data/", "tests/golden/")
CODE = {".c", ".h", ".py", ".sh", ".cmake", ".ts", ".tsx", ".mjs"}
# Home and work folders of a machine; written in pieces so that this file passes its own check.
MACHINE_PATH = re.compile("(?<![\\w.])/(" + "|".join(["ro" + "ot", "wo" + "rk", "ho" + "me/[a-z]+"]) + ")/")
TAG = re.compile(r"^[ \t]*(?:typedef )?((?:struct|enum|union) st_\w+)\s*\{", re.MULTILINE)
FUNCTION_END = re.compile(r"^}\s*$")


def tracked_files() -> list[Path]:
    """What git has or would take: nothing that is ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    return [ROOT / name for name in sorted(set(names)) if (ROOT / name).is_file() and not name.startswith(DATA)]


def is_code(path: Path) -> bool:
    return path.suffix in CODE or path.name == "CMakeLists.txt"


def check_text(path: Path, name: str) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return []  # fuzz corpora and golden results
    problems = []
    lines = text.splitlines()
    if is_code(path) and not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:2]):
        problems.append(f"{name}:1: no SPDX line")
    if is_code(path) and len(lines) > FILE_LINES_MAX:
        problems.append(f"{name}:1: {len(lines)} lines; do two jobs share this file?")
    for number, line in enumerate(lines, 1):
        if MACHINE_PATH.search(line):
            problems.append(f"{name}:{number}: a path of somebody's machine")
        if is_code(path) and line != line.rstrip():
            problems.append(f"{name}:{number}: blanks at the end of the line")
    if text and not text.endswith("\n"):
        problems.append(f"{name}:{len(lines)}: no line end at the end of the file")
    return problems


def long_functions(path: Path, name: str) -> list[str]:
    """A function opens with '{' in the first column and ends with '}' there."""
    problems, begin = [], 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line == "{":
            begin = number
        elif FUNCTION_END.match(line) and begin:
            lines = number - begin - 1
            if lines > FUNCTION_LINES_MAX:
                problems.append(f"{name}:{begin}: a function of {lines} lines; {FUNCTION_LINES_MAX} at most")
            begin = 0
    return problems


def check_header(path: Path) -> list[str]:
    command = ["gcc", "-std=c11", "-D_GNU_SOURCE", '-DST_VERSION="0"', "-Wall", "-Wextra", "-Werror"]
    command += ["-I", str(ROOT / "src"), "-fsyntax-only", "-x", "c", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # A header of static inlines used nowhere is fine; one that does not compile alone is not.
    return [] if done.returncode == 0 else [f"{path.relative_to(ROOT)}:1: does not compile alone\n{done.stderr}"]


def check_readmes() -> list[str]:
    problems = []
    sources = [*(ROOT / "src").rglob("*.[ch]"), *(ROOT / "src").rglob("CMakeLists.txt")]
    for folder in sorted({path.parent for path in sources} - {ROOT / "src"}):
        readme = folder / "README.md"
        name = readme.relative_to(ROOT)
        if not readme.is_file() or not readme.stat().st_size:
            problems.append(f"{name}: missing: what comes in, what goes out, who owns what")
        elif len(readme.read_text(encoding="utf-8").splitlines()) > README_LINES_MAX:
            problems.append(f"{name}: more than {README_LINES_MAX} lines; details belong in docs/internals")
    return problems


def check_names() -> list[str]:
    """One meaning for a tag, and a file that its name finds: no tag twice, no name of a file three times."""
    tags, files = {}, {}
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        name = path.relative_to(ROOT).as_posix()
        files.setdefault(path.name, []).append(name)
        for tag in TAG.findall(path.read_text(encoding="utf-8")):
            tags.setdefault(tag, []).append(name)
    problems = [f"{', '.join(at)}: {tag} is defined twice" for tag, at in sorted(tags.items()) if len(at) > 1]
    return problems + [f"{', '.join(at)}: one name for {len(at)} files" for at in files.values() if len(at) > 2]


def main() -> int:
    problems = check_readmes() + check_names()
    headers = []
    for path in tracked_files():
        name = path.relative_to(ROOT).as_posix()
        problems += check_text(path, name)
        if path.suffix == ".c":
            problems += long_functions(path, name)
        if path.suffix == ".h" and name.startswith("src/"):
            headers.append(path)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(check_header, headers):
            problems += found
    for line in problems:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
