# SPDX-License-Identifier: Apache-2.0
"""What recording operators costs a training loop, in the loop itself, and what the result says it costs.

    python3 bench/operators_in_situ.py                      # uses build/release, else build/dev, of this tree
    python3 bench/operators_in_situ.py --strata build/dev/bin/strata --json in_situ.json --quick

Needs only python3 with torch. With a GPU it trains a ResNet-18 on batches so small that launching is all the work
(about 1,000 operators in 6 to 9 ms), without one a tiny net of the same form. The true cost comes from switching
recording on and off in one process (itt.resume and itt.pause), pair after pair in random order; the stated one from a
second run of the same loop that nobody switches, with the time of starting up taken out of what it is a share of.
Paused is compared with runs without strata, in turns. About 11 minutes; --quick 2, --only a part of it.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BOOTSTRAPS = 2000
# What is recorded: the words for strata, and how long one of a pair lasts. Bursts of operators are spread over seconds.
KINDS = {
    "operators": (["-collect", "operators"], 0.1),
    "operators, measured": (["-collect", "operators", "-knob", "measure-cost=true"], None),
    "hotspots": (["-collect", "hotspots"], 0.8),
    "hotspots, every operator": (["-collect", "hotspots", "-knob", "collect-operators=true"], 0.1),
}


def make_loop(device):
    """A function that trains one step."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inside, outside, stride):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(inplace=True),
                nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside),
            )  # fmt: skip
            self.short = nn.Identity()
            if stride != 1 or inside != outside:
                self.short = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

        def forward(self, x):
            return torch.relu(self.body(x) + self.short(x))

    width, side, batch = (64, 64, 4) if device == "cuda" else (8, 16, 2)
    torch.manual_seed(0)
    if device == "cpu":
        torch.set_num_threads(1)
    blocks = []
    for stage in range(4):
        inside = width * 2 ** max(stage - 1, 0)
        outside = width * 2**stage
        blocks += [Block(inside, outside, 1 + (stage > 0)), Block(outside, outside, 1)]
    net = nn.Sequential(
        nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
        *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, 10),
    ).to(device)  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(batch, 3, side, side, device=device)
    labels = torch.randint(10, (batch,), device=device)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(images), labels).backward()
        optimizer.step()

    return step


def train(arguments):
    """The profiled program: prints what it found as one line of JSON."""
    import torch

    device = arguments.device or ("cuda" if torch.cuda.is_available() else "cpu")
    step = make_loop(device)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None

    def step_ns(count):
        wait()
        before = time.perf_counter_ns()
        for _ in range(count):
            step()
        wait()
        return (time.perf_counter_ns() - before) / count

    for _ in range(20):
        step()
    usual = step_ns(20)
    found = {"device": device, "step_ns": usual, "torch": torch.__version__}
    if arguments.child == "switched":
        import itt  # strata provides it

        count = max(3, round(arguments.seconds * 1e9 / usual))
        pairs = []
        for _ in range(arguments.pairs):
            pair = {}
            for switch in random.sample(["resume", "pause"], 2):
                getattr(itt, switch)()
                step()
                pair[switch] = step_ns(count)
            pairs.append((pair["resume"], pair["pause"]))
        found["pairs"] = pairs
    else:
        times = []
        end = time.monotonic() + arguments.seconds
        while time.monotonic() < end:
            times.append(step_ns(5))
        found["step_ns"] = statistics.median(times)
        found["loop_s"] = sum(times) * 5 / 1e9
    print(json.dumps(found), flush=True)


def run(words, **more):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def child(arguments, mode, seconds, under=()):
    words = [*under, sys.executable, HERE / "operators_in_situ.py", "--child", mode, "--seconds", str(seconds)]
    words += ["--pairs", str(arguments.pairs), *(["--device", arguments.device] if arguments.device else [])]
    return json.loads(run(words).splitlines()[-1])


def interval(values, outer=10):
    """Mean of all but the outer tenths, in percent, and its 95 % bootstrap interval."""

    def middle(some):
        cut = len(some) // outer if outer else 0
        kept = sorted(some)[cut : len(some) - cut]
        return sum(kept) / len(kept)

    draw = random.Random(0)
    found = sorted(middle(draw.choices(values, k=len(values))) for _ in range(BOOTSTRAPS))
    return [100 * middle(values), 100 * found[BOOTSTRAPS // 40], 100 * found[-BOOTSTRAPS // 40]]


def stated(strata, result, loop_s):
    """What the result says of its cost, in percent of the loop."""
    rows = json.loads(run([strata, "report", "summary", "-r", result, "-format", "json"]))["rows"]
    cost = {row["name"]: row["value"] for row in rows if row["section"] == "cost"}
    (elapsed,) = (row["value"] for row in rows if (row["section"], row["name"]) == ("run", "elapsed_ns"))
    for name in ("estimate_ratio", "measured_error_ratio", "operators_recorded_ratio"):
        if isinstance(cost.get(name), (int, float)):
            cost[name] *= 100 * (elapsed / 1e9 / loop_s if "operators" not in name else 1)
    return cost


def words_of(cost):
    if cost.get("measured_error_ratio") is not None:
        return f"+{cost['estimate_ratio']:.2f} % ± {cost['measured_error_ratio']:.2f} (measured)"
    return f"at least +{cost['estimate_ratio']:.2f} %"


def measure(arguments, strata, scratch):
    found = {"kinds": {}}
    wanted = arguments.only or [*KINDS, "paused"]
    for number, (name, (options, seconds)) in enumerate(KINDS.items()):
        if name not in wanted:
            continue
        kind = found["kinds"][name] = {}
        under = [strata, *options, "-quiet", "-no-summary", "-r"]
        if seconds:
            seen = child(arguments, "switched", seconds, [*under, scratch / f"switched{number}", "--"])
            # Bursts are rare: what they cost is in the few pairs that a trimmed mean would leave out.
            kind["true"] = interval([on / off - 1 for on, off in seen["pairs"]], 0 if name == "hotspots" else 10)
            kind["pairs"] = seen["pairs"]
            found["device"], found["torch"] = seen["device"], seen["torch"]
        result = scratch / f"stated{number}"
        seen = child(arguments, "plain", 8 if arguments.quick else 45, [*under, result, "--"])
        kind["step_ms"] = seen["step_ns"] / 1e6
        kind["stated"] = stated(strata, result, seen["loop_s"])
        print(f"  {name}: " + (f"true +{kind['true'][0]:.2f} %, " if seconds else "") + words_of(kind["stated"]),
              file=sys.stderr, flush=True)  # fmt: skip
    # Recorded and measured is recorded no less.
    if "operators, measured" in wanted and "operators" in wanted:
        found["kinds"]["operators, measured"]["true"] = found["kinds"]["operators"]["true"]
    if "paused" not in wanted:
        return found
    paused = []
    for number in range(2 if arguments.quick else 5):
        bare = child(arguments, "plain", 2 if arguments.quick else 4)["step_ns"]
        words = [strata, "-collect", "hotspots", "-start-paused", "-quiet", "-no-summary", "-r"]
        paused.append((child(arguments, "plain", 2 if arguments.quick else 4,
                             [*words, scratch / f"paused{number}", "--"])["step_ns"], bare))  # fmt: skip
    found["kinds"]["paused"] = {"true": interval([one / bare - 1 for one, bare in paused]), "runs": paused,
                                "step_ms": statistics.median(one for one, _ in paused) / 1e6}  # fmt: skip
    found["bare_step_ms"] = statistics.median(bare for _, bare in paused) / 1e6
    return found


def show(found):
    if "torch" in found:
        print(f"torch {found['torch']} on {found['device']}")
    if "bare_step_ms" in found:
        print(f"{found['bare_step_ms']:.2f} ms a step without strata")
    print(f"{'recorded':26}{'step':>10}  {'true cost (95 %)':27}what the result says")
    for name, kind in found["kinds"].items():
        middle, low, high = kind.get("true", (float("nan"),) * 3)
        true = f"{middle:+.2f} % ({low:+.2f} … {high:+.2f})"
        says = words_of(kind["stated"]) if "stated" in kind else ""
        share = kind.get("stated", {}).get("operators_recorded_ratio")
        says += f", {share:.1f} % of the operators" if share is not None else ""
        print(f"{name:26}{kind['step_ms']:7.2f} ms  {true:27}{says}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strata", help="the command to measure")
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--device", choices=["cuda", "cpu"])
    parser.add_argument("--json", type=pathlib.Path, help="where all figures go")
    parser.add_argument("--only", action="append", choices=[*KINDS, "paused"], help="this part alone; may be repeated")
    parser.add_argument("--quick", action="store_true", help="10 pairs and short runs: does it work?")
    parser.add_argument("--child", choices=["switched", "plain"], help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        train(arguments)
        return
    if arguments.quick:
        arguments.pairs = 10
    built = [HERE.parent / "build" / preset / "bin/strata" for preset in ("release", "dev")]
    strata = arguments.strata or next((path for path in built if path.exists()), None)
    if not strata:
        sys.exit("no strata in build/release or build/dev: name one with --strata")
    with tempfile.TemporaryDirectory() as scratch:
        found = measure(arguments, os.path.abspath(strata), pathlib.Path(scratch))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))
    show(found)


if __name__ == "__main__":
    main()
