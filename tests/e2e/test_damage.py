# SPDX-License-Identifier: Apache-2.0
"""Torn, truncated and byte-flipped results: each opens up to the damage and says what was lost, or is
refused by name. Nothing here may crash, hang, or be silently wrong."""

import random
import shutil
import struct

import pytest
from harness import FORMATS, REPORTS, strict_csv, strict_json

FILES = ("trace.000.strata", "definitions.strata", "result.json", "index.strata")
HEADER = 64
REFUSED = 1


@pytest.fixture(scope="module")
def good(shared_strata, target):
    """A real result of several chunks, threads and processes, and its answer."""
    done = shared_strata.collect(
        target,
        "--threads",
        "3",
        "--pairs",
        "6000",
        "--labels",
        "300",
        "--depth",
        "2",
        "--fork",
        "2",
        "--burst",
        "600",
        result=shared_strata.folder / "good",
    )
    assert shared_strata.total(done.result) == 30000
    return done.result


@pytest.fixture(scope="module")
def answer(shared_strata, good):
    return shared_strata.counts(good)


def copy_of(strata, good, with_index=False):
    path = strata.folder / "damaged"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(good, path)
    if not with_index:
        (path / "index.strata").unlink(missing_ok=True)
    return path


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def chunks(data):
    """(offset, size) of every chunk of an undamaged file."""
    at = 0
    while at < len(data):
        assert data[at : at + 4] == b"STCK"
        packed = struct.unpack_from("<I", data, at + 44)[0]
        yield at, HEADER + packed
        at += HEADER + packed


def ask_everything(strata, path, thorough):
    """Runs the reports; gives the answer of `tasks`, or the one line of refusal."""
    refusals = set()
    answer = None
    for name in REPORTS if thorough else ("tasks",):
        for form in FORMATS if thorough else ("json",):
            done = strata("report", name, "-r", path, "-format", form, timeout=60)
            assert done.status in (0, REFUSED), f"{name} {form}: status {done.status}: {done.err}"
            if done.status:
                lines = done.err.strip().splitlines()
                assert len(lines) == 1, done.err
                refusals.add(lines[0])
                assert done.stdout == b""
            elif form == "json":
                report = strict_json(done.stdout)
                answer = report if name == "tasks" else answer
            elif form == "csv":
                strict_csv(done.stdout)
    assert not (refusals and answer), "some reports open, others refuse"
    assert len(refusals) <= 1, refusals
    return answer, refusals.pop() if refusals else None


def told(report):
    """Whether a report admits that something is missing."""
    quality = report["quality"]
    numbers = ("damaged_chunks", "damaged_bytes", "missing_segments", "missing_names")
    return any(quality.get(key) for key in numbers) or bool(quality.get("notes"))


def check(strata, path, answer, name, thorough=False):
    """The rule: all there, or less with an admission, or a refusal that names the file or folder."""
    report, refusal = ask_everything(strata, path, thorough)
    if refusal:
        assert name in refusal or path.name in refusal, refusal
        return "refused"
    found = {row["task_type"]: row["count"] for row in report["rows"]}
    if found == answer and not told(report):
        return "whole"
    assert told(report), "tasks are missing and nobody says so"
    assert sum(found.values()) <= sum(answer.values()), "more tasks than there were"
    text = strata("report", "summary", "-r", path).out
    assert any(word in text.lower() for word in ("damage", "truncated", "missing", "lost", "cut", "unreadable")), text
    return "less"


def test_undamaged_says_nothing(strata, good, answer):
    assert check(strata, copy_of(strata, good), answer, "", thorough=True) == "whole"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("keep", [0.0, 1, 4, 63, 64, 65, 0.1, 0.5, 0.9, -1], ids=str)
def test_truncated(strata, good, answer, name, keep):
    path = copy_of(strata, good, with_index=True)
    file = path / name
    data = file.read_bytes()
    size = int(len(data) * keep) if isinstance(keep, float) else keep if keep > 0 else len(data) + keep
    file.write_bytes(data[:size])
    outcome = check(strata, path, answer, name, thorough=True)
    if name == "index.strata":
        assert outcome == "whole", "the index is derived: it is rebuilt"
    if name == "trace.000.strata" and size > len(data) // 2:
        assert outcome == "less"


def test_truncated_trace_keeps_what_is_whole(strata, good, answer):
    """Cut between two chunks and inside one: everything before the cut is there, to the record."""
    path = copy_of(strata, good)
    file = path / "trace.000.strata"
    data = file.read_bytes()
    places = [(at, size) for at, size in chunks(data)]
    before = -1
    for at, size in places[:: max(1, len(places) // 12)]:
        (path / "index.strata").unlink(missing_ok=True)
        file.write_bytes(data[: at + size // 2])
        report, refusal = ask_everything(strata, path, thorough=False)
        if refusal:
            assert at == 0, refusal
            continue
        begins = sum(struct.unpack_from("<I", data, o + 20)[0] for o, _ in places if o < at)
        assert report["totals"].get("count", 0) == begins
        assert told(report)
        assert begins >= before
        before = begins


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_flipped_bytes(strata, good, answer, name, scale):
    """One byte flipped anywhere: at headers, in payloads, at random places."""
    data = (good / name).read_bytes()
    dice = random.Random(20261115)
    count = 25 if scale == "quick" else 400
    places = {dice.randrange(len(data)) for _ in range(count)}
    places |= {at for at in (0, 4, 5, 6, 8, 12, 16, 24, 40, 44, 48, 52, 60, 64) if at < len(data)}
    outcomes = set()
    for at in sorted(places):
        path = copy_of(strata, good, with_index=name == "index.strata")
        broken = bytearray(data)
        broken[at] ^= 1 << dice.randrange(8)
        (path / name).write_bytes(broken)
        try:
            outcomes.add(check(strata, path, answer, name))
        except AssertionError as error:
            raise AssertionError(f"{name}, byte {at} flipped: {error}") from error
    if name == "trace.000.strata":
        assert "less" in outcomes
    if name == "index.strata":
        assert outcomes == {"whole"}, "a damaged index is rebuilt"


def test_hole_in_the_middle(strata, good, answer):
    """A block of zeros, as a crashed file system leaves it: what follows the hole is found again."""
    path = copy_of(strata, good)
    file = path / "trace.000.strata"
    data = bytearray(file.read_bytes())
    places = list(chunks(data))
    at, size = places[len(places) // 3]
    data[at : at + size] = bytes(size)
    file.write_bytes(data)
    report, refusal = ask_everything(strata, path, thorough=True)
    assert refusal is None
    assert told(report)
    lost = struct.unpack_from("<I", (good / file.name).read_bytes(), at + 20)[0]
    assert report["totals"]["count"] >= sum(answer.values()) - lost - 600


def test_rubbish_behind_the_end(strata, good, answer):
    for name in ("trace.000.strata", "definitions.strata"):
        path = copy_of(strata, good)
        with (path / name).open("ab") as file:
            file.write(random.Random(1).randbytes(5000))
        report, refusal = ask_everything(strata, path, thorough=False)
        assert refusal is None
        assert {row["task_type"]: row["count"] for row in report["rows"]} == answer
        assert told(report)


@pytest.mark.parametrize("name", FILES)
def test_deleted(strata, good, answer, name):
    path = copy_of(strata, good, with_index=True)
    (path / name).unlink()
    outcome = check(strata, path, answer, name, thorough=True)
    if name == "index.strata":
        assert outcome == "whole"
    elif name == "result.json":
        assert outcome in ("whole", "less", "refused")
    else:
        assert outcome in ("less", "refused")


@pytest.mark.parametrize("name", FILES)
def test_replaced_by_a_folder(strata, good, answer, name):
    path = copy_of(strata, good, with_index=True)
    (path / name).unlink()
    (path / name).mkdir()
    check(strata, path, answer, name)


@pytest.mark.parametrize("name", ["trace.000.strata", "definitions.strata"])
def test_newer_major_is_refused_by_name(strata, good, name):
    path = copy_of(strata, good)
    file = path / name
    data = bytearray(file.read_bytes())
    for at, size in chunks(bytes(data)):
        data[at + 4] = 2
        data[at + 60 : at + 64] = bytes(4)
        data[at + 60 : at + 64] = struct.pack("<I", crc32c(data[at : at + size]))
        if at > 4096:
            break
    file.write_bytes(data)
    _, refusal = ask_everything(strata, path, thorough=True)
    assert refusal and name in refusal, refusal
    assert "2" in refusal and "1" in refusal and "version" in refusal.lower()


def test_newer_result_schema_is_refused_by_name(strata, good):
    path = copy_of(strata, good)
    file = path / "result.json"
    file.write_text(file.read_text().replace("strata.result/1", "strata.result/2"))
    _, refusal = ask_everything(strata, path, thorough=True)
    assert refusal and "strata.result/2" in refusal


def test_newer_minor_is_read(strata, good, answer):
    """Readers skip what they do not know; a minor version is no reason to refuse."""
    path = copy_of(strata, good)
    file = path / "trace.000.strata"
    data = bytearray(file.read_bytes())
    at, size = next(chunks(bytes(data)))
    data[at + 5] = 9
    data[at + 60 : at + 64] = bytes(4)
    data[at + 60 : at + 64] = struct.pack("<I", crc32c(data[at : at + size]))
    file.write_bytes(data)
    assert check(strata, path, answer, file.name) == "whole"


def test_unknown_chunk_type_is_skipped(strata, good, answer):
    path = copy_of(strata, good)
    file = path / "trace.000.strata"
    data = file.read_bytes()
    at, size = next(chunks(data))
    strange = bytearray(data[:HEADER])
    struct.pack_into("<H", strange, 6, 777)
    struct.pack_into("<II", strange, 40, 0, 0)
    struct.pack_into("<I", strange, 60, 0)
    struct.pack_into("<I", strange, 60, crc32c(bytes(strange)))
    file.write_bytes(data[: at + size] + bytes(strange) + data[at + size :])
    report, refusal = ask_everything(strata, path, thorough=False)
    assert refusal is None
    assert {row["task_type"]: row["count"] for row in report["rows"]} == answer


def test_files_of_two_results_mixed(strata, good, answer, target):
    """Definitions of another run would give every task a wrong name: that must not pass."""
    other = strata.collect(target, "--pairs", "500", "--label-prefix", "wrong_")
    path = copy_of(strata, good)
    shutil.copy(other.result / "definitions.strata", path / "definitions.strata")
    report, refusal = ask_everything(strata, path, thorough=False)
    if refusal is None:
        assert told(report)
        assert not any(row["task_type"].startswith("wrong_") for row in report["rows"])


def test_read_only_result(strata, good, answer):
    """A result on a medium that cannot be written: the index lives in memory."""
    path = copy_of(strata, good)
    path.chmod(0o555)
    try:
        assert check(strata, path, answer, "") == "whole"
    finally:
        path.chmod(0o755)


def test_export_of_a_damaged_result(strata, good):
    path = copy_of(strata, good)
    file = path / "trace.000.strata"
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    trace = strata.chrome(path, strata.folder / "out.json")
    assert trace["traceEvents"]
