# SPDX-License-Identifier: Apache-2.0
"""Samples as flame graph, folded stacks, speedscope, pprof, Chrome and Perfetto traces.

Every format is read by something that is not ours, and all of them must tell the same nanoseconds.
"""

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from harness import ROOT, TARGETS
from perfetto_trace import schema
from profile_readers import Pprof, chrome_stacks, folded_stacks, speedscope_stacks

WEB = ROOT / "tests" / "web"
PYTHON_PLACE = re.compile(r" \((<[^()]*>|[^()]*\.py)(:\d+)?\)$")


@pytest.fixture(scope="module")
def run(shared_strata):
    """A run of two busy Python threads at 1 kHz; (strata, result)."""
    result = shared_strata.folder / "flames"
    done = shared_strata(
        "-collect", "hotspots", "-knob", "sampling-interval=1", "-quiet", "-no-summary", "-r", result, "--",
        sys.executable, TARGETS / "flames.py",
    )  # fmt: skip
    assert done.status == 0, done.err
    told = json.loads(done.stdout)
    return shared_strata, result, told


def export(run, form, *options, suffix="out"):
    strata, result, _ = run
    path = strata.folder / f"{form}{len(strata.history)}.{suffix}"
    done = strata("export", form, "-r", result, "-o", path, *options)
    assert done.status == 0, done.err
    return path


def without_lines(stack):
    """Python functions are told apart by line in some formats: 'work (flames.py:24)' is 'work' in others."""
    return tuple(PYTHON_PLACE.sub("", name) for name in stack)


def merged(stacks):
    sums = collections.Counter()
    for stack, ns in stacks.items():
        sums[without_lines(stack)] += ns
    return sums


def as_folded(stacks):
    """Folded stacks cannot hold a semicolon in a name."""
    return collections.Counter({tuple(name.replace(";", ":") for name in stack): ns for stack, ns in stacks.items()})


def test_folded_finds_the_work(run):
    stacks = folded_stacks(export(run, "folded").read_bytes())
    total = sum(stacks.values())
    _, _, told = run
    for function in ("spin_numbers", "sort_words"):
        inside = sum(ns for stack, ns in stacks.items() if any(name.startswith(function) for name in stack))
        assert inside == pytest.approx(told[function] * 1e9, rel=0.15), f"{function} of {total} ns"
        called = sum(
            ns for stack, ns in stacks.items() if re.search(rf"work \(flames.py:\d+\);.*{function}", ";".join(stack))
        )
        assert called > 0.98 * inside, f"{function} below its caller {called} of {inside} ns"


def test_pprof(run):
    pprof = Pprof(export(run, "pprof", suffix="pb.gz").read_bytes())
    assert pprof.types == [("samples", "count"), ("cpu", "nanoseconds")]
    folded = merged(folded_stacks(export(run, "folded").read_bytes()))
    assert as_folded(pprof.stacks()) == folded
    threads = {labels["thread"] for _, _, labels in pprof.samples()}
    assert len(threads) >= 2, threads
    assert pprof.profile.period == 1_000_000
    assert any(pprof.strings[mapping.build_id] for mapping in pprof.mappings.values())
    lines = {(name, line) for stack, _, _ in pprof.samples() for name, line in stack if name == "spin_numbers"}
    source = (TARGETS / "flames.py").read_text().splitlines()
    first = next(number for number, line in enumerate(source, 1) if "def spin_numbers" in line)
    assert {line for _, line in lines} <= set(range(first, first + 6)), lines


def test_pprof_in_its_own_tool(run):
    """go tool pprof, where Go is installed; the reader of ours above runs everywhere."""
    if not shutil.which("go"):
        pytest.skip("no Go: its pprof cannot be asked")
    path = export(run, "pprof", suffix="pb.gz")
    done = subprocess.run(
        ["go", "tool", "pprof", "-raw", "-symbolize=none", path],
        capture_output=True, text=True, check=True, env={**os.environ, "HOME": str(path.parent)},
    )  # fmt: skip
    assert "samples/count cpu/nanoseconds" in done.stdout, done.stdout[:500]
    assert "spin_numbers" in done.stdout
    assert "sort_words" in done.stdout


def test_speedscope(run):
    threads = speedscope_stacks(export(run, "speedscope", suffix="json").read_bytes())
    assert len(threads) >= 2
    together = sum(threads.values(), collections.Counter())
    assert as_folded(together) == folded_stacks(export(run, "folded").read_bytes())
    for function in ("spin_numbers", "sort_words"):
        holders = [name for name, stacks in threads.items() if any(function in ";".join(s) for s in stacks)]
        assert len(holders) == 1, f"{function} in {holders}"


def test_groups(run):
    """Threads as the outermost level hold the same time as speedscope's profiles."""
    threads = speedscope_stacks(export(run, "speedscope", suffix="json").read_bytes())
    folded = folded_stacks(export(run, "folded", "-group-by", "process,thread").read_bytes())
    sums = collections.Counter()
    for stack, ns in folded.items():
        sums[" ".join(stack[:2])] += ns
    assert sums == {name: sum(stacks.values()) for name, stacks in threads.items()}


def test_python_only_and_none(run):
    total = sum(folded_stacks(export(run, "folded").read_bytes()).values())
    only = folded_stacks(export(run, "folded", "--python-frames=only").read_bytes())
    none = folded_stacks(export(run, "folded", "--python-frames=none").read_bytes())
    assert sum(only.values()) == sum(none.values()) == total
    assert not any(".py:" in name for stack in none for name in stack)
    shown = [stack for stack in only if stack != ("[no frame shown]",)]
    assert all(PYTHON_PLACE.search(name) for stack in shown for name in stack), shown[:3]


def test_reverse(run):
    plain = folded_stacks(export(run, "folded").read_bytes())
    reverse = folded_stacks(export(run, "folded", "-reverse").read_bytes())
    assert reverse == {tuple(reversed(stack)): ns for stack, ns in plain.items()}


def test_time_filter(run):
    early = folded_stacks(export(run, "folded", "-time-filter", ":0.3").read_bytes())
    late = folded_stacks(export(run, "folded", "-time-filter", "0.3:").read_bytes())
    assert early + late == folded_stacks(export(run, "folded").read_bytes())


def test_chrome(run):
    trace = json.loads(export(run, "chrome", suffix="json").read_bytes())
    threads, times = chrome_stacks(trace)
    assert as_folded(sum(threads.values(), collections.Counter())) == folded_stacks(export(run, "folded").read_bytes())
    names = {(e["pid"], e["tid"]) for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
    assert set(threads) <= names
    for clock in times.values():
        assert clock == sorted(clock)


def test_perfetto(run):
    """By the public schema: call stacks resolved through what each sequence has interned."""
    sums, interned = collections.Counter(), {}
    trace = schema.Trace()
    trace.ParseFromString(export(run, "perfetto", suffix="pftrace").read_bytes())
    for packet in trace.packet:
        sequence = interned.setdefault(packet.trusted_packet_sequence_id, collections.defaultdict(dict))
        for kind in ("function_names", "frames", "callstacks", "mappings", "mapping_paths"):
            for one in getattr(packet.interned_data, kind):
                assert one.iid not in sequence[kind]
                sequence[kind][one.iid] = one
        if not packet.HasField("perf_sample"):
            continue
        sample = packet.perf_sample
        weight = sample.timebase_count - sequence["last"].get("count", 0)
        sequence["last"]["count"] = sample.timebase_count
        stack = []
        for frame_id in sequence["callstacks"][sample.callstack_iid].frame_ids if sample.callstack_iid else ():
            frame = sequence["frames"][frame_id]
            assert sequence["mappings"][frame.mapping_id].path_string_ids[0] in sequence["mapping_paths"]
            stack.append(sequence["function_names"][frame.function_name_id].str.decode())
        sums[tuple(stack) or ("[no frame shown]",)] += weight
    assert as_folded(sums) == merged(folded_stacks(export(run, "folded").read_bytes()))


def test_refusals(run, strata, target):
    """What would not be heeded is refused, and a result without samples says what to do."""
    shared, result, _ = run
    for form, option in (("chrome", "-filter=thread=x"), ("speedscope", "-reverse"), ("csv", "--python-frames=only")):
        done = shared("export", form, option, "-r", result, "-o", shared.folder / "refused")
        assert done.status == 2, done.err
        assert form in done.err, done.err
    done = strata.collect(target, "--threads", "0", "--pairs", "1", "--quiet")
    told = strata("export", "flamegraph", "-r", done.result, "-o", strata.folder / "x.svg")
    assert told.status == 2
    assert "hotspots" in told.err
    assert not (strata.folder / "x.svg").exists()


# In a browser ---------------------------------------------------------------------------------------


def browse(script, *args):
    done = subprocess.run(
        ["node", WEB / script, *map(os.fspath, args)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("suffix", ["svg", "html"])
def test_flame_graph_in_a_browser(run, suffix):
    strata, _, _ = run
    path = export(run, "flamegraph", suffix=suffix)
    seen = browse("flamegraph.js", path, "spin_numbers", strata.folder / f"picture-{suffix}")
    assert seen["errors"] == [], "an error of the script, or a request to the outside"
    first, searched, zoomed = seen["first"], seen["searched"], seen["zoomed"]
    assert {"python", "native"} <= {box["kind"] for box in first["boxes"]}
    fills = {box["kind"]: box["fill"] for box in first["boxes"]}
    assert len(set(fills.values())) == len(fills), fills
    assert any("Python" in text for text in first["legend"])
    assert first["in_sight"] == [True, True], "one sees where stacks begin, and the search field"
    assert zoomed["in_sight"][1], "the search field stays in sight"

    # Search: Ctrl-F goes to the box, what matches is marked, and its share is what the boxes say.
    assert searched["focused"] == "strata-search"
    marked = [box for box in searched["boxes"] if box["match"]]
    assert marked
    assert all("spin_numbers" in box["name"] for box in marked)
    assert not any(box["match"] for box in searched["boxes"] if "spin_numbers" not in box["name"])
    everything = next(box for box in first["boxes"] if box["name"] == "all")
    share = float(searched["matched"].split(",")[1].split("%")[0])
    assert share == pytest.approx(100 * sum(box["width"] for box in marked) / everything["width"], abs=0.2)

    # Zoom: the box takes the whole width, its callers too, and what is beside it goes.
    clicked = seen["clicked"]["box"]
    assert clicked["title"].splitlines()[0] in seen["clicked"]["hovered"]
    wide = [box for box in zoomed["boxes"] if box["title"] == clicked["title"]]
    assert wide[0]["width"] == pytest.approx(everything["width"], rel=0.01)
    assert wide[0]["width"] > clicked["width"] * 1.5
    assert len(zoomed["boxes"]) < len(first["boxes"])
    assert not any("sort_words" in box["name"] for box in zoomed["boxes"])
    assert zoomed["reset"]
    assert not first["reset"]

    # And back.
    places = [(box["name"], round(box["x"]), round(box["width"])) for box in first["boxes"]]
    assert [(box["name"], round(box["x"]), round(box["width"])) for box in seen["back"]["boxes"]] == places
    assert not any(box["match"] for box in seen["cleared"]["boxes"])


def test_boxes_hold_the_times(run):
    """Widths of boxes are shares of time: the whole is the total, and children fit into their parents."""
    path = export(run, "flamegraph", suffix="svg")
    text = path.read_text(encoding="utf-8")
    space = "{http://www.w3.org/2000/svg}"
    boxes = [
        (int(g.get("data-d")), int(g.get("data-b")), int(g.get("data-w")))
        for g in ET.fromstring(text).iter(space + "g")
        if g.get("data-w")
    ]
    assert boxes[0] == (0, 0, sum(folded_stacks(export(run, "folded").read_bytes()).values()))
    for depth, begin, width in boxes[1:]:
        around = [b for b in boxes if b[0] == depth - 1 and b[1] <= begin and b[1] + b[2] >= begin + width]
        assert len(around) == 1, (depth, begin, width)


def test_speedscope_opens_it(run):
    strata, _, _ = run
    seen = browse("speedscope.js", export(run, "speedscope", suffix="json"), strata.folder / "speedscope")
    assert seen["errors"] == []
    assert any("flames.py" in cell for row in seen["rows"] for cell in row), seen["text"][:2000]
