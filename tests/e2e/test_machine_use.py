# SPDX-License-Identifier: Apache-2.0
"""How busy the CPUs were with other programs, beside what is recorded."""

import json
import os
import subprocess
import sys

from harness import clean_env

TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")
OTHER = "import sys\nprint('runs', flush=True)\nwhile True: pass\n"
# Burns CPU time, and tells how much another process burnt meanwhile: field 14 and 15 of its stat.
RECORDED = """
import sys, time
def ticks():
    with open(f"/proc/{sys.argv[1]}/stat") as file:
        return sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
before, end = ticks(), time.process_time() + float(sys.argv[2])
while time.process_time() < end: pass
print(ticks() - before)
"""


def busy_ns(cpus):
    """Of these CPUs, as the kernel counts it."""
    total = 0
    with open("/proc/stat", encoding="ascii") as lines:
        for words in map(str.split, lines):
            if words[0].removeprefix("cpu").isdigit() and int(words[0][3:]) in cpus:
                times = [int(word) for word in words[1:9]]
                total += sum(times[:3]) + times[5] + times[6]
    return total * TICK_NS


def check(strata, seconds, cpus):
    """Others had at least what this other one had, and at most all that the kernel counts, from before to after."""
    other = subprocess.Popen([sys.executable, "-c", OTHER], env=clean_env(), stdout=subprocess.PIPE)
    result = strata.folder / "busy"
    try:
        other.stdout.readline()
        before = busy_ns(cpus)
        command = [sys.executable, "-c", RECORDED, str(other.pid), str(seconds)]
        done = strata("-collect", "hotspots", "-r", result, "--", *command)
        after = busy_ns(cpus)
    finally:
        other.kill()
        other.wait()
        other.stdout.close()
    assert done.status == 0, done.err
    run = strata.result_json(result)
    machine, slack = run["machine"], 4 * len(cpus) * TICK_NS
    whole = machine["busy_ns"] + machine["idle_ns"] + machine["stolen_ns"]
    assert machine["cpu_count"] == len(cpus)
    assert abs(whole - run["elapsed_ns"] * len(cpus)) < 0.05 * whole + slack
    rows = [row for row in strata.report(result, "summary")["rows"] if row["section"] == "cpu"]
    facts = {row["name"]: row["value"] for row in rows}
    others = facts["others_ratio"] * whole
    assert int(done.out) > 0, "the other one did not run at all"
    assert int(done.out) * TICK_NS - slack <= others <= after - before - run["target_cpu_ns"] + slack
    assert "other programs " in strata("report", "summary", "-r", result).out
    return machine, facts


def test_other_programs(strata):
    cpus = os.sched_getaffinity(0)
    machine, facts = check(strata, 0.8, cpus)
    assert facts["machine_cpus"] == facts["cpus"] == len(cpus)
    assert machine["allowed_only"] == (len(cpus) < os.cpu_count())


def test_only_the_allowed_cpus(strata):
    """Of a program that may use one CPU of several, the others do not matter."""
    cpus = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(cpus)})
        machine, facts = check(strata, 0.5, {min(cpus)})
    finally:
        os.sched_setaffinity(0, cpus)
    assert facts["cpus"] == 1 and machine["allowed_only"] == (os.cpu_count() > 1)


def test_without_the_programs_own_part_nothing_is_said_of_others(strata):
    """Of a collection that was killed the program's CPU time is not known; what others had would be everything."""
    result = strata.folder / "alone"
    burn = "import time\nwhile time.process_time() < 1: pass"
    done = strata("-collect", "tasks", "-r", result, "--", sys.executable, "-c", burn)
    assert done.status == 0, done.err
    line = "CPUs that other programs had"
    assert line in strata("report", "quality", "-r", result).out
    run = strata.result_json(result)
    run["machine"].update(busy_ns=10**10, idle_ns=0)
    for known in (True, False):
        if not known:
            del run["machine"]["target_cpu_ns"]
        (result / "result.json").write_text(json.dumps(run))
        said = strata("report", "quality", "-r", result).out + strata("report", "summary", "-r", result).out
        assert (line in said) == known
        assert ("other programs took" in said) == known
