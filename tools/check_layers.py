#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on an include that points against the flow of the data.

The tree is the flow: base, format, store, then collect on one side and resolve, analyze and export on the
other, then request, then serve, cli and library. What is loaded into a foreign program (collect/inproc) may
reach only base/rt and format, also through the headers it includes. The sub-folders of a layer have an order too.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SRC = Path(__file__).resolve().parent.parent / "src"

# Layer: the layers it may include, itself not mentioned.
ALLOWED = {
    "base/rt": set(),
    "base": {"base/rt"},
    "format": {"base", "base/rt"},
    "store": {"base", "base/rt", "format"},  # its public headers; below, what is behind them
    "store/model": {"base", "base/rt", "format", "store"},
    "store/index": {"base", "base/rt", "format", "store", "store/model"},
    "store/read": {"base", "base/rt", "format", "store", "store/model", "store/index"},
    "store/write": {"base", "base/rt", "format", "store"},
    "unwind/rt": {"base/rt", "format"},
    "unwind": {"base", "base/rt", "format", "unwind/rt"},
    # The table of back-ends and what uses several of them; below it the back-ends, the core at the bottom.
    "collect/inproc": {
        "base/rt",
        "format",
        "unwind/rt",
        "collect/inproc/core",
        "collect/inproc/device",
        "collect/inproc/itt",
        "collect/inproc/python",
        "collect/inproc/sampler",
        "collect/inproc/torch",
        "collect/inproc/waits",
    },
    "collect/inproc/core": {"base/rt", "format"},
    "collect/inproc/python": {"base/rt", "format", "unwind/rt", "collect/inproc/core"},
    "collect/inproc/itt": {"base/rt", "format", "collect/inproc/core", "collect/inproc/python"},
    "collect/inproc/sampler": {
        "base/rt",
        "format",
        "unwind/rt",
        "collect/inproc/core",
        "collect/inproc/python",
    },
    "collect/inproc/torch": {"base/rt", "format", "collect/inproc/core", "collect/inproc/python"},
    "collect/inproc/device": {"base/rt", "format", "collect/inproc/core"},
    "collect/cuda": {"format", "collect/inproc/device", "collect/inproc/torch"},
    "collect/devices": {"format", "collect/inproc/device"},
    "collect/opencl": {"format", "collect/inproc/device", "collect/devices"},
    "collect/ze": {"format", "collect/inproc/device", "collect/devices"},
    "collect/inproc/waits": {
        "base/rt",
        "format",
        "unwind/rt",
        "collect/inproc/core",
        "collect/inproc/itt",
        "collect/inproc/python",
        "collect/inproc/sampler",
    },
    "collect/jit": {"collect/inproc/itt"},
    "collect/waits": {"format", "collect/inproc/waits"},
    "collect/host": {"base", "base/rt", "format", "store", "unwind", "unwind/rt"},
    "collect/launch/drain": {
        "base",
        "base/rt",
        "format",
        "store",
        "unwind",
        "unwind/rt",
        "collect/host",
    },
    "collect/launch/family": {
        "base",
        "base/rt",
        "format",
        "store",
        "unwind",
        "unwind/rt",
        "collect/host",
        "collect/launch/drain",
    },
    "collect/launch/run": {
        "base",
        "base/rt",
        "format",
        "store",
        "unwind",
        "unwind/rt",
        "collect/host",
        "collect/launch/drain",
        "collect/launch/family",
    },
    "collect/launch/doctor": {
        "base",
        "base/rt",
        "format",
        "store",
        "unwind",
        "unwind/rt",
        "collect/host",
        "collect/launch/drain",
        "collect/launch/family",
        "collect/launch/run",
    },
    "collect/import": {"base", "base/rt", "format", "store", "unwind", "unwind/rt", "collect/host"},
    "resolve": {"base", "base/rt", "format", "store", "unwind", "unwind/rt"},
    "analyze": {"base", "base/rt", "format", "store", "resolve"},
    "export": {"base", "base/rt", "format", "store", "resolve", "analyze"},
    "serve": {"base", "base/rt", "format", "store", "resolve", "analyze", "export", "request"},
    "request": {"base", "base/rt", "format", "store", "resolve", "analyze", "export"},
    "live": {
        "base",
        "base/rt",
        "format",
        "store",
        "unwind",
        "unwind/rt",
        "collect/host",
        "collect/launch/drain",
        "resolve",
    },
    "cli": {
        "request",
        "live",
        "base",
        "base/rt",
        "format",
        "store",
        "collect/launch/run",
        "collect/launch/family",
        "collect/launch/doctor",
        "collect/host",
        "collect/import",
        "resolve",
        "analyze",
        "export",
        "serve",
    },
    "library": {"base", "base/rt", "format", "store", "resolve", "analyze", "export", "request"},
}
# Layers whose whole chain of headers must stay inside these layers.
INPROC = {layer for layer in ALLOWED if layer.startswith("collect/inproc")}
CLOSED = {
    "collect/jit": {"collect/jit", "collect/inproc/itt"},
    "collect/waits": {"collect/waits", "collect/inproc/waits", "format"},
    **{layer: INPROC | {"base/rt", "format", "unwind/rt"} for layer in INPROC},
}

# Sub-folders of a layer in the order of the flow: an include may point at earlier ones, and within one line. "." is the
# layer's own folder.
ORDER = {
    "store": [".", "model", "index write", "read"],
    "collect/inproc": ["core", "python", "itt sampler torch", "."],
    "collect/launch": ["drain", "family", "run", "doctor"],
    "analyze": [
        "engine",
        "datasets",
        "steps",
        "operators",
        "tables",
        "samples",
        "stacks",
        "reports",
        "findings torch sql timeline",
        "summary",
    ],
    "export": [".", "report", "stacks trace", "page"],
    "serve": [".", "http"],
}

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def layer_of(path: str) -> str | None:
    """The longest layer name that is a leading folder of path."""
    matches = [name for name in ALLOWED if path.startswith(name + "/")]
    return max(matches, key=len) if matches else None


def place_of(path: str, layer: str) -> int | None:
    """Where the file's folder stands in the order of its layer; None when it has no place."""
    folder = Path(path).parent.relative_to(layer).as_posix()
    for place, folders in enumerate(ORDER.get(layer, ["."])):
        if folder in folders.split():
            return place
    return None


def includes_of(path: Path) -> list[tuple[int, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    found = ((number, INCLUDE.match(line)) for number, line in enumerate(lines, 1))
    return [(number, match.group(1)) for number, match in found if match]


def check_file(path: Path) -> list[str]:
    name = path.relative_to(SRC).as_posix()
    layer = layer_of(name)
    if layer is None:
        return [f"src/{name}:1: the folder is no layer: add it to tools/check_layers.py"]
    place = place_of(name, layer)
    if place is None:
        return [f"src/{name}:1: the folder has no place in {layer}: add it to ORDER in tools/check_layers.py"]
    problems = []
    for number, included in includes_of(path):
        if not (SRC / included).is_file():
            problems.append(f'src/{name}:{number}: "{included}" is not a path from src/')
            continue
        other = layer_of(included)
        if other != layer and other not in ALLOWED[layer]:
            problems.append(f"src/{name}:{number}: {layer} may not include {included}")
        elif other == layer and (place_of(included, layer) or 0) > place:
            problems.append(f"src/{name}:{number}: {Path(name).parent} comes before {included}")
    if layer in CLOSED:
        problems += check_closure(path, CLOSED[layer])
    return problems


def check_closure(path: Path, inside: set[str]) -> list[str]:
    """Follows every header that path reaches."""
    problems, seen, queue = [], set(), [(path, path.name)]
    while queue:
        current, chain = queue.pop()
        for _, included in includes_of(current):
            if included in seen or not (SRC / included).is_file():
                continue
            seen.add(included)
            if layer_of(included) not in inside:
                problems.append(f"src/{path.relative_to(SRC)}:1: reaches {included} through {chain}")
            queue.append((SRC / included, f"{chain} > {included}"))
    return problems


def main() -> int:
    files = sorted([*SRC.rglob("*.c"), *SRC.rglob("*.h")])
    problems = [problem for path in files for problem in check_file(path)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
