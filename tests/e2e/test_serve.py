# SPDX-License-Identifier: Apache-2.0
"""strata serve: the interface under /api/v1 with real results, compared with the command line."""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile

import pytest
from harness import strict_json
from served import API, Server, client, config, data, folder, is_built, server

__all__ = ["client", "config", "data", "folder", "is_built", "server"]


# What is asked ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["summary"],
        ["hotspots"],
        ["hotspots", "-group-by", "module,function", "-limit", "3"],
        ["top-down", "-call-stack-mode", "all"],
        ["hotspots", "-filter", "function=hot_*", "-time-filter", "0.1:0.5"],
        ["tasks"],
        ["info"],
        ["source", "hot_parts.c"],
    ],
    ids=" ".join,
)
def test_report_is_that_of_the_command_line(shared_strata, folder, client, words):
    asked = client.ask(client.id("r000hs"), words)
    done = shared_strata("report", words[0], "-r", "r000hs", *words[1:], "-format", "json", cwd=folder)
    assert (asked.status, asked.body) == (200, done.stdout), done.err
    assert asked.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("form", ["csv", "text"])
def test_other_forms(shared_strata, folder, client, form):
    asked = client.ask(client.id("r000hs"), ["hotspots"], format=form)
    done = shared_strata("report", "hotspots", "-r", "r000hs", "-format", form, cwd=folder)
    assert asked.body == done.stdout
    assert asked.headers["Content-Type"].startswith("text/")


def test_sql(shared_strata, folder, client):
    sql = "SELECT name FROM threads"
    asked = client.ask(client.id("r000hs"), [sql], command="query")
    done = shared_strata("query", "r000hs", sql, "-format", "json", cwd=folder)
    assert done.status == 0, done.err
    assert asked.body == done.stdout


@pytest.mark.parametrize("form", ["folded", "chrome", "pprof", "speedscope"])
def test_export(shared_strata, folder, client, tmp_path, form):
    asked = client.ask(client.id("r000hs"), [form], verb="export")
    assert asked.status == 200, asked.body
    name = re.fullmatch(r'attachment; filename="(r000hs\.[\w.]+)"', asked.headers["Content-Disposition"])[1]
    done = shared_strata("export", form, "-r", "r000hs", "-o", tmp_path / name, cwd=folder)
    assert done.status == 0, done.err
    assert asked.body == (tmp_path / name).read_bytes()


def test_compare(shared_strata, folder, client):
    ids = client.results()
    body = {"a": [ids["r000hs"]["id"]], "b": [ids["r001hs"]["id"]], "words": ["hotspots"]}
    asked = client.settle(client.post("/compare", body))
    done = shared_strata("compare", "hotspots", "r000hs", "project/r001hs", "-format", "json", cwd=folder)
    assert (asked.status, asked.body) == (200, done.stdout), done.err
    assert client.post("/compare", {**body, "b": []}).status == 400
    assert client.post("/compare", {**body, "b": ["0123456789abcdef"]}).status == 404


def test_pages_are_parts_of_the_whole(client):
    result = client.id("r000hs")
    whole = client.ask(result, ["top-down"]).json
    first = client.ask(result, ["top-down"], page={}).json
    assert first["row_count"] == len(whole["rows"])
    assert first["totals"] == whole["totals"] and first["columns"] == whole["columns"]

    def look(rows, path):
        page = client.ask(result, ["top-down"], page={"path": path}).json
        assert page["row_count"] == len(rows)
        for index, (row, shown) in enumerate(zip(rows, page["rows"], strict=True)):
            children = row["children"]
            assert shown.pop("child_count") == len(children)
            assert shown == {key: value for key, value in row.items() if key != "children"}
            if children:
                look(children, [*path, index])

    look(whole["rows"], [])
    rows = client.ask(result, ["hotspots"]).json["rows"]
    cut = client.ask(result, ["hotspots"], page={"offset": 1, "limit": 1}).json
    assert [row["function"] for row in cut["rows"]] == [rows[1]["function"]]
    assert client.ask(result, ["hotspots"], page={"offset": 10**9}).json["rows"] == []
    deep = client.ask(result, ["top-down"], page={"depth": 3}).json["rows"][0]
    assert deep["children"][0]["children"] is not None and "child_count" in deep["children"][0]
    assert client.ask(result, ["hotspots"], page={"path": [10**6]}).status == 404
    for bad in ({"depth": 0}, {"offset": -1}, {"limit": 10**9}, {"path": ["x"]}, [], {"path": [-1]}):
        assert client.ask(result, ["hotspots"], page=bad).status == 400, bad


@pytest.mark.parametrize(
    "words",
    [
        ["hotspots", "-r", "/"],
        ["hotspots", "-result-dir=/etc"],
        ["hotspots", "-report-output", "x"],
        ["hotspots", "-source-search-dir", "/etc"],
        ["hotspots", "-search-dir", "/etc"],
        ["hotspots", "-report-knob", "cpu-classes=/etc/passwd"],
        ["hotspots", "project"],
        ["hotspots", "-format", "csv"],
        ["hotspots", "--help"],
        ["nonsense"],
        [],
        ["hotspots\0"],
    ],
    ids=repr,
)
def test_words_that_are_refused(client, words):
    asked = client.ask(client.id("r000hs"), words)
    assert asked.status == 400, asked.body
    assert asked.headers["Content-Type"] == "application/problem+json"
    assert asked.json["code"] == "usage" and asked.json["detail"]


@pytest.mark.parametrize("report", ["waits", "sync-objects", "threading", "critical-path"])
@pytest.mark.parametrize("named", ["function=hot_*", "python-line=x.py:1"])
def test_filter_where_nothing_was_recorded(client, report, named):
    """The same words as without the filter: what is missing, and how to get it."""
    result = client.id("r000hs")
    filtered = client.ask(result, [report, "-filter", named], format="text")
    assert filtered.status == 200, filtered.body
    if report != "threading":  # which is about CPU time as well
        answer = client.ask(result, [report, "-filter", named]).json
        assert answer["rows"] == [] and answer["empty"].encode() in filtered.body
        assert answer["empty"].startswith("This result has no waits; record them with -collect threading")


def test_memory_is_not_for_who_asks_to_raise(client):
    sql = ["SELECT 1", "-memory-limit", "4096"]
    asked = client.ask(client.id("r000hs"), sql, command="query")
    assert (asked.status, asked.json["code"]) == (400, "usage") and "-memory-limit" in asked.json["detail"]
    assert client.ask(client.id("r000hs"), sql[:1], command="query").status == 200


def test_source_files_of_the_result_only(client):
    asked = client.ask(client.id("r000hs"), ["source", "-source-object", "source-file=/etc/passwd"])
    assert asked.status == 404 and b"root:" not in asked.body


def test_meta(client, server):
    meta = client.get("/meta").json
    assert meta["api"] == 1 and meta["can_collect"] is True
    names = {report["name"]: report for report in meta["reports"]}
    assert "function" in names["hotspots"]["groupings"] and names["hotspots"]["defaults"] == ["function"]
    assert {"tasks", "hotspots", "operators", "threading"} == {one["name"] for one in meta["types"]}
    assert any(
        knob["name"] == "sampling-interval" and knob["types"] == ["hotspots", "threading"] for knob in meta["knobs"]
    )
    assert {"chrome", "pprof"} <= {one["name"] for one in meta["exports"]}
    assert {"task-domain", "function"} <= {one["name"] for one in meta["groupings"]}


def test_capabilities_are_those_of_doctor(client):
    answer = client.get("/capabilities").json
    assert answer["schema"] == "strata.doctor/1" and answer["checks"]


def test_list(client, folder):
    results = client.results()
    assert set(results) == {"r000hs", "r001hs"}
    assert results["r001hs"]["project"] == "project" and results["r000hs"]["project"] == ""
    one = results["r000hs"]
    assert (one["kind"], one["state"], one["type"], one["exit"]) == ("result", "finished", "hotspots", 0)
    assert one["size_bytes"] == sum(path.stat().st_size for path in (folder / "r000hs").iterdir())
    assert client.get(f"/results/{one['id']}").json == one
    assert client.get("/results/0123456789abcdef").status == 404


def test_bundle_is_the_one_of_the_sources(client, tmp_path):
    node = shutil.which("node")
    web = os.path.join(os.path.dirname(__file__), "..", "..", "web")
    if not node or not os.path.isdir(os.path.join(web, "node_modules")):
        pytest.skip("no node, or the packages of the page are not installed")
    subprocess.run([node, os.path.join(web, "build.mjs"), tmp_path / "bundle"], check=True, capture_output=True)
    assert client.get("/meta").json["bundle"] == (tmp_path / "bundle" / "bundle-id").read_text().strip()
    for line in (tmp_path / "bundle" / "manifest.txt").read_text().splitlines():
        path, name, kind = line.split("\t")
        for headers in ({}, {"Accept-Encoding": "gzip"}):
            got = client("GET", path, headers=headers)
            end = ".gz" if headers else ""
            assert (got.status, got.headers["Content-Type"]) == (200, kind)
            assert got.body == (tmp_path / "bundle" / (name + end)).read_bytes()


def test_page_and_headers(server):
    stranger = server.client(log_in=False)
    for path in ("/", "/r/0123456789abcdef/timeline"):
        got = stranger("GET", path)
        assert got.status == 200 and got.headers["Content-Type"].startswith("text/html")
        policy = got.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert got.headers["X-Content-Type-Options"] == "nosniff"
        assert got.headers["Referrer-Policy"] == "no-referrer"
        assert "Access-Control-Allow-Origin" not in got.headers
    assert stranger("GET", "/missing.js").status == 404
    assert stranger("POST", "/", {}).status == 405


# Changes ------------------------------------------------------------------------------------------


def test_rename_remove_restore(strata, data):
    with Server(strata, data) as server:
        client = server.client()
        old = client.id("r000hs")
        for bad in ("", ".x", "../x", "a/b", "-r", "x" * 200, "r000hs"):
            assert client("PATCH", f"{API}/results/{old}", {"name": bad}).status in (400, 409), bad
        new = client("PATCH", f"{API}/results/{old}", {"name": "before the change"}).json["id"]
        assert client.id("before the change") == new and client.get(f"/results/{old}").status == 404
        assert client("DELETE", f"{API}/results/{new}").status == 200
        assert client.results() == {}
        assert not (data / "before the change").exists()
        assert client.post(f"/results/{new}/restore", {}).status == 200
        assert client.ask(new, ["info"]).status == 200
        assert client.post(f"/results/{new}/restore", {}).status == 404
        assert client.post("/projects", {"name": "later"}).status == 200
        assert client.post("/projects", {"name": "later"}).status == 409
        assert client.post("/projects", {"name": "../later"}).status == 400
        assert client.get("/results").json["projects"] == ["later"]


def test_trash_that_cannot_be_used(strata, data, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    with Server(strata, data) as server:
        client = server.client()
        result = client.id("r000hs")
        (data / ".strata-trash").symlink_to(tmp_path / "elsewhere")
        for _ in range(2):
            answer = client("DELETE", f"{API}/results/{result}")
            assert answer.status == 500 and ".strata-trash" in answer.json["detail"]
            assert client.ask(result, ["info"]).status == 200
            (data / ".strata-trash").unlink()
            (data / ".strata-trash").write_text("")


def test_result_among_very_many_files(strata, folder):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as data:  # files are cheap there
        shutil.copytree(folder / "r000hs", f"{data}/r000hs")
        for number in range(50_001):
            os.mknod(f"{data}/image{number}.jpg")
        with Server(strata, data) as server:
            answer = server.client().get("/results").json
            assert [one["name"] for one in answer["results"]] == ["r000hs"] and not answer["is_cut"]


# Traces of torch.profiler -------------------------------------------------------------------------


def test_trace(strata, data, tmp_path):
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10 + i, "dur": 0.5} for i in range(3)
    ]
    (data / "run.pt.trace.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    (data / "bad.pt.trace.json").write_text("nothing of the kind")
    with Server(strata, data, env={"STRATA_CACHE_DIR": str(tmp_path / "cache")}) as server:
        client = server.client()
        one = client.results()["run.pt.trace.json"]
        assert one["kind"] == "trace"
        first = client.ask(one["id"], ["operators"])
        assert first.status == 200, first.body
        assert [row["count"] for row in first.json["rows"]] == [3]
        assert client.ask(one["id"], ["operators"]).body == first.body
        bad = client.ask(client.id("bad.pt.trace.json"), ["operators"])
        assert (bad.status, bad.json["code"]) == (422, "import") and bad.json["detail"]
        both = client.post("/compare", {"a": [one["id"]], "b": [client.id("r000hs")], "words": ["operators"]})
        assert (both.status, both.json["code"]) == (409, "trace")


def write_trace(data):
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 0.5}]
    (data / "run.pt.trace.json").write_text(json.dumps({"traceEvents": events}))


def ask_about_trace(server):
    client = server.client()
    answer = client.ask(client.id("run.pt.trace.json"), ["operators"])
    assert answer.status == 200, answer.body


def imported(temporary):
    return list(temporary.glob("strata-serving-*/imports/*/run"))


def test_cache_without_a_home(strata, data, tmp_path):
    """A folder that is known to all, in /tmp, could be somebody else's."""
    write_trace(data)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with Server(strata, data, env={"HOME": "", "XDG_CACHE_HOME": "", "TMPDIR": str(temporary)}) as server:
        ask_about_trace(server)
        assert imported(temporary)
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("kind", ["a link", "open to all", "another user's"])
def test_cache_that_is_not_ours(strata, data, tmp_path, kind):
    """What lies in there may have been put there to be taken for a result of ours."""
    write_trace(data)
    temporary, elsewhere, cache = tmp_path / "tmp", tmp_path / "elsewhere", tmp_path / "cache"
    for one in (temporary, elsewhere, cache):
        one.mkdir()
    if kind == "a link":
        (cache / "imports").symlink_to(elsewhere)
    else:
        (cache / "imports").mkdir(mode=0o700)
    if kind == "open to all":
        (cache / "imports").chmod(0o777)
    if kind == "another user's":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(cache / "imports", 65534, 65534)
    with Server(strata, data, env={"STRATA_CACHE_DIR": str(cache), "TMPDIR": str(temporary)}) as server:
        ask_about_trace(server)
        assert imported(temporary)
        assert not list((cache / "imports").iterdir())
    assert f"{cache}/imports cannot be used, or others can write to it" in server.errors.read_text()


# The command --------------------------------------------------------------------------------------


def test_backend_in_the_spelling_of_vtune(strata, data, config):
    backend = os.path.join(os.path.dirname(strata.binary), "strata-backend")
    command = [backend, "--allow-remote-access", "option", "--data-directory=./"]
    with Server(strata, data, command=command, env=config, cwd=data) as server:
        assert server.scheme == "https"
    assert "'option'" in server.errors.read_text()


def test_spelling_of_tensorboard(strata, data):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = strata("serve", "--logdir", data, "--port", str(port))
        assert done.status == 1
        free = re.search(rf"port {port} is used by another program; port (\d+) is free: --web-port \1", done.err)
        assert free, done.err
    command = [strata.binary, "serve", "--logdir", data, "--port", free[1]]
    with Server(strata, data, command=command) as server:
        assert server.port == int(free[1])


@pytest.mark.parametrize(
    "words",
    [
        ["serve", "--data-directory", "/no/such/folder"],
        ["serve", "no-folder"],
        ["serve", "--web-port", "70000"],
        ["serve", "--certificate", "x"],
        ["serve", "--allow-remote-collect"],
        ["serve", "--reset-passphrase"],
        ["serve", "--base-url", "nonsense"],
        ["serve", "--logdir", ".", "--data-directory", "."],
    ],
    ids=" ".join,
)
def test_wrong_options(strata, words):
    done = strata(*words)
    assert done.status == 2 and done.err.startswith("strata: error: "), done.err


def test_nothing_is_left_behind(strata, data, tmp_path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with Server(strata, data, env={"TMPDIR": str(temporary)}) as server:
        client = server.client()
        assert client.ask(client.id("r000hs"), ["pprof"], verb="export").status == 200
        assert list(temporary.iterdir())
    assert not list(temporary.iterdir())
    assert strict_json((data / "r000hs" / "result.json").read_bytes())["state"] == "finished"


def test_what_a_killed_server_left_is_removed(strata, data, tmp_path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    (temporary / "strata-serving-not").write_text("a file of somebody")
    env = {"TMPDIR": str(temporary)}

    def folders():
        return {path.name for path in temporary.iterdir() if path.is_dir()}

    with Server(strata, data, env=env) as living:
        held = folders()
        with pytest.raises(ZeroDivisionError), Server(strata, data, env=env) as killed:
            client = killed.client()
            assert client.ask(client.id("r000hs"), ["info"]).status == 200
            left = folders() - held
            raise ZeroDivisionError  # kills it
        assert killed.process.wait() == -9
        assert len(held) == 1 and len(left) == 1 and folders() == held | left
        with Server(strata, data, env=env):
            assert held < folders() and not left & folders()
        client = living.client()
        assert client.ask(client.id("r000hs"), ["pprof"], verb="export").status == 200
    assert [path.name for path in temporary.iterdir()] == ["strata-serving-not"]


# Longer than one call down into the C library, whose functions a report adds up at the first one.
DEEP = """
import time
while time.process_time() < 1.5:
    for _ in range(100):
        time.strftime("%c %x %X %A %B " * 200, (2024, 2, 29, 12, 30, 45, 3, 60, 0))
"""


def self_times_of_flame(client, result, *words):
    answer = client.ask(result, words, verb="flame", min_ratio=0)
    assert answer.status == 200, answer.body
    nodes, names, times = answer.json["nodes"], answer.json["names"], {}
    for name, self_ns in zip(nodes["name"], nodes["self_ns"], strict=True):
        function = re.sub(r" (\[[^\]]+\]|\([^()]*:\d+\))$", "", names[name])
        times[function] = times.get(function, 0) + self_ns
    return {function: self_ns for function, self_ns in times.items() if self_ns}


def test_flame_graph_has_the_times_of_the_grid(strata, python, tmp_path):
    for name, options in (("usual", []), ("every", ["-call-stack-mode", "all"])):
        done = strata("collect", "hotspots", "-q", *options, "-r", tmp_path / name, "--", python, "-c", DEEP)
        assert done.status == 0, done.err
    with Server(strata, tmp_path) as running:
        client = running.client()
        for name in ("usual", "every"):
            result = client.id(name)
            rows = client.ask(result, ["hotspots", "-group-by", "function"]).json["rows"]
            grid = {row["function"]: row["cpu_self_ns"] for row in rows if row["cpu_self_ns"]}
            assert self_times_of_flame(client, result) == grid
            every = self_times_of_flame(client, result, "-call-stack-mode", "all")
            assert (every == grid) == (name == "every"), "the modes differ in this program"
