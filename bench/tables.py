# SPDX-License-Identifier: Apache-2.0
"""The row about torch's table: from a closed result, beside what torch.profiler needs in its own process."""

import json
import shutil
import statistics
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Tables:
    """Part of Bench (run.py)."""

    def torch_table(self):
        """Of a million operators; both recorded the same run, and both tables hold the same rows."""
        operators = 100_000 if self.quick else 1_000_000
        result = self.scratch / "operators"
        script = [self.python, HERE / "torch_table.py", "--operators", operators]
        if self.run([self.python, "-c", "import torch"], check=False).returncode:
            self.missing.append("torch.profiler (PyTorch is not installed)")
            return
        collect = [self.strata, "-collect", "operators", "-quiet", "-no-summary", "-r", result, "--"]
        torch = json.loads(self.run([*collect, *script], timeout=1800).stdout)
        command = [self.strata, "report", "torch-averages", "-r", result, "-report-knob", "sort-by=self_cpu_time_total"]
        seconds = [self.run_measured(command)["wall_s"] for _ in range(max(3, self.rounds))]
        counted = sum(row["count"] for row in self.report(result, "torch-averages")["rows"])
        assert counted >= torch["events"] >= operators
        self.raw["torch_table"] = {"operators": torch["events"], "table_s": seconds, "torch": torch}
        what = f"table of {operators:,} operators"
        self.add(what, "s", seconds, torch["table_s"], "key_averages().table()", 0.01)
        again = statistics.median(seconds) / torch["again_s"]
        self.raw["torch_table"]["against_its_second_table"] = again
        shutil.rmtree(result)
