# SPDX-License-Identifier: Apache-2.0
"""What the server brings into the data directory (samples, imports), and the log that it gives out, with bad cases."""

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import ROOT, children_of, until
from served import Server, client, data, folder, is_built, server  # noqa: F401

SAMPLE = ROOT / "examples/samples/training-before.pt.trace.json.gz"


def test_log_is_the_file(client, folder):  # noqa: F811
    answer = client.settle(client.post(f"/results/{client.id('r000hs')}/log", {})).json
    text = (folder / "r000hs/log.txt").read_text()
    assert answer == {"exists": True, "text": text, "size_bytes": len(text.encode()), "is_cut": False}


def test_long_log_is_cut_at_a_line(shared_strata, data):  # noqa: F811
    lines = [f"{i:9} something happened" for i in range(20_000)]
    log = data / "r000hs/log.txt"
    log.write_text("\n".join(lines) + "\n")
    with Server(shared_strata, data) as running:
        asker = running.client()
        answer = asker.settle(asker.post(f"/results/{asker.id('r000hs')}/log", {})).json
        assert answer["is_cut"]
        assert answer["size_bytes"] == log.stat().st_size
        shown = answer["text"].splitlines()
        assert 200_000 < len(answer["text"]) <= 256 << 10
        assert shown == lines[-len(shown) :]


def test_log_that_is_no_file_is_not_waited_for(shared_strata, data):  # noqa: F811
    (data / "r000hs/log.txt").unlink()
    os.mkfifo(data / "r000hs/log.txt")
    with Server(shared_strata, data) as running:
        asker = running.client()
        answer = asker.settle(asker.post(f"/results/{asker.id('r000hs')}/log", {})).json
        assert answer == {"exists": False, "text": "", "size_bytes": 0, "is_cut": False}


def test_samples_go_nowhere_else(shared_strata, data, tmp_path):  # noqa: F811
    outside = tmp_path / "outside"
    outside.mkdir()
    (data / "samples").symlink_to(outside)
    with Server(shared_strata, data) as running:
        answer = running.client().post("/samples", {})
        assert answer.status >= 400
        assert "samples" in answer.json["detail"]
    assert not list(outside.iterdir())


def test_only_traces_are_imported(client):  # noqa: F811
    answer = client.post(f"/results/{client.id('r000hs')}/import", {})
    assert (answer.status, answer.json["code"]) == (404, "result")
    assert client.post("/results/0123456789abcdef/import", {}).status == 404


def test_failed_import_leaves_nothing(shared_strata, data):  # noqa: F811
    (data / "broken.pt.trace.json").write_text('{"traceEvents": [')
    with Server(shared_strata, data) as running:
        asker = running.client()
        answer = asker.settle(asker.post(f"/results/{asker.id('broken.pt.trace.json')}/import", {}))
        assert (answer.status, answer.json["code"]) == (422, "import")
        assert "broken" in answer.json["detail"]
        assert sorted(asker.results()) == ["broken.pt.trace.json", "r000hs"]
    assert not (data / "broken").exists()


def write_long_trace(path, events=400_000):
    """One that takes a second or more to import."""
    one = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "dur": 1}
    path.write_text(json.dumps({"traceEvents": [{**one, "ts": 2 * i} for i in range(events)]}))


def command_of(process):
    return Path(f"/proc/{process}/cmdline").read_text()


def imports_of(server):  # noqa: F811
    """The processes that import, each of which is stopped, so that none ends meanwhile."""
    found = []
    for child in children_of(server.process.pid):
        if "\0import\0" in command_of(child):
            os.kill(child, signal.SIGSTOP)
            found.append(child)
    return found


def let_go(processes):
    for process in processes:
        os.kill(process, signal.SIGCONT)


def test_imports_take_turns(shared_strata, data, tmp_path):  # noqa: F811
    """By whatever is asked: a result of its own, or a question about the trace."""
    for i in range(3):
        write_long_trace(data / f"long{i}.pt.trace.json")
    with Server(shared_strata, data, env={"STRATA_CACHE_DIR": str(tmp_path / "cache")}) as running:
        asker = running.client()
        names = asker.results()
        jobs, stopped = [], []
        for i in range(3):
            trace = names[f"long{i}.pt.trace.json"]["id"]
            for verb in ("import", "tracks"):
                answer = asker.post(f"/results/{trace}/{verb}", {})
                assert answer.status == 202, answer.body
                stopped = imports_of(running)
                jobs.append(answer.json)
        assert len(stopped) == 2
        what = [job["what"] for job in jobs]
        assert what == 2 * ["importing the trace"] + 4 * ["waiting for other imports"]
        # One that gives up makes place, also while it waits.
        for job in (jobs[3], jobs[0]):
            assert asker("DELETE", f"/api/v1/jobs/{job['job']}").status == 200
        let_go([process for process in stopped if f"{data}/.strata-incoming-" in command_of(process)])
        until(lambda: imports_of(running) != stopped and len(imports_of(running)) == 2, what="the next import")
        for job in jobs[1:3] + jobs[4:]:
            while (answer := asker.get(f"/jobs/{job['job']}?wait_ms=100")).status == 202:
                let_go(imports_of(running))
            assert answer.status == 200, answer.body
        assert {"long1", "long2"} <= set(asker.results())


def test_too_many_imports(shared_strata, data, tmp_path):  # noqa: F811
    write_long_trace(data / "long.pt.trace.json")
    with Server(shared_strata, data, env={"STRATA_CACHE_DIR": str(tmp_path / "cache")}) as running:
        asker = running.client()
        path = f"/results/{asker.id('long.pt.trace.json')}/import"
        for _ in range(2):
            assert asker.post(path, {}).status == 202
            imports_of(running)
        with ThreadPoolExecutor(40) as crowd:
            answers = list(crowd.map(lambda _: asker.post(path, {}), range(40)))
        assert sorted(answer.status for answer in answers) == 32 * [202] + 8 * [503]
        refused = next(answer for answer in answers if answer.status == 503).json
        assert refused["code"] == "busy" and "32 traces are waiting" in refused["detail"] and refused["hint"]
        assert len(imports_of(running)) == 2
        let_go(imports_of(running))


def test_flame_graph_without_samples(shared_strata, data):  # noqa: F811
    (data / "sample.pt.trace.json.gz").write_bytes(SAMPLE.read_bytes())
    with Server(shared_strata, data) as running:
        asker = running.client()
        trace = asker.id("sample.pt.trace.json.gz")
        answer = asker.settle(asker.post(f"/results/{trace}/flame", {}))
        assert (answer.status, answer.json["total_ns"], answer.json["nodes"]["parent"]) == (200, 0, [-1])
        answer = asker.settle(asker.post(f"/results/{trace}/flame", {"order": "time"}))
        assert answer.status == 400
        assert "no samples" in answer.json["detail"]
