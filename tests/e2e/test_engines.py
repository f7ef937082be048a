# SPDX-License-Identifier: Apache-2.0
"""Programs that run the code of others themselves (valgrind, qemu user mode): left alone, and named with the reason.
Go programs: left alone too, and the summary says why there are no samples and what to do."""

import re
import shutil
import subprocess

import pytest
from harness import until
from test_foreign_loaders import RAW

# Enough CPU time for many triggers; signals and threads, which an engine has to emulate.
WORK = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t seen;
static volatile unsigned sink;
static void on_signal(int number) { seen += number == SIGUSR1; }
static void *work(void *arg)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 10;
	while (clock() < end)
		for (unsigned i = 0; i < 10000; i++)
			sink += i;
	kill(getpid(), SIGUSR1);
	return arg;
}
int main(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	pthread_t thread;
	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	while (!seen)
		;
	puts("worked");
	fputs("done\\n", stderr);
	return 5;
}
"""
GO = """
package main
import ("fmt"; "os"; "time"%s)
var sink uint64
func main() {
	fmt.Println("begun")
	seconds := 0.3
	if len(os.Args) > 1 { seconds = 20 }
	for begin := time.Now(); time.Since(begin).Seconds() < seconds; {
		for i := uint64(0); i < 100000; i++ { sink += i }
	}
}
"""
HOTSPOTS = ["-knob", "sampling-interval=1"]


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines")
    for name, text in (("work", WORK), ("raw", RAW)):
        (folder / f"{name}.c").write_text(text)
        more = ["-static"] if name == "raw" else ["-pthread"]
        subprocess.run(["gcc", "-g", *more, "-o", folder / name, folder / f"{name}.c"], check=True)
    return folder


def run_both(strata, command):
    """(plain, profiled), each with what the program alone wrote to standard error as `.theirs`."""
    error = strata.folder / "stderr"
    words = ["sh", "-c", 'exec 2>"$0"; exec "$@"', error, *command]
    plain = strata.run(words)
    plain.theirs = error.read_bytes()
    result = strata.folder / "r"
    done = strata("-collect", "hotspots", "-quiet", *HOTSPOTS, "-r", result, "--", *words)
    done.theirs, done.result = error.read_bytes(), result
    return plain, done


COMMANDS = {
    "quiet": ["valgrind", "-q", "{work}"],
    "memcheck": ["valgrind", "--leak-check=full", "{work}"],
    "callgrind": ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "{work}"],
    "children": ["valgrind", "-q", "--trace-children=yes", "sh", "-c", "'{work}'"],
    "script": ["sh", "-c", "valgrind -q '{work}'; exit $?"],
    "raw": ["{raw}", "/usr/bin/valgrind", "-q", "{work}"],
    "qemu": ["qemu-x86_64", "{work}"],
    "qemu_env": ["qemu-x86_64", "-E", "LD_PRELOAD=libm.so.6", "{work}"],
    "qemu_static": ["qemu-x86_64-static", "{work}"],
    "qemu_script": ["sh", "-c", "qemu-x86_64 '{work}'; exit $?"],
    "qemu_raw": ["{raw}", "/usr/bin/qemu-x86_64", "{work}"],
    "qemu_raw_static": ["{raw}", "/usr/bin/qemu-x86_64-static", "{work}"],
}


@pytest.mark.parametrize("how", COMMANDS)
def test_left_alone(strata, build, how):
    engine = "qemu-x86_64" if "qemu" in how else "valgrind"
    for tool in (engine, f"{engine}-static" if "static" in how else engine):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    command = [word.format(work=build / "work", raw=build / "raw") for word in COMMANDS[how]]
    plain, profiled = run_both(strata, command)
    assert plain.status == 5 and plain.stdout == b"worked\n" and b"done\n" in plain.theirs
    assert (profiled.status, profiled.stdout) == (plain.status, plain.stdout), profiled.theirs
    numbers = re.compile(rb"==\d+==|[\d,]+")
    assert numbers.sub(b"N", profiled.theirs) == numbers.sub(b"N", plain.theirs)
    named = strata("report", "info", "-r", profiled.result).out
    assert re.search(rf"{engine}\S* .*emulates or replays the program", named), named


def test_not_taken_for_one(strata, build):
    """The name alone says nothing."""
    program = strata.folder / "qemu-x86_64"
    shutil.copy(build / "work", program)
    done = strata("-collect", "hotspots", "-quiet", *HOTSPOTS, "-r", strata.folder / "r", "--", program)
    assert done.status == 5
    counted = strata("query", "-r", strata.folder / "r", "-format", "csv", "SELECT count(*) AS n FROM samples")
    assert int(counted.out.split()[1]) > 30, done.err


def go_build(folder, kind):
    if not shutil.which("go"):
        pytest.skip("no Go")
    source, path = folder / f"{kind}.go", folder / kind
    text = GO % ""
    if kind == "cgo":
        text = text.replace("package main", 'package main\n// #include <stdlib.h>\nimport "C"', 1)
        text = text.replace("func main() {", "func main() {\n\tC.free(nil)", 1)
    source.write_text(text)
    environment = {"PATH": "/usr/bin:/bin", "CGO_ENABLED": str(int(kind == "cgo")), "GOCACHE": str(folder / "gocache")}
    subprocess.run(["go", "build", "-o", path, source], env=environment, check=True)
    return path


@pytest.mark.parametrize("kind", ["static", "cgo"])
def test_go_says_why(strata, kind):
    program = go_build(strata.folder, kind)
    plain, done = run_both(strata, [program])
    assert (done.status, done.stdout, done.theirs) == (plain.status, plain.stdout, plain.theirs) == (0, b"begun\n", b"")
    text = " ".join(done.err.split())
    assert f"/{kind} (pid" in text and "the Go runtime handles all signals itself: attach with -target-pid" in text
    assert "less CPU time than one sampling interval" not in text
    assert "No samples were taken: the CPU time is that of programs that cannot be recorded" in text
    assert "programs that cannot be recorded, ends of threads" in text


def test_go_is_sampled_as_it_was_advised(strata):
    program = go_build(strata.folder, "static")
    with subprocess.Popen([program, "long"], stdout=subprocess.PIPE) as running:
        try:
            assert running.stdout.readline() == b"begun\n"
            result = strata.folder / "r"
            words = ["-collect", "hotspots", "-quiet", "-duration", "0.5", "-r", result]
            done = strata(*words, "-target-pid", str(running.pid))
            if "perf_event" in done.err:
                pytest.skip(done.err)
            assert done.status == 0, done.err
            assert until((result / "result.json").exists, what="the result")
        finally:
            running.kill()
    folded = strata("export", "folded", "-r", result, "-o", "-").out
    assert "main.main" in folded, folded
