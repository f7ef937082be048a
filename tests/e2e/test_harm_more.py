# SPDX-License-Identifier: Apache-2.0
"""Do no harm, in places where it is hard not to: limits, sandboxes, sanitizers, odd stacks."""

import shutil
import subprocess

import pytest

QUIET = ["-quiet", "-no-summary"]


def assert_untouched(strata, command, **more):
    """Output, error output and status are equal to the last byte; returns the profiled run."""
    plain = strata.run(command, **more)
    profiled = strata.collect(*command, options=QUIET, ok=False, **more)
    assert (profiled.status, profiled.stdout, profiled.stderr) == (plain.status, plain.stdout, plain.stderr)
    return profiled


def in_shell(command):
    return ["bash", "-c", '"$@"; echo "status $?"', "bash", *command]


# Limits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["limit-files", "limit-descriptors", "bad-pointers"])
def test_limits(strata, programs, case):
    done = assert_untouched(strata, [programs / "harm_cases", case])
    assert done.stdout == b"alive\n" and done.status == 0


def test_records_below_a_file_size_limit(strata, programs):
    """16 MiB are too little for the usual segment, and enough for a small one."""
    done = assert_untouched(strata, [programs / "harm_cases", "limit-files-a-little"])
    assert strata.counts(done.result) == {"limited": 10}


# Sandboxes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("raw", [False, True], ids=["prctl", "syscall"])
@pytest.mark.parametrize("case", ["filter-first", "filter-later"])
def test_seccomp_filter_that_kills(strata, programs, case, raw):
    done = assert_untouched(strata, [programs / "harm_cases", case], env={"HARM_RAW": "1"} if raw else None)
    assert done.stdout.endswith(b"alive\n") and done.status == 0
    if case == "filter-later":
        assert strata.counts(done.result)["after"] == 10, "a thread that has its ring goes on"


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
    from harness import ROOT

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


@pytest.mark.parametrize("case", ["many-variables", "small-stack"])
def test_preload_is_dropped_in_odd_places(strata, programs, case):
    """More variables than fit a stack, and a stack that hardly fits anything."""
    done = assert_untouched(strata, [programs / "harm_cases", case, programs / "itt_print_env_other"])
    assert done.status == 0 and b"collector" not in done.stdout
