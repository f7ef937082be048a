#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on calls that the house style bans, outside comments and literals."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

EVERYWHERE = "strcpy strcat sprintf vsprintf gets strtok atoi atol atoll system popen tmpnam sscanf alloca".split()
# What enters a foreign program: nothing that allocates, locks or buffers.
IN_TARGET = "malloc calloc realloc free printf fprintf pthread_mutex_lock".split()

LITERAL = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def blank(match: re.Match[str]) -> str:
    """Keeps line numbers: only the line ends of a comment or literal stay."""
    return "".join(char if char == "\n" else " " for char in match.group())


def check_file(path: Path) -> list[str]:
    name = path.relative_to(ROOT).as_posix()
    banned = list(EVERYWHERE)
    if name.startswith(("src/collect/inproc/", "src/collect/jit/", "src/base/rt/")):
        banned += IN_TARGET
    call = re.compile(r"(?<![\w.>])(" + "|".join(banned) + r")\s*\(")
    text = LITERAL.sub(blank, path.read_text(encoding="utf-8"))
    return [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match.group(1)} is banned"
        for match in call.finditer(text)
    ]


def main() -> int:
    files = [path for folder in ("src", "tests", "bench") for path in sorted((ROOT / folder).rglob("*.[ch]"))]
    problems = [problem for path in files for problem in check_file(path)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
