# SPDX-License-Identifier: Apache-2.0
"""Operators where PyTorch gives no way to register with it: its own ITT tasks, entered for the program."""

import pytest
from harness import TARGETS


@pytest.mark.torch
def test_itt_is_the_last_way(strata, python):
    """And left as soon as the program profiles itself."""
    program = (python, TARGETS / "itt_fallback.py")
    forced = ("sh", "-c", 'STRATA_CONFIG="$STRATA_CONFIG;operator_level=4" exec "$@"', "sh")
    alone = strata.run(program)
    done = strata("-collect", "operators", "-quiet", "-r", "itt", "--", *forced, *program)
    assert done.status == 0, done.err
    assert done.out == alone.out
    report = strata.report(strata.folder / "itt", "operators")
    counts = {row["operator"]: row["count"] for row in report["rows"]}
    assert (counts["aten::matmul"], counts["aten::relu"], counts["MmBackward0"]) == (4, 4, 4)
    assert counts["aten::exp"] == 1 and "aten::sigmoid" not in counts and "aten::tanh" not in counts
    assert "ITT tasks" in report["subject"] and report["subject"].endswith("started its own profile")
    text = strata("report", "operators", strata.folder / "itt").out
    assert text.splitlines()[0] == report["subject"]
