# SPDX-License-Identifier: Apache-2.0
"""JAX: no operators and no ITT of its own. What there is: samples with Python lines and XLA's functions, and marks."""

from harness import TARGETS

STEPS = 60


def test_samples_and_marks(strata, jax):
    words = [jax, TARGETS / "train_jax.py", str(STEPS)]
    plain = strata.run(words)
    assert plain.status == 0, plain.err
    done = strata("-collect", "hotspots", "-knob", "sampling-interval=1", "-r", "samples", "--", *words)
    assert (done.status, done.stdout) == (0, plain.stdout), done.err
    result = strata.folder / "samples"
    assert strata.counts(result) == {"step": STEPS}
    rows = strata.report(result, "hotspots", "-group-by", "module")["rows"]
    time_of = {row["module"].rpartition("/")[2]: row["cpu_self_ns"] for row in rows}
    assert any(name.startswith("libjax") for name in time_of), time_of
    rows = strata.report(result, "hotspots", "-group-by", "task-type,function")["rows"]
    (in_step,) = [row for row in rows if row["task_type"] == "step"]
    assert in_step["cpu_total_ns"] > 0 and len(in_step["children"]) > 1
    lines = strata.report(result, "hotspots", "-group-by", "python-line")["rows"]
    assert any("train_jax.py:" in row["python_line"] for row in lines)


def test_operators_say_what_to_do_instead(strata, jax):
    """PyTorch's are asked for and there is no PyTorch: the first lines say so, and which analysis has an answer."""
    done = strata("-collect", "operators", "-r", "marks", "--", jax, TARGETS / "train_jax.py", "2")
    assert done.status == 0 and "no process loaded PyTorch" in done.err, done.err
    assert strata.counts(strata.folder / "marks") == {"step": 2}
    empty = strata("-collect", "operators", "-r", "nothing", "--", "true")
    assert "-collect hotspots" in empty.err
