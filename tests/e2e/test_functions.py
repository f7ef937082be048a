# SPDX-License-Identifier: Apache-2.0
"""Tasks that a program names by the address of a function appear under the function's name."""

import json


def test_tasks_named_by_functions(strata, programs):
    done = strata.collect(programs / "function_tasks")
    sql = "SELECT task_type, count(*) AS n FROM slices WHERE task_domain = 'functions' GROUP BY 1"
    asked = strata("query", done.result, sql, "-format=json")
    rows = {row["task_type"]: row["n"] for row in json.loads(asked.out)["rows"]}
    # In the program and in its forked child; what nobody can name keeps its address.
    assert rows == {"named_by_its_address": 2, "qsort": 2, "0x10": 2}
    report = strata("report", "tasks", done.result, "-format=csv")
    assert "named_by_its_address" in report.out
