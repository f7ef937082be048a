# SPDX-License-Identifier: Apache-2.0
"""What a user meets when something is wrong: one clear line, the promised status, nothing left behind;
and when the disk fails while the program runs, the program's own output and status."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from harness import clean_env, until

# Of collect before the program has started; report and export fail with 1 (docs/user-guide.md).
USAGE, FAILED, NOT_EXECUTABLE, NOT_FOUND = 2, 125, 126, 127
NOT_ANSWERED = 1


@pytest.fixture
def bare(strata):
    """A strata whose working and temporary folders are known and watched."""
    for name in ("cwd", "tmp"):
        (strata.folder / name).mkdir(mode=0o777)
        (strata.folder / name).chmod(0o777)
    strata.cwd, strata.tmp = strata.folder / "cwd", strata.folder / "tmp"
    return strata


def fails(bare, *args, status, says=(), leaves=(), **more):
    """Runs strata; it must refuse with one line that names everything in `says`."""
    env = {"TMPDIR": str(bare.tmp), "XDG_RUNTIME_DIR": str(bare.tmp)}
    done = bare(*args, cwd=bare.cwd, env=env, **more)
    assert done.status == status, done.err
    assert done.stdout == b""
    lines = done.err.strip().splitlines()
    assert len(lines) == 1, f"not one line but {len(lines)}:\n{done.err}"
    for text in says:
        assert text in lines[0], f"{text!r} is not in {lines[0]!r}"
    assert sorted(os.listdir(bare.cwd)) == sorted(leaves)
    assert os.listdir(bare.tmp) == []
    return lines[0]


# Before the program has started ----------------------------------------------------------------------


def test_result_folder_exists(bare):
    (bare.cwd / "mine").mkdir()
    (bare.cwd / "mine" / "keep").write_text("x")
    line = fails(bare, "-collect", "tasks", "-r", "mine", "true", status=USAGE, says=["mine"], leaves=["mine"])
    assert (bare.cwd / "mine" / "keep").read_text() == "x"
    # A free name is offered, and it is free.
    offered = [word.strip("',.\"()") for word in line.split() if "mine" in word]
    free = [word for word in offered if word not in ("mine", "") and not (bare.cwd / word).exists()]
    assert free, f"no free name offered in {line!r}"


def test_result_is_a_file(bare):
    (bare.cwd / "mine").write_text("x")
    fails(bare, "-collect", "tasks", "-r", "mine", "true", status=USAGE, says=["mine"], leaves=["mine"])


def test_result_parent_missing(bare):
    fails(bare, "-collect", "tasks", "-r", "no/such/r", "true", status=FAILED, says=["no/such"])


@pytest.mark.root
def test_result_folder_not_writable(bare, root):
    bare.cwd.chmod(0o555)
    open_path_to(bare.folder)
    env = clean_env({"TMPDIR": str(bare.tmp), "XDG_RUNTIME_DIR": str(bare.tmp)})
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    probe = subprocess.run([*drop, bare.binary, "-version"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip(f"user 65534 cannot run {bare.binary}: {probe.stderr[:200]!r}")
    done = bare.run([*drop, bare.binary, "-collect", "tasks", "--", "true"], cwd=bare.cwd, env=env)
    assert done.status == FAILED, done.err
    assert len(done.err.strip().splitlines()) == 1, done.err
    assert "ermission denied" in done.err or "not writable" in done.err
    assert os.listdir(bare.cwd) == [] and os.listdir(bare.tmp) == []


def open_path_to(folder):
    """Lets other users walk into a folder of pytest's (which are 0700)."""
    for path in [folder, *folder.parents]:
        if path.stat().st_uid == os.geteuid() and path != path.parent:
            path.chmod(path.stat().st_mode | 0o055)


def test_no_such_program(bare):
    fails(bare, "-collect", "tasks", "--", "no-such-program-x", status=NOT_FOUND, says=["no-such-program-x"])
    fails(bare, "-collect", "tasks", "--", "./no/such", status=NOT_FOUND, says=["./no/such"])


def test_not_executable(bare):
    (bare.tmp.parent / "text").write_text("just text\n")
    path = str(bare.tmp.parent / "text")
    fails(bare, "-collect", "tasks", "--", path, status=NOT_EXECUTABLE, says=[path])
    fails(bare, "-collect", "tasks", "--", str(bare.folder), status=NOT_EXECUTABLE, says=[str(bare.folder)])


def test_given_result_is_not_left_behind(bare):
    """The folder must be gone also when the program turned out not to exist."""
    fails(bare, "-collect", "tasks", "-r", "mine", "no-such-program-x", status=NOT_FOUND)


def test_no_program(bare):
    fails(bare, "-collect", "tasks", status=USAGE)
    fails(bare, "-collect", "tasks", "--", status=USAGE)


@pytest.mark.parametrize(
    "typed, near",
    [
        ("-result-dri", "result-dir"),
        ("--start-pased", "start-paused"),
        ("-durations=3", "duration"),
        ("-app-workingdir", "app-working-dir"),
    ],
)
def test_no_such_option(bare, typed, near):
    fails(bare, "-collect", "tasks", typed, "x", "true", status=USAGE, says=[typed.split("=")[0].lstrip("-"), near])


def test_no_such_collection(bare):
    fails(bare, "-collect", "task", "--", "true", status=USAGE, says=["task", "tasks"])


def test_no_such_command(bare):
    fails(bare, "rport", "tasks", status=USAGE, says=["rport", "report"])


@pytest.mark.parametrize(
    "option, value",
    [
        ("-duration", "abc"),
        ("-duration", "-1"),
        ("-duration", ""),
        ("-duration", "1e999"),
        ("-duration", "nan"),
        ("-resume-after", "5x"),
        ("-data-limit", "many"),
        ("-data-limit", "-5"),
        ("-data-limit", "99999999999999999999"),
    ],
)
def test_bad_numbers(bare, option, value):
    fails(bare, "-collect", "tasks", f"{option}={value}", "true", status=USAGE, says=[option.lstrip("-")])


def test_missing_value(bare):
    fails(bare, "-collect", "tasks", "-r", status=USAGE, says=["r"])
    fails(bare, "-collect", "tasks", "-quiet=yes", "true", status=USAGE, says=["quiet"])


def test_bad_working_dir(bare):
    fails(bare, "-collect", "tasks", "-app-working-dir", "/no/such", "true", status=USAGE, says=["/no/such"])


# Asking a result -------------------------------------------------------------------------------------


def test_no_such_result(bare):
    fails(bare, "report", "tasks", "-r", "nothing", status=NOT_ANSWERED, says=["nothing"])
    fails(bare, "report", "tasks", status=NOT_ANSWERED)
    fails(bare, "export", "chrome", "-r", "nothing", "-o", "x.json", status=NOT_ANSWERED, says=["nothing"])


def test_folder_that_is_no_result(bare):
    (bare.cwd / "empty").mkdir()
    fails(bare, "report", "tasks", "-r", "empty", status=NOT_ANSWERED, says=["empty"], leaves=["empty"])


@pytest.mark.parametrize(
    "args, says",
    [
        (["report", "taskz"], ["taskz", "tasks"]),
        (["report", "tasks", "-group-by", "task-typ"], ["task-typ", "task-type"]),
        (["report", "tasks", "-sort-desc", "wall_totl_ns"], ["wall_totl_ns", "wall-total"]),
        (["report", "tasks", "-format", "xml"], ["xml", "csv"]),
        (["report", "tasks", "-filter", "task-typ=x"], ["task-typ", "task-type"]),
        (["report", "tasks", "-filter", "nonsense"], ["nonsense"]),
        (["report", "tasks", "-time-filter", "5:x"], ["5:x"]),
        (["report", "tasks", "-time-filter", "9:1"], ["9:1"]),
        (["report", "tasks", "-limit", "x"], ["limit"]),
        (["report", "tasks", "-limit=-1"], ["limit"]),
        (["export", "chrom", "-o", "x"], ["chrom", "chrome"]),
    ],
)
def test_wrong_question(bare, target, args, says):
    result = bare.folder / "good"
    bare.collect(target, "--pairs", "10", result=result)
    fails(bare, *args, "-r", str(result), status=USAGE, says=says)


def test_report_output_cannot_be_written(bare, target):
    result = bare.folder / "good"
    bare.collect(target, "--pairs", "10", result=result)
    fails(
        bare,
        "report",
        "tasks",
        "-r",
        str(result),
        "-report-output",
        "no/such/x",
        status=NOT_ANSWERED,
        says=["no/such/x"],
    )
    fails(bare, "export", "chrome", "-r", str(result), "-o", "no/such/x", status=NOT_ANSWERED, says=["no/such/x"])


def test_a_closed_pipe_is_no_crash(strata, target):
    """`strata report … | head`: quiet, whatever the status."""
    done = strata.collect(target, "--pairs", "20000", "--labels", "5000")
    script = '"$0" report tasks -group-by task -r "$1" | head -c 100 >/dev/null; echo "${PIPESTATUS[0]}"'
    shell = strata.run(["bash", "-c", script, strata.binary, done.result])
    assert int(shell.out.split()[0]) in (0, 1, 125, 128 + signal.SIGPIPE)
    assert len(shell.err.splitlines()) <= 1


def test_output_on_a_full_device(strata, target):
    done = strata.collect(target, "--pairs", "20000")
    with open("/dev/full", "wb") as full:
        report = strata("report", "tasks", "-r", done.result, "-format", "json", stdout=full)
    assert report.status == NOT_ANSWERED, "a report that could not be written must not succeed"
    assert len(report.err.strip().splitlines()) == 1


# While the program runs ------------------------------------------------------------------------------


def run_on_bad_disk(strata, result, target, **more):
    """The program writes to stdout and ends with 3, whatever happens to our files."""
    script = '"$0" --seconds 3 --rate 400000 --labels 3000 && echo the end && exit 3'
    done = strata.collect("bash", "-c", script, target, result=result, ok=False, **more)
    assert done.status == 3, done.err
    assert done.stdout.endswith(b"the end\n")
    return done


TINY = "16k"  # hardly more than the first files


@pytest.mark.root
@pytest.mark.parametrize("size", ["1m", "256k", TINY])
def test_disk_full(strata, target, root, size):
    disk = strata.folder / "disk"
    disk.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], capture_output=True, check=False
    )
    if mount.returncode:
        pytest.skip(f"cannot mount a small tmpfs: {mount.stderr!r}")
    try:
        done = run_on_bad_disk(strata, disk / "r", target)
        assert "No space left" in done.err
        info = strata.result_json(done.result)
        assert "No space left" in str(info), info
        assert info["state"] == "finished"
        strata.opens(done.result)
        assert strata.total(done.result) > 0 or size == TINY
        notes = strata("report", "summary", "-r", done.result).out
        assert "No space left" in notes or "not written" in notes
        assert "paused" not in notes and "still running" not in notes
    finally:
        shutil.rmtree(disk / "r", ignore_errors=True)
        subprocess.run(["umount", disk], check=True)


def test_file_size_limit(strata, target):
    """A limit on files, without root: SIGXFSZ must not end strata, EFBIG is a full disk.

    The program lifts the limit for itself; test_edges.py has programs that keep one.
    """
    result = strata.folder / "r"
    script = 'ulimit -S -f 300; exec "$0" -collect tasks -r "$1" -- bash -c "$2" "$3"'
    inner = 'ulimit -S -f unlimited; "$0" --seconds 3 --rate 400000 --labels 3000 --quiet && echo the end && exit 3'
    done = strata.run(["bash", "-c", script, strata.binary, result, inner, target])
    assert done.status == 3, done.err
    assert done.stdout == b"the end\n"
    assert "File too large" in done.err
    strata.opens(result)
    assert strata.total(result) > 0
    assert "File too large" in str(strata.result_json(result))


@pytest.mark.parametrize("how", ["deleted", "moved"])
def test_folder_gone_while_running(strata, target, how):
    result = strata.folder / "r"
    elsewhere = strata.folder / "elsewhere"
    ready = strata.folder / "ready"
    script = '"$0" --pairs 1000 --quiet && touch "$1" && until [ -e "$2" ]; do sleep 0.05; done; '
    script += '"$0" --seconds 1 --rate 100000 --quiet; echo the end; exit 3'
    running = strata.popen(
        [
            strata.binary,
            "-collect",
            "tasks",
            "-r",
            result,
            "--",
            "bash",
            "-c",
            script,
            target,
            strata.folder / "p",
            ready,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    until((result / "trace.000.strata").exists, what="the trace")
    until((strata.folder / "p").exists, what="the first program's end")
    # Its tasks are in the files once its chunk is: at most a quarter of a second later.
    until(lambda: strata.total(result) >= 1000, what="the first program's tasks")
    if how == "deleted":
        # strata may put a file back between the last unlink and the rmdir: then rm has to be called again.
        until(lambda: shutil.rmtree(result, ignore_errors=True) or not result.exists(), what="the folder to be gone")
    else:
        result.rename(elsewhere)
    ready.touch()
    out, err = running.communicate(timeout=60)
    assert running.returncode == 3, err
    assert out.endswith(b"the end\n")
    assert str(result).encode() in err or b"folder" in err, err
    if how == "deleted":
        assert not result.exists(), "a deleted folder must not come back"
        assert b"the result is in" not in err, err
    else:
        strata.opens(elsewhere)
        assert strata.total(elsewhere) >= 1000


def test_collector_missing(strata, target):
    """Without the collector nothing can be recorded: say so before the program starts."""
    alone = strata.folder / "bin" / "strata"
    alone.parent.mkdir()
    shutil.copy2(strata.binary, alone)
    env = {"STRATA_COLLECTOR": "/no/such/libstrata_collector.so"}
    done = strata.run([alone, "-collect", "tasks", "-r", strata.folder / "r", "--", target, "--pairs", "1"], env=env)
    assert done.status == FAILED, done.err
    assert "libstrata_collector.so" in done.err
    assert not (strata.folder / "r").exists()


def test_no_temporary_folder(strata, target):
    """The rendezvous needs a folder for its socket: a bad TMPDIR is told, or done without."""
    env = {"TMPDIR": "/no/such", "XDG_RUNTIME_DIR": "/no/such"}
    done = strata.collect(target, "--pairs", "5", ok=False, env=env)
    assert done.status in (0, FAILED)
    if done.status == 0:
        assert strata.total(done.result) == 5
    else:
        assert len(done.err.strip().splitlines()) == 1 and not Path(done.result).exists()
