// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import type { Report, Row } from "../../api/types";
import { cpu_note, is_filtered, is_narrowed, task_metric } from "./rows";

const report = (...rows: Partial<Row>[]) => ({ rows }) as unknown as Report;
const samples = { section: "cpu", name: "samples", value: 18 };
const operators = { section: "cost", name: "operators", value: 5 };
const time = { section: "only", name: "time", value: "from 1 s to 2 s" };
const thread = { section: "only", name: "thread", value: "thread=main" };

test("CPU time that was not sampled is not called that of the samples", () => {
	assert.equal(cpu_note(report(samples)), "of 18 samples");
	assert.equal(
		cpu_note(report(samples, { section: "cpu", name: "cpu_sampled_ratio", value: 0.99 })),
		"of 18 samples",
	);
	assert.equal(
		cpu_note(report(samples, { section: "cpu", name: "cpu_sampled_ratio", value: 0.3726 })),
		"18 samples stand for 37.3 % of it",
	);
});

test("times of tasks are those that their shares are of", () => {
	assert.equal(task_metric(report()), "wall_self_ns");
	assert.equal(task_metric(report(operators)), "wall_total_ns");
	assert.equal(task_metric(report(operators, time)), "wall_total_ns");
	assert.equal(task_metric(report(operators, thread)), "wall_self_ns");
	assert.deepEqual(
		[is_narrowed(report(time)), is_filtered(report(time)), is_narrowed(report())],
		[true, false, false],
	);
});
