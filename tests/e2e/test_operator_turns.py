# SPDX-License-Identifier: Apache-2.0
"""Operators in turns: hotspots records as many as cost little, says which, and its figures are still those of all."""

import json
import re

import pytest

pytestmark = pytest.mark.torch

# A training loop for some seconds of CPU time; says how many steps it made and what CPU time they took.
TRAINING = """
import json, sys, time, torch
torch.set_num_threads(1)
width, seconds = 96, float(sys.argv[1])
net = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(30)))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-6, momentum=0.9, foreach=False)
x, y = torch.randn(64, width), torch.randn(64, width)
begun = time.thread_time()
steps = 0
while time.thread_time() < begun + seconds:
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
    steps += 1
json.dump({"steps": steps, "cpu_ns": (time.thread_time() - begun) * 1e9}, open(sys.argv[2], "w"))
"""


class Trained:
    def __init__(self, strata, python, folder, *options, seconds=3.0):
        self.strata, self.result = strata, folder / "r"
        done = strata(*options, "-r", self.result, "--", python, "-c", TRAINING, str(seconds), folder / "truth.json")
        assert done.status == 0, done.err
        self.shown = done.err
        self.truth = json.loads((folder / "truth.json").read_text())

    def report(self, name, *options):
        done = self.strata("report", name, "-r", self.result, "-format", "json", *options)
        assert done.status == 0, done.err
        return json.loads(done.stdout)

    def cost(self):
        return {row["name"]: row["value"] for row in self.report("summary")["rows"] if row["section"] == "cost"}

    def counts(self):
        return {row["operator"]: row["count"] for row in self.report("operators")["rows"]}


@pytest.fixture(scope="module")
def trained(shared_strata, python, tmp_path_factory):
    """Far more operators than may be recorded."""
    return Trained(shared_strata, python, tmp_path_factory.mktemp("turns"), "-collect", "hotspots")


def stated_error(said):
    """Of counts, as a ratio; None where it is said that it is not known."""
    found = re.search(r"counts ± ([\d.]+) %", said)
    assert found or "error is not known: too few turns" in said or "too low by up to a factor" in said
    return float(found.group(1)) / 100 if found else None


def test_counts_are_estimates_of_all(trained):
    steps, counts = trained.truth["steps"], trained.counts()
    assert trained.cost()["operators_recorded_ratio"] < 0.8
    # Few turns fit into the run of a machine that others use: the error is stated, or that it is not known.
    said = " ".join(trained.shown.split())
    turns = int(re.search(r"in (\d+) turns?, .* counts and times are estimates", said).group(1))
    assert stated_error(said) is not None or turns < 4
    assert "counts and times are estimates" in trained.report("operators")["subject"]
    assert counts["aten::mse_loss"] == pytest.approx(steps, rel=0.15)
    assert counts["aten::addmm"] == pytest.approx(30 * steps, rel=0.15)
    # Ranges are recorded all the time, whoever is in them.
    assert counts["Optimizer.step#SGD.step"] == steps


# A model that is only called, with texts that grow: a product is computed once per call, a sine once per word.
ANSWERS = """
import json, sys, torch
torch.set_num_threads(1)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 64)
    def forward(self, words):
        places = torch.stack([torch.sin(torch.tensor(float(word))) for word in range(words)])
        return self.layer(places[:, None].expand(words, 64))
model, calls, sines = Model().eval(), 0, 0
with torch.no_grad():
    for answer in range(int(sys.argv[1])):
        for words in range(100, 150):
            model(words).argmax()
            calls, sines = calls + 1, sines + words
json.dump({"calls": calls, "sines": sines}, sys.stdout)
"""


def test_counts_are_those_of_the_calls(strata, python, tmp_path):
    """Within what is stated; and an average is the total by the count."""
    result = tmp_path / "r"
    done = strata("-collect", "hotspots", "-no-summary", "-quiet", "-r", result, "--", python, "-c", ANSWERS, "40")
    assert done.status == 0, done.err
    truth = json.loads(done.out)
    report = strata.report(result, "operators")
    rows = {row["operator"]: row for row in report["rows"]}
    error = stated_error(report["subject"])
    print(report["subject"], {name: rows[name]["count"] for name in ("aten::argmax", "aten::sin")}, truth)
    for name, row in rows.items():
        if name.startswith("aten::") and row["count"] > 100:
            assert abs(row["wall_avg_ns"] * row["count"] - row["wall_total_ns"]) <= row["count"], name
    if error is not None:  # on a machine that gave the program little time
        for name, wanted in (("argmax", "calls"), ("addmm", "calls"), ("sin", "sines")):
            assert rows[f"aten::{name}"]["count"] == pytest.approx(truth[wanted], rel=error + 0.005), name


def test_parts_of_steps_are_those_of_recorded_ones(trained):
    rows = trained.report("steps")["rows"]
    known = [row for row in rows if row.get("forward_ns") is not None]
    assert len(rows) in (trained.truth["steps"], trained.truth["steps"] - 1) and 0 < len(known) < 0.9 * len(rows)
    assert all(row["forward_ns"] > 0 and row["backward_ns"] > 0 for row in known)
    parts = {
        row["name"]: row["share_ratio"] for row in trained.report("summary")["rows"] if row["section"] == "step_part"
    }
    # On a machine that others use the rest of a step grows at the cost of both.
    assert parts["forward"] > 0.05 and parts["backward"] > 0.1
    assert sum(parts.values()) == pytest.approx(1.0, abs=0.001)


# No optimizer: many programs change parameters themselves. Steps are longer than a turn, those that evaluate shorter.
UPDATES = """
import json, sys, time, torch
torch.manual_seed(0)
torch.set_num_threads(1)
layers = [layer for _ in range(8) for layer in (torch.nn.Linear(512, 512), torch.nn.ReLU())]
model = torch.nn.Sequential(*layers, torch.nn.Linear(512, 10))
corpus = sum(torch.tensor([i]).item() for i in range(20000))
x, y = torch.randn(256, 512), torch.randint(0, 10, (256,))
took, steps = {"forward": 0.0, "backward": 0.0, "Python, other": 0.0}, 0
def timed(part, what):
    begin = time.perf_counter()
    result = what()
    took[part] += time.perf_counter() - begin
    return result
def loss_of(rows):
    return timed("forward", lambda: torch.nn.functional.cross_entropy(model(x[:rows]), y[:rows]))
def update():
    for p in model.parameters():
        p.data.add_(p.grad, alpha=-0.01)
        p.grad = None
for _ in range(80):
    loss = loss_of(256)
    timed("backward", loss.backward)
    timed("Python, other", update)
    steps += 1
for _ in range(300):
    with torch.no_grad():
        loss_of(128)
    steps += 1
json.dump({"steps": steps, **{part: 1e9 * s / steps for part, s in took.items()}}, sys.stdout)
"""


def test_parts_without_an_optimizer(strata, python, tmp_path):
    """By the program's own clock: turns last as long as its steps, and short steps do not stand for long ones."""
    script, result = tmp_path / "updates.py", tmp_path / "r"
    script.write_text(UPDATES)
    done = strata("-collect", "hotspots", "-quiet", "-no-summary", "-r", result, "--", python, script)
    assert done.status == 0, done.err
    truth = json.loads(done.out)
    rows = strata.report(result, "steps")["rows"]
    known = [row for row in rows if row.get("forward_ns") is not None]
    assert len(rows) in (truth["steps"], truth["steps"] - 1) and 0 < len(known) < len(rows)
    assert [row for row in known if row["backward_ns"]] and [row for row in known if not row["backward_ns"]]
    # Long ones go on for long: none of them is a warm-up but, maybe, the very first.
    assert sum(row["warm_up"] for row in rows) <= 1
    parts = {row["name"]: row for row in strata.report(result, "summary")["rows"] if row["section"] == "step_part"}
    counted = sum(not row["warm_up"] for row in rows)
    for name in ("forward", "backward"):
        assert parts[name]["wall_total_ns"] / counted == pytest.approx(truth[name], rel=0.15)


def test_samples_name_operators_between_turns(trained):
    """What was not recorded is named by its stack; no time is counted twice."""
    by_operator = trained.report("hotspots", "-group-by", "operator")
    inside = sum(row["cpu_self_ns"] for row in by_operator["rows"] if row["operator"] != "[no operator]")
    assert 0.6 * trained.truth["cpu_ns"] < inside < 1.05 * trained.truth["cpu_ns"]
    total = by_operator["totals"]["cpu_self_ns"]
    assert sum(row["cpu_self_ns"] for row in by_operator["rows"]) == total
    for grouping in ("task-type", "function", "task-domain"):
        rows = trained.report("hotspots", "-group-by", grouping)
        assert rows["totals"]["cpu_self_ns"] == total == sum(row["cpu_self_ns"] for row in rows["rows"])
    own = {row["operator"]: row["cpu_self_ns"] for row in by_operator["rows"]}
    assert own["aten::mm"] + own["aten::addmm"] > 0.25 * trained.truth["cpu_ns"]


def test_cost_is_measured_where_turns_can_be_compared(trained):
    cost = trained.cost()
    if cost.get("measured_turns", 0) >= 6:
        assert cost["measured_error_ratio"] > 0 and "(measured)" in trained.shown
    else:  # on a machine that gave the program little time
        assert cost["not_measured"] and "at least +" in trained.shown


def test_every_operator_where_that_is_asked_for(strata, python, tmp_path):
    run = Trained(strata, python, tmp_path, "-collect", "hotspots", "-knob", "collect-operators=true", seconds=1.0)
    counts, cost = run.counts(), run.cost()
    assert counts["aten::addmm"] == 30 * run.truth["steps"] and "operators_recorded_ratio" not in cost
    assert "every operator, with inputs" in run.shown and "at least +" in run.shown


def test_every_operator_of_a_short_program(strata, python, tmp_path):
    """Less than what a program is granted: nothing is missing."""
    run = Trained(strata, python, tmp_path, "-collect", "hotspots", seconds=0.01)
    assert run.counts()["aten::addmm"] == 30 * run.truth["steps"]
    assert "every operator, with inputs" in run.shown


def test_cost_of_an_exact_record(strata, python, tmp_path):
    """With measure-cost, a few operators are missing, and the result says how many."""
    run = Trained(strata, python, tmp_path, "-collect", "operators", "-knob", "measure-cost=true", seconds=4.0)
    cost, steps = run.cost(), run.truth["steps"]
    assert 0.85 < cost["operators_recorded_ratio"] < 1
    assert run.counts()["aten::addmm"] == pytest.approx(30 * steps, rel=0.1)
    assert run.counts()["Optimizer.step#SGD.step"] == steps


# A device that is not there (tests/programs/cuda). To record it takes as long as is asked for: what that adds is known.
DEVICE = """
import ctypes, json, sys, time, torch
torch.set_num_threads(1)
device = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
device.double_kinds.restype = ctypes.c_uint64
device.double_init()
net = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(6)))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-6, momentum=0.9, foreach=False)
x, y = torch.randn(64, 256), torch.randn(64, 256)
begun = time.perf_counter()
steps = launched = spent = 0
while time.perf_counter() < begun + 14:
    at = time.perf_counter()
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
    for _ in range(4):
        device.double_launch(b"kernel", 0, 7, 200, 0)
    took = time.perf_counter() - at
    if device.double_kinds():
        while time.perf_counter() < at + 1.3 * took:
            pass
        spent += time.perf_counter() - at - took
    steps += 1
device.double_wait()
json.dump({"steps": steps, "spent": spent, "all": time.perf_counter() - begun}, sys.stdout)
"""


def test_what_devices_cost_is_in_it(strata, python, programs, tmp_path):
    result = tmp_path / "r"
    options = ["-collect", "operators", "-knob", "measure-cost=true", "-quiet", "-no-summary", "-r", result]
    done = strata(*options, "--", python, "-c", DEVICE, programs / "cuda" / "libcupti.so.13")
    assert done.status == 0, done.err
    truth = json.loads(done.out)
    rows = strata.report(result, "summary")["rows"]
    cost = {row["name"]: row["value"] for row in rows if row["section"] == "cost"}
    (elapsed_ns,) = (row["value"] for row in rows if (row["section"], row["name"]) == ("run", "elapsed_ns"))
    bare = truth["all"] - truth["spent"]
    stated = cost["estimate_ns"] / 1e9 / truth["all"] * (truth["all"] / bare)
    error = cost["measured_error_ratio"] * elapsed_ns / 1e9 / bare
    # Operators cost something as well, which a machine of two CPUs tells only roughly.
    assert truth["spent"] / bare - error - 0.03 < stated < truth["spent"] / bare + error + 0.12, (truth, cost)
    # What was not recorded is said, and the device is no less busy for it.
    (device,) = (row for row in rows if row["section"] == "device")
    assert "not recorded for" in device["value"]
    kernels = strata.types(result)["kernel"]["count"]
    assert 0.8 * 4 * truth["steps"] < kernels < 4 * truth["steps"]
    assert device["share_ratio"] == pytest.approx(truth["steps"] * 4 * 200e-6 / truth["all"], rel=0.1)
    (row,) = strata.report(result, "device-gaps")["rows"]
    gaps = {child["reason"]: child["wall_total_ns"] for child in row["children"]}
    silent = gaps["not known: not recorded then"] / 1e9
    assert silent == pytest.approx((1 - kernels / 4 / truth["steps"]) * bare, rel=0.25)
