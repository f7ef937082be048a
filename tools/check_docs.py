#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the files and folders that READMEs and documents name exist, so that a move does not leave them behind.

A path that begins with a folder of the repository is checked in every document. In pages about the sources (READMEs of
folders, CONTRIBUTING.md, docs/internals, docs/format) so is every `name.c` in backquotes or in a listing, which must be
a file of that name or the end of a path; a pattern with * must match something. The map in CONTRIBUTING.md has every
folder with sources, the table of docs/internals every page.
"""

from __future__ import annotations

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ABOUT_SOURCES = re.compile(r"^(CONTRIBUTING\.md|(src|tests|bench|tools)/.*|docs/(internals|format|dependencies).*)$")
TOP = "src|tests|tools|docs|bench|examples|python|cmake"
ROOTED = re.compile(rf"(?<![\w./<{{*-])(?:{TOP})/[\w./{{}},*+-]*[\w}}*/](?![\w<])")
QUOTED = re.compile(r"`([^`\s]+)`")
LISTED = re.compile(r"^[ │├└─]*([\w./{},*+-]+/)(?:\s|$)|(?<![\w./<-])([\w./{}*+-]+\.(?:c|h|cpp|py|sh|md))(?![\w.])")
SOURCE = re.compile(r"^[\w./{},*+-]+\.(?:c|h|cpp|py|sh|cmake|md|S|f90|in|map)$")
FOLDER = re.compile(r"^[a-z_]+(?:/[a-z_]+)*/$")
BRACES = re.compile(r"^(.*?)\{([^{}]*)\}(.*)$")
# Names that are no files of ours: headers of others, files that a build, a run or a user makes.
ELSEWHERE = {"build/", "perf-PID.map", "_build.py", "train.py", "script.py", "trace.py"}
LEFT_OUT = ("tests/data/", "tests/fuzz/corpus/")


def tracked() -> set[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    return {name for name in names if name and (ROOT / name).exists()}


def spelled_out(name: str) -> list[str]:
    """`a/{b,c}.h` are two."""
    match = BRACES.match(name)
    if not match:
        return [name]
    return [one for part in match.group(2).split(",") for one in spelled_out(match.group(1) + part + match.group(3))]


class Tree:
    def __init__(self, files: set[str]) -> None:
        folders = {parent.as_posix() for name in files for parent in Path(name).parents}
        self.paths = files | folders - {"."}
        self.ends = {path[at:] for path in self.paths for at in starts(path)}

    def has(self, name: str, is_rooted: bool) -> bool:
        name = name.rstrip("/")
        if "*" in name:
            return any(fnmatch.fnmatch(path, name if is_rooted else f"*{name}") for path in self.paths)
        return name in self.paths if is_rooted else name in self.ends


def starts(path: str) -> list[int]:
    return [0] + [at + 1 for at, char in enumerate(path) if char == "/"]


def names_of(line: str, about_sources: bool, is_listing: bool) -> list[tuple[str, bool]]:
    """(name, whether it is a path from the root) of what a line names."""
    found = [(name, True) for name in ROOTED.findall(line)]
    words = QUOTED.findall(line) if about_sources and not is_listing else []
    if about_sources and is_listing:
        words = [folder or file for folder, file in LISTED.findall(line)]
    for word in words:
        if not ROOTED.match(word) and (SOURCE.match(word) or FOLDER.match(word)):
            found.append((word, False))
    return [(one, is_rooted) for name, is_rooted in found for one in spelled_out(name)]


def check(name: str, tree: Tree) -> list[str]:
    problems, is_listing = [], False
    for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
        is_listing ^= line.startswith("```")
        for word, is_rooted in names_of(line, bool(ABOUT_SOURCES.match(name)), is_listing):
            here = (Path(name).parent / word).as_posix()
            if word not in ELSEWHERE and not tree.has(word, is_rooted) and not tree.has(here, True):
                problems.append(f"{name}:{number}: there is no {word}")
    return problems


def check_complete(files: set[str]) -> list[str]:
    """Folders that the map leaves out, and pages that the table of internals does."""
    lines = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    listed = {line.split()[0].rstrip("/") for line in lines if line.startswith("src/")}
    folders = {str(Path(name).parent) for name in files if re.match(r"src/.*\.[ch]$", name)}
    problems = [f"CONTRIBUTING.md: the map has no {folder}/" for folder in sorted(folders - listed)]
    table = (ROOT / "docs/internals/README.md").read_text(encoding="utf-8")
    pages = sorted(Path(name).name for name in files if name.startswith("docs/internals/") and name.endswith(".md"))
    missing = [page for page in pages if page != "README.md" and f"({page})" not in table]
    return problems + [f"docs/internals/README.md: no row for {page}" for page in missing]


def main() -> int:
    files = tracked()
    tree = Tree(files)
    pages = sorted(name for name in files if name.endswith(".md") and not name.startswith(LEFT_OUT))
    problems = [problem for name in pages for problem in check(name, tree)] + check_complete(files)
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
