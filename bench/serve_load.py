# SPDX-License-Identifier: Apache-2.0
"""The rows about strata serve: many clients that ask for tiles and tables at once.

The model is a closed loop: a client asks for a view (or, each eighth time, a table) of its own choice at random, waits
for the answer, looks at it for THINK_S on average, and asks for the next one; so 50 clients ask for 1,000 answers a
second at most, and for fewer when answers take long. A wait includes what the clients themselves and everything else on
the machine take of its CPUs.

Also a script of its own, for a result that is there: serve_load.py STRATA RESULT [SECONDS [CLIENTS [THINK_MS]]];
with a THINK_MS of 0 it tells how many answers a second there are at most.
"""

import contextlib
import http.client
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

API = "/api/v1"
PROCESSES = 2  # that the clients run in: one interpreter would measure itself
THINK_S = 0.05  # between the answers of a client: somebody looks at them
TABLES = (
    ["summary"],
    ["tasks", "-limit", "50"],
    ["tasks", "-group-by", "task-type", "-limit", "50"],
    ["hotspots", "-limit", "20"],
)


class Client:
    def __init__(self, port, bearer):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.headers = {"Authorization": f"Bearer {bearer}", "Content-Type": "application/json"}

    def __call__(self, method, path, body=None):
        self.connection.request(method, API + path, None if body is None else json.dumps(body), self.headers)
        response = self.connection.getresponse()
        return response.status, response.read()

    def ask(self, path, body):
        status, data = self("POST", path, body)
        while status == 202:
            status, data = self("GET", f"/jobs/{json.loads(data)['job']}?wait_ms=20000")
        return status, data


def view_of(tracks, rng):
    """The tiles of a window of 1,000 to 2,000 pixels somewhere in the result, of up to 40 rows, as the page asks."""
    span = max(1, tracks["end_ns"] - tracks["begin_ns"])
    width = span >> rng.randrange(12)
    begin = tracks["begin_ns"] + rng.randrange(max(1, span - width))
    level = max(0, (width // 1500).bit_length())
    first, last = begin >> (level + 9), (begin + width) >> (level + 9)
    rows = [one["id"] for one in tracks["tracks"] if one["has_boxes"] or one["has_values"]][:40]
    return {"level": level, "tiles": [[row, index] for row in rows for index in range(first, last + 1)]}


def one_client(port, bearer, result, seed, until, think_s, out):
    """Seven views, then a table, and so on."""
    rng, turn = random.Random(seed), 0
    client = Client(port, bearer)
    status, data = client.ask(f"/results/{result}/tracks", {})
    tracks = json.loads(data)
    while status == 200 and time.monotonic() < until:
        turn += 1
        is_table = turn % 8 == 0
        if is_table:
            path, body = f"/results/{result}/ask", {"words": rng.choice(TABLES), "page": {"limit": 50}}
        else:
            path, body = f"/results/{result}/tiles", view_of(tracks, rng)
        began = time.perf_counter()
        try:
            got, data = client.ask(path, body)
        except OSError as error:
            got, data = 0, repr(error).encode()
        took = (time.perf_counter() - began) * 1e3
        out.append(("table" if is_table else "tiles", took, got, "" if got == 200 else data[:200].decode()))
        time.sleep(think_s * rng.uniform(0.5, 1.5))
    if status != 200:
        out.append(("tracks", 0.0, status, data[:200].decode()))


def some_clients(port, bearer, result, seeds, until, think_s, queue):
    answers = []
    asked = (port, bearer, result)
    threads = [threading.Thread(target=one_client, args=(*asked, seed, until, think_s, answers)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    queue.put(answers)


def rss_bytes(pid):
    with contextlib.suppress(OSError):
        return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) * 1024
    return 0


def private_bytes(pid):
    """Without the mapped columns, which the kernel may take back."""
    with contextlib.suppress(OSError):
        return int(re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) * 1024
    return 0


def cpu_s(pid):
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else float("nan")


def run_load(strata, result, seconds, clients, think_s=THINK_S):
    """What all answers took, which were errors, and the memory of the server and its workers."""
    server = subprocess.Popen(
        [strata, "serve", "--data-directory", Path(result).resolve().parent],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port, token = re.search(r":(\d+)/#token=(\w+)", server.stdout.readline()).groups()
        client = Client(int(port), "")
        bearer = json.loads(client("POST", "/session", {"token": token, "bearer": True})[1])["bearer"]
        client = Client(int(port), bearer)
        results = json.loads(client("GET", "/results")[1])["results"]
        (asked,) = (one["id"] for one in results if one["name"] == Path(result).name)
        for words in TABLES:
            client.ask(f"/results/{asked}/ask", {"words": words})
        client.ask(f"/results/{asked}/tracks", {})
        before = rss_bytes(server.pid)
        queue, until = multiprocessing.Queue(), time.monotonic() + seconds
        share = [range(number, clients, PROCESSES) for number in range(PROCESSES)]
        processes = [
            multiprocessing.Process(target=some_clients, args=(int(port), bearer, asked, seeds, until, think_s, queue))
            for seeds in share
        ]
        for process in processes:
            process.start()
        answers = [answer for _ in processes for answer in queue.get()]
        for process in processes:
            process.join()
        workers = [int(pid) for pid in Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()]
        spent = {"server": cpu_s(server.pid), "workers": [cpu_s(pid) for pid in workers]}
        after, held = rss_bytes(server.pid), [private_bytes(pid) for pid in workers]
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
    tiles = [took for kind, took, _, _ in answers if kind == "tiles"]
    tables = [took for kind, took, _, _ in answers if kind == "table"]
    wrong = [answer for answer in answers if answer[2] != 200]
    return {
        "clients": clients,
        "seconds": seconds,
        "think_s": think_s,
        "answers_per_s": len(answers) / seconds,
        "tiles": len(tiles),
        "tables": len(tables),
        "errors": len(wrong),
        "first_error": wrong[0][2:] if wrong else None,
        "tiles_ms": {"p50": quantile(tiles, 0.5), "p99": quantile(tiles, 0.99), "max": quantile(tiles, 1)},
        "tables_ms": {"p50": quantile(tables, 0.5), "p99": quantile(tables, 0.99), "max": quantile(tables, 1)},
        "server_bytes": [before, after],
        "worker_bytes": held,
        "cpu_s": spent,
        "server_status": server.returncode,
        "load_average": os.getloadavg()[0],
    }


class Served:
    """Part of Bench (run.py)."""

    def serve_load(self):
        """50 clients for a minute, on a million slices; each looks 50 ms at an answer before it asks again."""
        result = self.scratch / "served" / "r000tk"
        result.parent.mkdir()
        self.run([self.programs / "make_result", result, 1_000_000, 4, 300])
        done = run_load(self.strata, result, 10 if self.quick else 60, 50)
        self.raw["serve_load"] = done
        self.add("serve, 50 clients: tiles, 99 of 100", "ms", [done["tiles_ms"]["p99"]], 200.0, "budget", 1.0)
        self.add("its answers that are errors", "", [float(done["errors"])], 1.0, "none allowed", 0.0)
        self.add("memory of the server itself", "MB", [done["server_bytes"][1] / 1e6], 64.0, "limit", 1.0)
        shutil.rmtree(result.parent)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[3:]] + [60, 50, int(THINK_S * 1000)][len(sys.argv) - 3 :]
    print(json.dumps(run_load(sys.argv[1], sys.argv[2], *numbers[:2], numbers[2] / 1000), indent=1))
