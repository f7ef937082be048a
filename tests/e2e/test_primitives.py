# SPDX-License-Identifier: Apache-2.0
"""oneDNN's primitives inside PyTorch and TensorFlow, by name and number.

What must be there is told by oneDNN itself: ONEDNN_VERBOSE=2 prints a line for each primitive that is made or
run, in a run of the same script without strata. Threads that help with a primitive repeat its task; these
copies are no calls.
"""

import collections

import pytest
from harness import TARGETS
from trace_reader import Result

EXECUTE, CREATE = "dnnl::primitive::execute", "dnnl::primitive::create"
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}


def verbose_counts(strata, *command):
    """(domain, primitive) → number, from oneDNN's own log; and what the program printed besides."""
    done = strata.run(command, env=QUIET | {"ONEDNN_VERBOSE": "2"})
    assert done.status == 0, done.err
    counts, rest = collections.Counter(), []
    for line in done.out.splitlines():
        words = line.split(",")
        if not line.startswith("onednn_verbose"):
            rest.append(line)
        elif words[2] == "primitive" and words[3] == "exec" and words[5] != "gemm_api":
            counts[EXECUTE, words[5]] += 1
        elif words[2] == "primitive" and words[3].startswith("create"):
            counts[CREATE, words[5]] += 1
    assert counts, "oneDNN said nothing"
    return counts, "\n".join(rest) + "\n"


def reported(strata, result):
    """(domain, primitive) → row of the report."""
    report = strata.report(result, "tasks", "-group-by", "task-domain,task-type")
    rows = {}
    for domain in report["rows"]:
        if domain["task_domain"].startswith("dnnl::"):
            rows |= {(domain["task_domain"], row["task_type"]): row for row in domain["children"]}
    # The column is left out where there are none.
    return {key: {"copies": 0} | row for key, row in rows.items()}


def counts_of(rows):
    return {key: row["count"] for key, row in rows.items()}


def check_copies(done, rows):
    """Copies and calls together are all tasks that were recorded."""
    tasks = collections.Counter()
    for one in Result(done.result).slices:
        if one.domain.startswith(b"dnnl::"):
            tasks[one.domain.decode(), one.name.decode()] += 1
    assert {key: row["count"] + row["copies"] for key, row in rows.items()} == tasks


@pytest.mark.parametrize("threads", [1, 2])
def test_torch_convolutions(strata, python, threads):
    calls = 10
    command = [python, TARGETS / "conv.py", str(calls), str(threads)]
    expected, printed = verbose_counts(strata, *command)
    assert expected[EXECUTE, "convolution"] == calls, "one convolution for each call in Python"
    done = strata.collect(*command)
    assert done.out == printed
    rows = reported(strata, done.result)
    assert counts_of(rows) == expected
    check_copies(done, rows)
    copies = {key: row["copies"] for key, row in rows.items()}
    if threads == 1:
        assert not any(copies.values())
    else:
        # The second thread takes part in every convolution, and creates none.
        assert copies[EXECUTE, "convolution"] == calls
        assert not copies[CREATE, "convolution"]


@pytest.mark.parametrize("threads", [1, 2])
def test_torch_callers_at_the_same_time(strata, python, threads):
    """They run the same primitive in the same millisecond, which gives them the same ids; all are calls."""
    command = [python, TARGETS / "conv.py", "60", str(threads), "3"]
    expected, printed = verbose_counts(strata, *command)
    assert expected[EXECUTE, "convolution"] == 180
    done = strata.collect(*command)
    assert done.out == printed
    rows = reported(strata, done.result)
    assert counts_of(rows) == expected
    check_copies(done, rows)
    assert rows[EXECUTE, "convolution"]["copies"] == 180 * (threads - 1)
    assert not rows[CREATE, "convolution"]["copies"]


def callers_times(result):
    """Durations of the convolutions on the thread that calls them (main), in ns."""
    (track,) = (track for track in result.tracks if track.tid == track.process.pid)
    called = [one for one in track.slices if (one.domain, one.name) == (EXECUTE.encode(), b"convolution")]
    return [result.mono_raw(one.end) - result.mono_raw(one.begin) for one in called]


def test_task_level_changes_no_answer(strata, python):
    """Without the workers' tasks (level 1) the same calls are counted, and the time is the caller's in both."""
    command = [python, TARGETS / "conv.py", "40", "2"]
    rows = []
    for level in ("1", "2"):
        done = strata.collect(*command, env={"ONEDNN_ITT_TASK_LEVEL": level})
        rows.append(reported(strata, done.result))
        # Not compared between the runs: what else the machine does may double any of them.
        times = callers_times(Result(done.result))
        assert len(times) == 40
        assert abs(rows[-1][EXECUTE, "convolution"]["wall_total_ns"] - sum(times)) <= 2 * len(times)
    assert counts_of(rows[0]) == counts_of(rows[1])
    assert rows[0][EXECUTE, "convolution"]["count"] == 40
    assert not any(row["copies"] for row in rows[0].values())
    assert rows[1][EXECUTE, "convolution"]["copies"] == 40


def test_the_metadata_names_the_problem(strata, python):
    """oneDNN tells what it computes as formatted metadata of the task, and ids that the copies share."""
    done = strata.collect(python, TARGETS / "conv.py", "6", "2")
    result = Result(done.result)
    primitives = [one for one in result.slices if one.domain == EXECUTE.encode() and one.name == b"convolution"]
    by_track = collections.Counter(one.track.tid for one in primitives)
    assert sorted(by_track.values()) == [6, 6]
    ids = collections.defaultdict(list)
    for one in primitives:
        (text,) = (event.data for event in one.events if event.kind == "METADATA_FORMATTED")
        assert b"convolution" in text and b"mb8_ic16oc32_ih64oh62kh3" in text
        (made,) = (event.id for event in one.events if event.kind == "ID_CREATE")
        ids[made].append(one.track.tid)
    destroyed = collections.Counter(event.id for event in result.events if event.kind == "ID_DESTROY")
    for made, tids in ids.items():
        assert destroyed[made] >= len(tids)
        assert len(set(tids)) == 2, "caller and worker share the id"


@pytest.mark.parametrize("generation", ["old", "new"])
@pytest.mark.parametrize("workers", [1, 3])
def test_onednn_pattern(strata, programs, generation, workers):
    """Workers repeat the caller's task, with an id they share or without: one call, so many copies."""
    calls = 200
    done = strata.collect(programs / "library_patterns", "onednn", generation, str(workers), str(calls))
    result = Result(done.result)
    assert not any(result.loss.values()), result.loss
    assert len([one for one in result.slices if one.end]) == calls * (workers + 1)
    row = reported(strata, done.result)[EXECUTE, "convolution"]
    assert (row["count"], row["copies"]) == (calls, calls * workers)
    longest = max(result.tracks, key=lambda track: sum(one.end - one.begin for one in track.slices))
    caller = sum(result.mono_raw(one.end) - result.mono_raw(one.begin) for one in longest.slices)
    assert abs(row["wall_total_ns"] - caller) <= 2 * calls, "the time is the caller's"


def tensorflow_run(strata, tensorflow, script):
    command = [tensorflow, TARGETS / script, "7"]
    expected, printed = verbose_counts(strata, *command)
    # TensorFlow's oneDNN is older and marks what runs, not what is made.
    expected = {key: count for key, count in expected.items() if key[0] == EXECUTE}
    done = strata.collect(*command, env=QUIET)
    assert done.out == printed
    rows = reported(strata, done.result)
    assert sum(row["count"] for row in rows.values()) > 0, "no primitive was recorded"
    assert counts_of(rows) == expected
    check_copies(done, rows)
    # TensorFlow's own operators are not known: what it computes with oneDNN stands in their columns.
    report = strata.report(done.result, "operators")
    assert {row["operator"]: row["count"] for row in report["rows"]} == {key[1]: n for key, n in expected.items()}
    assert report["subject"].startswith("oneDNN: ")
    assert not [note for note in report["quality"]["notes"] if "known by name only" in note], "primitives have no more"
    return expected


@pytest.mark.slow
def test_tensorflow_session(strata, tensorflow):
    """Convolution and relu, built as a graph and run in a session."""
    expected = tensorflow_run(strata, tensorflow, "tf_graph.py")
    assert expected[EXECUTE, "convolution"] == 7
    assert expected[EXECUTE, "reorder"] >= 1


@pytest.mark.slow
def test_tensorflow_keras(strata, tensorflow):
    """The same as a Keras layer, called 7 times and trained twice (forward and backward)."""
    expected = tensorflow_run(strata, tensorflow, "tf_keras.py")
    assert expected[EXECUTE, "convolution"] == 7 + 2 * 2
    assert expected[EXECUTE, "inner_product"] == 2


@pytest.mark.slow
def test_tensorflow_without_onednn(strata, tensorflow):
    """The program's own switch for oneDNN is left alone: off means no primitive, and the same answer."""
    script = [tensorflow, TARGETS / "tf_graph.py", "3"]
    plain = strata.run(script, env=QUIET | {"TF_ENABLE_ONEDNN_OPTS": "0"})
    done = strata.collect(*script, env=QUIET | {"TF_ENABLE_ONEDNN_OPTS": "0"})
    assert done.out == plain.out
    assert not Result(done.result).slices
