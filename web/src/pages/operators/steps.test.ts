// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Report } from "../../api/types";
import { by_step, over_steps } from "./steps";

const row = (step: string, wall_self_ns: number) => ({ step, wall_self_ns });
const table = (rows: Report["rows"]) => ({ rows }) as unknown as Report;

test("steps go by number, and what lies outside of them is left out", () => {
	assert.deepEqual(
		by_step([row("step 10", 1), row("[Outside Any Step]", 7), row("step 2", 3)]).map((one) => one.step),
		["step 2", "step 10"],
	);
});

test("an operator that a step did not call has 0 there", () => {
	const curves = over_steps(
		table([
			{ operator: "a", children: [row("step 1", 5), row("step 0", 4)] },
			{ operator: "b", children: [row("step 1", 9)] },
		]),
	);
	assert.deepEqual(
		curves?.get("b")?.map((one) => one.self_ns),
		[0, 9],
	);
	assert.equal(over_steps(table([{ operator: "a", children: [row("step 0", 4)] }])), null);
	assert.equal(
		over_steps(table([{ operator: "a", child_count: 201, children: [row("step 0", 4), row("step 1", 4)] }])),
		null,
	);
});
