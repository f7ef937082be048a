# SPDX-License-Identifier: Apache-2.0
"""What to record: -knob, -follow-child, and that every option is kept in the result."""

import shlex

import pytest

OFFERED = {"ring-size", "itt-domains", "itt-groups", "task-lines", "offer-itt"}

TWO_DOMAINS = """
import ittapi
for domain in ("alpha", "beta one", "beta two", "gamma"):
    for _ in range(10):
        with ittapi.task("t", domain=domain):
            pass
ittapi.thread_set_name("knobs")
"""


def domains(strata, result):
    report = strata.report(result, "tasks", "-group-by", "task-domain")
    return {row["task_domain"]: row["count"] for row in report["rows"]}


@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        ("alpha", {"alpha"}),
        ("alpha,gamma", {"alpha", "gamma"}),
        ("beta*", {"beta one", "beta two"}),
        ("!beta one", {"alpha", "beta two", "gamma"}),
        ("*a,!gamma", {"alpha"}),
        ("nothing", set()),
    ],
)
def test_domains(strata, ittapi, patterns, kept):
    done = strata.collect(ittapi, "-c", TWO_DOMAINS, options=["-knob", f"itt-domains={patterns}"])
    assert domains(strata, done.result) == dict.fromkeys(kept, 10)
    assert strata.result_json(done.result)["config"]["itt_domains"] == patterns


@pytest.mark.parametrize(
    ("groups", "tasks", "named"),
    [("structure", 40, False), ("structure,thread", 40, True), ("thread", 0, True), ("!structure", 0, True)],
)
def test_groups(strata, ittapi, groups, tasks, named):
    done = strata.collect(ittapi, "-c", TWO_DOMAINS, options=["-knob", f"itt-groups={groups}"])
    assert strata.total(done.result) == tasks
    names = {row["name"] for row in strata.report(done.result, "info")["rows"] if row["section"] == "thread"}
    if tasks:
        assert any(name.startswith("knobs") for name in names) == named, names


def test_groups_variable(strata, ittapi):
    """ITT's own variable decides when the knob is absent, and the result says so."""
    env = {"INTEL_ITTNOTIFY_GROUPS": "thread"}
    done = strata.collect(ittapi, "-c", TWO_DOMAINS, env=env)
    assert strata.total(done.result) == 0
    assert strata.result_json(done.result)["config"]["itt_groups_variable"] == "thread"
    done = strata.collect(ittapi, "-c", TWO_DOMAINS, env=env, options=["-knob", "itt-groups=structure"])
    assert strata.total(done.result) == 40
    assert "itt_groups_variable" not in strata.result_json(done.result)["config"]


def test_every_option_is_kept(strata, target):
    options = ["-knob", "ring-size=128", "-knob=itt-groups=all", "-return-app-exitcode", "-search-dir", "a b"]
    options += ["-search-dir=/c", "--source-search-dir", "/d", "-no-summary", "-ring-buffer", "30", "-data-limit=5GB"]
    options += ["-duration", "1min", "-q", "-follow-child"]
    done = strata.collect(target, "--pairs", "10", "--quiet", options=options)
    assert strata.result_json(done.result)["options"] == {
        "result-dir": str(done.result),
        "knob": ["ring-size=128", "itt-groups=all"],
        "return-app-exitcode": True,
        "search-dir": ["a b", "/c"],
        "source-search-dir": ["/d"],
        "summary": False,
        "ring-buffer": "30",
        "data-limit": "5GB",
        "duration": "1min",
        "quiet": True,
        "follow-child": True,
    }
    info = {row["name"]: row["value"] for row in strata.report(done.result, "info")["rows"] if "value" in row}
    words = shlex.split(info["options"])
    assert words[words.index("-search-dir") + 1] == "a b"
    assert "-no-summary" in words and "itt-groups=all" in words


def test_no_follow_child(strata, target, programs):
    """Only the program itself is recorded, also when it executes another; the summary says who was not."""
    words = [target, "--threads", "1", "--pairs", "100", "--fork", "3", "--label-prefix", "t", "--labels", "1"]
    done = strata.collect(*words, options=["-no-follow-child"])
    assert strata.counts(done.result) == {"t0": 100}
    assert "3 processes of the program were not recorded (-no-follow-child)" in done.err
    assert strata.result_json(done.result)["processes_not_followed"] == 3
    assert strata.result_json(done.result)["process_count"] == 1
    followed = strata.collect(*words)
    assert strata.counts(followed.result) == {"t0": 400}
    again = ["bash", "-c", 'exec "$@"', "bash", *words]
    assert strata.counts(strata.collect(*again, options=["-no-follow-child"]).result) == {"t0": 100}


def test_no_follow_child_does_not_wait(strata, target):
    """What the program leaves behind is nobody's business."""
    script = '"$@" >/dev/null 2>&1 & exit 5'
    words = [target, "--seconds", "4", "--rate", "1000", "--quiet"]
    done = strata.collect("bash", "-c", script, "bash", *words, options=["-no-follow-child"], ok=False)
    assert done.status == 5
    assert done.seconds < 3


def test_refused(strata):
    cases = {
        "ring-sise=64": "'ring-size'",
        "itt-groups=task": "unknown group of ITT calls 'task'",
        "itt-domains=": "itt-domains",
        "task-lines=1": "expected true or false",
        "sampling-interval=1": "takes no samples",
        "sampling-depth=1": "unknown knob",
    }
    for knob, needle in cases.items():
        done = strata("-collect", "tasks", "-knob", knob, "--", "true")
        assert (done.status, len(done.err.splitlines())) == (2, 1), done.err
        assert needle in done.err
    done = strata("-collect", "tasks", "-ring-buffer", "x", "--", "true")
    assert done.status == 2 and "-ring-buffer" in done.err


def test_help_man_and_completion_know_them(strata):
    """One table: what is parsed is also explained and completed."""
    text = strata("help", "collect").out
    page = strata("help", "--man").out.replace("\\-", "-")
    words = strata("help", "-completion", "bash").out
    for name in OFFERED:
        assert f"  {name}=" in text and f".B {name}=" in page and f"{name}=" in words
    listed = strata("-help", "collect", "tasks").out
    assert all(name in listed for name in OFFERED)
    for verb in ("pause", "resume", "mark", "status", "stop", "detach"):
        assert verb in strata("command", "--help").out and f".B {verb}" in page and verb in words
