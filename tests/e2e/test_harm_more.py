# SPDX-License-Identifier: Apache-2.0
"""Do no harm, in places where it is hard not to: limits, sandboxes, sanitizers, odd stacks."""

import os
import select
import shutil
import subprocess

import pytest
from harness import ROOT, until

QUIET = ["-quiet", "-no-summary"]


def assert_untouched(strata, command, **more):
    """Output, error output and status are equal to the last byte; returns the profiled run."""
    plain = strata.run(command, **more)
    profiled = strata.collect(*command, options=QUIET, ok=False, **more)
    assert (profiled.status, profiled.stdout, profiled.stderr) == (plain.status, plain.stdout, plain.stderr)
    return profiled


def in_shell(command):
    return ["bash", "-c", '"$@"; echo "status $?"', "bash", *command]


def quality_of(strata, result):
    return strata.report(result, "tasks")["quality"]


# Limits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["limit-files", "limit-descriptors", "bad-pointers"])
def test_limits(strata, programs, case):
    done = assert_untouched(strata, [programs / "harm_cases", case])
    assert done.stdout == b"alive\n" and done.status == 0


def test_no_room_to_record_into_is_said(strata, programs):
    """Nothing recorded is not the same as nothing to record."""
    done = assert_untouched(strata, [programs / "harm_cases", "limit-files"])
    missed = strata("query", "-r", done.result, "-format", "csv", "SELECT reason FROM not_entered").out
    assert "no space for the recording: raise ulimit -f" in missed
    summary = strata("report", "summary", "-r", done.result).out
    assert "Nothing could be recorded" in summary and "ulimit -f" in summary


def test_records_below_a_file_size_limit(strata, programs):
    """16 MiB are too little for the usual segment, and enough for a small one."""
    done = assert_untouched(strata, [programs / "harm_cases", "limit-files-a-little"])
    assert strata.counts(done.result) == {"limited": 10}


@pytest.mark.parametrize("case", ["limit-address-space", "limit-data"])
def test_records_in_little_memory(strata, programs, case):
    """`ulimit -v` and `-d` count what is merely mapped: we take a small share of it."""
    done = assert_untouched(strata, [programs / "harm_cases", case])
    assert done.stdout == b"alive\n"
    assert strata.counts(done.result) == {"limited": 10}


def test_more_counters_than_are_kept_apart(strata, programs):
    """They leave room for the labels of tasks, and what has lost its name is said."""
    done = assert_untouched(strata, [programs / "harm_cases", "many-counters"])
    assert strata.counts(done.result) == {"after counters": 10, "after counters, too": 10}
    quality = quality_of(strata, done.result)
    kept = strata.report(done.result, "counters")["totals"]["count"]
    assert kept > 1000 and quality["objects_unknown"] > 0
    assert kept + quality["objects_unknown"] + quality["events_dropped"] == 10000


def test_memory_that_is_locked(strata, programs):
    done = assert_untouched(strata, [programs / "harm_cases", "locked-memory"])
    if done.stdout == b"no right to lock\n":
        pytest.skip("no right to lock memory")
    assert done.stdout == b"little\n"
    assert strata.counts(done.result) == {"locked": 10}


def test_more_processes_than_descriptors(strata, programs):
    """strata lifts its own limit to serve them all; the program keeps the one it was given."""
    script = 'ulimit -Sn 64; "$@"'
    command = ["bash", "-c", 'ulimit -Sn; "$0" many-children', programs / "harm_cases"]
    done = strata.run(
        ["bash", "-c", script, "bash", strata.binary, "-collect", "tasks", *QUIET, "-r", "many", *command]
    )
    assert (done.status, done.out, done.err) == (0, "64\nalive\n", "")
    assert strata.counts(strata.folder / "many") == {"child": 10 * 100}


def test_not_enough_descriptors_is_told(strata, programs):
    """At the hard limit the program goes on, and what was missed is not kept quiet."""
    script = 'ulimit -n 64; "$@"'
    command = ["-collect", "tasks", *QUIET, "-r", "few", programs / "harm_cases", "many-children"]
    done = strata.run(["bash", "-c", script, "bash", strata.binary, *command])
    assert (done.status, done.out) == (0, "alive\n")
    assert "open files" in done.err
    assert any("open files" in line for line in strata.result_json(strata.folder / "few")["errors"])


# Descriptors that only the program should hold -------------------------------------------------------


def test_pipe_ends_when_the_program_closes_it(strata, tmp_path):
    """Whoever reads the program's output, or feeds it, notices at once that it is done with that."""
    ours, theirs = os.pipe()
    again, extra = os.pipe()
    source, sink = os.pipe()
    script = "import os, sys; [os.close(int(n)) for n in sys.argv[2:]]; open(sys.argv[1]).read()"
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    command = ["python3", "-c", script, gate, "0", "1", str(extra)]
    process = strata.popen(
        [strata.binary, "-collect", "tasks", *QUIET, "-r", "held", "--", *command],
        stdin=source,
        stdout=theirs,
        pass_fds=[extra],
    )
    for number in (theirs, extra, source):
        os.close(number)
    assert next_byte(ours) == b"", "end of the output"
    assert next_byte(again) == b"", "end of another pipe"
    until(lambda: is_broken(sink), what="an input pipe without a reader")
    assert process.poll() is None
    gate.write_bytes(b"x")
    assert process.wait(60) == 0
    for number in (ours, again, sink):
        os.close(number)


def next_byte(number, timeout=30):
    ready, _, _ = select.select([number], [], [], timeout)
    assert ready, f"nothing came within {timeout} s"
    return os.read(number, 1)


def is_broken(number):
    """Whether nobody can read from this pipe any more."""
    poll = select.poll()
    poll.register(number, 0)
    return bool(poll.poll(0))


# Sandboxes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("raw", [False, True], ids=["prctl", "syscall"])
@pytest.mark.parametrize("case", ["filter-first", "filter-later"])
def test_seccomp_filter_that_kills(strata, programs, case, raw):
    done = assert_untouched(strata, [programs / "harm_cases", case], env={"HARM_RAW": "1"} if raw else None)
    assert done.stdout.endswith(b"alive\n") and done.status == 0
    name = "after" if case == "filter-later" else "filtered"
    assert strata.counts(done.result)[name] == 10, "a thread that has its ring goes on"


@pytest.mark.parametrize("case", ["strict", "no-counter"])
def test_cycle_counter_taken_away(strata, programs, case):
    done = assert_untouched(strata, [programs / "harm_cases", case])
    assert done.stdout == b"alive\n" and done.status == 0
    assert strata.counts(done.result)["before"] == 10


# Programs that must come without our preload ---------------------------------------------------------


@pytest.fixture(scope="session")
def asan(tmp_path_factory, programs):
    """A recording program whose address sanitizer insists on being the first library."""
    return build(tmp_path_factory, programs, "-fsanitize=address")


@pytest.fixture(scope="session")
def tsan(tmp_path_factory, programs):
    return build(tmp_path_factory, programs, "-fsanitize=thread")


SOURCE = """
#include <unistd.h>
#include "itt_static_part.h"
int main(int argc, char **argv)
{
	struct itt_domain *domain;

	itt_part_load();
	domain = itt_domain_create("sanitized");
	itt_task_begin(domain, itt_string_handle_create("sane"));
	itt_task_end(domain);
	if (argc > 1)
		execv(argv[1], argv + 1);
	return write(1, "sane\\n", 5) == 5 ? 4 : 5;
}
"""


def build(factory, programs, *flags):
    folder = factory.mktemp("built")
    source, binary = folder / "sane.c", folder / "sane"
    source.write_text(SOURCE)
    include = ROOT / "tests" / "programs"
    compiler = shutil.which("gcc") or pytest.skip("needs gcc")
    command = [compiler, "-O1", "-g", "-D_GNU_SOURCE", f"-I{include}", *flags, "-o", binary, source, "-ldl", "-pthread"]
    made = subprocess.run(command, capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"cannot build with {flags}: {made.stderr.decode()[:200]}")
    return binary


@pytest.mark.parametrize("how", ["direct", "shell", "python", "itself"])
def test_address_sanitizer(strata, asan, how):
    """Its runtime ends the program when another library comes first; ITT still finds us."""
    python = ["python3", "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))", str(asan)]
    command = {
        "direct": [asan],
        "shell": in_shell([asan]),
        "python": python,
        "itself": [asan, asan],
    }[how]
    done = assert_untouched(strata, command)
    assert done.stdout.startswith(b"sane\n")
    assert strata.counts(done.result) == {"sane": 2 if how == "itself" else 1}


def test_sanitized_program_that_records_nothing_is_named(strata, tmp_path):
    source, binary = tmp_path / "plain.c", tmp_path / "plain"
    source.write_text("int main(void) { return 4; }\n")
    made = subprocess.run(["gcc", "-fsanitize=address", "-o", binary, source], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no address sanitizer")
    done = assert_untouched(strata, in_shell([binary]))
    assert "sanitizer" in strata("report", "summary", "-r", done.result).out


def test_address_sanitizer_preloaded_behind_us(strata, programs):
    """A script that appends the runtime to LD_PRELOAD puts it behind ours."""
    runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, check=False, text=True)
    path = runtime.stdout.strip()
    if "/" not in path:
        pytest.skip("no libasan.so")
    script = f'LD_PRELOAD="${{LD_PRELOAD:+$LD_PRELOAD:}}{path}" ASAN_OPTIONS=detect_leaks=0 /bin/echo hello; echo $?'
    done = assert_untouched(strata, ["bash", "-c", script])
    assert done.stdout == b"hello\n0\n"


def test_thread_sanitizer(strata, tsan):
    done = assert_untouched(strata, [tsan, tsan])
    assert strata.counts(done.result) == {"sane": 2}


@pytest.mark.parametrize("case", ["many-variables", "small-stack", "spawn-elsewhere"])
def test_preload_is_dropped_in_odd_places(strata, programs, case):
    """More variables than fit a stack, and a stack that hardly fits anything."""
    done = assert_untouched(strata, [programs / "harm_cases", case, programs / "itt_print_env_other"])
    assert done.status == 0 and b"collector" not in done.stdout
