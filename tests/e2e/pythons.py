# SPDX-License-Identifier: Apache-2.0
"""The CPythons of this machine, and which of them the tests must have."""

import os
from pathlib import Path

import pytest

VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
SYSTEM = "system"  # the distribution's own: all in one file, optimised by profile, without symbols


def find_interpreter(version):
    """A CPython of that version, of pyenv or of the system; None: there is none."""
    if version == SYSTEM:
        path = Path("/usr/bin/python3")
        return path if path.is_file() else None
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(root.glob(f"{version}.*/bin/python{version}"))
    for path in [*found, Path(f"/usr/bin/python{version}")]:
        if path.is_file():
            return path
    return None


def interpreter(version):
    path = find_interpreter(version)
    if not path:
        pytest.skip(f"no CPython {version} here")
    return path


def check_coverage():
    """3.11, and one version before and one after it, are the least that says anything about the layouts."""
    here = [version for version in VERSIONS if find_interpreter(version)]
    print("CPython versions here:", ", ".join(here), "- not tested:", ", ".join(set(VERSIONS) - set(here)) or "none")
    assert "3.11" in here
    assert {"3.8", "3.9", "3.10"} & set(here), "no CPython up to 3.10"
    assert {"3.12", "3.13", "3.14"} & set(here), "no CPython from 3.12 on"
