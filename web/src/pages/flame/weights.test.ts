// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Report } from "../../api/types";
import { treeOf } from "./tree";
import { report_tree, weight_of } from "./weights";

const row = (task_stack: string, wall_total_ns: number, wall_self_ns: number, more: object = {}) => ({
	task_stack,
	wall_total_ns,
	wall_self_ns,
	...more,
});
const tasks = (rows: object[], row_count?: number) =>
	({ group_by: ["task-stack"], rows, row_count }) as unknown as Report;

test("totals of the tree are those of the rows, self is what children leave", () => {
	const tree = treeOf(
		report_tree(
			tasks([row("step", 100, 40, { children: [row("mm", 60, 60)] }), row("load", 20, 20)]),
			weight_of("tasks"),
		),
	);
	const by_name = new Map([...tree.name].map((name, i) => [tree.names[name], [tree.total[i], tree.self[i]]]));
	assert.deepEqual(by_name.get("all"), [120, 0]);
	assert.deepEqual(by_name.get("step"), [100, 40]);
	assert.deepEqual(by_name.get("mm"), [60, 60]);
});

test("children that the page left out are one folded box, and nothing is lost", () => {
	const tree = treeOf(
		report_tree(
			tasks([row("step", 100, 10, { child_count: 3, children: [row("mm", 60, 60)] })]),
			weight_of("tasks"),
		),
	);
	assert.equal(tree.totalNs, 100);
	const more = tree.name.indexOf(-1);
	assert.equal(tree.total[more], 30);
	assert.equal(tree.folded[more], 2);
});

test("a caller is as wide as what it calls, also where that is more than itself", () => {
	const tree = treeOf(
		report_tree(tasks([row("launch", 10, 1, { children: [row("worker", 50, 50)] })]), weight_of("tasks")),
	);
	assert.equal(tree.totalNs, 50);
});
