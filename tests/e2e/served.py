# SPDX-License-Identifier: Apache-2.0
"""A running strata serve, and a client that speaks to it as a browser or a stranger would."""

import contextlib
import http.client
import json
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
from dataclasses import dataclass

import pytest
from harness import strict_json, until

API = "/api/v1"


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self):
        return strict_json(self.body)


class Client:
    """One connection after the other; a cookie once it is logged in."""

    def __init__(self, host, port, context=None):
        self.host, self.port, self.context = host, port, context
        self.headers = {}

    def connect(self, timeout=60):
        if self.context:
            return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=self.context)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def __call__(self, method, path, body=None, headers=None, raw=None):
        head = {**self.headers, **(headers or {})}
        if body is not None:
            head.setdefault("Content-Type", "application/json")
            raw = json.dumps(body)
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, path, raw, {k: v for k, v in head.items() if v is not None})
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())

    def get(self, path, **more):
        return self("GET", API + path, **more)

    def post(self, path, body, **more):
        return self("POST", API + path, body, **more)

    def log_in(self, **secret):
        answer = self.post("/session", secret)
        assert answer.status == 200, answer.body
        self.headers["Cookie"] = answer.headers["Set-Cookie"].split(";")[0]
        return answer

    def settle(self, answer):
        """The answer of the job, if it became one."""
        while answer.status == 202:
            answer = self.get(f"/jobs/{answer.json['job']}?wait_ms=20000")
        return answer

    def ask(self, result, words, verb="ask", **more):
        return self.settle(self.post(f"/results/{result}/{verb}", {"words": list(words), **more}))

    def results(self):
        answer = self.get("/results")
        assert answer.status == 200, answer.body
        return {one["name"]: one for one in answer.json["results"]}

    def id(self, name):
        return self.results()[name]["id"]


class Events:
    """The stream of events, read as it comes."""

    def __init__(self, client):
        self.connection = client.connect()
        self.connection.request("GET", API + "/events", headers=client.headers)
        self.response = self.connection.getresponse()
        assert self.response.status == 200
        assert self.response.headers["Content-Type"] == "text/event-stream"

    def next(self, kind):
        """The data of the next event of that kind."""
        name = None
        while True:
            line = self.response.fp.readline().decode().strip()
            # Chunk sizes stand between the lines.
            if line.startswith("event: "):
                name = line[7:]
            if line.startswith("data: ") and name == kind:
                return json.loads(line[6:])

    def close(self):
        self.connection.close()


class Server:
    def __init__(self, strata, folder, *options, command=None, env=None, **more):
        self.strata = strata
        self.errors = strata.folder / f"serve{len(strata.history)}.err"
        with self.errors.open("wb") as err:
            self.process = strata.popen(
                command or [strata.binary, "serve", "--data-directory", folder, *options],
                env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=err,
                **more,
            )
        self.url = self.process.stdout.readline().decode().strip()
        found = re.fullmatch(r"(https?)://([^:/]+):(\d+)/(?:#token=([0-9a-f]{32}))?", self.url)
        assert found, f"{self.url!r}: {self.errors.read_text()}"
        self.scheme, self.host, self.port, self.token = found[1], found[2], int(found[3]), found[4]

    def client(self, log_in=True, host="127.0.0.1"):
        context = None
        if self.scheme == "https":
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        client = Client(host, self.port, context)
        if log_in:
            client.log_in(token=self.token)
        return client

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        status = self.process.wait(30)
        assert status == 0, (status, self.errors.read_text())

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.end()
        else:
            self.process.kill()


class Tunnel:
    """What ssh -L does: another local port that leads to the server's."""

    def __init__(self, port):
        self.far = port
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.socket.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.far))
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.copy, args=(a, b), daemon=True).start()

    @staticmethod
    def copy(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def close(self):
        self.socket.close()


def raw_request(server, text):
    """What a connection answers to bytes; "" when it is closed without a word."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(text)
        answer = b""
        while data := connection.recv(65536):
            answer += data
    return answer


def state_of(client, collection):
    return client.get(f"/collections/{collection}").json


def finish(client, collection):
    until(lambda: state_of(client, collection)["state"] in ("finished", "failed"), what="the collection's end")
    return state_of(client, collection)


# Fixtures, for the files that import them ----------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def is_built(build_dir):
    if not (build_dir / "lib" / "strata" / "libstrata_serve.so").exists():
        pytest.skip("strata was built without the server")


@pytest.fixture(scope="module")
def folder(shared_strata, programs):
    """Two results, one of them in a project, that tests only read."""
    data = shared_strata.folder / "data"
    (data / "project").mkdir(parents=True)
    for name in ("r000hs", "project/r001hs"):
        done = shared_strata("collect", "hotspots", "-q", "-r", data / name, "--", programs / "hot_parts")
        assert done.status == 0, done.err
    return data


@pytest.fixture(scope="module")
def server(shared_strata, folder):
    with Server(shared_strata, folder) as running:
        yield running


@pytest.fixture(scope="module")
def client(server):
    return server.client()


@pytest.fixture
def data(tmp_path, folder):
    """A folder of the test's own, with one result."""
    own = tmp_path / "data"
    shutil.copytree(folder / "r000hs", own / "r000hs")
    return own


@pytest.fixture
def config(tmp_path):
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}
