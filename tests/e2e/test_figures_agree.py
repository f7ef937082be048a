# SPDX-License-Identifier: Apache-2.0
"""Two tables of one result must not contradict each other.

The results are those of real programs: training with a DataLoader worker (several threads and processes), inference,
and TensorFlow with steps that the main thread labels. Nothing here is compared with a clock: what is asked is whether
what one report says follows from what another one says.
"""

import os

import pytest
from harness import TARGETS, strict_json, walk

FAST = ["-knob", "sampling-interval=2"]
KINDS = ["training", "inference", pytest.param("tensorflow", marks=pytest.mark.slow)]
EXECUTE = "dnnl::primitive::execute"


@pytest.fixture(scope="module")
def record(shared_strata, python, build_dir, request):
    """The result of a kind of program, recorded once."""
    made = {}

    def command(kind):
        if kind == "tensorflow":
            env = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "1"}
            env["PYTHONPATH"] = os.fspath(build_dir / "python")
            return [request.getfixturevalue("tensorflow"), TARGETS / "tf_step.py", "20"], env
        words = {"training": ["train", "8"], "inference": ["infer", "40"]}[kind]
        return [python, TARGETS / "conv_training.py", *words], {}

    def get(kind):
        if kind not in made:
            words, env = command(kind)
            result = shared_strata.folder / kind
            options = ["-collect", "hotspots", "-knob", "collect-operators=true", *FAST, "-r", result]
            done = shared_strata(*options, "--", *words, env=env)
            assert done.status == 0, done.err
            made[kind] = result
        return made[kind]

    return get


@pytest.fixture(params=KINDS)
def result(record, request):
    return record(request.param)


def facts(strata, result):
    """(section, name) → row of the summary."""
    rows = strata.report(result, "summary")["rows"]
    return {(row["section"], row.get("name")): row for row in rows}


def scale(strata, result):
    """CPU use is that of all CPU time, sampled or not: more than that of the samples only if a note says so."""
    whole = strata.report(result, "hotspots")["totals"]["cpu_self_ns"]
    factor = facts(strata, result)["cpu", "cpu_ns"]["value"] / whole
    notes = strata.report(result, "utilization")["quality"]["notes"]
    assert factor > 1 if any("CPU use is scaled" in note for note in notes) else factor == 1, notes
    return factor


def query(strata, result, text):
    done = strata("query", result, text, "-format", "json")
    assert done.status == 0, done.err
    return strict_json(done.stdout)["rows"]


def test_any_grouping_adds_up_to_the_same(shared_strata, result):
    whole = shared_strata.report(result, "hotspots")["totals"]["cpu_self_ns"]
    assert whole > 0
    groupings = "process thread module function source-file python-line cpu-class category task-domain task-type"
    for grouping in (*groupings.split(), "task-family", "operator", "step", "task-domain,task-type,function"):
        answer = shared_strata.report(result, "hotspots", "-group-by", grouping)
        assert sum(row["cpu_self_ns"] for row in answer["rows"]) == whole, grouping
        for row in walk(answer["rows"]):
            assert row["cpu_self_ns"] <= row["cpu_total_ns"] <= whole, (grouping, row)
            if row["children"]:
                inside = sum(child["cpu_self_ns"] for child in row["children"])
                assert inside == row["cpu_self_ns"], (grouping, row)
    (row,) = query(shared_strata, result, "SELECT SUM(weight_ns) AS ns, COUNT(DISTINCT thread) AS threads FROM samples")
    assert row["ns"] == whole
    assert row["threads"] == facts(shared_strata, result)["cpu", "threads"]["value"]


def test_levels_times_time_is_the_effective_cpu_time(shared_strata, result):
    said = facts(shared_strata, result)
    levels = shared_strata.report(result, "utilization")
    effective = shared_strata.report(result, "hotspots")["totals"]["effective_ns"]
    assert effective > 0
    factor = scale(shared_strata, result)
    close = {"rel": 1e-6, "abs": 0} if factor > 1 else {"rel": 0, "abs": 0}
    effective = round(effective * factor) if factor > 1 else effective
    assert said["cpu", "effective_ns"]["value"] == pytest.approx(effective, **close)
    found = sum(int(row["cpus"]) * row["elapsed_ns"] for row in levels["rows"])
    assert found == pytest.approx(effective, **close)
    assert sum(row["effective_ns"] for row in levels["rows"]) == found
    assert levels["totals"]["effective_ns"] == found
    # Time without and with CPUs at work is all of the time, and its shares are those that the summary tells.
    recorded = sum(row["elapsed_ns"] for row in levels["rows"])
    assert recorded == levels["totals"]["elapsed_ns"]
    cpus = said["cpu", "cpus"]["value"]
    assert said["cpu", "effective_utilization_ratio"]["value"] == pytest.approx(found / recorded / cpus, rel=1e-6)
    for level in ("Idle", "Poor", "Ok", "Ideal"):
        time = sum(row["elapsed_ns"] for row in levels["rows"] if row["level"] == level)
        assert said["utilization", level]["value"] == time, level


def test_no_line_has_more_than_everything(shared_strata, result):
    """The lines of a file, as shares of the result; and of what a filter leaves of it."""
    whole = shared_strata.report(result, "hotspots")["totals"]["cpu_self_ns"]
    script = "tf_step.py" if result.name == "tensorflow" else "conv_training.py"
    for words in ([script], []):
        shares = shared_strata.report(result, "source", *words, "-show-as", "percent")
        values = shared_strata.report(result, "source", *words)
        found = 0
        for share, value in zip(shares["rows"], values["rows"], strict=True):
            assert share["line"] == value["line"]
            for kind in ("self", "total"):
                ns = value.get(f"cpu_{kind}_ns")
                if ns is None:
                    continue
                assert share[f"cpu_{kind}_ratio"] == pytest.approx(ns / whole, abs=1e-12)
                assert share[f"cpu_{kind}_ratio"] <= 1
                found += ns > 0
        assert found, words
        assert shares["totals"]["cpu_total_ratio"] <= 1
        assert shares["totals"]["cpu_self_ratio"] == pytest.approx(
            sum(row.get("cpu_self_ratio") or 0 for row in shares["rows"]), abs=1e-9
        )


def test_operators_fit_into_the_run(shared_strata, result):
    """Self times of all calls of a thread lie side by side: no more than the run, for each of them."""
    by_name = shared_strata.report(result, "operators")
    whole = sum(row["wall_self_ns"] for row in by_name["rows"])
    assert whole > 0
    elapsed = shared_strata.result_json(result)["elapsed_ns"]
    threads = 0
    for grouping in ("operator", "process,thread"):
        rows = shared_strata.report(result, "operators", "-group-by", grouping)["rows"]
        assert sum(row["wall_self_ns"] for row in rows) == whole, grouping
        for row in walk(rows):
            if grouping != "operator" and not row["children"]:
                threads += 1
                assert row["wall_self_ns"] <= elapsed * 1.001, row
    assert threads
    for row in by_name["rows"]:
        assert row["wall_self_ns"] <= row["wall_total_ns"], row


@pytest.mark.parametrize("part", ["all", "half"])
def test_the_summary_lists_tasks_with_their_own_times(shared_strata, result, part):
    """Also in a range of time: what operators inside of a task take is not the task's own."""
    end_ns = facts(shared_strata, result)["run", "elapsed_ns"]["value"]
    words = [] if part == "all" else ["-time-filter", f"{end_ns / 2e9:.9f}:"]
    types = shared_strata.report(result, "tasks", "-group-by", "task-type,task-domain", *words)["rows"]
    known = {row["task_type"]: row for row in types}
    listed = [row for row in shared_strata.report(result, "summary", *words)["rows"] if row["section"] == "task"]
    both = [(row, known[row["name"]]) for row in listed if row["name"] in known]
    assert both
    for row, same in both:
        for key in ("count", "wall_total_ns", "wall_self_ns"):
            assert row[key] == same[key], (row["name"], key)


def test_no_task_has_more_threads_than_there_are(shared_strata, result):
    """Threads that repeat a task with its caller are counted as threads, not by what they repeat."""
    (row,) = query(shared_strata, result, "SELECT COUNT(*) AS n FROM threads")
    rows = shared_strata.report(result, "tasks", "-group-by", "task-domain,task-type")["rows"]
    seen = [task["threads"] for task in walk(rows)]
    assert max(seen) > 1 and all(1 <= number <= row["n"] for number in seen), (seen, row)
    # All threads of a task and no others: as many as its rows name.
    for task in rows[0]["children"][:3]:
        asked = ["-group-by", "process,thread", "-filter", f"task-type={task['task_type']}"]
        places = shared_strata.report(result, "tasks", *asked, "-filter", f"task-domain={rows[0]['task_domain']}")
        assert sum(len(place["children"]) for place in places["rows"]) == task["threads"], task


@pytest.mark.slow
def test_a_primitive_has_the_cpu_time_of_its_threads(shared_strata, record):
    """TensorFlow's threads run the primitive of a step that the main thread has labelled: the innermost is theirs."""
    result = record("tensorflow")
    rows = shared_strata.report(result, "hotspots", "-group-by", "task-domain,task-type,function")["rows"]
    kernels = {}
    for domain in rows:
        for task in domain["children"]:
            ns = sum(row["cpu_self_ns"] for row in task["children"] if row["function"].startswith("jit_brgemm"))
            kernels[domain["task_domain"], task["task_type"]] = ns
    whole = sum(kernels.values())
    assert whole > 0, "no kernel that oneDNN made was sampled"
    assert kernels[EXECUTE, "convolution"] >= 0.95 * whole, kernels
    # What is theirs is still part of the step, which no thread but the main one has.
    steps = shared_strata.report(result, "hotspots", "-group-by", "step,operator")["rows"]
    outside = sum(
        row["cpu_self_ns"]
        for row in steps
        if row["step"] == "[no step]"
        for row in row["children"]
        if row["operator"] == "convolution"
    )
    assert outside <= 0.05 * whole
    families = shared_strata.report(result, "hotspots", "-group-by", "task-family")["rows"]
    (step,) = (row for row in families if row["task_family"] == "step_*")
    assert step["cpu_total_ns"] >= 0.95 * whole
    assert step["cpu_self_ns"] < 0.5 * step["cpu_total_ns"]
