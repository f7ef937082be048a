# SPDX-License-Identifier: Apache-2.0
"""What operators take on disk and how fast they leave it, beside torch.profiler in the same process."""

import json
import pathlib
import shutil

HERE = pathlib.Path(__file__).resolve().parent


class Exports:
    def operator_exports(self):
        """Both record the same operators, with shapes, and write them in the same form."""
        steps = 20 if self.quick else 1000
        rounds = []
        for index in range(1 if self.quick else 3):
            result, trace = self.scratch / f"operators{index}", self.scratch / "torch.json"
            done = self.run(
                [self.strata, "-collect", "operators", "-quiet", "-no-summary", "-r", result, "--",
                 self.python, HERE / "torch_export.py", steps, trace],
            )  # fmt: skip
            theirs = json.loads(done.stdout.splitlines()[-1])
            files = [f for f in result.iterdir() if f.name.endswith(".strata") and f.name != "index.strata"]
            size = sum(f.stat().st_size for f in files)
            ours = self.scratch / "ours.json"
            export = [self.strata, "export", "kineto", "-quiet", "-r", result, "-parts", "shapes", "-o", ours]
            self.run(export)  # the index is made by whoever asks first
            figures = self.run_measured(export)
            rounds.append({
                **theirs, "ours_s": figures["wall_s"], "ours_bytes": ours.stat().st_size, "result_bytes": size,
            })  # fmt: skip
            shutil.rmtree(result)
            ours.unlink()
            trace.unlink()
        self.raw["operator_exports"] = rounds
        count = f"{rounds[0]['operators']:,} operators"
        self.add(
            f"trace of {count}, written", "s", [one["ours_s"] for one in rounds],
            [one["export_s"] for one in rounds], "torch.profiler's export_chrome_trace", 1 / 5,
        )  # fmt: skip
        self.add(
            f"result with {count} and shapes", "MB", [one["result_bytes"] / 1e6 for one in rounds],
            [one["trace_bytes"] / 1e6 for one in rounds], "torch.profiler's JSON", 1 / 30,
        )  # fmt: skip
