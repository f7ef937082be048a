# SPDX-License-Identifier: Apache-2.0
"""What recording devices costs a training loop, beside torch's profiler in the same process, and whether both agree.

    python3 bench/devices_in_situ.py                        # uses build/release, else build/dev, of this tree
    python3 bench/devices_in_situ.py --check --json devices.json

Needs python3 with torch and a CUDA device. The cost: rounds of blocks in random order in one process: nothing,
strata (switched by itt.resume and itt.pause), torch's profiler that records the same, and an empty callback with the
same needs; per kind of collection a process, in turn. The check: strata and torch's profiler record the same steps, and
calls, kernels, copies, fills, device time of operators and occupancy are compared; then one run each of graphs, device
memory and hotspots. About 6 minutes; --quick 2.
"""

import argparse
import contextlib
import ctypes
import itertools
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter

from operators_in_situ import interval, make_loop

HERE = pathlib.Path(__file__).resolve().parent
PLAIN = ["-knob", "operator-shapes=false", "-knob", "operator-memory=false", "-knob", "operator-modules=false"]
EVERYTHING = ["record_shapes", "profile_memory", "with_modules"]
# The words for strata, the options of torch's profiler that record the same, and the part of its cost that is allowed.
KINDS = {
    "operators and devices": (["-collect", "operators"], ["cuda", *EVERYTHING], 0.6),
    "names and devices": (["-collect", "operators", *PLAIN], ["cuda"], 0.6),
    "operators": (["-collect", "operators", "-knob", "device=off"], EVERYTHING, 1 / 3),
    "names and inputs": (["-collect", "operators", "-knob", "device=off", *PLAIN[2:]], ["record_shapes"], 1 / 3),
    "names": (["-collect", "operators", "-knob", "device=off", *PLAIN], [], 1 / 3),
    # In turns of a tenth of a second, in which they record every operator: to be compared with each other only.
    "hotspots": (["-collect", "hotspots"], [], None),
    "hotspots, light": (["-collect", "hotspots", "-knob", "device=light"], ["cuda"], None),
}
WINDOW = "both profilers"
STEPS = 4


def transformer():
    import torch

    layer = torch.nn.TransformerEncoderLayer(256, 4, 512, batch_first=True)
    net = torch.nn.TransformerEncoder(layer, 4).cuda()
    optimizer = torch.optim.Adam(net.parameters())
    tokens = torch.randn(8, 64, 256).cuda()

    def step():
        optimizer.zero_grad()
        loss = net(tokens).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def profiler(options=("cuda",)):
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if "cuda" in options else [])]
    return profile(activities=activities, **{option: True for option in options if option != "cuda"})


class EmptyCallback:
    """The least that whoever watches operators can cost; None where it is not built."""

    def __init__(self, library, inputs):
        import torch

        parts = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))
        self.add = ctypes.cast(parts._ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE, ctypes.c_void_p)
        self.remove = parts._ZN2at14removeCallbackEm
        self.remove.argtypes = [ctypes.c_uint64]
        self.watcher = ctypes.CDLL(library)
        self.watcher.empty_add.restype = ctypes.c_uint64
        self.inputs = inputs

    def __enter__(self):
        self.handle = self.watcher.empty_add(self.add, self.inputs)

    def __exit__(self, *_):
        self.remove(self.handle)


def measure_child(arguments):
    """Milliseconds a step of each block, round by round."""
    import itt  # strata provides it
    import torch

    step = make_loop("cuda")

    def step_ms(count):
        """Of all steps, and of the one in the middle, which what else the host does has not touched."""
        torch.cuda.synchronize()
        times = [time.perf_counter_ns()]
        for _ in range(count):
            step()
            times.append(time.perf_counter_ns())
        torch.cuda.synchronize()
        took = (time.perf_counter_ns() - times[0]) / count / 1e6
        return took, statistics.median(after - before for before, after in itertools.pairwise(times)) / 1e6

    @contextlib.contextmanager
    def ours():
        before = time.perf_counter_ns()
        itt.resume()
        started = time.perf_counter_ns()
        yield
        ended = time.perf_counter_ns()
        itt.pause()
        switched.append([(started - before) / 1e6, (time.perf_counter_ns() - ended) / 1e6])

    switched = []
    options = [option for option in arguments.torch_options.split(",") if option]
    ways = {"nothing": contextlib.nullcontext, "strata": ours}
    if not arguments.no_torch:
        ways["torch"] = lambda: profiler(options)
    if arguments.empty:
        empty = EmptyCallback(arguments.empty, "record_shapes" in options)
        ways["empty"] = lambda: empty
    itt.pause()
    for _ in range(30):
        step()
    count = max(5, round(100 / step_ms(20)[0]))
    rounds, middles = [], []
    for _ in range(arguments.rounds):
        one, middle = {}, {}
        for what in random.sample(list(ways), len(ways)):
            with ways[what]():
                step()
                one[what], middle[what] = step_ms(count)
        rounds.append(one)
        middles.append(middle)
    found = {"torch": torch.__version__, "device": torch.cuda.get_device_name(), "rounds": rounds, "middles": middles,
             "switched": switched}  # fmt: skip
    print(json.dumps(found), flush=True)


def check_child(arguments):
    """Trains while both record; torch's trace goes to the file."""
    import torch

    step = transformer() if arguments.model == "transformer" else make_loop("cuda")
    for _ in range(10):
        step()
    torch.cuda.synchronize()
    with profiler() as prof:
        with torch.profiler.record_function(WINDOW):
            for _ in range(STEPS):
                step()
            torch.cuda.synchronize()
    prof.export_chrome_trace(arguments.trace)
    for _ in range(3):
        step()
    torch.cuda.synchronize()


def graph_child(_arguments):
    import torch

    a = torch.randn(256, 256, device="cuda")
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            (a @ a).relu()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        b = a
        for _ in range(10):
            b = (b @ a).relu()
    for _ in range(8):
        graph.replay()
    torch.cuda.synchronize()


def run(words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def child(*words, under=()):
    return run([*under, sys.executable, HERE / "devices_in_situ.py", "--child", *words])


def measure(arguments, strata, scratch):
    found = {}
    more = [*(["--empty", arguments.empty] if arguments.empty else []), *(["--no-torch"] if arguments.no_torch else [])]
    for turn in range(arguments.turns):
        for name, (words, options, limit) in KINDS.items():
            if arguments.only and name not in arguments.only:
                continue
            result = scratch / f"{turn}.{list(KINDS).index(name)}"
            text = child("measure", "--rounds", arguments.rounds, "--torch-options", ",".join(options), *more,
                         under=[strata, *words, "-quiet", "-no-summary", "-r", result, "--"])  # fmt: skip
            seen = json.loads(text.splitlines()[-1])
            kind = found.setdefault(name, {"version": seen["torch"], "device": seen["device"], "limit": limit,
                                           "rounds": [], "middles": [], "switched": []})  # fmt: skip
            kind["rounds"] += seen["rounds"]
            kind["middles"] += seen["middles"]
            kind["switched"] += seen["switched"]
            print(f"  turn {turn}: {name}", file=sys.stderr, flush=True)
    for kind in found.values():
        rounds = kind["rounds"]
        others = [what for what in rounds[0] if what != "nothing"]
        kind["step_ms"] = statistics.median(one["nothing"] for one in rounds)
        kind["strata"] = interval([one["strata"] / one["nothing"] - 1 for one in rounds])
        for key, some in (("added_ms", rounds), ("added_to_middle_ms", kind["middles"])):
            kind[key] = {what: interval([(one[what] - one["nothing"]) / 100 for one in some]) for what in others}
        kind["start_ms"], kind["stop_ms"] = map(statistics.median, zip(*kind["switched"], strict=True))
    return found


def show(found):
    kind = next(iter(found.values()))
    print(f"torch {kind['version']} on {kind['device']}; ms added to a step (95 %), all in the same process:\n"
          "to all steps, and below to the one in the middle of each block of steps")  # fmt: skip
    print(f"{'recorded':22}{'step':>7}  {'strata':21}{'torch.profiler':21}{'ratio':>6}{'limit':>6}  "
          f"{'empty callback':21}{'start':>6}{'stop':>6}")  # fmt: skip
    for name, kind in found.items():
        limit = f"{kind['limit']:6.2f}" if kind["limit"] else " " * 6
        for key in ("added_ms", "added_to_middle_ms"):
            added = kind[key]
            text = {what: f"{middle:+.2f} ({low:+.2f} … {high:+.2f})" for what, (middle, low, high) in added.items()}
            head = f"{name:22}{kind['step_ms']:7.2f}" if key == "added_ms" else " " * 29
            ratio = added["strata"][0] / added["torch"][0] if "torch" in added else float("nan")
            print(f"{head}  {text['strata']:21}{text.get('torch', ''):21}{ratio:6.2f}{limit}  "
                  f"{text.get('empty', ''):21}{kind['start_ms']:6.1f}{kind['stop_ms']:6.1f}")  # fmt: skip


def within(events):
    """Calls in the window, what they launched, and device time by operator."""
    (window,) = [e for e in events if e.get("cat") == "user_annotation" and e["name"] == WINDOW]
    kinds = ("Launch", "Memcpy", "Memset", "Synchronize", "Malloc", "Free", "WaitEvent")
    calls = [e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")
             and any(kind in e["name"] for kind in kinds)
             and window["ts"] <= e["ts"] < window["ts"] + window["dur"]]  # fmt: skip
    made = {e["args"]["correlation"] for e in calls}
    ran = [e for e in events
           if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and e["args"]["correlation"] in made]  # fmt: skip
    named = {e["args"]["External id"]: e["name"] for e in events if e.get("cat") in ("cpu_op", "user_annotation")}
    sums, parts, full = Counter(), Counter(), {}
    for event in ran:
        operator = named.get(event["args"].get("External id"), "?")
        sums[operator] += event["dur"]
        parts[operator, event["name"][:60]] += 1
        if event["cat"] == "kernel":
            key = event["name"], *event["args"]["grid"], *event["args"]["block"]
            full[key] = event["args"].get("est. achieved occupancy %")
    return {
        "calls": Counter(e["name"] for e in calls), "kernels": Counter((e["cat"], e["name"]) for e in ran),
        "operators": sums, "parts": parts, "occupancy": full,
    }  # fmt: skip


def compare(strata, scratch, model):
    trace, result, ours = scratch / f"{model}.torch.json", scratch / model, scratch / f"{model}.json"
    under = [strata, "-collect", "operators", "-quiet", "-no-summary", "-r", result, "--"]
    child("check", "--model", model, "--trace", trace, under=under)
    run([strata, "export", "kineto", "-r", result, "-o", ours])
    mine, theirs = (within(json.loads(path.read_text())["traceEvents"]) for path in (ours, trace))
    apart = {name: mine["operators"][name] / us - 1 for name, us in theirs["operators"].items() if us > 20}
    far = sorted(apart, key=lambda name: -abs(apart[name]))[:3]
    same = [key for key in theirs["occupancy"] if mine["occupancy"].get(key) == theirs["occupancy"][key]]
    found = {
        "calls equal": mine["calls"] == theirs["calls"], "calls": sum(theirs["calls"].values()),
        "kernels equal": mine["kernels"] == theirs["kernels"], "kernels": sum(theirs["kernels"].values()),
        "operator time apart": {name: [apart[name], theirs["operators"][name]] for name in far},
        "parts apart": [str(one) for one in (mine["parts"] - theirs["parts"], theirs["parts"] - mine["parts"]) if one],
        "occupancy equal": f"{len(same)} of {len(theirs['occupancy'])}",
        "differences": [str(one) for one in ((mine["calls"] - theirs["calls"]), (theirs["calls"] - mine["calls"]),
                                             (mine["kernels"] - theirs["kernels"]),
                                             (theirs["kernels"] - mine["kernels"])) if one][:4],
    }  # fmt: skip
    print(json.dumps({model: found}, indent=1), flush=True)
    print(run([strata, "report", "device-gaps", "-r", result]))
    print(run([strata, "report", "kernels", "-r", result, "-limit", "8"]))
    print(run([strata, "report", "steps", "-r", result, "-limit", "3"]))
    return found


def check(strata, scratch):
    found = {model: compare(strata, scratch, model) for model in ("transformer", "resnet")}
    for name, options in {
        "graph": ["-collect", "tasks", "-knob", "device=graph"],
        "memory": ["-collect", "tasks", "-knob", "device=memory"],
        "light": ["-collect", "hotspots", "-knob", "device=light"],
    }.items():
        result = scratch / name
        child("graph", under=[strata, *options, "-quiet", "-no-summary", "-r", result, "--"])
        rows = json.loads(run([strata, "report", "tasks", "-r", result, "-format", "json"]))["rows"]
        found[name] = {row["task_type"]: row["count"] for row in rows}
        print(f"{name}: {json.dumps(found[name])}")
        print(run([strata, "report", "summary", "-r", result]).split("KERNELS")[0])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strata", help="the command to measure")
    parser.add_argument("--rounds", type=int, default=14)
    parser.add_argument("--turns", type=int, default=3, help="processes of each kind")
    parser.add_argument("--json", type=pathlib.Path, help="where all figures go")
    parser.add_argument("--check", action="store_true", help="whether both agree, instead of the cost")
    parser.add_argument("--only", action="append", choices=KINDS, help="this kind of collection alone; may be repeated")
    parser.add_argument("--quick", action="store_true", help="few rounds: does it work?")
    parser.add_argument("--child", choices=["measure", "check", "graph"], help=argparse.SUPPRESS)
    parser.add_argument("--empty", help="libempty_callback.so of a build, to be measured beside")
    parser.add_argument("--no-torch", action="store_true", help="leave torch's profiler out: more rounds in a time")
    parser.add_argument("--torch-options", default="cuda", help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    parser.add_argument("--trace", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        {"measure": measure_child, "check": check_child, "graph": graph_child}[arguments.child](arguments)
        return
    if arguments.quick:
        arguments.rounds, arguments.turns = 4, 1
    built = [HERE.parent / "build" / preset / "bin/strata" for preset in ("release", "dev")]
    strata = arguments.strata or next((path for path in built if path.exists()), None)
    if not strata:
        sys.exit("no strata in build/release or build/dev: name one with --strata")
    with tempfile.TemporaryDirectory() as scratch:
        work = check if arguments.check else lambda path, where: measure(arguments, path, where)
        found = work(os.path.abspath(strata), pathlib.Path(scratch))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))
    if not arguments.check:
        show(found)


if __name__ == "__main__":
    main()
