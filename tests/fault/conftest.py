# SPDX-License-Identifier: Apache-2.0
"""The fixtures of the end-to-end tests, for the fault tests too."""

import importlib.util
import sys
from pathlib import Path

E2E = Path(__file__).resolve().parent.parent / "e2e"
sys.path.insert(0, str(E2E))
spec = importlib.util.spec_from_file_location("e2e_conftest", E2E / "conftest.py")
fixtures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixtures)
build_dir = fixtures.build_dir
strata_binary = fixtures.strata_binary
strata = fixtures.strata
shared_strata = fixtures.shared_strata
programs = fixtures.programs
target = fixtures.target
scale = fixtures.scale
pytest_runtest_makereport = fixtures.pytest_runtest_makereport
