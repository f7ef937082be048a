# SPDX-License-Identifier: Apache-2.0
"""Commands that the page tells people to type: every one is tried, with a program that ends at once."""

import re
import shlex

import pytest
from harness import ROOT

COMMAND = re.compile(r'["`](strata -collect [^"`$]* -- )[^"`]*["`]')


def commands():
    found = set()
    for path in (ROOT / "web/src").rglob("*.ts*"):
        if not path.name.endswith(".test.ts"):
            found |= {match.group(1) for match in COMMAND.finditer(path.read_text())}
    return sorted(found)


def test_there_are_some():
    assert len(commands()) >= 3


@pytest.mark.parametrize("command", commands())
def test_command(strata, command):
    words = shlex.split(command)[1:]
    done = strata(words[0], words[1], "-r", strata.folder / "out", *words[2:], "/bin/true")
    assert done.status == 0, done.err
