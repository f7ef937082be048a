# SPDX-License-Identifier: Apache-2.0
"""Runs whose every task an export must tell as the report does: one fixture parameter each."""

import json

import pytest
from harness import ROOT, TARGETS
from test_labels import BROKEN, TEXTS


def nested(strata, target):
    words = ["--threads", "3", "--pairs", "900", "--depth", "4", "--labels", "11", "--fork", "2", "--burst", "300"]
    return strata.collect(target, *words, "--thread-name", "worker ", result=strata.folder / "nested")


def execs(strata, programs):
    """One pid and one tid, two programs."""
    words = [programs / "itt_target", "--threads", "0", "--pairs"]
    return strata.collect(*words, "5", "--exec", *words, "6", result=strata.folder / "exec")


def crossed(strata, programs):
    return strata.collect(programs / "crossed_ends", "40", result=strata.folder / "crossed")


def odd(strata, programs):
    """Labels of every kind, ends of nothing, tasks that never end."""
    file = strata.folder / "labels"
    texts = [text.encode() for text in TEXTS if text] + BROKEN + [b""]
    file.write_bytes(b"".join(text + b"\0" for text in texts))
    return strata.collect(programs / "odd_labels", file, "3", "2", result=strata.folder / "odd")


def things(strata, programs):
    """Tasks among everything else that ITT tells."""
    return strata.collect(programs / "export_things", result=strata.folder / "things among")


def torch_labels(strata, python):
    labels = strata.folder / "labels.json"
    labels.write_text(json.dumps(TEXTS))
    return strata.collect(python, TARGETS / "labels.py", labels, result=strata.folder / "torch labels", timeout=120)


def recipe(strata, python):
    words = ["bash", ROOT / "examples" / "launch.sh", "--size", "small"]
    env = {"PYTHON": str(python)}
    # With the operators themselves each task of emit_itt has a twin, which is no row of its own.
    only = ["-knob", "collect-operators=false"]
    return strata.collect(*words, options=only, env=env, result=strata.folder / "recipe", timeout=180)


CASES = {
    "nested": (nested, "target"),
    "exec": (execs, "programs"),
    "crossed": (crossed, "programs"),
    "odd": (odd, "programs"),
    "things": (things, "programs"),
    "torch labels": (torch_labels, "python"),
    "recipe": (recipe, "python"),
}
MARKS = {"torch labels": pytest.mark.torch, "recipe": pytest.mark.torch}


def params():
    return [pytest.param(name, marks=MARKS.get(name, ())) for name in CASES]


def collect(request, strata):
    """The result folder of the case that request.param names."""
    run, fixture = CASES[request.param]
    return run(strata, request.getfixturevalue(fixture)).result
