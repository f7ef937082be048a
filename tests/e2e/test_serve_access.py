# SPDX-License-Identifier: Apache-2.0
"""Who strata serve lets in, and everything that it must refuse."""

import contextlib
import json
import os
import shutil
import signal
import socket
from pathlib import Path

import pytest
from harness import until
from served import (
    API,
    Client,
    Events,
    Server,
    Tunnel,
    client,
    config,
    data,
    finish,
    folder,
    is_built,
    raw_request,
    server,
)

__all__ = ["client", "config", "data", "folder", "is_built", "server"]


# Who is let in ------------------------------------------------------------------------------------


def test_nothing_without_logging_in(server):
    stranger = server.client(log_in=False)
    assert stranger.get("/session").json == {"state": "token"}
    for method, path in [
        ("GET", "/results"),
        ("GET", "/meta"),
        ("GET", "/events"),
        ("GET", "/capabilities"),
        ("POST", "/compare"),
        ("POST", "/results/0123456789abcdef/ask"),
        ("POST", "/collections"),
        ("DELETE", "/session"),
        ("GET", "/no/such/path"),
    ]:
        answer = stranger(method, API + path, {} if method == "POST" else None)
        assert answer.status == 401, path
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json["code"] == "session" and answer.json["hint"]


def test_token_opens_once(strata, data):
    with Server(strata, data) as server:
        stranger = server.client(log_in=False)
        assert stranger.post("/session", {"token": "0" * 32}).status == 401
        assert stranger.post("/session", {"token": server.token[:-1]}).status == 401
        assert stranger.post("/session", {}).status == 401
        client = server.client()
        assert client.get("/session").json == {"state": "open"}
        again = stranger.post("/session", {"token": server.token})
        assert (again.status, again.json["code"]) == (401, "expired")
        name, value = client.headers["Cookie"].split("=")
        for wrong in (f"{name}={'0' * 32}", f"{name}=", f"x{name}={value}", value, f"{name}={value}0"):
            assert stranger.get("/results", headers={"Cookie": wrong}).status == 401, wrong
        assert stranger.get("/results", headers={"Cookie": f"a=b; {name}={value}; c=d"}).status == 200
        gone = client("DELETE", API + "/session")
        assert gone.status == 200 and "Max-Age=0" in gone.headers["Set-Cookie"]
        assert client.get("/results").status == 401
        # A signal, or Enter at a terminal, gives another address.
        server.process.send_signal(signal.SIGUSR1)
        url = server.process.stdout.readline().decode().strip()
        client.headers.clear()
        client.log_in(token=url.split("=")[1])
        assert client.get("/results").status == 200
    assert server.token not in server.errors.read_text()


def test_open_tells_the_token_to_nobody_else(strata, data, tmp_path):
    """Every user of the machine can read the words that a program was started with."""
    (tmp_path / "bin").mkdir()
    opener = tmp_path / "bin" / "xdg-open"
    opener.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >"$OPENED.part" && mv "$OPENED.part" "$OPENED"\n')
    opener.chmod(0o755)
    opened = tmp_path / "opened"
    env = {"PATH": f"{opener.parent}:{os.environ['PATH']}", "OPENED": str(opened), "TMPDIR": str(tmp_path)}
    with Server(strata, data, "--open", env=env) as server:
        until(opened.exists, what="xdg-open")
        (word,) = opened.read_text().splitlines()
        assert server.token not in word
        page = Path(word)
        assert (page.stat().st_mode & 0o777, page.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        assert f'<meta http-equiv="refresh" content="0; url={server.url}">' in page.read_text()
        assert page.exists()
        server.client()
        until(lambda: not page.exists(), what="the end of what is of no use any more")


def test_open_without_a_desktop(strata, data, tmp_path):
    with Server(strata, data, "--open", env={"PATH": str(tmp_path)}) as server:
        assert server.client().get("/results").status == 200
    assert "no browser was opened" in server.errors.read_text()


def test_cookie_and_bearer(strata, data):
    with Server(strata, data) as server:
        client = server.client(log_in=False)
        answer = client.post("/session", {"token": server.token, "bearer": True})
        assert "Set-Cookie" not in answer.headers
        secret = answer.json["bearer"]
        assert client.get("/results", headers={"Authorization": f"Bearer {secret}"}).status == 200
        assert client.get("/results", headers={"Authorization": "Bearer x"}).status == 401
        server.process.send_signal(signal.SIGUSR1)
        token = server.process.stdout.readline().decode().strip().split("=")[1]
        cookie = client.log_in(token=token).headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Secure" not in cookie


def test_expired_token(strata, data):
    with Server(strata, data, "--token-lifetime", "0") as server:
        answer = server.client(log_in=False).post("/session", {"token": server.token})
        assert (answer.status, answer.json["code"]) == (401, "expired")


def test_wrong_tries_have_to_wait(strata, data):
    with Server(strata, data) as server:
        stranger = server.client(log_in=False)
        statuses = [stranger.post("/session", {"token": "1" * 32}).status for _ in range(6)]
        assert statuses[:5] == [401] * 5 and statuses[5] == 429
        late = stranger.post("/session", {"token": "1" * 32})
        assert late.status == 429 and int(late.headers["Retry-After"]) >= 1
        # Other users of the machine have the same address: they cannot lock out who has the token.
        assert server.client().get("/results").status == 200


def test_called_by_another_name(server, client):
    for host in (
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "[::2]",
        "x@127.0.0.1",
    ):
        answer = client.get("/results", headers={"Host": host})
        assert answer.status in (400, 421), host
        assert client("GET", "/", headers={"Host": host}).status in (400, 421), host
    for host in (
        "localhost",
        "LOCALHOST:1",
        f"127.0.0.1:{server.port}",
        "[::1]:99",
        "127.1.2.3",
        "strata.localhost:80",
    ):
        assert client.get("/results", headers={"Host": host}).status == 200, host


def test_tunnel_with_another_port(server, client):
    tunnel = Tunnel(server.port)
    client_port, client.port = client.port, tunnel.port
    try:
        origin = {
            "Origin": f"http://localhost:{tunnel.port}",
            "Host": f"localhost:{tunnel.port}",
            "Sec-Fetch-Site": "same-origin",
        }
        assert client.post(f"/results/{client.id('r000hs')}/ask", {"words": ["info"]}, headers=origin).status == 200
    finally:
        client.port = client_port
        tunnel.close()


def test_base_url_is_a_name_too(strata, data):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    base = "https://lab.example:8443"
    with Server(strata, data, "--web-port", str(port), "--base-url", base + "/") as server:
        assert server.url.startswith(f"{base}/#token=")
        client = Client("127.0.0.1", port)
        client.log_in(token=server.token)
        for host in ("lab.example:8443", "127.0.0.1"):
            headers = {"Host": host, "Origin": base, "Sec-Fetch-Site": "same-origin"}
            assert client.post("/projects", {"name": "for " + host[:3]}, headers=headers).status == 200
        assert client.get("/results", headers={"Host": "other.example"}).status == 421


def test_requests_of_other_sites(server, client):
    path = f"{API}/results/{client.id('r000hs')}/ask"
    body = {"words": ["info"]}
    own = f"http://127.0.0.1:{server.port}"
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": own.replace("http", "https")},
        {"Origin": f"http://127.0.0.1:{server.port + 1}"},
        {"Origin": own, "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert client("POST", path, body, headers=headers).status == 403, headers
        assert client.get("/events", headers=headers).status == 403, headers
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", None):
        answer = client("POST", path, headers={"Content-Type": kind}, raw=json.dumps(body))
        assert answer.status == 415, kind
    assert client("POST", path, body, headers={"Origin": own, "Sec-Fetch-Site": "same-origin"}).status == 200
    preflight = client(
        "OPTIONS", path, headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    )
    assert preflight.status == 403 and not [name for name in preflight.headers if name.startswith("Access-Control")]


def test_path_escapes(server, client, data, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("not for you")
    head = f"Host: 127.0.0.1\r\nCookie: {client.headers['Cookie']}\r\nConnection: close\r\n\r\n"
    for path in (
        "/../../../../../../etc/passwd",
        "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "//etc/passwd",
        f"{API}/results/../../etc/passwd",
        f"{API}/results/%2e%2e",
        f"{API}/results/..%2f..%2fetc",
        f"{API}/results/r000hs",
        f"{API}/jobs/..",
    ):
        answer = raw_request(server, f"GET {path} HTTP/1.1\r\n{head}".encode())
        assert b"root:" not in answer, path
        assert answer.split(b" ")[1] in (b"200", b"404", b"400"), path
        if answer.split(b" ")[1] == b"200":
            assert b"<!doctype html>" in answer, path  # the page, for an address of a view


def test_links_do_not_lead_out(strata, data, tmp_path, folder):
    os.symlink(folder / "r000hs", data / "linked")
    os.symlink("/", data / "root")
    shutil.copytree(data / "r000hs", data / "hostile")
    (data / "hostile" / "log.txt").unlink()
    os.symlink("/etc/passwd", data / "hostile" / "log.txt")
    with Server(strata, data) as server:
        client = server.client()
        assert set(client.results()) == {"r000hs", "hostile"}
        answer = client.ask(client.id("hostile"), ["info"])
        assert (answer.status, answer.json["code"]) == (422, "damaged")


def test_hostile_requests_do_no_harm(server, client):
    result = client.id("r000hs")
    assert client.post(f"/results/{result}/ask", {"words": ["x" * (2 << 20)]}).status == 413
    many = {f"X-{i}": "y" for i in range(100)}
    assert client.get("/results", headers=many).status in (431, 413)
    login = f"POST {API}/session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    for text in (
        f"GET {'/' * 100000} HTTP/1.1\r\n\r\n",
        "GET / HTTP/9.9\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil\r\nConnection: close\r\n\r\n",
        f"{login}Connection: close\r\nContent-Length: -5\r\n\r\n",
        f"{login}Connection: close\r\nContent-Length: 99999999999\r\n\r\n{{",
    ):
        assert not raw_request(server, text.encode()).startswith(b"HTTP/1.1 200"), text[:80]
    # Requests that end in the middle.
    for text in (
        f"{login}Transfer-Encoding: chunked\r\n\r\nffffffff\r\nx",
        f"{login}Content-Length: 10\r\n\r\n{{",
        login,
    ):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(text.encode())
    for body in (
        b"",
        b"[]",
        b"{",
        b"nul",
        b'{"words": ["info"]}x',
        b"[" * 100000,
        b'{"a":' * 40 + b"1" + b"}" * 40,
        b"\xff\xfe",
        b'{"words": 5}',
        b"{'words': []}",
    ):
        answer = client("POST", f"{API}/results/{result}/ask", headers={"Content-Type": "application/json"}, raw=body)
        assert answer.status == 400, body[:40]
    assert client.post(f"/results/{result}/nonsense", {}).status == 404
    assert client("PUT", f"{API}/results").status == 415
    assert client("PUT", f"{API}/results", {}).status == 405
    assert client.ask(result, ["info"]).status == 200


@pytest.mark.parametrize("chunked", [False, True], ids=["size told", "in chunks"])
def test_strangers_cannot_send_much(strata, data, chunked):
    """It would be kept until it is whole, for each of many connections."""
    with Server(strata, data) as server:
        body = json.dumps({"token": server.token, "more": "x" * 5000}).encode()
        head = f"POST {API}/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        head += "Connection: close\r\n"
        if chunked:
            head += "Transfer-Encoding: chunked\r\n\r\n"
            body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:100], body[100:])) + b"0\r\n\r\n"
        else:
            head += f"Content-Length: {len(body)}\r\n\r\n"
        answer = raw_request(server, head.encode() + body)
        assert answer.startswith(b"HTTP/1.1 413") and b"larger than 4 KiB" in answer
        client = server.client()
        assert client.ask(client.id("r000hs"), ["info"], more="x" * 5000).status == 200


@pytest.mark.parametrize(
    "part",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: localh",
        b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 9\r\n\r\n{",
    ],
    ids=["nothing", "half of the headers", "half of the body"],
)
def test_connections_that_stand_around_keep_nobody_out(strata, data, part):
    with Server(strata, data) as server, contextlib.ExitStack() as held:
        client = server.client()
        waiting = client.connect()
        held.callback(waiting.close)
        waiting.request("GET", API + "/events", headers=client.headers)
        assert waiting.getresponse().status == 200
        for _ in range(520):
            connection = held.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
            with contextlib.suppress(OSError):  # it may have been closed already
                connection.sendall(part)
        # Of one that is kept out nothing would be heard for as long as the others may take.
        other = client.connect(timeout=14)
        held.callback(other.close)
        other.request("GET", API + "/results", headers=client.headers)
        assert other.getresponse().status == 200
        # Who has logged in and waits was not closed for them.
        (data / "r000hs").rename(data / "r001hs")
        while (line := waiting.sock.recv(4096)) and b"event: results" not in line:
            pass
        assert line


# Other machines -----------------------------------------------------------------------------------


def test_remote_needs_tls_and_a_passphrase(strata, data, config, tmp_path):
    with Server(strata, data, "--allow-remote-access", env=config) as server:
        assert server.scheme == "https" and server.token
        client = server.client(log_in=False)
        assert client.get("/session").json == {"state": "new-passphrase"}
        assert client.post("/session", {"passphrase": "long enough to be one"}).status == 401
        assert client.post("/session", {"token": server.token}).status == 400
        assert client.post("/session", {"token": server.token, "passphrase": "short"}).status == 400
        cookie = client.log_in(token=server.token, passphrase="correct horse").headers["Set-Cookie"]
        assert "Secure" in cookie
        # That would be about every port of the machine, also of servers that have no TLS.
        assert "Strict-Transport-Security" not in client.get("/session").headers
        assert client.ask(client.id("r000hs"), ["info"]).status == 200
        assert raw_request(server, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")[:5] != b"HTTP/"
    private = tmp_path / "config" / "strata" / "serve"
    assert {path.name for path in private.iterdir()} == {"certificate.pem", "key.pem", "passphrase"}
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in private.iterdir())
    assert private.stat().st_mode & 0o777 == 0o700
    kept = (private / "passphrase").read_text()
    assert kept.startswith("pbkdf2-sha256$600000$") and "correct horse" not in kept
    certificate = (private / "certificate.pem").read_bytes()
    with Server(strata, data, "--bind_all", env=config) as server:
        assert not server.token  # a passphrase is there
        client = server.client(log_in=False)
        assert client.get("/session").json == {"state": "passphrase"}
        assert client.post("/session", {"passphrase": "wrong horse"}).status == 401
        client.log_in(passphrase="correct horse")
        assert client.get("/results").status == 200
    assert (private / "certificate.pem").read_bytes() == certificate
    with Server(strata, data, "--allow-remote-access", "--reset-passphrase", env=config) as server:
        assert server.client(log_in=False).get("/session").json == {"state": "new-passphrase"}


def test_one_address_does_not_take_all_connections(strata, data, config):
    with Server(strata, data, "--allow-remote-access", env=config) as server, contextlib.ExitStack() as held:
        for _ in range(600):
            held.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
        other = socket.create_connection(("127.0.0.1", server.port), 30, ("127.0.0.2", 0))
        context = server.client(log_in=False).context
        with context.wrap_socket(other) as connection:
            connection.sendall(f"GET {API}/session HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert connection.recv(12) == b"HTTP/1.1 200"


def own_address():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return probe.getsockname()[0]


@pytest.mark.parametrize("allowed", [False, True])
def test_collecting_from_another_machine(strata, data, config, allowed):
    address = own_address()
    if not address or address.startswith("127."):
        pytest.skip("this machine has no address but its own")
    more = ["--allow-remote-collect"] if allowed else []
    with Server(strata, data, "--allow-remote-access", *more, env=config) as server:
        client = server.client(log_in=False, host=address)
        client.log_in(token=server.token, passphrase="correct horse")
        meta = client.get("/meta").json
        assert meta["can_collect"] is allowed and bool(meta.get("can_collect_why")) is not allowed
        begun = client.post("/collections", {"program": "/bin/true"})
        assert begun.status == (201 if allowed else 403)
        if allowed:
            finish(client, begun.json["id"])


@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("proxy", ["hands on the name", "hands on the origin", "says whom it asks for"])
def test_collecting_through_a_proxy(strata, data, proxy, allowed):
    """A proxy on this machine asks for people anywhere: that it sits here does not make them sit here."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    base = "https://lab.example:8443"
    more = ["--allow-remote-collect"] if allowed else []
    with Server(strata, data, "--web-port", str(port), "--base-url", base, *more) as server:
        client = Client("127.0.0.1", port)
        client.headers |= {
            "hands on the name": {"Host": "lab.example:8443", "Origin": base},
            "hands on the origin": {"Origin": base},
            "says whom it asks for": {"X-Forwarded-For": "192.0.2.7"},
        }[proxy]
        client.log_in(token=server.token)
        assert client.get("/meta").json["can_collect"] is allowed
        begun = client.post("/collections", {"program": "/bin/true"})
        assert begun.status == (201 if allowed else 403), begun.body
        if allowed:
            finish(client, begun.json["id"])


def test_events_end_with_the_session(strata, data):
    with Server(strata, data) as server:
        client = server.client()
        events = Events(client)
        assert client("DELETE", API + "/session").status == 200
        # One that stayed open would be kept alive by a comment now and then.
        lines = iter(events.response.readline, b"")
        assert not any(line.startswith(b":") for line in lines)
        events.close()


@pytest.mark.parametrize(
    "method, path, body",
    [
        ("POST", "/collections", b'{"type": "tasks", "program": "/bin/true"}'),
        ("GET", "/events", b"x"),
        ("DELETE", "/session", b"x"),
    ],
)
def test_session_ends_before_the_body_is_there(strata, data, method, path, body):
    """Nothing is done for it, and who has its place by then is not taken for it."""
    with Server(strata, data) as server:
        client = server.client()
        head = f"{method} {API}{path} HTTP/1.1\r\nHost: localhost\r\nCookie: {client.headers['Cookie']}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            connection.sendall(head.encode() + body[:-1])
            assert client.get("/session").status == 200  # it has read that by now
            assert client("DELETE", API + "/session").status == 200
            server.process.send_signal(signal.SIGUSR1)
            other = server.client(log_in=False)
            other.log_in(token=server.process.stdout.readline().decode().strip().split("=")[1])
            connection.sendall(body[-1:])
            assert connection.recv(12) == b"HTTP/1.1 401"
        assert other.get("/collections").json == {"collections": []}
        assert set(other.results()) == {"r000hs"}


def test_session_that_makes_place_stops_listening(strata, data):
    """There are 64: the next one takes the place of the one that was quiet longest, but not its stream."""
    with Server(strata, data) as server:
        events = Events(server.client())
        last = None
        for _ in range(64):
            server.process.send_signal(signal.SIGUSR1)
            last = server.client(log_in=False)
            last.log_in(token=server.process.stdout.readline().decode().strip().split("=")[1])
        lines = iter(events.response.readline, b"")
        assert not any(line.startswith(b":") for line in lines)
        events.close()
        assert last.get("/results").status == 200


def test_no_room_for_the_certificate(strata, data, config):
    done = strata.run(
        [
            "/bin/sh",
            "-c",
            'ulimit -f 0; exec "$0" serve --allow-remote-access --data-directory "$1"',
            strata.binary,
            data,
        ],
        env=config,
        timeout=60,
    )
    assert done.status == 1 and "cannot write key.pem" in done.err, done.err


def test_private_folder_that_others_can_read(strata, data, config, tmp_path):
    (tmp_path / "config" / "strata" / "serve").mkdir(parents=True)
    (tmp_path / "config" / "strata" / "serve").chmod(0o755)
    done = strata("serve", "--allow-remote-access", "--data-directory", data, env=config)
    assert done.status == 2 and "chmod 700" in done.err
