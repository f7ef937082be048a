// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { applied } from "./meta";
import type { ReportKind } from "./types";

const kind: ReportKind = {
	name: "operators",
	summary: "",
	accepts: ["filter", "group-by"],
	groupings: ["step"],
	filters: ["thread", "operator"],
	metrics: [],
	defaults: [],
};

test("what a report cannot be narrowed by is said, not dropped silently", () => {
	const view = { range: [0, 5_000_000_000] as [number, number], filters: ["thread=main", "function!=gemm"] };
	assert.deepEqual(applied(kind, view), {
		words: ["-filter", "thread=main", "-time-filter", "0:5"],
		left: ["function!=gemm"],
	});
	assert.deepEqual(applied({ ...kind, accepts: [], filters: [] }, view).left, [
		"thread=main",
		"function!=gemm",
		"the range of time",
	]);
	assert.deepEqual(applied(undefined, view), {
		words: ["-filter", "thread=main", "-filter", "function!=gemm", "-time-filter", "0:5"],
		left: [],
	});
});
