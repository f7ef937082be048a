# SPDX-License-Identifier: Apache-2.0
"""A program that creates threads and churns frames, sampled at 4 kHz: no crash, no growth, nothing wrong."""

import json

import pytest
from harness import TARGETS

# A thread that begins before strata has read what an ended one left has memory of its own, which later ones use again:
# where strata is kept from running for a while, there is more of it. It does not go on growing.
GROWTH_BYTES = 12 << 20


@pytest.mark.parametrize("interval", ["0.25", "0.125"])
def test_churn(strata, python, scale, interval):
    seconds = (120 if interval == "0.25" else 20) if scale == "full" else 8
    result = strata.folder / "r"
    options = ["-quiet", "-knob", f"sampling-interval={interval}", "-ring-buffer", "5", "-r", result]
    done = strata("-collect", "hotspots", *options, "--", python, TARGETS / "churn.py", str(seconds), timeout=300)
    assert done.status == 0, done.err
    said = json.loads(done.stdout)
    assert said["good"] == said["rounds"] > 0, "the program computed something else"
    assert said["late"] <= said["early"] + GROWTH_BYTES
    sampling = strata.result_json(result)["sampling"]
    assert sampling["samples"] > 100 * seconds
    print(said, {key: sampling[key] for key in ("samples", "dropped", "not_taken", "handler_usual_ns")})
