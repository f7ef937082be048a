# SPDX-License-Identifier: Apache-2.0
"""Unusual surroundings: tight limits, namespaces, strata inside strata, many at once, an installation."""

import os
import shutil
import subprocess

import pytest
from harness import emit, emit_words

LIMITS = ("-v 300000", "-v 90000", "-n 4", "-f 0", "-f 64", "-s 128", "-l 0", "-u 3")


@pytest.mark.parametrize("limit", [f"ulimit {limit}" for limit in LIMITS])
def test_limits_of_the_program(strata, target, limit):
    """The program runs as without us under any limit; what cannot be recorded is not its problem."""
    script = f"{limit} && exec {emit(target, 1000)}"
    plain = strata.run(["bash", "-c", script])
    if plain.status:
        pytest.skip(f"the program itself does not run under {limit}: {plain.err.strip()}")
    done = strata.collect("bash", "-c", script, options=["-quiet"], ok=False)
    assert (done.status, done.stdout) == (plain.status, plain.stdout), done.err
    strata.opens(done.result)
    assert strata.total(done.result) in (0, 1000)


def test_small_address_space_still_records(strata, target):
    """64 MiB of sparse rings do not fit: fewer slots are tried before giving up."""
    done = strata.collect("bash", "-c", f"ulimit -v 80000 && exec {emit(target, 1000)}")
    assert strata.total(done.result) == 1000


@pytest.mark.root
@pytest.mark.parametrize("flags", [["--pid", "--fork"], ["--user"], ["--user", "--map-root-user"], ["--ipc", "--uts"]])
def test_namespaces(strata, target, flags, root):
    probe = strata.run(["unshare", *flags, "true"])
    if probe.status:
        pytest.skip(f"unshare {' '.join(flags)} is not allowed here: {probe.err.strip()}")
    done = strata.collect("unshare", *flags, *emit_words(target, 100))
    assert strata.counts(done.result) == {"t0": 100}


def test_strata_in_strata(strata, target):
    """The inner one has the program; neither harms the other."""
    inner = strata.folder / "inner"
    command = [strata.binary, "-collect", "tasks", "-quiet", "-r", inner, "--", *emit_words(target, 100)]
    done = strata.collect(*command)
    assert strata.counts(inner) == {"t0": 100}
    strata.opens(done.result)


def test_many_at_once_in_one_folder(strata, target):
    """Runs started together take different numbers, and no record goes to the wrong one."""
    running = [
        strata.popen([strata.binary, "-collect", "tasks", "-quiet", "--", *emit_words(target, 100 + number)])
        for number in range(8)
    ]
    assert [process.wait(60) for process in running] == [0] * 8
    folders = sorted(path for path in strata.folder.iterdir() if path.name.startswith("r"))
    assert [path.name for path in folders] == [f"r{number:03}ta" for number in range(8)]
    assert sorted(strata.total(path) for path in folders) == list(range(100, 108))


def test_disabled_by_the_environment(strata, target):
    """STRATA_DISABLE in a program's environment: the collector does nothing there."""
    script = f"{emit(target, 10, 'a')}; STRATA_DISABLE=1 {emit(target, 10, 'b')}"
    done = strata.collect("bash", "-c", script)
    assert strata.counts(done.result) == {"a0": 10}


def test_nothing_stays_in_the_temporary_folder(strata, target):
    """The rendezvous folder goes with strata."""
    place = strata.folder / "tmp"
    place.mkdir()
    strata.collect(*emit_words(target, 10), env={"TMPDIR": str(place), "XDG_RUNTIME_DIR": str(place)})
    assert os.listdir(place) == []


def test_long_paths(strata, target):
    """A result far down: the socket's name stays short."""
    deep = strata.folder.joinpath(*[f"a-rather-long-folder-name-number-{n}" for n in range(12)])
    deep.mkdir(parents=True)
    done = strata.collect(*emit_words(target, 10), cwd=deep, result=deep / "r", env={"TMPDIR": str(deep)})
    assert strata.total(done.result) == 10


def test_odd_result_names(strata, target):
    for name in ("with space", "quote'\"", "ünïcode 🔥", "-dash", "new\nline"):
        done = strata.collect(*emit_words(target, 10), result=strata.folder / name)
        assert strata.total(done.result) == 10
        strata.opens(done.result)


def test_installed(strata, build_dir, target):
    """`cmake --install` into a prefix: the tree works from there and after being moved."""
    prefix = strata.folder / "prefix"
    install = strata.run(["cmake", "--install", build_dir, "--prefix", prefix])
    if install.status and not shutil.which("cmake"):
        pytest.skip("no cmake")
    assert install.status == 0, install.err
    moved = strata.folder / "moved"
    prefix.rename(moved)
    strata.binary = str(moved / "bin" / "strata")
    assert (moved / "lib" / "strata" / "libstrata_collector.so").is_file()
    done = strata.collect(*emit_words(target, 10))
    assert strata.counts(done.result) == {"t0": 10}
    done = strata.collect("sh", "-c", "echo $INTEL_JIT_PROFILER64")
    assert done.out.strip() == str(moved / "lib" / "strata" / "libstrata_jit.so")
    done = strata("-collect", "threading", "-r", strata.folder / "tr", "--", "sleep", "0.01")
    assert done.status == 0, done.err
    assert [row["sync_type"] for row in strata.report(strata.folder / "tr", "waits")["rows"]] == ["Sleep"]


def test_exports_of_the_collector(build_dir):
    """What enters foreign programs exports ITT's entry points, what it must see on the way, and names of ours."""
    library = next(build_dir.rglob("libstrata_collector.so"))
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1].split("@")[0] for line in lines.splitlines()}
    assert {"__itt_api_init"} <= names
    assert not names & {"Initialize", "InitializeInjection", "NotifyEvent", "malloc", "free", "dlopen"}
    allowed = ("__itt_", "exec", "posix_spawn", "fexecve", "prctl")
    allowed += ("strata_device_", "strata_jit_notify", "strata_profile_", "strata_wait_", "strata_region_")
    # A program that handles, blocks or awaits the sampler's signals, or uses its timer, must not notice it; a new
    # thread gets a stack for the handler, and a trigger of its own where that is not inherited.
    guarded = {"signal", "bsd_signal", "ssignal", "sysv_signal", "__sysv_signal", "sigaction", "sigset", "sigignore"}
    guarded |= {"siginterrupt", "sigaltstack", "sigprocmask", "pthread_sigmask", "signalfd"}
    guarded |= {"sigwait", "sigwaitinfo", "sigtimedwait", "setitimer", "pthread_create"}
    # By which programs begin to use Level Zero.
    guarded |= {"zeInit", "zeInitDrivers"}
    # What PyTorch's allocator asks and tells, passed on.
    guarded |= {"_ZN3c1022memoryProfilingEnabledEv"}
    guarded |= {f"_ZN3c1027reportMemoryUsageToProfilerEPvl{kinds}NS_6DeviceE" for kinds in ("ll", "mm")}
    names -= guarded
    assert all(name.startswith(allowed) for name in names), names
