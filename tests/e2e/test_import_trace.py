# SPDX-License-Identifier: Apache-2.0
"""Traces of torch.profiler as results. The truth is torch's: its events() of the same profile, and the file."""

import gzip
import json
import resource
import signal
from collections import Counter, defaultdict

import pytest
from harness import ROOT, TARGETS, strict_json

NAMES = ("plain.pt.trace.json", "packed.pt.trace.json.gz", "whole.pt.trace.json")


@pytest.fixture(scope="module")
def recorded(shared_strata, python, tmp_path_factory):
    """The traces, torch's figures of them, and the results made of them."""
    folder = tmp_path_factory.mktemp("traces")
    done = shared_strata.run([python, TARGETS / "profiled_by_torch.py", folder])
    assert done.status == 0, done.err
    for name in NAMES:
        done = shared_strata("import", folder / name, "-r", folder / name.partition(".")[0])
        assert done.status == 0, done.err
        assert b"not recognized" not in done.stderr, done.err
    return folder, json.loads((folder / "figures.json").read_text())


def events_of(path):
    text = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
    return json.loads(text)["traceEvents"]


@pytest.mark.parametrize("name", NAMES)
def test_every_event_is_there(shared_strata, recorded, name):
    folder, _ = recorded
    wanted = defaultdict(lambda: [0, 0])
    for event in events_of(folder / name):
        if event.get("cat") in ("cpu_op", "user_annotation"):
            wanted[event["name"]][0] += 1
            wanted[event["name"]][1] += round(event["dur"] * 1000)
    sql = "SELECT task_type AS name, count(*) AS n, sum(wall_ns) AS ns FROM slices"
    sql += " WHERE task_domain <> 'torch.module' GROUP BY 1"
    done = shared_strata("query", sql, "-r", folder / name.partition(".")[0], "-format", "json")
    assert done.status == 0, done.err
    rows = {row["name"]: row for row in strict_json(done.stdout)["rows"]}
    assert {key: row["n"] for key, row in rows.items()} == {key: count for key, (count, _) in wanted.items()}
    for key, (count, ns) in wanted.items():
        # What ends with the one around it may be written a nanosecond behind it.
        assert rows[key]["ns"] == pytest.approx(ns, abs=2 * count), key


@pytest.mark.parametrize("name", NAMES)
def test_counted_as_torch_counts(shared_strata, recorded, name):
    """Torch leaves out an operator that only calls itself; its averages of the imported trace do too."""
    folder, figures = recorded
    wanted = Counter(event["name"] for event in figures[name])
    report = shared_strata.report(folder / name.partition(".")[0], "torch-averages")
    found = {row["key"]: row["count"] for row in report["rows"] if not row["is_python_function"]}
    assert found == {key: n for key, n in wanted.items() if key in found or not key.startswith("ProfilerStep")}


def test_shapes_are_the_files(shared_strata, recorded):
    folder, figures = recorded
    wanted = Counter(
        json.dumps(event["shapes"]) for event in figures["packed.pt.trace.json.gz"] if event["name"] == "aten::addmm"
    )
    done = shared_strata(
        "query", "SELECT shapes, count(*) AS n FROM operators WHERE name = 'aten::addmm' GROUP BY 1",
        "-r", folder / "packed", "-format", "json",
    )  # fmt: skip
    assert done.status == 0, done.err
    found = {json.dumps(json.loads(row["shapes"])): row["n"] for row in strict_json(done.stdout)["rows"]}
    assert found == dict(wanted)


def test_there_and_back(shared_strata, recorded):
    """Exported in the same form, the trace has as many events of every kind as the one that was read."""
    folder, _ = recorded
    out = folder / "again.json"
    done = shared_strata("export", "kineto", "-r", folder / "whole", "-o", out)
    assert done.status == 0, done.err
    kinds = ("cpu_op", "user_annotation", "python_function", "fwdbwd", "cpu_instant_event")

    def counts(path):
        return Counter((e["cat"], e["name"], e["ph"]) for e in events_of(path) if e.get("cat") in kinds)

    assert counts(out) == counts(folder / "whole.pt.trace.json")


def test_python_lines_modules_and_steps(shared_strata, recorded):
    folder, _ = recorded
    lines = shared_strata.report(folder / "whole", "operators", "-group-by", "python-line")
    assert any(row["python_line"].startswith("torch/nn/modules/conv.py:") for row in lines["rows"])
    assert not any(row["python_line"].endswith(":0") for row in lines["rows"])
    modules = shared_strata.report(folder / "whole", "operators", "-group-by", "nn-module")
    assert {"Conv2d_0", "Linear_0"} <= {row["nn_module"] for row in modules["rows"]}
    steps = shared_strata.report(folder / "whole", "steps")
    assert len(steps["rows"]) == 3
    done = shared_strata("report", "summary", "-r", folder / "whole")
    assert "LEFT RUNNING" not in done.out
    assert not any(line.strip() == "cost" for line in done.out.splitlines())


def test_device_rows(strata):
    """A trace of a training step on a GPU: kernels and copies on streams, launches on threads."""
    path = ROOT / "tests/data/torch/h200.pt.trace.json.gz"
    result = strata.folder / "device"
    done = strata("import", path, "-r", result)
    assert done.status == 0, done.err
    wanted = defaultdict(lambda: [0, 0])
    words = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "copy", "cuda_runtime": "runtime-call"}
    names = set()
    for event in events_of(path):
        if event.get("cat") in words:
            names |= {event["name"]} if "kernel" in words[event["cat"]] else set()
            word = "device-wait" if "Synchronize" in event["name"] else words[event["cat"]]
            wanted[word][0] += 1
            wanted[word][1] += round(event["dur"] * 1000)
    rows = {row["category"]: row for row in strata.report(result, "tasks", "-group-by", "category")["rows"]}
    for word, (count, ns) in wanted.items():
        assert rows[word]["count"] == count
        assert rows[word]["wall_total_ns"] == pytest.approx(ns, abs=count)
    # Torch's own sums of the same profile, by kernel.
    averages = json.loads((ROOT / "tests/data/torch/h200.averages.json").read_text())
    kernels = {row["task_type"]: row for row in strata.report(result, "tasks", "-group-by", "task-type")["rows"]}
    on_device = [row for row in averages if row["device_type"].endswith("CUDA") and row["name"] in names]
    assert len(on_device) > 10
    for row in on_device:
        assert kernels[row["name"]]["count"] == row["count"]
        assert kernels[row["name"]]["wall_total_ns"] == pytest.approx(
            row["self_device_us"] * 1000, abs=row["count"] + 1
        )
    threads = {row["thread"] for row in strata.report(result, "tasks", "-group-by", "thread")["rows"]}
    assert {"device 0 stream 7 (7)", "device 0 stream 13 (13)"} <= threads


def test_packed_in_parts(strata):
    """A .gz file of several members behind one another (pigz, bgzip, cat) is whole, as gzip says it."""
    text = gzip.decompress((ROOT / "tests/data/torch/h200.pt.trace.json.gz").read_bytes())
    counts = []
    for name, cuts in (("whole", [0, len(text)]), ("parts", [0, 1, len(text) // 2, len(text)])):
        path = strata.folder / f"{name}.pt.trace.json.gz"
        path.write_bytes(b"".join(gzip.compress(text[a:b]) for a, b in zip(cuts, cuts[1:], strict=False)))
        done = strata("import", path, "-r", strata.folder / name)
        assert done.status == 0, done.err
        assert "cut off" not in done.err, done.err
        rows = strata.report(strata.folder / name, "tasks", "-group-by", "category")["rows"]
        counts.append({row["category"]: row["count"] for row in rows})
    assert sum(counts[0].values()) > 100
    assert counts[0] == counts[1]


HOSTILE = {
    "empty list": (b"[]", 1, "no events"),
    "no list": (b'{"a": 1}', 1, "traceEvents"),
    "no object": (b'{"traceEvents": [1]}', 1, "byte 17"),
    "no JSON": (b'{"traceEvents": [{"ph": "X" "pid"}]}', 1, "byte 17"),
    "a text that does not end": (b'{"a', 1, "does not end"),
    "deep": (b'{"traceEvents": [' + b"[" * 100000 + b"]" * 100000 + b"]}", 1, "byte 17"),
    "times that cannot be": (
        b'[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":-5,"dur":1},'
        b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1e300,"dur":1}]',
        1,
        "no events",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(strata, name):
    data, status, said = HOSTILE[name]
    path = strata.folder / "hostile.json"
    path.write_bytes(data)
    done = strata("import", path, "-r", strata.folder / "out")
    assert done.status == status, done.err
    assert said in done.err
    assert not (strata.folder / "out").exists()


@pytest.mark.parametrize(
    "category, name",
    [
        ("python_function", "a" * 1_048_570 + "(1): " + "b" * 100),
        ("gpu_user_annotation", "a" * (1 << 21)),
        ("cpu_op", "a" * ((1 << 20) + 1)),
    ],
    ids=["call", "range of a device", "operator"],
)
def test_names_that_are_too_long(strata, category, name):
    """They are skipped, and that is said; what else there is stays."""
    one = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 5}
    long = {**one, "cat": category, "name": name, "ts": 1, "dur": 1}
    path = strata.folder / "long.json"
    path.write_text(json.dumps({"traceEvents": [one, long]}))
    done = strata("import", path, "-r", strata.folder / "out")
    assert done.status == 0, done.err
    assert "note: 1 lines or records were not recognized and were skipped" in done.err
    assert strata.counts(strata.folder / "out") == {"aten::mm": 1}


def test_name_that_is_just_short_enough(strata):
    """There is room for what is made of it: the file, the function and the line of a call, or a range's other name."""
    name = "a" * ((1 << 20) - 5 - 100) + "(1): " + "b" * 100
    one = {"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": 0, "dur": 5}
    path = strata.folder / "long.json"
    path.write_text(json.dumps([{**one, "cat": "python_function"}, {**one, "cat": "gpu_user_annotation"}]))
    done = strata("import", path, "-r", strata.folder / "out")
    assert done.status == 0 and "imported 2 events" in done.err and "skipped" not in done.err, done.err
    assert strata.counts(strata.folder / "out") == {name + " (on device)": 1}


def test_last_write_that_fails_leaves_nothing(strata):
    """The end of the largest file (64 bytes), which is written behind all else, has no room."""
    one = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1}
    events = [{**one, "ts": i * 37 % 99_991 * 10, "dur": 1 + i % 7} for i in range(20_000)]
    path = strata.folder / "many.json"
    path.write_text(json.dumps({"traceEvents": events}))
    assert strata("import", path, "-r", strata.folder / "whole").status == 0
    sizes = {file.name: file.stat().st_size for file in (strata.folder / "whole").iterdir()}
    largest = max(sizes, key=sizes.get)
    assert largest == "trace.000.strata", sizes

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, 2 * (sizes[largest] - 32,))

    done = strata("import", path, "-r", strata.folder / "part", preexec_fn=limit)
    assert done.status == 1 and "trace" in done.err, done.err
    assert not (strata.folder / "part").exists()


def test_overlapping_kernels_are_all_there(strata):
    """Three kernels of one stream at the same time, none inside another: on tracks of their own."""
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 0, "dur": 100},
        *(
            {"ph": "X", "cat": "kernel", "name": f"k{i}", "pid": 0, "tid": 3, "ts": 10 + 10 * i, "dur": 25}
            for i in range(3)
        ),
    ]
    path = strata.folder / "overlap.json"
    path.write_text(json.dumps({"traceEvents": events}))
    result = strata.folder / "overlap"
    assert strata("import", path, "-r", result).status == 0
    rows = strata.report(result, "tasks", "-group-by", "task-type")["rows"]
    assert {row["task_type"]: row["wall_total_ns"] for row in rows if row["task_type"].startswith("k")} == {
        f"k{i}": 25000 for i in range(3)
    }


def test_a_file_that_is_cut_off(strata, recorded):
    folder, _ = recorded
    whole = (folder / "whole.pt.trace.json").read_bytes()
    path = strata.folder / "cut.json"
    path.write_bytes(whole[: len(whole) // 2])
    done = strata("import", path, "-r", strata.folder / "out")
    assert done.status == 0, done.err
    assert "cut off" in done.err
    quality = strata("report", "quality", "-r", strata.folder / "out")
    assert "cut off" in quality.out
