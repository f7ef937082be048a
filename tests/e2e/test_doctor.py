# SPDX-License-Identifier: Apache-2.0
"""strata doctor on this machine, with rights taken away; completion and manual page as shells and man see them."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from harness import emit_words, strict_json

STATUSES = {"ok", "limited", "missing", "unknown"}
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


def examine(strata, *before, status=0, **more):
    """The findings by name, and the whole; every promise of the schema is checked."""
    done = strata.run([*before, strata.binary, "doctor", "-format", "json"], **more)
    assert done.status == status, done.err
    assert done.stderr == b""
    assert done.seconds < 2
    whole = strict_json(done.stdout)
    assert whole["schema"] == "strata.doctor/1"
    assert set(whole) == {"schema", "version", "checks", "tasks", "verdict"}
    assert whole["tasks"] is (status == 0) and whole["verdict"]
    for check in whole["checks"]:
        assert set(check) == {"name", "status", "fact", "remedy"}
        assert check["status"] in STATUSES and check["fact"]
        assert (check["remedy"] is None) == (check["status"] == "ok"), check
    found = {check["name"]: check for check in whole["checks"]}
    assert len(found) == len(whole["checks"])
    return found, whole


def check_text(strata, *before, **more):
    done = strata.run([*before, strata.binary, "doctor"], **more)
    lines = done.out.splitlines()
    assert done.stderr == b""
    assert len(lines) <= 64
    # A path has no blank to break at; everything else fits.
    assert all(len(line) <= 100 or "/" in line for line in lines), done.out
    return done


@pytest.fixture
def reachable(strata, strata_binary):
    """A copy of strata and its collector that every user may run; pytest's own folders are closed to others."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "bin").mkdir()
        (folder / "lib" / "strata").mkdir(parents=True)
        shutil.copy(strata_binary, folder / "bin" / "strata")
        for name in ("libstrata_collector.so", "libstrata_jit.so"):
            shutil.copy(strata_binary.parent.parent / "lib" / "strata" / name, folder / "lib" / "strata")
        strata.binary = str(folder / "bin" / "strata")
        yield strata


def test_this_machine(strata):
    found, whole = examine(strata)
    assert found["collector"]["status"] == "ok" and found["memfd"]["status"] == "ok"
    assert whole["verdict"].startswith("-collect tasks works here")
    done = check_text(strata)
    assert done.status == 0
    for title in ("machine", "clock", "hardware counters", "PyTorch"):
        assert f" {title} " in done.out
    for check in whole["checks"]:
        if check["remedy"]:
            assert "to enable: " + check["remedy"].split()[0] in done.out


def test_leaves_nothing_behind(strata, programs):
    """No file in the working folder, no socket folder, not even when a probe is killed."""
    # The path of a socket is short.
    with tempfile.TemporaryDirectory(dir="/tmp") as runtime:
        env = {"XDG_RUNTIME_DIR": runtime}
        found, _ = examine(strata, env=env, cwd=runtime)
        assert runtime in found["sockets"]["fact"]
        assert os.listdir(runtime) == []
        examine(strata, programs / "filtered", "kill", "socket", "memfd_create", "--", status=1, env=env, cwd=runtime)
        assert os.listdir(runtime) == []


def test_the_verdict_is_true(strata, target):
    """What doctor says about tasks is what a collection gives."""
    _, whole = examine(strata)
    assert whole["tasks"]
    assert strata.counts(strata.collect(*emit_words(target, 5)).result) == {"t0": 5}


def test_another_user(reachable, root):
    found, _ = examine(reachable, *NOBODY, cwd="/")
    assert "uid 65534" in found["rights"]["fact"] and found["rights"]["status"] == "limited"
    assert found["disk"]["status"] == "limited" and "-r DIR" in found["disk"]["remedy"]
    assert found["collector"]["status"] == "ok"
    check_text(reachable, *NOBODY, cwd="/")


@pytest.mark.parametrize("action, why", [("eperm", "not permitted"), ("kill", "killed by signal 31")])
def test_perf_events_refused(strata, programs, action, why):
    found, whole = examine(strata, programs / "filtered", action, "perf_event_open", "--")
    assert found["perf-family"]["status"] == "limited" and why in found["perf-family"]["fact"]
    for name, status in (("perf-sampling", "limited"), ("perf-counters", "missing")):
        assert found[name]["status"] == status and why in found[name]["fact"]
        assert "perf_event_open" in found[name]["remedy"] or "paranoid" in found[name]["remedy"]
    assert found["seccomp"]["status"] == "limited" and "filter" in found["seccomp"]["fact"]
    assert "/proc" in whole["verdict"]
    assert check_text(strata, programs / "filtered", action, "perf_event_open", "--").status == 0


@pytest.mark.parametrize("action", ["eperm", "kill"])
@pytest.mark.parametrize("call, name", [("memfd_create", "memfd"), ("socket", "sockets")])
def test_no_tasks_at_all(strata, programs, action, call, name):
    found, whole = examine(strata, programs / "filtered", action, call, "--", status=1)
    assert found[name]["status"] == "missing"
    assert "does not work here" in whole["verdict"]


def test_without_collector(strata, strata_binary, tmp_path):
    alone = tmp_path / "alone" / "strata"
    alone.parent.mkdir()
    shutil.copy(strata_binary, alone)
    strata.binary = str(alone)
    found, _ = examine(strata, status=1)
    assert found["collector"]["status"] == "missing" and "STRATA_COLLECTOR" in found["collector"]["remedy"]
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    found, _ = examine(strata, status=1, env={"STRATA_COLLECTOR": str(broken)})
    assert "cannot load" in found["collector"]["fact"]


def test_variables_of_others(strata):
    env = {"INTEL_LIBITTNOTIFY64": "/opt/\x1b[31mother.so", "ONEDNN_ITT_TASK_LEVEL": "0"}
    found, whole = examine(strata, env=env)
    assert found["environment"]["remedy"] == "unset INTEL_LIBITTNOTIFY64"
    assert found["onednn"]["remedy"] == "unset ONEDNN_ITT_TASK_LEVEL"
    assert "oneDNN" in whole["verdict"]
    assert b"\x1b" not in check_text(strata, env=env).stdout


def test_worst_machine(reachable, programs, root):
    """Everything refused at once still fits a screen, and fits the time."""
    filtered = Path(reachable.binary).parent / "filtered"
    shutil.copy(programs / "filtered", filtered)
    variables = ["PATH=/nonexistent", "TMPDIR=/nonexistent", "STRATA_DISABLE=1", "ONEDNN_ITT_TASK_LEVEL=0"]
    before = [*NOBODY, "prlimit", f"--as={400 << 20}", "--nofile=64", "--", "env", *variables]
    before += [filtered, "kill", "perf_event_open", "memfd_create", "socket", "--"]
    found, _ = examine(reachable, *before, status=1, cwd="/")
    assert sum(check["status"] == "missing" for check in found.values()) >= 8
    check_text(reachable, *before, cwd="/")


def test_limits(strata):
    found, _ = examine(strata, "prlimit", f"--as={600 << 20}", "--nofile=100", "--")
    assert found["limits"]["status"] == "limited" and "ulimit -v" in found["limits"]["remedy"]


def test_producers(strata, python):
    found, whole = examine(strata, env={"PATH": f"{python.parent}:{os.environ['PATH']}"})
    assert str(python.parent) in found["python"]["fact"]
    assert found["pytorch"]["status"] == "ok" and "emit_itt" in found["pytorch"]["fact"]
    assert "PyTorch" in whole["verdict"]


def test_wrong_usage(strata):
    for words in (["-format", "csv"], ["now"], ["-group-by", "task"]):
        done = strata("doctor", *words)
        assert done.status == 2 and done.stdout == b"", words
    assert b"-format" in strata("doctor", "--help").stdout
    assert strata("help", "-completion", "fish").status == 2


# Completion ------------------------------------------------------------------------------------------

DRIVER = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _strata; printf "%s\\n" "${COMPREPLY[@]}"'


@pytest.fixture
def complete(strata):
    """What bash offers for the last of the words."""
    script = strata.folder / "completion.bash"
    script.write_bytes(strata("help", "-completion", "bash").stdout)
    for name in ("r000ta", "r001ta", "other one"):
        (strata.folder / name).mkdir()
    for name in ("r000ta", "r001ta"):
        (strata.folder / name / "result.json").write_text("{}")

    def offer(*words):
        done = strata.run(["bash", "--norc", "-c", DRIVER, "bash", script, "strata", *words])
        assert done.status == 0 and done.stderr == b"", done.err
        return done.out.split("\n")[:-1] if done.out.strip() else []

    return offer


def test_bash_completion(complete):
    assert set(complete("")) >= {"collect", "report", "export", "doctor", "help", "version"}
    assert complete("doc") == ["doctor"]
    reports = {"tasks", "thread-time", "threading", "top-down", "timeline", "torch-averages", "torch-events"}
    assert set(complete("report", "t")) == reports
    assert complete("-report", "su") == ["summary"]
    assert "chrome" in complete("export", "")
    assert complete("collect", "") == ["tasks", "hotspots", "operators", "threading"]
    assert "-start-paused" in complete("collect", "tasks", "-")
    assert "-group-by" not in complete("collect", "tasks", "-")
    assert complete("report", "tasks", "-gr") == ["-group-by"]
    assert "process" in complete("report", "tasks", "-group-by", "")
    assert complete("report", "tasks", "-group-by", "process,thr") == ["process,thread"]
    # bash takes "-group-by=thr" apart at the '='.
    assert complete("report", "tasks", "-group-by", "=", "thr") == ["thread"]
    assert complete("report", "tasks", "-format=j") == ["-format=json"]
    assert set(complete("report", "tasks", "-format", "")) == {"text", "csv", "json"}
    assert complete("doctor", "-format", "") == ["text", "json"]
    assert complete("help", "-completion", "") == ["bash", "zsh"]


def test_bash_completes_results_and_programs(complete):
    assert sorted(complete("report", "tasks", "")) == ["r000ta", "r001ta"]
    assert complete("report", "tasks", "-r", "r001") == ["r001ta"]
    assert complete("export", "chrome", "oth") == ["other one"]
    assert "setpriv" in complete("collect", "tasks", "-r", "x", "setpr")
    assert complete("collect", "tasks", "--", "ls", "oth") == ["other one"]


def test_every_option_is_offered(strata, complete):
    """Completion and help come from one table."""
    for command in ("collect", "report", "export", "doctor", "help"):
        listed = set()
        for line in strata("help", command).out.splitlines():
            if line.startswith("  -"):
                words = [word for word in line.split("  ")[1].replace(",", " ").split() if word.startswith("-")]
                listed.add(words[-1].replace("[no-]", ""))
        offered = set(complete(command, "-") if command != "collect" else complete("collect", "tasks", "-"))
        assert listed <= offered, command


def test_bash_script_is_clean(strata):
    if not shutil.which("shellcheck"):
        pytest.skip("no shellcheck")
    script = strata.folder / "completion.bash"
    script.write_bytes(strata("help", "-completion", "bash").stdout)
    done = strata.run(["shellcheck", "-s", "bash", script])
    assert done.status == 0, done.out


ZSH_DRIVER = """
compset() { return 1 }
compadd() { while [[ $1 = -* && $1 != -- ]]; do shift; done; shift; print -rl -- "$@" }
_files() { print -r -- FILES "$@" }
_normal() { print -r -- PROGRAM $CURRENT "$words[@]" }
script=$1; shift
words=("$@"); CURRENT=$#
source $script
"""


def test_zsh_completion(strata):
    if not shutil.which("zsh"):
        pytest.skip("no zsh")
    script = strata.folder / "_strata"
    script.write_bytes(strata("help", "-completion", "zsh").stdout)
    assert script.read_text().startswith("#compdef strata\n")
    assert strata.run(["zsh", "-f", "-n", script]).status == 0

    def offer(*words):
        done = strata.run(["zsh", "-f", "-c", ZSH_DRIVER, "zsh", script, "strata", *words])
        assert done.stderr == b"", done.err
        return done.out.splitlines()

    assert "doctor" in offer("")
    assert offer("doctor", "-format", "") == ["text", "json"]
    assert "process" in offer("report", "tasks", "-group-by=pro")
    assert offer("report", "tasks", "-r", "") == ["FILES -/"]
    assert "-start-paused" in offer("-collect", "tasks", "-")
    assert offer("collect", "tasks", "--", "ls", "-") == ["PROGRAM 2 ls -"]
    assert offer("collect", "tasks", "-r", "x", "l") == ["PROGRAM 1 l"]


# The manual page -------------------------------------------------------------------------------------


def test_manual_page(strata):
    page = strata.folder / "strata.1"
    page.write_bytes(strata("help", "--man").stdout)
    if shutil.which("mandoc"):
        done = strata.run(["mandoc", "-Tlint", "-W", "warning", page])
        assert done.status == 0, done.out
    if not shutil.which("man") or not shutil.which("groff"):
        pytest.skip("no man, or no groff to format with")
    env = {"MANWIDTH": "100", "MANROFFOPT": "", "MAN_KEEP_FORMATTING": ""}
    done = strata.run(["man", "--warnings", "-P", "cat", "-l", page], env=env)
    assert done.status == 0 and done.stderr == b"", done.err
    shown = subprocess.run(["col", "-bx"], input=done.stdout, capture_output=True, check=True).stdout.decode()
    for word in ("-result-dir", "-group-by", "top-down", "chrome", "strata doctor", "EXIT STATUS", "STRATA_DISABLE"):
        assert word in shown, word


def test_jit_library_is_missing(reachable):
    """Tasks work without it; names of generated code do not."""
    library = Path(reachable.binary).parent.parent / "lib" / "strata" / "libstrata_jit.so"
    library.unlink()
    found, _ = examine(reachable)
    assert found["collector"]["status"] == "limited" and "libstrata_jit.so" in found["collector"]["fact"]
    assert found["collector"]["remedy"]


def test_device_loaders(strata):
    """What stands in the way of devices is named, with the variable that does it."""
    found, _ = examine(strata)
    assert {"level-zero", "opencl"} < set(found)
    if "tracing layer" not in found["level-zero"]["fact"]:
        pytest.skip("no Level Zero loader (Debian: libze1)")
    found, _ = examine(strata, env={"IPEX_ZE_TRACING": "0"})
    assert found["level-zero"]["status"] == "limited"
    assert found["level-zero"]["remedy"] == "unset IPEX_ZE_TRACING"
