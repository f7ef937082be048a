# SPDX-License-Identifier: Apache-2.0
"""strata bottleneck: one page about a script, which runs once and ends as it does alone."""

import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest

PLAIN = """
import os, signal, sys

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

with open("runs", "a") as file:
    file.write("run\\n")
if "--quiet" not in sys.argv:
    print("arguments", sys.argv[1:], sys.argv[0], fib(23))
if "--die" in sys.argv:
    os.kill(os.getpid(), signal.SIGTERM)
sys.exit(7 if "--fail" in sys.argv else 0)
"""
TRAINS = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(64, 32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def train(batch):
    optimizer.zero_grad()
    loss = model(batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss
for step in range(10):
    loss = train(torch.randn(256, 64))
print("loss", loss.item().hex())
"""

LOADS = """
import time, torch
class Items(torch.utils.data.Dataset):
    def __len__(self):
        return 80
    def __getitem__(self, index):
        began = time.thread_time()
        while time.thread_time() - began < 0.01:
            sum(range(200))
        return torch.ones(64)
model = torch.nn.Linear(64, 32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for batch in torch.utils.data.DataLoader(Items(), batch_size=8, num_workers=2):
    optimizer.zero_grad()
    model(batch).pow(2).mean().backward()
    optimizer.step()
"""


@pytest.fixture
def script(strata):
    path = strata.folder / "script.py"
    path.write_text(PLAIN)
    return path


def bottleneck(strata, *words, python=sys.executable, **more):
    return strata("bottleneck", "-interpreter", python, *words, **more)


def lines_of(page, title):
    """The lines of a part of the page, up to the next empty line."""
    lines = page.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(title))
    part = lines[first:]
    return part[: part.index("")] if "" in part else part


def test_page(strata, script):
    """The script's own output first; then functions as cProfile counts them, and what there is none of."""
    done = bottleneck(strata, script, "one", "--two", "-r", "x")
    assert done.status == 0, done.err
    own, page = done.out.split("\n", 1)
    assert own == f"arguments ['one', '--two', '-r', 'x'] {script} 28657"
    assert (strata.folder / "runs").read_text() == "run\n"
    assert len(page.splitlines()) <= 60
    assert max(map(len, page.splitlines())) <= 100
    version = ".".join(map(str, sys.version_info[:3]))
    assert f"WITH    Python {version}   PyTorch not loaded" in page
    part = lines_of(page, "PYTHON")
    assert part[1].split() == ["ncalls", "tottime", "percall", "cumtime", "percall", "filename:lineno(function)"]
    # One call from outside, and 2 * 46368 - 2 from itself: the number of leaves is that of the sequence.
    (row,) = [line.split() for line in part if line.endswith("script.py:4(fib)")]
    assert row[0] == "92735/1"
    assert all(float(figure) >= 0 for figure in row[1:5])
    assert "OPERATORS  None: the program did not load PyTorch" in page
    assert "resident" in page
    assert [path.name for path in strata.folder.glob("r*hs")] == ["r000hs"]


def test_it_ends_as_the_script_does(strata, script):
    assert bottleneck(strata, "-q", script, "--fail").status == 7
    assert bottleneck(strata, "-q", script, "--die").status == -signal.SIGTERM


def test_options_and_result(strata, script):
    """Options stand before the script; the result is one that every report opens."""
    done = bottleneck(strata, "-r", "mine", "--", script)
    assert done.status == 0, done.err
    assert "the result is in mine" in done.err
    asked = strata("report", "python-calls", "-r", "mine", "-format", "json")
    calls = {row["python_function"].split("(")[-1]: row["ncalls"] for row in json.loads(asked.stdout)["rows"]}
    assert calls["fib)"] == "92735/1"
    kept = json.loads((strata.folder / "mine" / "result.json").read_text())
    assert "python-calls=true" in kept["options"]["knob"]
    quiet = bottleneck(strata, "-q", script)
    assert quiet.err == ""


def test_what_cannot_run(strata, script):
    """One sentence each, and nothing is left behind."""
    absent = bottleneck(strata, "absent.py")
    assert absent.status == 2
    assert absent.err == "strata: error: absent.py: no such file\n"
    none = strata("bottleneck")
    assert none.status == 2
    assert "no script given" in none.err
    nowhere = strata("bottleneck", script, env={"PATH": str(strata.folder)})
    assert nowhere.status == 127
    assert nowhere.err == "strata: error: no python3 on the PATH; use -interpreter FILE to choose one\n"
    other = bottleneck(strata, script, python="/bin/true")
    assert other.status == 127
    assert "is not a Python interpreter" in other.err
    assert not list(strata.folder.glob("r*hs"))


def test_the_page_goes_where_the_output_goes(strata, script):
    """Into a file behind the script's own; without standard output one sentence, and the script's status."""
    with open(strata.folder / "page", "wb") as file:
        done = bottleneck(strata, "-q", script, stdout=file)
    assert done.status == 0, done.err
    text = (strata.folder / "page").read_text()
    assert text.startswith("arguments")
    assert "\nPYTHON" in text
    words = [strata.binary, "bottleneck", "-q", "-interpreter", sys.executable, script, "--quiet"]
    closed = strata.run(["/bin/sh", "-c", '"$@" >&-', "sh", *words])
    assert closed.status == 0, closed.err
    assert closed.out == ""
    assert closed.err == "strata: error: cannot build the page: cannot write to standard output: Bad file descriptor\n"


@pytest.mark.torch
def test_a_training_loop(strata, python, build_dir):
    """python -m strata.bottleneck: operators, memory and steps, and the loss that the script has alone."""
    script = strata.folder / "train.py"
    script.write_text(TRAINS)
    env = {"PYTHONPATH": os.fspath(build_dir / "python"), "OMP_NUM_THREADS": "1"}
    alone = strata.run([python, script], env=env)
    done = strata.run([python, "-m", "strata.bottleneck", script.name], env=env)
    assert done.status == 0, done.err
    own, page = done.out.split("\n", 1)
    assert own + "\n" == alone.out
    assert len(page.splitlines()) <= 60
    assert max(map(len, page.splitlines())) <= 100
    assert "   PyTorch 2." in page
    assert "OMP_NUM_THREADS=1" in page
    rows = {row[0]: row for row in map(str.split, lines_of(page, "OPERATORS")[1:])}
    assert rows["aten::addmm"][-1] == "10"
    assert rows["aten::addmm"][-3:-1] == ["327.7", "kB"]  # 10 outputs of 256 x 32 floats
    assert "forward" in page
    assert "backward" in page
    assert "optimizer" in page
    assert Path(strata.folder / "r000hs").is_dir()


@pytest.mark.torch
def test_workers(strata, python):
    """Threads that hand over what workers make only wait: they are no part of the page, and times are of the run."""
    script = strata.folder / "loads.py"
    script.write_text(LOADS)
    done = bottleneck(strata, "-r", "loads", script, python=python)
    assert done.status == 0, done.err
    page = done.out
    # Longer than other pages: who the workers are, and each time what other programs took, may need a line or two.
    assert len(page.splitlines()) <= 70
    part = lines_of(page, "PYTHON")
    found = re.search(
        r"in ([\d.]+) seconds of 3 threads, in a run of ([\d.]+) seconds; without (\d+) threads",
        " ".join(" ".join(part[:2]).split()),
    )
    assert found, part
    run = strata.result_json(strata.folder / "loads")["elapsed_ns"] / 1e9
    assert float(found[2]) == pytest.approx(run, rel=0.01)
    assert float(found[1]) < 3 * run  # the program and two workers
    assert not any("_accept" in line for line in part), part
    assert any("builtins.sum" in line for line in part), part
    # What helps most is on the page itself.
    assert re.search(r"\n1  data-wait  saves", page), page
    # It is the same share in both places.
    share = re.search(r"\n  data wait .*?([\d.]+) %", page)[1]
    assert re.search(r"of a step \((\d+) %\)", page)[1] == f"{float(share):.0f}"
    every = strata("report", "python-calls", "-r", "loads").out
    assert "_accept" in every and f"of {3 + int(found[3])} threads" in every.splitlines()[0]
