# SPDX-License-Identifier: Apache-2.0
"""The Python package: answers of libstrata.so against the command's, strata.itt recorded and alone, the wheel."""

import os
import re
import shlex
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from harness import ROOT, TARGETS, strict_csv, strict_json, until
from pythons import interpreter
from trace_reader import Result

EXPORTED = {
    "strata_abi_version",
    "strata_version",
    "strata_open",
    "strata_close",
    "strata_query_json",
    "strata_report_json",
    "strata_report_text",
    "strata_export",
    "strata_schema",
    "strata_free",
}


@pytest.fixture(scope="module")
def package(build_dir):
    """The folder that PYTHONPATH names: the package of the build tree."""
    folder = build_dir / "python"
    if not (folder / "strata" / "libstrata.so").is_file():
        pytest.fail(f"no package in {folder}: build it")
    return folder


@pytest.fixture(scope="module")
def here(package):
    """The package in this process."""
    sys.path.insert(0, str(package))
    import strata

    assert Path(strata.__file__).parent == package / "strata"
    yield strata
    sys.path.remove(str(package))


@pytest.fixture(scope="module")
def marked(shared_strata, package):
    """A result of strata.itt, with samples."""
    result = shared_strata.folder / "marked"
    done = shared_strata(
        "-collect", "hotspots", "-r", result, "-knob", "task-lines=true", "--", sys.executable,
        TARGETS / "strata_itt.py", env={"PYTHONPATH": str(package)},
    )  # fmt: skip
    assert done.status == 0, done.err
    assert done.out == "recording\n"
    return result


def test_exports(package):
    """Nothing but the interface can be seen by other libraries of the process."""
    library = package / "strata" / "libstrata.so"
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    assert {line.split()[-1] for line in listed.splitlines()} == EXPORTED


def test_private_parts(here, marked):
    """The process keeps its own SQLite: the cap of a query is not its cap."""
    import sqlite3

    with here.open(marked) as result:
        with pytest.raises(here.Error, match="memory"):
            result.query("SELECT group_concat(hex(randomblob(4000))) FROM slices, slices, slices", memory_limit=1)
        assert sqlite3.connect(":memory:").execute("PRAGMA hard_heap_limit").fetchone() == (0,)
    maps = Path("/proc/self/maps").read_text()
    assert "libstrata.so" in maps
    assert "libjson-c" not in maps


# Answers ------------------------------------------------------------------------------------------------


REPORTS = [
    ("summary", {}, []),
    ("tasks", {"group_by": ["task-domain", "task-type"]}, ["-group-by", "task-domain,task-type"]),
    ("tasks", {"group_by": "task-stack"}, ["-group-by", "task-stack"]),
    ("tasks", {"group_by": "task", "filter": {"thread": "m*"}}, ["-group-by", "task", "-filter", "thread=m*"]),
    ("hotspots", {"group_by": "function", "limit": 3}, ["-group-by", "function", "-limit", "3"]),
    ("top-down", {"call_stack_mode": "all"}, ["-call-stack-mode", "all"]),
    ("counters", {}, []),
    ("info", {}, []),
]  # fmt: skip


@pytest.mark.parametrize("kind,options,words", REPORTS, ids=[str(i) + row[0] for i, row in enumerate(REPORTS)])
def test_reports(here, marked, shared_strata, kind, options, words):
    """The same document as -format json, the same rows as -format csv, the same text as the terminal's."""
    with here.open(marked) as result:
        table = result.report(kind, **options)
        text = str(table)
    assert table.document == shared_strata.report(marked, kind, *words)
    rows = strict_csv(shared_strata("report", kind, "-r", marked, "-format", "csv", *words).stdout)
    assert len(table) == len(rows)
    for ours, theirs in zip(table, rows, strict=True):
        assert {key: as_csv(value) for key, value in ours.items()} == theirs
    shown = shared_strata("report", kind, "-r", marked, "-report-width", "0", *words).out.rstrip("\n")
    # Commands to be pasted begin with how the program was called; the package has no such path.
    assert text == shown.replace(f"  {shlex.quote(shared_strata.binary)} ", "  strata ")


def as_csv(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def test_query(here, marked, shared_strata):
    sql = "SELECT task_type AS name, count(*) AS n, sum(self_ns) AS own_ns FROM slices GROUP BY 1 ORDER BY 1"
    with here.open(str(marked)) as result:
        table = result.query(sql)
    assert table.document == strict_json(shared_strata("query", sql, "-r", marked, "-format", "json").stdout)
    assert {row["name"]: row["n"] for row in table}["outer"] == 3
    assert [column.unit for column in table.columns] == ["", "", "ns"]
    assert "slices" in here.schema()


def test_pandas(here, marked):
    pandas = pytest.importorskip("pandas")
    with here.open(marked) as result:
        frame = result.tasks.to_pandas()
        assert list(frame.columns) == [column.key for column in result.tasks.columns]
        assert frame.set_index("task_type")["count"]["outer"] == 3
        nested = result.report("tasks", group_by="task-domain,task-type").to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert set(zip(nested["task_domain"], nested["task_type"], strict=True)) >= {("python", "outer"), ("own", "named")}


def test_without_pandas(marked, package, strata):
    code = f"import strata\ntry: strata.open({str(marked)!r}).tasks.to_pandas()\nexcept ImportError as e: print(e)"
    done = strata.run([sys.executable, "-S", "-c", code], env={"PYTHONPATH": str(package)})
    assert "requires pandas" in done.out, done.err


def test_operators(here, marked, shared_strata):
    """As far as the command has them."""
    command = shared_strata("report", "operators", "-r", marked, "-format", "json")
    with here.open(marked) as result:
        if command.status:
            with pytest.raises(here.Error) as caught:
                result.operators  # noqa: B018
            assert command.err == f"strata: error: {caught.value}\n"
        else:
            assert result.operators.document == strict_json(command.stdout)


def test_errors(here, marked, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        here.open(tmp_path / "nowhere")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(here.Error):
        here.open()
    result = here.open(marked)
    for wrong in (
        lambda: result.query("SELECT nonsense FROM slices"),
        lambda: result.query("DROP TABLE slices"),
        lambda: result.query("SELECT 1\0"),
        lambda: result.report("taskz"),
        lambda: result.report("tasks", group_by="nonsense"),
        lambda: result.report("tasks", nonsense=1),
        lambda: result.report("tasks", format="csv"),
        lambda: result.report("tasks", result_dir=str(marked)),
    ):
        with pytest.raises(here.UsageError):
            wrong()
    result.close()
    result.close()
    with pytest.raises(here.UsageError, match="closed"):
        result.tasks  # noqa: B018


def test_newest(here, marked, monkeypatch):
    monkeypatch.chdir(marked.parent)
    with here.open() as result:
        assert result.tasks.document["result"] == "marked"


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def test_interrupt(marked, package, strata):
    """Ctrl-C ends a query, as it ends everything else of Python."""
    code = f"""
import strata
try:
    strata.open({str(marked)!r}).query({ENDLESS!r})
except KeyboardInterrupt:
    print("stopped")
"""
    child = strata.popen([sys.executable, "-c", code], env={"PYTHONPATH": str(package)}, stdout=subprocess.PIPE)
    until(lambda: len(os.listdir(f"/proc/{child.pid}/task")) == 2, what="the query")
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert (child.returncode, out) == (0, b"stopped\n")


# strata.itt -----------------------------------------------------------------------------------------


def test_itt(marked, shared_strata):
    counts = {(one.domain, one.name): 0 for one in shared_strata.slices(marked)}
    for one in shared_strata.slices(marked):
        counts[one.domain, one.name] += 1
    assert counts == {
        ("python", "outer"): 3,
        ("python", "decorated"): 4,
        ("own", "low level"): 2,
        ("own", "named"): 1,
        ("own", ""): 1,
        ("python", "ümläut \\udc80"): 1,
    }
    nested = [
        one.parent.name if one.parent else None for one in shared_strata.slices(marked) if one.name == "decorated"
    ]
    assert sorted(map(str, nested)) == ["None", "outer", "outer", "outer"]
    reader = Result(marked)
    assert not any(reader.loss.values()), reader.loss
    events = [event.kind for event in reader.events]
    assert events.count("MARKER") == 2
    assert events.count("COUNTER_SET") == 3
    assert events.count("COUNTER_ADD") == 2
    assert events.count("USER_START") == events.count("USER_END") == 2


def test_itt_counters(marked, shared_strata):
    rows = {row["counter"]: row for row in shared_strata.report(marked, "counters")["rows"]}
    assert len(rows) == 2
    (loss,) = [row for name, row in rows.items() if "loss" in name]
    (steps,) = [row for name, row in rows.items() if "steps" in name]
    assert (loss["min"], loss["max"], loss["count"]) == (0.25, 0.5, 2)
    assert (steps["last"], steps["count"]) == (42, 3)


def test_itt_lines(marked, shared_strata):
    """A task belongs to the line that marks it, not to the package that passes it on."""
    rows = shared_strata.report(marked, "tasks", "-group-by", "python-line,task-type")["rows"]
    lines = (TARGETS / "strata_itt.py").read_text().splitlines()
    found = {(row["python_line"], child["task_type"]) for row in rows for child in row["children"]}
    for text, name in (('with itt.task("outer")', "outer"), ("assert decorated() == 7", "decorated")):
        (number,) = [number for number, line in enumerate(lines, 1) if text in line]
        assert any(place.endswith(f"strata_itt.py:{number}") and task == name for place, task in found), found


def test_itt_alone(package, strata):
    """Nobody records: the same program, and nothing happens."""
    done = strata.run([sys.executable, TARGETS / "strata_itt.py"], env={"PYTHONPATH": str(package)})
    assert (done.status, done.out, done.err) == (0, "alone\n", "")


@pytest.mark.parametrize("collector", ["/nonexistent.so", "libc.so.6"])
def test_itt_no_collector(package, strata, collector):
    env = {"PYTHONPATH": str(package), "INTEL_LIBITTNOTIFY64": collector}
    done = strata.run([sys.executable, TARGETS / "strata_itt.py"], env=env)
    assert (done.status, done.out, done.err) == (0, "alone\n", "")


def test_itt_detach(package, strata):
    done = strata.collect(sys.executable, TARGETS / "strata_itt.py", "--detach", env={"PYTHONPATH": str(package)})
    assert strata.counts(done.result)["decorated"] == 4


def test_itt_start_paused(package, strata):
    code = (
        "from strata import itt\nwith itt.task('before'): pass\nwith itt.resumed():\n    with itt.task('seen'): pass\n"
    )
    code += "with itt.task('after'): pass\n@itt.task\ndef f(): pass\n"
    done = strata.collect(sys.executable, "-c", code, options=["-start-paused"], env={"PYTHONPATH": str(package)})
    assert strata.counts(done.result) == {"seen": 1}


def test_itt_refuses_what_cannot_nest(package, strata):
    code = "from strata import itt\ntry:\n    @itt.task\n    async def f(): pass\nexcept TypeError as e: print(e)"
    done = strata.run([sys.executable, "-c", code], env={"PYTHONPATH": str(package)})
    assert "awaits" in done.out, done.err


# The command and the wheel ----------------------------------------------------------------------------


def test_module_is_the_command(package, strata):
    done = strata.run([sys.executable, "-m", "strata", "version"], env={"PYTHONPATH": str(package)})
    assert (done.status, done.out) == (0, strata("version").out)
    wrong = strata.run([sys.executable, "-m", "strata", "nonsense"], env={"PYTHONPATH": str(package)})
    assert (wrong.status, wrong.err) == (2, strata("nonsense").err)


def test_floor(package, strata):
    """A C library that is too old, or another one, gets a sentence: when built, and when loaded."""
    for version, part in (("2.31", "this machine has 2.31"), ("none", "another C library")):
        done = strata.run(["cmake", f"-DST_GLIBC={version}", "-P", ROOT / "cmake" / "StrataGlibc.cmake"])
        said = " ".join(done.err.split())
        assert done.status and "strata needs glibc 2.36 or later" in said and part in said, said
    code = "import os, strata\nos.confstr = lambda name: 'glibc 2.31'\nstrata.open('x')"
    done = strata.run([sys.executable, "-c", code], env={"PYTHONPATH": str(package)})
    assert "glibc 2.36 or later; this machine has 2.31" in done.err


def readme_example():
    (block,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    return block


def test_readme(marked, package, strata):
    """What the README shows runs as it is, beside a result."""
    (strata.folder / "r000hs").symlink_to(marked)
    done = strata.run([sys.executable, "-c", readme_example()], env={"PYTHONPATH": str(package)})
    assert done.status == 0, done.err
    assert "outer" in done.out


# Libraries of the machine that a wheel may need; everything else is inside.
SYSTEMS = {"libc.so.6", "libm.so.6", "libdw.so.1", "libelf.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
OLD_LIBC = "import os\nos.confstr = lambda name: 'glibc 2.31'\n"


@pytest.fixture(scope="module")
def wheel(build_dir, shared_strata, scale):
    """The wheel, built as pip builds it.

    The build tools are those of the tests' environment, so that no network is needed; at full scale pip fetches them as
    it does for a user. The build folder is kept for the next run.
    """
    wheels = shared_strata.folder / "wheels"
    isolation = [] if scale == "full" else ["--no-build-isolation"]
    options = ["-C", f"build-dir={build_dir}-wheel"]  # not inside: other tests look for files there
    env = {"CMAKE_BUILD_PARALLEL_LEVEL": "2", "PYTHONPATH": ""}
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", *isolation, *options, "-w", wheels, ROOT]
    done = shared_strata.run(command, env=env, timeout=900)
    assert done.status == 0, done.err[-3000:] + done.out[-3000:]
    (wheel,) = wheels.iterdir()
    return wheel


def environment(strata, python, wheel, name):
    """An empty environment with the wheel, and the variables of a shell in it: nothing else is on the PATH."""
    venv = strata.folder / name
    assert strata.run([python, "-m", "venv", venv]).status == 0
    done = strata.run([venv / "bin" / "python", "-m", "pip", "install", "--no-index", wheel], env={"PYTHONPATH": ""})
    assert done.status == 0, done.err
    return venv, {"PATH": str(venv / "bin"), "PYTHONPATH": ""}


@pytest.fixture(scope="module")
def installed(wheel, shared_strata):
    return environment(shared_strata, sys.executable, wheel, "venv")


@pytest.mark.slow
def test_wheel_holds(wheel, strata, build_dir):
    """Nothing of the place it was built in, few libraries of the machine, and the licences of what is inside."""
    assert re.fullmatch(r"strata_profiler-[0-9.]+-py3-none-manylinux_2_\d\d_\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(strata.folder / "held")
    files = {path.name: path for path in (strata.folder / "held").rglob("*") if path.is_file()}
    more = {
        "libstrata_cuda.so": {"libstrata_collector.so"},
        "libstrata_jit.so": {"libstrata_collector.so"},
        "libstrata_opencl.so": {"libstrata_collector.so"},
        "libstrata_waits.so": {"libstrata_collector.so"},
        "libstrata_ze.so": {"libstrata_collector.so"},
        "libstrata_ze_entry.so": set(),
        "libstrata_serve.so": {"libgnutls.so.30", "libmicrohttpd.so.12"},
    }
    libraries = (
        "libstrata.so",
        *(
            f"libstrata_{part}.so"
            for part in ("collector", "cuda", "jit", "opencl", "serve", "waits", "ze", "ze_entry")
        ),
    )
    for name in ("strata", *libraries):
        found = [path for path in (strata.folder / "held").rglob(name) if path.is_file()]
        (path,) = [path for path in found if path.read_bytes()[:4] == b"\x7fELF"]
        data = path.read_bytes()
        for place in (ROOT, build_dir):
            assert f"{place}/".encode() not in data, name
        listed = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", listed))
        assert needed <= SYSTEMS | more.get(name, set()), name
        assert set(re.findall(r"(?:RPATH|RUNPATH).*\[(.*)\]", listed)) <= {"$ORIGIN"}, name
    assert {"LICENSE", "capstone", "iberty", "json-c", "sqlite3", "z", "zstd"} <= files.keys()


@pytest.mark.slow
@pytest.mark.parametrize("version", ["here", "3.13"])
def test_wheel(wheel, installed, strata, scale, version):
    """In an empty environment: the command on its PATH finds its collector, and the README's example runs."""
    venv, env = installed
    if version != "here":
        if scale != "full":
            pytest.skip("another Python only at full scale")
        venv, env = environment(strata, interpreter(version), wheel, "venv")
    assert strata.run(["strata", "-version"], env=env).out == strata("version").out
    done = strata.run(
        ["strata", "-collect", "hotspots", "-r", "r000hs", "--", "python", TARGETS / "strata_itt.py"], env=env
    )
    assert (done.status, done.out) == (0, "recording\n"), done.err
    done = strata.run(["python", "-c", readme_example()], env=env)
    assert done.status == 0 and "outer" in done.out, done.err
    done = strata.run(["python", "-c", "import strata._command as c; print(c.find())"], env=env)
    assert Path(done.out.strip()) == (venv / "bin" / "strata").resolve(), done.err
    done = strata.run(["python", "-m", "strata", "report", "tasks", "-format", "json"], env=env)
    assert {row["task_type"]: row["count"] for row in strict_json(done.stdout)["rows"]}["outer"] == 3
    done = strata.run(["strata", "-collect", "operators", "-r", "none", "--", "python", "-c", "pass"], env=env)
    assert done.status == 0 and "no process loaded PyTorch" in done.err, done.err


@pytest.mark.slow
@pytest.mark.torch
def test_wheel_operators(installed, strata, python):
    """The installed command, in front of somebody else's Python."""
    _, env = installed
    code = "import torch\nfor i in range(7): torch.ones(3, 5).exp()"
    done = strata.run(["strata", "-collect", "operators", "-r", "r", "--", python, "-c", code], env=env)
    assert done.status == 0, done.err
    done = strata.run(["strata", "report", "operators", "-r", "r", "-format", "json"], env=env)
    assert {row["operator"]: row["count"] for row in strict_json(done.stdout)["rows"]}["aten::exp"] == 7


@pytest.mark.slow
def test_wheel_below_the_floor(wheel, installed, strata):
    """pip refuses the wheel by its tag, which names the version; a build ends before anything is compiled."""
    old = strata.folder / "old"
    old.mkdir()
    (old / "sitecustomize.py").write_text(OLD_LIBC)
    env = {"PYTHONPATH": str(old)}
    done = strata.run([installed[0] / "bin" / "python", "-m", "pip", "install", "--no-index", wheel], env=env)
    assert done.status and f"{wheel.name} is not a supported wheel on this platform" in done.err
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", "none", ROOT]
    done = strata.run(command, env=env)
    said = done.out + done.err
    assert done.status and "strata needs Linux with glibc 2.36 or later" in said and "this machine has 2.31" in said
