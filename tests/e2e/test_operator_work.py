# SPDX-License-Identifier: Apache-2.0
"""FLOPs and bytes of operators against torch's own counters, and against figures from paper."""

import json
import subprocess

import pytest
from harness import TARGETS, clean_env

pytestmark = pytest.mark.torch

PROGRAM = TARGETS / "operator_flops.py"
STEPS = 2


@pytest.fixture(scope="module")
def counted(shared_strata, python):
    """(strata, result, what torch.utils.flop_counter and torch.profiler say of the same steps)."""
    result, said = shared_strata.folder / "work", shared_strata.folder / "work.json"
    done = shared_strata("-collect", "operators", "-quiet", "-r", result, "--", python, PROGRAM)
    assert done.status == 0, done.err
    subprocess.run([python, PROGRAM, said], env=clean_env(), check=True, capture_output=True)
    return shared_strata, result, json.loads(said.read_text())


def operators(counted):
    strata, result = counted[:2]
    return {row["operator"]: row for row in strata.report(result, "operators")["rows"]}


def test_flop_counter(counted):
    """A training step with convolutions of every kind, and one with attention."""
    rows, theirs = operators(counted), counted[2]["counter"]
    for name in ("convolution", "mm", "addmm", "bmm"):
        assert rows[f"aten::{name}"]["flops"] == theirs[f"aten.{name}"] > 0, name
    assert rows["aten::scaled_dot_product_attention"]["flops"] == STEPS * theirs["attention"]
    backward = rows["aten::_scaled_dot_product_flash_attention_for_cpu_backward"]
    assert backward["flops"] == STEPS * theirs["attention backward"]
    # Four groups are four small convolutions: a quarter of what the counter takes them for.
    group = 2 * (4 * 6 * 6) * 9
    assert rows["aten::convolution_backward"]["flops"] == theirs["aten.convolution_backward"] - STEPS * 3 * group


def test_what_runs_inside(counted):
    """The work is known where the time is: in oneDNN's and PyTorch's own kernels, not just in what calls them."""
    rows = operators(counted)
    outside = rows["aten::convolution"]["flops"]
    transposed = rows["aten::conv_transpose2d"]["flops"]  # has no operator inside
    # 5 × 7 places of 3 × 6, each of 4 × 3 × 2 products.
    double = STEPS * 2 * (3 * 6 * 5 * 7) * (4 * 6)
    assert rows["aten::_slow_conv2d_forward"]["flops"] == double
    moved = 3 * 4 * 9 * 8 + 6 * 4 * 6 + 6 + 3 * 6 * 5 * 7
    assert rows["aten::_slow_conv2d_forward"]["moved_bytes"] == STEPS * 8 * moved
    assert rows["aten::mkldnn_convolution"]["flops"] == outside - transposed - double > 0
    for name in ("aten::mkldnn_convolution", "aten::_slow_conv2d_forward"):
        assert rows[name]["gflops_per_s"] > 0
    # Four gates of 8 for each of 5 × 3 rows, of 7 inputs and of 8 from the step before.
    assert rows["aten::mkldnn_rnn_layer"]["flops"] == STEPS * 2 * (5 * 3) * 32 * (7 + 8)


def test_what_only_moves_bytes(counted):
    strata, result = counted[:2]
    asked = ["-group-by", "operator,input-shapes"]
    groups = {row["operator"]: row for row in strata.report(result, "operators", *asked)["rows"]}
    (copied,) = (row for row in groups["aten::copy_"]["children"] if row["input_shapes"].startswith("[[100, 16]"))
    assert copied["moved_bytes"] == STEPS * 1600 * (4 + 8) and not copied.get("flops")
    assert groups["aten::embedding"]["moved_bytes"] == STEPS * (30 * 8 + 2 * 30 * 16 * 4)
    assert groups["aten::cat"]["moved_bytes"] >= STEPS * 2 * 4 * (1600 + 160)
    # All of it once: a copy in a clone is the clone's.
    assert strata.report(result, "operators")["totals"]["moved_bytes"] < sum(
        row.get("moved_bytes") or 0 for row in groups.values()
    )


def test_work_counts_once(counted):
    """Operators inside of one that is counted are its own: outermost names hold all of it."""
    strata, result = counted[:2]
    totals = strata.report(result, "operators")["totals"]
    rows = operators(counted)
    assert rows["aten::convolution"]["flops"] == rows["aten::_convolution"]["flops"]
    assert totals["flops"] < sum(row.get("flops") or 0 for row in rows.values())
    assert totals["flops"] > rows["aten::convolution"]["flops"] + rows["aten::convolution_backward"]["flops"]


def test_torch_profilers_flops(counted):
    strata, result = counted[:2]
    sql = "SELECT name, sum(torch_flops) AS flops FROM operators WHERE torch_flops IS NOT NULL GROUP BY name"
    done = strata("query", "-r", result, "-format", "json", sql)
    ours = {row["name"]: row["flops"] for row in json.loads(done.out)["rows"]}
    assert ours == {name: flops for name, flops in counted[2]["profiler"].items() if flops}
    assert {"aten::conv2d", "aten::mul", "aten::add", "aten::bmm"} <= set(ours)


def test_on_paper(counted):
    rows = operators(counted)
    # 33 + 2·3 - 2·(5 - 1) - 1 over 2, and one: 16 places of 8 channels, two rows, each of 6 × 5 products.
    assert rows["aten::conv1d"]["flops"] == STEPS * 2 * (2 * 8 * 16) * (6 * 5)
    assert rows["aten::conv1d"]["moved_bytes"] == STEPS * 4 * (2 * 6 * 33 + 8 * 6 * 5 + 8 + 2 * 8 * 16)
    # 9 × 20 places, each with the whole kernel of 5 × 4 × 4; a result of 19 × 41.
    assert rows["aten::conv_transpose2d"]["flops"] == STEPS * 2 * (2 * 12 * 9 * 20) * (5 * 16)
    moved = 2 * 12 * 9 * 20 + 12 * 5 * 16 + 5 + 2 * 5 * 19 * 41
    assert rows["aten::conv_transpose2d"]["moved_bytes"] == STEPS * 4 * moved
    for row in rows.values():
        if row.get("flops") and row.get("moved_bytes"):
            assert row["flops_per_byte"] == pytest.approx(row["flops"] / row["moved_bytes"], rel=1e-3)
            assert row["gflops_per_s"] > 0 and row["gbytes_per_s"] > 0
