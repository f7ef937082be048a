# SPDX-License-Identifier: Apache-2.0
"""strata compare: what changed between two results, or between several runs of each."""

import shutil
import sys

import pytest
from harness import TARGETS, strict_csv, strict_json, walk

STEPS = 12


def record(strata, name, cpu_ms, sleep_ms=1, collect="hotspots"):
    """A run, and the CPU time it used by its own clock, in ns."""
    result = strata.folder / name
    command = [sys.executable, TARGETS / "steady_steps.py", STEPS, cpu_ms, sleep_ms]
    done = strata("-collect", collect, "-quiet", "-no-summary", "-r", result, "--", *map(str, command))
    assert done.status == 0, done.err
    return result, float(done.out) * 1e9


@pytest.fixture(scope="module")
def runs(shared_strata):
    """Three runs of each of two programs, one after the other in turns: 5 and 25 ms of CPU time a step."""
    pairs = [(record(shared_strata, f"a{i}", 5), record(shared_strata, f"b{i}", 25)) for i in range(3)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def changes(strata, *words):
    done = strata("compare", *words, "-format", "json")
    assert done.status == 0, done.err
    document = strict_json(done.stdout)
    rows = {}
    for section in document["rows"]:
        for row in section["children"]:
            rows[section["section"].split(",")[0], row["name"]] = row
    return document, rows


def listed(results):
    return ",".join(str(path) for path, _ in results)


def test_a_known_slowdown(shared_strata, runs):
    """The CPU time that was added is the difference, and it is told from chance."""
    _, rows = changes(shared_strata, listed(runs[0]), listed(runs[1]))
    truth = sum(ns for _, ns in runs[1]) / 3 - sum(ns for _, ns in runs[0]) / 3
    row = rows["Run", "CPU time"]
    assert row["second_ns"] - row["first_ns"] == row["difference_ns"]
    # A sample stands for 10 ms, and what a thread uses before its first sample and after its last one is not known.
    assert abs(row["difference_ns"] - truth) < 0.1 * truth + 20e6, (row, truth)
    assert row["verdict"] == "slower" and row["first_n"] == row["second_n"] == 3
    assert row["difference_ns"] > row["interval_ns"] > 0
    step = rows["Step", "step"]
    assert step["first_ns"] >= 6e6 and step["second_ns"] >= 26e6
    hot = [row for (section, _), row in rows.items() if section == "Functions" and row["verdict"] == "slower"]
    assert sum(row["difference_ns"] for row in hot) <= 1.1 * truth / STEPS + 2e6
    _, turned = changes(shared_strata, listed(runs[1]), listed(runs[0]))
    assert turned["Run", "CPU time"]["verdict"] == "faster"
    assert turned["Run", "CPU time"]["difference_ns"] == -row["difference_ns"]


def test_the_same_runs_are_no_change(shared_strata, runs):
    """Whatever their order, the same runs on both sides differ by nothing."""
    _, rows = changes(shared_strata, listed(runs[0]), listed(runs[0][::-1]))
    assert rows
    for key, row in rows.items():
        assert row["difference_ns"] == 0 and row["verdict"] == "unclear", (key, row)


def test_one_run_is_not_certain(shared_strata, runs):
    """Without several runs there is no interval of the run, and nothing is called slower without doubt."""
    (a, _), (b, _) = runs[0][0], runs[1][0]
    document, rows = changes(shared_strata, a, b)
    assert document["report"] == "changes"
    assert "interval_ns" not in rows["Run", "elapsed time"] and rows["Run", "elapsed time"]["verdict"] == "?"
    assert {row["verdict"] for row in rows.values()} <= {"?", "unclear", "slower?", "faster?"}
    text = " ".join(shared_strata("compare", a, b).out.split())
    assert "strata compare A1,A2,A3 B1,B2,B3" in text
    # The rule behind the verdicts is said, and holds for every row.
    assert "p < 0.05" in text and "else unclear" in text
    for row in rows.values():
        if row["verdict"] != "?":
            assert (row["verdict"] == "unclear") or row["p_value"] < 0.05, row


def test_what_one_side_did_not_measure_is_left_out(shared_strata, runs):
    """Without samples CPU time is not known, which is not zero."""
    sampled = runs[0][0][0]
    tasks, _ = record(shared_strata, "no-samples", 5, collect="tasks")
    _, rows = changes(shared_strata, sampled, tasks)
    assert ("Run", "elapsed time") in rows and ("Run", "CPU time") not in rows
    assert not [name for section, name in rows if section.startswith("Functions")]
    text = " ".join(shared_strata("compare", sampled, tasks).out.split())
    assert "The types of collection differ (hotspots, tasks)" in text and "The commands differ" not in text
    assert "did not record is left out" in text
    text = " ".join(shared_strata("compare", sampled, runs[1][0][0]).out.split())
    assert "The commands differ: " in text and "differ (" not in text and "left out" not in text


def test_gate(strata):
    """A step that sleeps forty times as long: 3 beyond the limit, 0 below it, and the line that says why."""
    slow, fast = [], []
    for i in range(3):
        fast.append(str(record(strata, f"f{i}", 0.1, 2)[0]))
        slow.append(str(record(strata, f"s{i}", 0.1, 80)[0]))
    both = [word for path in fast for word in ("-r", path)] + [word for path in slow for word in ("-against", path)]
    done = strata("compare", *both, "-quiet", "-fail-above", "20%")
    assert done.status == 3 and "strata: fail: the time of a step changed by +" in done.err, done
    assert "n = 3 and 3 runs" in done.err
    assert strata("compare", "hotspots", *both, "-fail-above", "20").status == 3
    done = strata("compare", *both, "-fail-above", "100000%")
    assert done.status == 0 and "strata: pass: the time of a step" in done.err, done
    done = strata("compare", ",".join(slow), ",".join(fast), "-fail-above", "20%")
    assert done.status == 0 and "strata: pass: " in done.err, done
    # One run of each: the interval is that of its steps.
    done = strata("compare", fast[0], slow[0], "-fail-above", "20%")
    assert done.status == 3 and "steps of one run" in done.err, done


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("words", [[], ["hotspots"], ["tasks"], ["top-down"], ["steps"]], ids="".join)
def test_difference_at_any_width(shared_strata, runs, words, width):
    (a, _), (b, _) = runs[0][0], runs[1][0]
    done = shared_strata("compare", *words, a, b, "-report-width", str(width))
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    head = next(line for line in lines if "Difference" in line)
    assert head.index("Difference") + len("Difference") <= max(width, 80), head
    rule = lines[lines.index(head) + 1]
    assert len(rule) <= max(width, 80), rule


def test_sorted_by_change(shared_strata, runs):
    (a, _), (b, _) = runs[0][0], runs[1][0]
    for name, key in (("hotspots", "difference_cpu_self_ns"), ("tasks", "difference_wall_total_ns")):
        done = shared_strata("compare", name, a, b, "-format", "csv")
        rows = strict_csv(done.stdout)
        sizes = [abs(int(row[key])) for row in rows]
        assert sizes == sorted(sizes, reverse=True)


def test_signs(shared_strata, runs):
    """compare has second minus first, VTune's spelling first minus second; each says so."""
    (a, _), (b, _) = runs[0][0], runs[1][0]
    ours = shared_strata("compare", "hotspots", a, b, "-format", "json")
    theirs = shared_strata("report", "hotspots", "-r", a, "-r", b, "-format", "json")
    totals = [strict_json(done.stdout)["totals"]["difference_cpu_self_ns"] for done in (ours, theirs)]
    assert totals[0] > 0 and totals[1] == -totals[0]
    assert "second minus the first" in " ".join(shared_strata("compare", "hotspots", a, b).out.split())
    assert "first minus the second" in " ".join(shared_strata("report", "hotspots", "-r", a, "-r", b).out.split())


def test_processes_and_threads_are_matched_without_their_numbers(shared_strata, runs):
    (a, _), (b, _) = runs[0][0], runs[1][0]
    done = shared_strata("compare", "hotspots", a, b, "-group-by", "process,thread", "-format", "json")
    rows = list(walk(strict_json(done.stdout)["rows"]))
    assert len(rows) == 2 and all(row["first_cpu_self_ns"] and row["second_cpu_self_ns"] for row in rows), rows


def test_sides_have_names_of_their_own(shared_strata, runs):
    """Results of one name in two folders, and names too long for a column."""
    old, new = shared_strata.folder / "old", shared_strata.folder / "new"
    for folder, results in ((old, runs[0]), (new, runs[1])):
        shutil.copytree(results[0][0], folder / "r000hs")
    for words in ([], ["hotspots"]):
        done = shared_strata("compare", *words, "old/r000hs", "new/r000hs/", "-report-width", "80")
        assert done.out.startswith("A: old/r000hs   B: new/r000hs/\n"), done.out
    head = strict_json(shared_strata("compare", "hotspots", "old/r000hs", "new/r000hs", "-format", "json").stdout)
    titles = [column["title"] for column in head["columns"]]
    assert len(set(titles)) == len(titles) and "CPU Time:A" in titles
    assert head["result"] == "old/r000hs-new/r000hs"


def test_steps_and_operators_of_pytorch(strata, python, tmp_path):
    """Operators per step, without what start-up does."""
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "layer, x = torch.nn.Linear(8, 8), torch.ones(4, 8)\n"
        "best = torch.optim.SGD(layer.parameters(), lr=0.1)\n"
        "for i in range(15):\n"
        "    best.zero_grad(); layer(x).sum().backward(); best.step()\n"
    )
    result = tmp_path / "op"
    done = strata("-collect", "operators", "-quiet", "-no-summary", "-r", result, "--", python, script)
    assert done.status == 0, done.err
    _, rows = changes(strata, result, result)
    assert ("Step", "backward") in rows and ("Operators", "aten::addmm") in rows
    # Of the whole run, by its own report; start-up and warm-up are less than all of it.
    report = strata.report(result, "operators")
    whole = {row["operator"]: row["wall_self_ns"] for row in report["rows"]}
    per_step = rows["Operators", "aten::addmm"]
    assert 0 < per_step["first_ns"] * per_step["first_n"] <= whole["aten::addmm"] * 1.001
    assert ("Operators", "aten::ones") not in rows  # only start-up calls it
    document = strict_json(strata("compare", "operators", result, result, "-format", "json").stdout)
    assert all(row["difference_wall_self_ns"] == 0 for row in walk(document["rows"]))


def test_ranges_that_are_steps_are_no_operators(strata, python, tmp_path):
    """One row for each step of the program would leave no room for what the steps do."""
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "layer, x = torch.nn.Linear(8, 8), torch.ones(4, 8)\n"
        "best = torch.optim.SGD(layer.parameters(), lr=0.1)\n"
        "for i in range(15):\n"
        "    with torch.profiler.record_function(f'iteration_{i}'):\n"
        "        with torch.profiler.record_function('forward'):\n"
        "            loss = layer(x).sum()\n"
        "        best.zero_grad(); loss.backward(); best.step()\n"
    )
    result = tmp_path / "op"
    done = strata("-collect", "operators", "-quiet", "-no-summary", "-r", result, "--", python, script)
    assert done.status == 0, done.err
    steps = {row["step"] for row in strata.report(result, "steps")["rows"]}
    assert "iteration_3" in steps
    _, rows = changes(strata, result, result)
    names = {name for section, name in rows if section == "Operators"}
    assert {"forward", "aten::addmm"} <= names and not names & steps


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["nowhere", "{a}"], 1, "nowhere: no such result folder"),
        (["{a}", "nowhere"], 1, "nowhere: no such result folder"),
        (["{a},nowhere", "{a}"], 1, "nowhere: no such result folder"),
        (["-r", "{a}", "-against", "nowhere"], 1, "nowhere: no such result folder"),
        (["{a}"], 2, "compare requires two results"),
        (["-r", "{a}"], 2, "compare requires two results"),
        (["-r", "{a}", "-r", "{a}", "-r", "{a}"], 2, "-against"),
        (["timeline", "{a}", "{a}"], 2, "takes one result"),
        (["hotspot", "{a}", "{a}"], 2, "did you mean 'hotspots'"),
        (["{a}", "{a}", "-fail-above", "much"], 2, "such as 5%"),
        (["{a}", "{a}", "-fail-above", "-1"], 2, "such as 5%"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_be_compared(shared_strata, runs, words, status, says):
    a = str(runs[0][0][0])
    done = shared_strata("compare", *(word.format(a=a) for word in words))
    assert done.status == status and says in done.err and not done.out, done


def test_steps_of_different_size(strata, python, tmp_path):
    """128 requests one by one, and 16 at a time: eight longer steps are not slower than 128 short ones."""
    results = {}
    for batch in (1, 16):
        results[batch] = tmp_path / f"b{batch}"
        program = [python, TARGETS / "batched_requests.py", "128", str(batch)]
        done = strata("-collect", "operators", "-quiet", "-no-summary", "-r", results[batch], "--", *program)
        assert done.status == 0, done.err
    document, rows = changes(strata, results[1], results[16])
    assert ("Step", "step") not in rows
    whole = rows["Steps", "all steps"]
    assert (whole["first_n"], whole["second_n"]) == (128, 8)
    for side, batch in (("first_ns", 1), ("second_ns", 16)):
        steps = strata.report(results[batch], "steps")["rows"]
        assert whole[side] == pytest.approx(sum(row["wall_total_ns"] for row in steps), rel=1e-6)
        operators = strata.report(results[batch], "operators", "-group-by", "operator,step")["rows"]
        (addmm,) = [row for row in operators if row["operator"] == "aten::addmm"]
        inside = sum(row["wall_self_ns"] for row in addmm["children"] if row["step"] != "[no step]")
        assert rows["Operators", "aten::addmm"][side] == pytest.approx(inside, rel=1e-6)
    assert whole["verdict"] not in ("slower", "slower?"), whole
    # By the shapes of two layers, 256 × 512 and 512 × 10, with their biases.
    note = "the first side has 128, which compute 273 k FLOP each, the second 8 with 4.37 M each"
    assert (
        note in strict_json(strata("compare", results[1], results[16], "-format", "json").stdout)["quality"]["notes"][0]
    )
    gate = strata("compare", results[1], results[16], "-fail-above", "500%")
    assert gate.status == 0 and "the time of all steps" in gate.err + gate.out, gate
    # The same in both: figures are of a step, as ever.
    assert ("Step", "step") in changes(strata, results[1], results[1])[1]
