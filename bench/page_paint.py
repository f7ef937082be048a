# SPDX-License-Identifier: Apache-2.0
"""The rows about the timeline of the page: what a person waits for, in Chromium, with 10 M slices on 1,000 threads."""

import json
import os
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = HERE.parent / "tests/web/node_modules"


class PagePaint:
    """Part of Bench (run.py)."""

    def page_paint(self):
        if not (MODULES / "playwright-core").exists():
            self.missing.append("the page in Chromium (playwright-core is not installed: tools/setup.sh)")
            return
        folder = self.scratch / "page"
        folder.mkdir()
        self.run([self.programs / "make_result", folder / "many", 10_000_000, 1000, 200])
        rounds = min(self.rounds, 3)
        load = os.getloadavg()[0]
        told = [self.page_figures(folder) for _ in range(rounds)]
        self.raw["page_paint"] = {"load_before": load, "rounds": told}
        first = [min(one["first_ms"]) for one in told]
        self.add("page: timeline of 10 M slices, from opening it", "ms", first, 1000.0, "budget", 1.0)
        for kind, words in (("pan", "moves"), ("zoom", "zooms"), ("scroll", "scrolls through 1,000 rows")):
            self.add(f"a frame while it {words}", "ms", [one[kind]["median_ms"] for one in told], 16.0, "budget", 1.0)
            frames = [one[kind]["cpu_p95_ms"] for one in told]
            self.add("the same, 95 of 100, CPU of the whole frame", "ms CPU", frames, 16.0, "budget", 1.0)
            cpu = [one[kind]["main_thread_ms"] for one in told]
            self.add("the same, all of the main thread", "ms CPU", cpu, 16.0, "budget", 1.0)

    def page_figures(self, folder):
        command = [self.strata, "serve", "-data-directory", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
            try:
                found = None
                for line in server.stdout:
                    found = re.search(r"https?://\S+", line)
                    if found:
                        break
                assert found, "the server ended"
                return json.loads(self.run(["node", HERE / "page_paint.js", found.group(), "dense"]).stdout)
            finally:
                server.terminate()
