# SPDX-License-Identifier: Apache-2.0
"""The unit tests of the page, and its bundle within the budget, with the tools that web/package-lock.json pins."""

from __future__ import annotations

import subprocess
from pathlib import Path

WEB = Path(__file__).resolve().parents[2] / "web"


def run(*words: str) -> str:
    done = subprocess.run(["node", *words], cwd=WEB, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_units_of_the_page():
    assert "# fail 0" in run("test.mjs")


def test_bundle_is_complete_and_within_its_budget(tmp_path: Path):
    run("build.mjs", str(tmp_path / "first"))
    run("build.mjs", str(tmp_path / "second"))
    rows = [line.split("\t") for line in (tmp_path / "first/manifest.txt").read_text().splitlines()]
    assert "/index.html" in [url for url, _, _ in rows]
    for _, name, media_type in rows:
        assert (tmp_path / "first" / name).stat().st_size and (tmp_path / "first" / f"{name}.gz").stat().st_size
        assert "/" in media_type
    # The same sources give the same bytes: an embedded bundle can be checked against them.
    for part in ("manifest.txt", "bundle-id", *[name for _, name, _ in rows]):
        assert (tmp_path / "first" / part).read_bytes() == (tmp_path / "second" / part).read_bytes()
