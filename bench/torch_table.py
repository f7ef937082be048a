# SPDX-License-Identifier: Apache-2.0
"""Runs small operators under torch.profiler, has it make its table, and prints what that took as JSON.

Under `strata -collect operators` the same operators are in the result, between the ranges "begin" and "end".
"""

import argparse
import json
import time

import torch
from torch.profiler import ProfilerActivity, profile, record_function


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--operators", type=int, default=1_000_000)
    parser.add_argument("--alone", action="store_true", help="without torch.profiler")
    parser.add_argument("--shapes", action="store_true")
    args = parser.parse_args()

    torch.set_num_threads(1)
    layer, data = torch.nn.Linear(4, 4), torch.randn(2, 4)
    layer(data)
    prof = profile(activities=[ProfilerActivity.CPU], record_shapes=args.shapes)
    with record_function("begin"):
        pass
    if not args.alone:
        prof.start()
    for _ in range(args.operators // 10):  # a linear layer is ten of them
        layer(data)
    if not args.alone:
        prof.stop()
    with record_function("end"):
        pass
    figures = {}
    if not args.alone:
        start = time.perf_counter()
        text = prof.key_averages(group_by_input_shape=args.shapes).table(sort_by="self_cpu_time_total")
        figures = {"table_s": time.perf_counter() - start, "lines": len(text.splitlines())}
        start = time.perf_counter()
        prof.key_averages(group_by_input_shape=args.shapes).table(sort_by="self_cpu_time_total")
        figures["again_s"] = time.perf_counter() - start
        figures["events"] = len(prof.events())
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
