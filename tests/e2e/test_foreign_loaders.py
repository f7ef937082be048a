# SPDX-License-Identifier: Apache-2.0
"""A launcher in which nothing of ours can be hands LD_PRELOAD on to programs whose loaders or sanitizers want none of
it: they run exactly as without strata, are named with the reason, and what can be recorded is."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from test_harm import installed_for_others, summary

CHILD = """
#include <stdio.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static volatile sig_atomic_t seen;
static void on_signal(int number) { seen = number; }
static void *other(void *arg) { kill(getpid(), SIGUSR1); return arg; }
int main(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	pthread_t thread;
	sigaction(SIGUSR1, &action, NULL);
	if (pthread_create(&thread, NULL, other, NULL) || pthread_join(thread, NULL))
		return 9;
#ifndef LOSES_SIGNALS /* TSan may keep one for a thread that has ended, also without strata */
	while (!seen)
		usleep(100);
#endif
	puts("from stdout");
	fputs("from stderr\\n", stderr);
	return 4;
}
"""
# The launcher itself must not see what libc's exec would.
RAW = """
#include <sys/syscall.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv) { (void)argc; syscall(SYS_execve, argv[1], argv + 1, environ); return 99; }
"""
GO = """
package main
import ("os"; "syscall")
func main() { syscall.Exec(os.Args[1], os.Args[1:], os.Environ()); os.Exit(99) }
"""
SHARED_ASAN = ["-fsanitize=address", "-shared-libasan"]
CHILDREN = {
    "musl": (["musl-gcc"], "another C library"),
    "bits32": (["gcc", "-m32"], "different CPU architecture or word size"),
    "asan32": (["gcc", "-m32", "-fsanitize=address"], "different CPU architecture or word size"),
    "asan_gcc": (["gcc", "-fsanitize=address"], "its sanitizer allows no other library"),
    "asan_clang": (["clang-14", *SHARED_ASAN], "its sanitizer allows no other library"),
    "asan_clang_static": (["clang-14", "-fsanitize=address"], None),
    "tsan": (["gcc", "-fsanitize=thread", "-DLOSES_SIGNALS"], None),
    "native": (["gcc"], None),
}
LAUNCHERS = ["raw", "raw_static", "busybox", "go"]


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """Builds a program once; skips when there is no compiler for it."""
    folder = tmp_path_factory.mktemp("foreign")

    def child(name):
        path = folder / name
        if path.exists():
            return path
        compiler = CHILDREN[name][0]
        source = folder / "child.c"
        source.write_text(CHILD)
        if not shutil.which(compiler[0]):
            pytest.skip(f"no {compiler[0]}")
        words = [*compiler, "-pthread", "-o", path, source]
        if compiler[1:] == SHARED_ASAN:
            named = subprocess.run(
                ["clang-14", "-print-file-name=libclang_rt.asan-x86_64.so"], capture_output=True, text=True, check=True
            )
            words.append(f"-Wl,-rpath,{named.stdout.rsplit('/', 1)[0]}")
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"{' '.join(compiler)} does not link: {done.stderr[:200]}")
        return path

    def launcher(name):
        path = folder / name
        if name == "busybox":
            found = shutil.which("busybox")
            text = found and subprocess.run(["file", "-L", found], capture_output=True, text=True, check=True).stdout
            if not found or "static" not in text:
                pytest.skip("no static busybox")
            return [found, "env"]
        if not path.exists():
            if name == "go":
                if not shutil.which("go"):
                    pytest.skip("no Go")
                (folder / "launch.go").write_text(GO)
                environment = {"PATH": "/usr/bin:/bin", "CGO_ENABLED": "0", "GOCACHE": str(folder / "gocache")}
                words = ["go", "build", "-o", path, folder / "launch.go"]
                subprocess.run(words, env=environment, check=True)
            else:
                (folder / "raw.c").write_text(RAW)
                static = ["-static"] if name == "raw_static" else []
                subprocess.run(["gcc", *static, "-o", path, folder / "raw.c"], check=True)
        return [path]

    return child, launcher


def run_both(strata, command, **more):
    """(plain, profiled), each with what the program alone wrote to standard error as `.theirs`."""
    error = strata.folder / "stderr"
    words = ["sh", "-c", 'exec 2>"$0"; exec "$@"', error, *command]
    plain = strata.run(words)
    plain.theirs = error.read_bytes()
    done = strata.collect(*words, options=["-quiet"], ok=False, **more)
    done.theirs = error.read_bytes()
    return plain, done


@pytest.mark.parametrize("launch", LAUNCHERS)
@pytest.mark.parametrize("name", CHILDREN)
def test_handed_on(strata, make, name, launch):
    child, launcher = make
    plain, profiled = run_both(strata, [*launcher(launch), child(name)])
    assert (plain.status, plain.stdout, plain.theirs) == (4, b"from stdout\n", b"from stderr\n")
    assert profiled.theirs == plain.theirs
    assert (profiled.status, profiled.stdout) == (plain.status, plain.stdout)
    text = strata("report", "info", "-r", profiled.result).out
    reason = CHILDREN[name][1]
    if reason:
        assert re.search(rf"/{name}\b.*{reason}", text), text
    else:
        assert f"/{name} " not in summary(strata, profiled.result)


@pytest.fixture
def bare(strata):
    """An installation like a wheel's, which holds no links, and a cache folder that every user can reach."""
    folder = Path("/var/tmp") / f"strata-e2e-bare-{os.getpid()}"
    folder.mkdir(mode=0o755)
    strata.binary = str(installed_for_others(strata, folder))
    yield folder / "cache"
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["musl", "bits32", "asan_gcc", "asan_clang_static", "native"])
def test_handed_on_by_a_wheel(strata, make, bare, target, name):
    """strata makes the links itself, where it keeps its tables."""
    child, launcher = make
    env = {"STRATA_CACHE_DIR": str(bare)}
    plain, profiled = run_both(strata, [*launcher("raw_static"), child(name)], env=env)
    assert profiled.theirs == plain.theirs
    assert (profiled.status, profiled.stdout) == (plain.status, plain.stdout)
    words = [
        "sh",
        "-c",
        'echo "$LD_PRELOAD"; exec "$@"',
        "sh",
        *launcher("raw_static"),
        target,
        "--pairs",
        "3",
        "--quiet",
    ]
    done = strata.collect(*words, options=["-quiet"], env=env, result=strata.folder / "again")
    assert done.out.startswith(f"{bare}/preload-")
    assert strata.total(done.result) == 3


def test_links_that_are_gone(strata, make, bare):
    """A sandbox that hides the cache but not the installation: the loader has nothing to complain about."""
    child, _ = make
    script = 'mv "$0" "$0.away"; "$1"; status=$?; mv "$0.away" "$0"; exit $status'
    _, done = run_both(strata, ["sh", "-c", script, bare, child("native")], env={"STRATA_CACHE_DIR": str(bare)})
    assert (done.status, done.theirs) == (4, b"from stderr\n")


def test_what_a_static_launcher_starts_is_recorded(strata, make, target):
    """Safe for foreigners does not mean shut to our own."""
    _, launcher = make
    done = strata.collect(*launcher("raw_static"), target, "--pairs", "7", "--quiet", options=["-quiet"])
    assert strata.total(done.result) == 7


def test_a_sanitizer_still_works(strata, make):
    """With our library before it, it finds what it is there to find."""
    _, launcher = make
    source = strata.folder / "overflow.c"
    source.write_text("#include <stdlib.h>\nint main(int n, char **v) { char *p = malloc(8); return v && p[8 * n]; }\n")
    program = strata.folder / "overflow"
    subprocess.run(["gcc", "-g", "-fsanitize=address", "-o", program, source], check=True)
    plain, profiled = run_both(strata, [*launcher("raw_static"), program])
    assert b"heap-buffer-overflow" in plain.theirs
    numbers = re.compile(rb"0x[0-9a-f]+|==\d+==|\bT\d+\b|\d+")
    assert numbers.sub(b"N", profiled.theirs) == numbers.sub(b"N", plain.theirs)
    assert profiled.status == plain.status
