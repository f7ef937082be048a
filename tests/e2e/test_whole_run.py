# SPDX-License-Identifier: Apache-2.0
"""What users ask about a whole run: which program used the CPU, what start-up cost, what garbage collection costs, and
whether there are enough samples to say so; names of code that node and Java compile."""

import re
import shlex
import shutil
import sys

import pytest

BURN = (
    "import sys, time\n"
    "def burn(seconds):\n"
    "    end = time.process_time() + seconds\n"
    "    while time.process_time() < end: pass\n"
)


def collect(strata, *program, options=()):
    result = strata.folder / "r"
    done = strata("-collect", "hotspots", "-quiet", "-no-summary", *options, "-r", result, "--", *map(str, program))
    assert done.status == 0, done.err
    done.result = result
    return done


def section(strata, result, name):
    return [row for row in strata.report(result, "summary")["rows"] if row["section"] == name]


def facts(strata, result, name):
    return {row["name"]: row for row in section(strata, result, name)}


def test_which_program_used_the_cpu(strata):
    """Programs by name, and what the kernel counted beyond them: a static program is not entered."""
    (strata.folder / "child.py").write_text(BURN + "burn(0.25)\n")
    busybox = shutil.which("busybox")
    static = f"subprocess.run([{busybox!r}, 'sh', '-c', 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'])\n"
    (strata.folder / "parent.py").write_text(
        BURN
        + "import resource, subprocess\n"
        + "burn(0.1)\n"
        + "for _ in range(2): subprocess.run([sys.executable, 'child.py'], check=True)\n"
        + "said = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        + (static if busybox else "")
        + "last = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        + "print(said.ru_utime + said.ru_stime, last.ru_utime + last.ru_stime, time.process_time())\n"
    )
    done = collect(strata, sys.executable, "parent.py")
    scripts, all_children, parent = (float(word) * 1e9 for word in done.out.split())
    rows = {row["name"]: row for row in section(strata, done.result, "process_cpu")}
    assert abs(rows["child.py, 2 processes"]["cpu_self_ns"] - scripts) < 0.15 * scripts + 20e6, (rows, scripts)
    (mine,) = [row for name, row in rows.items() if name.startswith("parent.py (")]
    assert abs(mine["cpu_self_ns"] - parent) < 0.15 * parent + 30e6
    assert sum(row["share_ratio"] for row in rows.values()) == pytest.approx(1)
    text = strata("report", "summary", "-r", done.result).out
    assert "PROGRAM child.py, 2 processes" in text
    if not busybox:
        pytest.skip("no busybox: the static program was not tried")
    # Looked at every 20 ms while it ran, by its own processor clock.
    (static_row,) = [row for name, row in rows.items() if name.startswith("busybox (")]
    alone = all_children - scripts
    assert alone - 60e6 - 0.2 * alone < static_row["cpu_self_ns"] < alone + 10e6, (static_row, alone)
    assert "not recorded" in static_row["name"]


def test_one_program_is_no_table(strata):
    (strata.folder / "one.py").write_text(BURN + "burn(0.2)\n")
    done = collect(strata, sys.executable, "one.py")
    assert "PROGRAM" not in strata("report", "summary", "-r", done.result).out


def test_start_up_and_steps(strata):
    """The share of the CPU time before the first step, by the program's own clock."""
    (strata.folder / "steps.py").write_text(
        BURN
        + "import itt\n"
        + "burn(0.4)\n"
        + "domain, before = itt.domain_create('train'), time.process_time()\n"
        + "for i in range(20):\n"
        + "    itt.task_begin(domain, 'step'); burn(0.01); itt.task_end(domain)\n"
        + "print(before, time.process_time())\n"
    )
    done = collect(strata, sys.executable, "steps.py")
    before, after = map(float, done.out.split())
    rows = facts(strata, done.result, "start_up")
    assert rows["cpu_ns"]["share_ratio"] == pytest.approx(before / after, abs=0.1)
    assert rows["elapsed_ns"]["value"] > before * 1e9 * 0.9 and 0 < rows["elapsed_ns"]["share_ratio"] < 1
    text = strata("report", "summary", "-r", done.result).out
    assert "before the first step: " in text
    # The way to the steps alone.
    whole = strata.report(done.result, "hotspots")["totals"]["cpu_self_ns"]
    steps = strata.report(done.result, "hotspots", "-filter", "step!=[no step]")["totals"]["cpu_self_ns"]
    assert steps / whole == pytest.approx(1 - before / after, abs=0.1)


def test_garbage_collection_is_one_row(strata):
    """By the time between the callbacks of the collector itself."""
    (strata.folder / "garbage.py").write_text(
        "import gc, time\n"
        "spent, began = 0, 0\n"
        "def told(phase, info):\n"
        "    global spent, began\n"
        "    if phase == 'start': began = time.thread_time()\n"
        "    else: spent += time.thread_time() - began\n"
        "gc.callbacks.append(told)\n"
        "held = [[i] for i in range(200000)]\n"
        "for _ in range(40): gc.collect()\n"
        "print(spent)\n"
        "import os; os._exit(0)\n"
    )
    done = collect(strata, sys.executable, "garbage.py")
    rows = {row["function"]: row for row in strata.report(done.result, "hotspots")["rows"]}
    if "gc_collect_main" not in rows:
        pytest.skip("this Python has no symbols of its collector")
    spent = float(done.out.split("\n")[0]) * 1e9
    assert spent > 0.2e9
    assert abs(rows["gc_collect_main"]["cpu_self_ns"] - spent) < 0.1 * spent + 20e6, (rows["gc_collect_main"], spent)
    assert facts(strata, done.result, "cpu")["gc_ns"]["value"] == pytest.approx(spent, rel=0.1, abs=20e6)
    assert "garbage_collection" in facts(strata, done.result, "finding")
    # All of its functions are there for who asks.
    every = {row["function"] for row in strata.report(done.result, "hotspots", "-call-stack-mode", "all")["rows"]}
    assert len(every & {"update_refs", "subtract_refs", "visit_decref", "visit_reachable", "move_unreachable"}) >= 2


def test_few_samples_are_said(strata):
    (strata.folder / "short.py").write_text(BURN + "burn(0.15)\n")
    (strata.folder / "long.py").write_text(BURN + "burn(0.3)\n")
    done = collect(strata, sys.executable, "short.py")
    assert "too few" in facts(strata, done.result, "finding")["few_samples"]["value"]
    shutil.rmtree(done.result)
    done = collect(strata, sys.executable, "long.py", options=["-knob", "sampling-interval=1"])
    assert "few_samples" not in facts(strata, done.result, "finding")


def test_timeline_draws_threads(strata):
    """Threads without tasks, by how long they ran; the figures are those of the threads' own clocks."""
    (strata.folder / "turns.py").write_text(
        "import threading, time\n"
        "used = {}\n"
        "def work(rest):\n"
        "    for _ in range(4):\n"
        "        end = time.thread_time() + 0.05\n"
        "        while time.thread_time() < end: pass\n"
        "        time.sleep(rest)\n"
        "    used[threading.get_native_id()] = time.thread_time()\n"
        "threads = [threading.Thread(target=work, args=(rest,)) for rest in (0.1, 0.2)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "print(*(f'{tid}:{cpu}' for tid, cpu in used.items()))\n"
    )
    done = collect(strata, sys.executable, "turns.py")
    truth = {int(tid): float(cpu) * 1e9 for tid, cpu in (word.split(":") for word in done.out.split())}
    rows = strata.report(done.result, "timeline")["rows"]
    for tid, cpu in truth.items():
        mine = [row for row in rows if row["thread"].endswith(f"({tid})")]
        assert abs(sum(row["cpu_ns"] for row in mine) - cpu) < 0.1 * cpu + 20e6, (mine, cpu)
        assert all(row["busy_ns"] == 0 for row in mine)
    text = strata("report", "timeline", "-r", done.result, "-report-width", "80").out
    strips = {tid: next(line for line in text.splitlines() if f"({tid})" in line) for tid in truth}
    for line in strips.values():
        assert line.endswith("% on a CPU") and set(line.split("|")[1]) <= set("#=-.") and "." in line.split("|")[1]
    # Waits are in the summary, with the way to them; they are at least the time that was slept.
    off = facts(strata, done.result, "cpu")["off_cpu_ratio"]["value"]
    assert off > 0.4, off
    advice = facts(strata, done.result, "finding")["effective_utilization"]["value"]
    assert "off the CPU" in advice and "strata report timeline" in advice
    one = strata.report(done.result, "timeline", "-filter", f"thread={next(iter(truth))}")["rows"]
    assert {row["thread"] for row in one} == {
        row["thread"] for row in rows if f"({next(iter(truth))})" in row["thread"]
    }


JAVA = """public class Hot {
    static long hotLoop(long n) { long s = 0; for (long i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
    public static void main(String[] a) { long x = 0; for (int i = 0; i < 60; i++) x += hotLoop(1000000);
        System.out.println(x); }
}
"""
NODE = """function hotLoop(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
let x = 0; for (let i = 0; i < 60; i++) x += hotLoop(1000000); console.log(x);
"""


@pytest.mark.parametrize("runtime", ["node", "java"])
def test_names_of_compiled_code(strata, runtime):
    """With the map that the runtime writes, by its function; without, the summary says how to get it."""
    tool = shutil.which("javac" if runtime == "java" else "node")
    if not tool:
        pytest.skip(f"no {runtime} on this machine")
    if runtime == "java":
        (strata.folder / "Hot.java").write_text(JAVA)
        assert strata.run([tool, "Hot.java"]).status == 0
        plain, mapped = ["java", "Hot"], ["java", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "Hot"]
    else:
        (strata.folder / "hot.js").write_text(NODE)
        plain, mapped = [tool, "hot.js"], [tool, "--perf-basic-prof", "hot.js"]
    done = collect(strata, *mapped)
    report = strata.report(done.result, "hotspots")
    named = sum(row["cpu_self_ns"] for row in report["rows"] if "hotLoop" in row["function"])
    assert named > 0.5 * report["totals"]["cpu_self_ns"], report["rows"][:3]
    assert list(done.result.glob("perf-*.map"))
    shutil.rmtree(done.result)
    done = collect(strata, *plain)
    said = facts(strata, done.result, "finding")["unnamed_code"]["value"]
    assert ("-XX:+DumpPerfMapAtExit" if runtime == "java" else "--perf-basic-prof") in said


def test_advice_leads_somewhere(strata, python):
    """What the summary names is in the report it points to, and every command in it shows something."""
    (strata.folder / "train.py").write_text(
        "import torch\n"
        "torch.manual_seed(0)\n"
        "model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)).double()\n"
        "best = torch.optim.SGD(model.parameters(), lr=0.01)\n"
        "x = torch.randn(256, 256, dtype=torch.double)\n"
        "for _ in range(80):\n"
        "    best.zero_grad(); loss = model(x).sum(); loss.backward(); best.step(); loss.item()\n"
    )
    result = collect(strata, python, "train.py").result

    def names(report, column, *words):
        return {row.get(column) for row in strata.report(result, report, *words)["rows"]}

    for rows, known in (
        ("hotspot", names("hotspots", "function")),
        ("own_line", names("hotspots", "python_line", "-group-by", "python-line")),
        ("python_line", names("hotspots", "python_line", "-group-by", "python-line")),
        ("operator", names("operators", "operator")),
        ("thread", names("tasks", "thread", "-group-by", "thread")),
    ):
        said = [row["name"] for row in section(strata, result, rows)]
        assert said and set(said) <= known, (rows, set(said) - known)
    sentences = [row["value"] for row in section(strata, result, "finding")]
    commands = [word for text in sentences for word in re.findall(r"strata report [a-z-]+(?: -[a-z-]+ [a-z-]+)*", text)]
    commands += [row["value"] for row in section(strata, result, "next") if " report " in row["value"]]
    findings = strata.report(result, "findings")["rows"]
    commands += [row["command"] for row in findings]
    fixes = section(strata, result, "fix")
    assert commands and len(fixes) == min(len(findings), 3)
    # What to do comes first, then why.
    for fix, finding in zip(fixes, findings, strict=False):
        assert fix["value"] == f"{finding['remedy'].split(': ')[0]}: {finding['what']}"
    for command in commands:
        words = shlex.split(command)[1:]
        done = strata(*words, *([] if "-r" in words else ["-r", result]), "-format", "csv")
        assert done.status == 0 and done.out.count("\n") > 1, command
