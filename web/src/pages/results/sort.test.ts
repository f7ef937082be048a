// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import type { ResultInfo } from "../../api/types";
import { sort_results } from "./sort";

const result = (id: string, elapsed_ns: number, command: string): ResultInfo => ({
	id,
	name: id,
	kind: "result",
	state: "finished",
	type: "hotspots",
	command,
	started_at: "",
	elapsed_ns,
	size_bytes: 0,
	exit: null,
	generation: 1,
});

test("results are sorted by numbers as numbers, and filtered by any text", () => {
	const list = [result("r10hs", 5, "train.py"), result("r9hs", 70, "eval.py"), result("r100hs", 9, "train.py")];
	assert.deepEqual(
		sort_results(list, "name", false, "").map((one) => one.id),
		["r9hs", "r10hs", "r100hs"],
	);
	assert.deepEqual(
		sort_results(list, "elapsed_ns", true, "TRAIN").map((one) => one.id),
		["r100hs", "r10hs"],
	);
});
