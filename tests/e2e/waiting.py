# SPDX-License-Identifier: Apache-2.0
"""For tests of waits: programs that measure their own (tests/programs/wait_told.h), and what strata says of them."""

import shutil
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from harness import ROOT, strict_json

PROGRAMS = ROOT / "tests" / "programs"
TOLERANCE = 0.02  # of the program's own clock
LONG_NS = 200_000  # waits that surely have a record of their own


def threading(strata, *program, options=(), **more):
    """`strata -collect threading -r RESULT -- PROGRAM`"""
    result = strata.folder / f"waits{len(strata.history)}"
    done = strata("-collect", "threading", "-r", result, *options, "--", *program, **more)
    done.result = result
    return done


def waits_of(strata, result):
    """Every wait of the result, by thread and time."""
    done = strata(
        "query", "SELECT * FROM waits WHERE kind = 'wait' ORDER BY thread, start_ns", "-r", result, "-format", "json"
    )
    assert done.status == 0, done.err
    return strict_json(done.stdout)["rows"]


def tid_of(thread):
    """'wait_truth (4711)' → 4711"""
    return int(thread.rsplit("(", 1)[1].rstrip(")")) if thread else 0


@dataclass
class Call:
    """A call that may wait, as the program measured it."""

    kind: str
    tid: int
    begin: int  # CLOCK_MONOTONIC_RAW
    ns: int
    waker: int
    late: int  # its clock counts more than the wait


def calls_of(output):
    """What the program printed."""
    lines = [line.split("\t")[1:] for line in output.splitlines() if line.startswith("wait\t")]
    return [Call(kind, *map(int, numbers)) for kind, *numbers in lines]


def shift_of(calls, rows):
    """Between the clocks: the program begins a call a moment before strata does, so it is the least difference."""
    own, seen = defaultdict(list), defaultdict(list)
    for call in calls:
        if call.kind == "Sleep":
            own[call.tid].append(call.begin)
    for row in rows:
        if row["sync_type"] == "Sleep":
            seen[tid_of(row["thread"])].append(row["start_ns"])
    return min(
        start - begin for tid, begins in own.items() for begin, start in zip(sorted(begins), seen[tid], strict=True)
    )


def pairs(strata, told, kind):
    """The program's long waits of a kind, each with what strata has recorded of it.

    A call may have been long for another reason: the thread, or the machine, had no processor. Then it is left out.
    """
    result, calls = told
    rows = waits_of(strata, result)
    shift = shift_of(calls, rows)
    found = []
    for call in calls:
        if call.kind != kind or call.ns < LONG_NS:
            continue
        inside = [
            row
            for row in rows
            if row["sync_type"] == kind
            and tid_of(row["thread"]) == call.tid
            and -20_000 < row["start_ns"] - shift - call.begin < call.ns - row["wall_ns"] + 20_000
        ]
        if inside:  # a short one may follow at once
            found.append((call, max(inside, key=lambda row: row["wall_ns"])))
    own = [call for call in calls if call.kind == kind and not call.late]
    assert sum(call.ns for call, _ in found) > 0.8 * sum(call.ns for call in own)
    return found


def wrong_wakers(strata, told, kind):
    """The program's long waits of a kind whose waker is not who ended them.

    Of a mutex that is the last owner. But a third thread that did not wait for it may have taken it and released it
    again before the woken one ran: then the one before has woken it.
    """
    _, calls = told
    found = [(call, row) for call, row in pairs(strata, told, kind) if call.waker]
    assert found
    taken = sorted((call for call in calls if call.kind == kind), key=lambda call: call.begin + call.ns)
    wrong = []
    for call, row in found:
        waker = tid_of(row.get("waker"))
        before = [other for other in taken[: taken.index(call)] if other.tid != call.tid][-2:]
        barged_in = len(before) == 2 and before[1].tid == call.waker and before[1].ns < LONG_NS
        if waker != call.waker and not (kind == "Mutex" and barged_in and waker == before[0].tid):
            wrong.append((call, row))
    return wrong


def compiled(strata, compiler, source, *flags):
    """A program of tests/programs, by a compiler of the test packages."""
    assert shutil.which(compiler), f"no {compiler}: run tools/setup.sh test"
    made = strata.folder / f"{Path(source).stem}_{compiler}"
    done = strata.run([compiler, "-O1", "-g", "-D_GNU_SOURCE", PROGRAMS / source, *flags, "-o", made])
    assert done.status == 0, done.err
    return made
