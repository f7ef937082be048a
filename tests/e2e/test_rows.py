# SPDX-License-Identifier: Apache-2.0
"""The exports of every task as a row, CSV and JSON, against the report that has the same columns."""

import gzip

import export_cases
import pytest
from harness import strict_csv, strict_json


@pytest.fixture(scope="module", params=export_cases.params())
def case(request, shared_strata):
    return shared_strata, export_cases.collect(request, shared_strata)


def exported(strata, result, form):
    done = strata("export", form, "-r", result, "-o", "-")
    assert done.status == 0, done.err
    return done.stdout


def test_csv_equals_the_report(case):
    """The same header and the same rows, cell by cell; only the order of rows is thread by thread."""
    strata, result = case
    done = strata("report", "tasks", "-group-by", "task", "-r", result, "-format", "csv")
    data = exported(strata, result, "csv")
    assert data.partition(b"\r\n")[0] == done.stdout.partition(b"\r\n")[0]
    told, rows = strict_csv(done.stdout), strict_csv(data)
    assert [int(row["row"]) for row in rows] == list(range(len(told)))
    assert sum("copy" not in row["flags"] for row in rows) == strata.total(result)
    assert sorted(told, key=lambda row: int(row["row"])) == rows


def test_json_equals_the_report(case):
    strata, result = case
    told = {one.row["row"]: one.row for one in strata.slices(result)}
    rows = strict_json(exported(strata, result, "json"))
    assert len(rows) == len(told) > 0
    for row in rows:
        assert row | {"children": []} == told[row["row"]]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_compressed_by_suffix(case, form):
    strata, result = case
    path = strata.folder / f"rows.{form}.gz"
    assert strata("export", form, "-r", result, "-o", path).status == 0
    assert gzip.decompress(path.read_bytes()) == exported(strata, result, form)
