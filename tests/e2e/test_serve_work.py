# SPDX-License-Identifier: Apache-2.0
"""The processes of strata serve: workers, jobs, and collections that it starts."""

import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

import pytest
from harness import children_of, until
from served import API, Events, Server, client, data, finish, folder, is_built, server, state_of

__all__ = ["client", "data", "folder", "is_built", "server"]


FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


# Processes ----------------------------------------------------------------------------------------


def workers_of(server):
    return children_of(server.process.pid)


def start_forever(client, result):
    answer = client.post(f"/results/{result}/ask", {"command": "query", "words": [FOREVER]})
    assert answer.status == 202, answer.body
    return answer.json["job"]


def test_cancel(strata, data):
    with Server(strata, data) as server:
        client = server.client()
        result = client.id("r000hs")
        job = start_forever(client, result)
        state = client.get(f"/jobs/{job}?wait_ms=1")
        assert state.status == 202 and state.json["state"] == "running"
        assert len(workers_of(server)) == 1
        assert client("DELETE", f"{API}/jobs/{job}").status == 200
        until(lambda: not workers_of(server), what="the worker's end")
        assert client.get(f"/jobs/{job}").status == 404
        assert client("DELETE", f"{API}/jobs/{job}").status == 200
        assert client.ask(result, ["info"]).status == 200


def test_closed_connection_cancels(strata, data):
    with Server(strata, data) as server:
        client = server.client()
        result = client.id("r000hs")
        assert client.ask(result, ["info"]).status == 200
        (before,) = workers_of(server)
        body = json.dumps({"command": "query", "words": [FOREVER]})
        head = (
            f"POST {API}/results/{result}/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {client.headers['Cookie']}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall((head + body).encode())
        until(lambda: before not in workers_of(server), what="the worker's end")
        assert client.ask(result, ["info"]).status == 200


def test_worker_killed(strata, data):
    with Server(strata, data) as server:
        client = server.client()
        result = client.id("r000hs")
        job = start_forever(client, result)
        (worker,) = workers_of(server)
        os.kill(worker, signal.SIGKILL)
        answer = client.get(f"/jobs/{job}?wait_ms=20000")
        assert (answer.status, answer.json["code"]) == (502, "worker-ended")
        assert "signal 9" in answer.json["detail"]
        assert client.ask(result, ["info"]).status == 200


def test_server_killed(strata, data):
    with pytest.raises(AssertionError), Server(strata, data) as server:
        client = server.client()
        start_forever(client, client.id("r000hs"))
        (worker,) = workers_of(server)
        server.process.kill()
        server.process.wait()
        until(
            lambda: (
                not os.path.exists(f"/proc/{worker}") or "Z" in open(f"/proc/{worker}/stat").read().split(")")[1][:3]
            ),
            what="the worker's end",
        )
        raise AssertionError("it was killed")


def test_more_results_than_workers(strata, data):
    for number in range(1, 6):
        shutil.copytree(data / "r000hs", data / f"r00{number}hs")
    with Server(strata, data, "--workers", "2") as server:
        client = server.client()
        ids = {name: one["id"] for name, one in client.results().items()}
        for _ in range(2):
            for name, result in ids.items():
                assert client.ask(result, ["info"]).json["result"] == name
                assert client.settle(client.post(f"/results/{result}/tracks", {})).status == 200
                # One that was killed is there until the system has taken it apart.
                until(lambda: len(workers_of(server)) <= 2, what="two workers at most")


def test_result_that_grows(strata, programs, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    run = strata.popen(
        [strata.binary, "-collect", "tasks", "-r", data / "r000ta", "-no-summary", "--", programs / "obedient"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    until((data / "r000ta" / "control").exists, what="the collection")
    with Server(strata, data) as server:
        client = server.client()
        one = client.results()["r000ta"]
        assert one["state"] == "running"
        seen = []

        def count():
            answer = client.ask(one["id"], ["tasks"])
            assert answer.status == 200, answer.body
            return answer.json["totals"].get("count", 0)

        for more in (10, 20):
            run.stdin.write(f"record t {more}\n".encode())
            run.stdin.flush()
            assert run.stdout.readline() == b"ok\n"
            until(lambda: count() > (seen[-1] if seen else 0), what="more tasks")
            seen.append(count())
        run.stdin.close()
        run.wait(60)
        until(lambda: client.results()["r000ta"]["state"] == "finished", what="the end")
        assert client.results()["r000ta"]["generation"] != one["generation"]
        assert client.ask(one["id"], ["tasks"]).json["quality"]["state"] == "finished"
        assert client("DELETE", f"{API}/results/{one['id']}").status == 200


def test_events(strata, data):
    with Server(strata, data) as server:
        client = server.client()
        events = Events(client)
        job = start_forever(client, client.id("r000hs"))
        client("DELETE", f"{API}/jobs/{job}")
        os.rename(data / "r000hs", data / "r005hs")
        assert events.next("results") == {}
        assert set(client.results()) == {"r005hs"}
        client.ask(client.id("r005hs"), ["info"])
        assert events.next("job")["state"] in ("queued", "running", "done")
        events.close()


# Collections --------------------------------------------------------------------------------------


def test_collection(strata, data, programs, tmp_path):
    with Server(strata, data) as server:
        client = server.client()
        begun = client.post(
            "/collections",
            {
                "type": "tasks",
                "knobs": {"collect-operators": False},
                "program": "/bin/sh",
                "arguments": ["-c", 'echo "it is $COLOUR in $PWD"; exec "$0" x', str(programs / "paced")],
                "environment": {"COLOUR": "green; $(touch harm)"},
                "working_dir": str(tmp_path),
            },
        )
        assert begun.status == 201, begun.body
        done = finish(client, begun.json["id"])
        assert done["state"] == "finished", done
        assert f"it is green; $(touch harm) in {tmp_path}" in done["log"]
        assert not (tmp_path / "harm").exists()
        assert client.ask(done["result"], ["tasks"]).status == 200
        assert client.get("/collections").json["collections"][0]["id"] == begun.json["id"]


def test_commands_to_a_collection(strata, data, programs):
    with Server(strata, data) as server:
        client = server.client()
        begun = client.post("/collections", {"type": "tasks", "program": "/bin/sleep", "arguments": ["60"]}).json
        until(lambda: state_of(client, begun["id"]).get("live"), what="its state")
        assert state_of(client, begun["id"])["live"]["state"] == "running"
        for body in ({"verb": "pause"}, {"verb": "resume"}, {"verb": "mark", "text": "here & there"}):
            answer = client.settle(client.post(f"/collections/{begun['id']}/command", body))
            assert answer.status == 200, answer.body
        for body in ({"verb": "explode"}, {}, {"verb": "mark", "text": "-r"}, {"verb": "stop", "text": "x"}):
            assert client.post(f"/collections/{begun['id']}/command", body).status == 400, body
        pid = state_of(client, begun["id"])["live"]["program_pid"]
        assert client.settle(client.post(f"/collections/{begun['id']}/command", {"verb": "stop"})).status == 200
        after = state_of(client, begun["id"])
        assert after["state"] == "running" and 0 < after["recorded_ns"] <= after["elapsed_ns"] and after["can_end"]
        os.kill(pid, 0)  # it goes on, until it is asked to end
        assert client.post(f"/collections/{begun['id']}/command", {"verb": "end"}).status == 200
        done = finish(client, begun["id"])
        for verb in ("stop", "end"):
            assert client.post(f"/collections/{begun['id']}/command", {"verb": verb}).status == 409
        rows = client.ask(done["result"], ["markers"]).json["rows"]
        assert "here & there" in json.dumps(rows)


def test_stop_from_elsewhere_is_noticed(strata, data):
    with Server(strata, data) as server:
        client = server.client()
        begun = client.post("/collections", {"type": "tasks", "program": "/bin/sleep", "arguments": ["60"]}).json
        until(lambda: state_of(client, begun["id"]).get("live"), what="its state")
        assert "recorded_ns" not in state_of(client, begun["id"])
        assert strata("command", "stop", "-r", data / begun["result_path"]).status == 0
        until(lambda: state_of(client, begun["id"]).get("recorded_ns"), what="the end of collecting")
        assert client.post(f"/collections/{begun['id']}/command", {"verb": "end"}).status == 200
        finish(client, begun["id"])


def test_only_what_was_started_here_can_be_ended(strata, data):
    with subprocess.Popen(["/bin/sleep", "60"]) as other, Server(strata, data) as server:
        client = server.client()
        begun = client.post("/collections", {"type": "hotspots", "attach_pid": other.pid}).json
        assert begun["can_end"] is False
        answer = client.post(f"/collections/{begun['id']}/command", {"verb": "end"})
        assert answer.status == 409, answer.body
        assert other.poll() is None
        other.kill()
        finish(client, begun["id"])


def test_collections_that_fail(strata, data):
    with Server(strata, data) as server:
        client = server.client()
        for body in (
            {},
            {"type": "nonsense", "program": "x"},
            {"type": "io", "program": "x"},
            {"program": "x", "options": ["-r", "/tmp/x"]},
            {"program": "x", "options": ["--", "y"]},
            {"program": "x", "options": "y"},
            {"program": "x", "arguments": [1]},
            {"program": "x", "environment": {"A B": "c"}},
            {"program": "x", "environment": {"--split-string": "sh -c id"}},
            {"program": "x", "environment": {"-i": ""}},
            {"program": "x", "environment": {"A-B": "c"}},
            {"program": "x", "environment": {"1A": "c"}},
            {"program": "x", "environment": {"": "c"}},
            {"program": "x", "host": "-oProxyCommand=touch harm"},
            {"program": "x", "host": "a b"},
            {"program": "x", "project": "../x"},
            {"attach_pid": "1"},
        ):
            assert client.post("/collections", body).status in (400, 404), body
        begun = client.post("/collections", {"program": "/no/such/program"}).json
        done = finish(client, begun["id"])
        assert done["state"] == "failed" and "/no/such/program" in done["why"] and done["exit"] == 127
        assert client.get("/collections/0123456789abcdef").status == 404


@pytest.mark.parametrize("key", ["environment", "knobs"])
def test_values_that_are_too_long(strata, data, key):
    with Server(strata, data) as server:
        client = server.client()
        answer = client.post("/collections", {"program": "/bin/true", key: {"a": "x" * 70_000}})
        assert (answer.status, answer.json["code"]) == (400, "usage")
        assert f"'{key}'" in answer.json["detail"] and "64 KiB" in answer.json["detail"]
        ask = {"type": "tasks", "program": "/bin/true", "environment": {"a": "x" * 60_000}}
        begun = client.post("/collections", ask)
        assert finish(client, begun.json["id"])["state"] == "finished"


def test_command_line_that_is_too_long(strata, data):
    """It fits into a request and into a process, but not when it is quoted."""
    with Server(strata, data) as server:
        client = server.client()
        ask = {"type": "tasks", "program": "/bin/true", "arguments": 8 * ["'" * 100_000]}
        answer = client.post("/collections", ask)
        assert (answer.status, answer.json["detail"]) == (507, "the command line is too long")
        assert client.get("/collections").json == {"collections": []}


def test_collections_started_at_once_have_names_of_their_own(strata, data):
    with Server(strata, data) as server:
        client = server.client()
        begun = [client.post("/collections", {"type": "tasks", "program": "/bin/true"}).json for _ in range(3)]
        assert len({one["result_path"] for one in begun}) == 3
        ended = [finish(client, one["id"]) for one in begun]
        assert [(one["state"], one["exit"]) for one in ended] == [("finished", 0)] * 3


def test_program_that_asks_the_terminal(strata, data, tmp_path):
    """It has none: it is told so, instead of being stopped until somebody brings it to the foreground."""
    master, terminal = os.openpty()
    try:
        # A session of its own with that terminal, as a shell's.
        start = "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0); "
        start += "os.execv(sys.argv[2], sys.argv[2:])"
        command = [sys.executable, "-c", start, str(terminal), strata.binary, "serve", "--data-directory", data]
        with Server(strata, data, command=command, pass_fds=[terminal]) as server:
            client = server.client()
            ask = {"type": "tasks", "program": "/bin/sh", "arguments": ["-c", "read x </dev/tty || exit 7"]}
            ended = finish(client, client.post("/collections", ask).json["id"])
            assert ended["state"] == "finished" and ended["exit"] not in (0, None)
    finally:
        os.close(master)
        os.close(terminal)


def test_end_while_a_request_is_sent(strata, data):
    """Its headers come before the signal, the last of its body after."""
    server = Server(strata, data)
    client = server.client()
    body = json.dumps({"words": ["info"], "more": "x" * 100_000}).encode()
    head = f"POST {API}/results/{client.id('r000hs')}/ask HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Cookie: {client.headers['Cookie']}\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(head.encode() + body[:1])
        assert client.get("/session").status == 200  # it has read that by now
        server.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, server.process.pid, os.WSTOPPED)
        connection.sendall(body[1:])
        server.process.send_signal(signal.SIGINT)
        server.process.send_signal(signal.SIGCONT)
        assert server.process.wait(30) == 0


def test_worker_that_is_stopped(strata, data):
    """A request that is larger than what fits into its socket costs that worker, not the server."""
    with Server(strata, data) as server:
        client = server.client()
        result = client.id("r000hs")
        assert client.ask(result, ["info"]).status == 200
        for worker in workers_of(server):
            os.kill(worker, signal.SIGSTOP)
        answer = client.ask(result, ["info", "x" * 900_000])
        assert (answer.status, answer.json["code"]) == (502, "worker-ended")
        assert client.ask(result, ["info"]).status == 200


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: one worker")
def test_requests_that_wait_get_another_worker(strata, data):
    with Server(strata, data) as server:
        client = server.client()
        path = f"/results/{client.id('r000hs')}/tracks"
        tracks = client.settle(client.post(path, {})).body
        (first,) = workers_of(server)
        os.kill(first, signal.SIGSTOP)
        # The first is with the worker, which does not move; two more wait, and are answered by another one.
        asked = [client.post(path, {}) for _ in range(3)]
        assert asked[0].status == 202
        assert [client.settle(one).body for one in asked[1:]] == [tracks, tracks]
        assert first in workers_of(server) and len(workers_of(server)) == 2
        os.kill(first, signal.SIGCONT)
        assert client.settle(asked[0]).body == tracks


def fake_ssh(strata, tmp_path, run='exec /bin/sh -c "$last"'):
    """The environment with an ssh that runs the command here: it takes one text, which its shell takes apart."""
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "ssh").write_text(f'#!/bin/sh\nfor last; do :; done\nprintf "%s\\n" "$@" >>"$SSH_LOG"\n{run}\n')
    (fake / "ssh").chmod(0o755)
    os.symlink(strata.binary, fake / "strata")
    return {"PATH": f"{fake}:{os.environ['PATH']}", "SSH_LOG": str(tmp_path / "ssh.log")}


def far_folder(command):
    """The folder on the other host, of the command line that is shown."""
    return re.search(r"/tmp/strata-[0-9a-f]{32}", command)[0]


def incoming(data):
    return [name for name in os.listdir(data) if name.startswith(".strata-incoming")]


def test_collection_on_another_host(strata, data, programs, tmp_path):
    look = 'case "$last" in tar*) set -- $last; stat -c "mode %a" "$3" >>"$SSH_LOG"; esac; exec /bin/sh -c "$last"'
    env = fake_ssh(strata, tmp_path, look)
    with Server(strata, data, env=env) as server:
        client = server.client()
        begun = client.post(
            "/collections",
            {
                "type": "tasks",
                "host": "me@far.example",
                "program": str(programs / "paced"),
                "arguments": ["a b", "$(touch harm)"],
            },
        )
        done = finish(client, begun.json["id"])
        assert done["state"] == "finished", done
        assert client.ask(done["result"], ["info"]).status == 200
        assert client.results()[done["result_path"]]["id"] == done["result"]
        place = far_folder(done["command"])
        until(lambda: not os.path.exists(place), what="the end of what was fetched")
    log = (tmp_path / "ssh.log").read_text()
    assert f"me@far.example\n--\nmkdir -m 700 {place} && env strata collect tasks" in log
    assert f"tar -C {place} -cf - r\n" in log and "mode 700" in log
    assert not incoming(data)


def test_nothing_collected_on_another_host(strata, data, tmp_path):
    with Server(strata, data, env=fake_ssh(strata, tmp_path)) as server:
        client = server.client()
        ask = {"type": "tasks", "host": "me@far.example", "program": "/no/such/program"}
        done = finish(client, client.post("/collections", ask).json["id"])
        assert done["state"] == "failed"
        until(lambda: not os.path.exists(far_folder(done["command"])), what="the end of the folder")
    assert "mkdir -m 700" in (tmp_path / "ssh.log").read_text()


@pytest.mark.parametrize("cut_at", [512, 3000])
def test_fetch_that_breaks_off(strata, data, programs, tmp_path, cut_at):
    """Nothing of it stays, and it is said where it still is. Where a file ends, what came looks whole to tar."""
    cut = f'case "$last" in *"tar -C"*) /bin/sh -c "$last" | head -c {cut_at}; exit 255; esac; exec /bin/sh -c "$last"'
    before = set(os.listdir(data))
    with Server(strata, data, env=fake_ssh(strata, tmp_path, cut)) as server:
        client = server.client()
        ask = {"type": "tasks", "host": "me@far.example", "program": str(programs / "paced")}
        done = finish(client, client.post("/collections", ask).json["id"])
        assert done["state"] == "failed"
        said = r"the result could not be fetched from me@far.example.*; it is still there, in (.+)"
        why = re.fullmatch(said, done["why"])
        assert why, done["why"]
        assert strata("report", "info", "-r", why[1]).status == 0
        assert why[1] == far_folder(done["command"]) + "/r"
        shutil.rmtree(far_folder(done["command"]))
    assert set(os.listdir(data)) == before


def test_what_a_killed_server_was_fetching(strata, data):
    """It is removed by the next one, unless somebody is still at it."""
    for name in ("left", "held"):
        (data / f".strata-incoming-{name}" / "strata-1" / "deeper").mkdir(parents=True)
        (data / f".strata-incoming-{name}" / "strata-1" / "deeper" / "trace").write_bytes(b"x")
    (data / ".strata-incoming-link").symlink_to(data / "r000hs")
    fd = os.open(data / ".strata-incoming-held", os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        with Server(strata, data):
            pass
    finally:
        os.close(fd)
    assert sorted(incoming(data)) == [".strata-incoming-held", ".strata-incoming-link"]
    assert (data / "r000hs").is_dir()
