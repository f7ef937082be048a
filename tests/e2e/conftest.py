# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the end-to-end tests; what is absent leads to a skip that names the reason."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from harness import ROOT, Strata

# Whoever started the tests (nohup, a shell's background) may have signals ignored; targets must not inherit that.
for ignored in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(ignored, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


def env_path(name, default):
    path = Path(os.environ.get(name) or default)
    return path if path.is_absolute() else ROOT / path


@pytest.fixture(scope="session")
def build_dir():
    """The build under test: STRATA_TEST_BUILD, else build/dev."""
    return env_path("STRATA_TEST_BUILD", "build/dev")


@pytest.fixture(scope="session")
def strata_binary(build_dir):
    """STRATA_BIN, else where the build puts it."""
    if os.environ.get("STRATA_BIN"):
        places = [env_path("STRATA_BIN", "")]
    else:
        places = [build_dir / "bin" / "strata", build_dir / "src" / "cli" / "strata"]
    for path in places:
        if path.is_file():
            return path
    pytest.fail(f"no strata at {places[0]}: build it, or set STRATA_BIN")


@pytest.fixture
def strata(strata_binary, tmp_path, request):
    """Runs strata in a folder of its own, which is kept when the test fails."""
    runner = Strata(strata_binary, tmp_path)
    request.node.strata = runner
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def shared_strata(strata_binary, tmp_path_factory):
    """The same for results that several tests of a file only read."""
    runner = Strata(strata_binary, tmp_path_factory.mktemp("shared"))
    yield runner
    runner.close()


@pytest.fixture(scope="session")
def programs(build_dir):
    """Folder of the built test programs: STRATA_TEST_PROGRAMS, else that of the build."""
    path = env_path("STRATA_TEST_PROGRAMS", build_dir / "tests" / "programs")
    if not path.is_dir():
        pytest.fail(f"no test programs at {path}: configure with ST_WITH_TESTS=ON")
    return path


@pytest.fixture(scope="session")
def target(programs):
    """The C program that records what its options ask for (see its --help)."""
    path = programs / "itt_target"
    if not path.is_file():
        pytest.fail(f"no {path}")
    return path


@pytest.fixture(scope="session")
def python():
    """An interpreter with torch."""
    path = env_path("STRATA_TEST_PYTHON", ".venv/bin/python")
    if not path.is_file():
        pytest.skip(f"no interpreter at {path}: run tools/setup.sh or set STRATA_TEST_PYTHON")
    probe = subprocess.run([path, "-c", "import torch; torch._C._itt.is_available()"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip(f"{path} cannot import torch with ITT: {probe.stderr[-200:]!r}")
    return path


@pytest.fixture(scope="session")
def debian_torch():
    """An interpreter with Debian's own torch 1.13, which tools/debian_torch.sh unpacks."""
    path = env_path("STRATA_TEST_DEBIAN_TORCH", ".cache/debian-torch/python3")
    if not path.is_file():
        pytest.skip(f"no {path}: run tools/debian_torch.sh .cache/debian-torch, or set STRATA_TEST_DEBIAN_TORCH")
    return path


@pytest.fixture(scope="session")
def ittapi(python):
    """The same interpreter, with the ittapi package."""
    if subprocess.run([python, "-c", "import ittapi"], capture_output=True, check=False).returncode:
        pytest.skip(f"{python} has no ittapi package")
    return python


@pytest.fixture(scope="session")
def jax(tensorflow):
    """The same interpreter has JAX."""
    if subprocess.run([tensorflow, "-c", "import jax"], check=False).returncode:
        pytest.fail(f"no JAX at {tensorflow}: run tools/setup.sh test")
    return tensorflow


@pytest.fixture(scope="session")
def tensorflow():
    """An interpreter with TensorFlow. Its absence fails the tests: nothing else stands in for it."""
    path = env_path("STRATA_TEST_TENSORFLOW", ".venv-tf/bin/python")
    probe = "import importlib.util as u, sys; sys.exit(u.find_spec('tensorflow') is None)"
    if not path.is_file() or subprocess.run([path, "-c", probe], check=False).returncode:
        pytest.fail(f"no TensorFlow at {path}: run tools/setup.sh test, or set STRATA_TEST_TENSORFLOW")
    return path


@pytest.fixture(scope="session")
def scale():
    """quick (make test) or full (make test-full): how often the random things are done."""
    value = os.environ.get("STRATA_TEST_SCALE", "quick")
    if value not in ("quick", "full"):
        pytest.fail(f"STRATA_TEST_SCALE={value}: quick or full")
    return value


@pytest.fixture(scope="session")
def ledger_dir():
    """Where ledgers of what ran are kept."""
    folder = env_path("STRATA_TEST_LEDGER", ".cache/ledger")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def root():
    if os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed test shows the commands it ran and what they wrote."""
    outcome = yield
    report = outcome.get_result()
    runner = getattr(item, "strata", None)
    if not report.failed or runner is None:
        return
    lines = []
    for args, status, out, err in runner.history[-6:]:
        lines.append("$ " + " ".join(map(str, args)) + f"   [{status}]")
        for stream, data in (("out", out), ("err", err)):
            text = data[-1500:].decode("utf-8", errors="backslashreplace")
            lines += [f"  {stream}| {line}" for line in text.splitlines()]
    report.sections.append((f"commands, in {runner.folder}", "\n".join(lines)))
