// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import type { Report } from "../api/types";
import {
	adds_up,
	other_columns,
	parse_show,
	read_with,
	share,
	show_text,
	shown_columns,
	tree_column_at,
	tree_columns,
} from "./columns";

const report: Report = {
	schema: "strata.report/1",
	report: "hotspots",
	result: "r",
	source: "",
	group_by: ["task-type", "function", "callstack"],
	columns: [
		{ key: "task_type", title: "Task Type", unit: "" },
		{ key: "function", title: "Function", unit: "" },
		{ key: "callstack", title: "Call Stack", unit: "" },
		{ key: "depth", title: "Depth", unit: "" },
		{ key: "cpu_self_ns", title: "CPU Time", unit: "ns" },
		{ key: "spin_lock_ns", title: "CPU Time:Spin Time:Lock Contention", unit: "ns" },
		{ key: "module", title: "Module", unit: "" },
		{ key: "source_file", title: "Source File", unit: "" },
	],
	rows: [{ task_type: "a", cpu_self_ns: 25, spin_lock_ns: 0, module: "libc" }],
	totals: { cpu_self_ns: 100 },
	quality: {},
};

test("the groupings are one column of a tree, the last for all deeper levels", () => {
	assert.deepEqual(
		tree_columns(report).map((column) => column.key),
		["task_type", "function", "callstack"],
	);
	assert.equal(tree_column_at(report, 0)?.key, "task_type");
	assert.equal(tree_column_at(report, 7)?.key, "callstack");
	assert.equal(tree_columns({ ...report, group_by: [] })[0]?.key, "task_type");
});

test("details and empty columns are hidden until they are chosen", () => {
	assert.equal(other_columns(report).length, 5);
	assert.deepEqual(
		shown_columns(report, []).map((column) => column.key),
		["cpu_self_ns", "module"],
	);
	assert.deepEqual(
		shown_columns(report, ["depth", "source_file"]).map((column) => column.key),
		["depth", "source_file"],
	);
});

test("shares are of the column's total", () => {
	assert.equal(share(report, report.rows[0]!, "cpu_self_ns"), 0.25);
	assert.equal(share(report, report.rows[0]!, "spin_lock_ns"), null);
	assert.ok(adds_up(report.columns[4]!));
	assert.ok(!adds_up({ key: "wall_avg_ns", title: "", unit: "ns" }));
	assert.equal(show_text(parse_show("a:percent,b:nonsense,c:bar")), "a:percent,c:bar");
});

test("both sides of a comparison are read together, with their difference", () => {
	const columns = ["name", "first_ns", "second_ns", "difference_ns", "change_ratio", "interval_ns", "first_step"].map(
		(key) => ({ key, title: key, unit: "" }),
	);
	const changes = { ...report, columns };
	for (const at of [1, 2, 3, 5]) assert.deepEqual(read_with(changes, columns[at]!), ["first_ns", "second_ns"]);
	assert.deepEqual(read_with(changes, columns[4]!), ["change_ratio"]);
	assert.deepEqual(read_with(changes, columns[6]!), ["first_step"]);
});
