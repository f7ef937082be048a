// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { own_first } from "./lines";

const row = (python_line: string, cpu_total_ns: number) => ({ python_line, cpu_total_ns });

test("own lines come before those of packages, the innermost of equal ones first", () => {
	const lines = own_first([
		row("[No Python frame]", 90),
		row("/p/train.py:41", 36),
		row("/p/train.py:24", 36),
		row("/v/lib/python3.11/site-packages/torch/nn/modules/linear.py:134", 36),
		row("/p/train.py:7", 50),
		row("<frozen runpy>:3", 60),
	]);
	assert.deepEqual(
		lines.map((line) => line.place.replace(/^.*\//, "")),
		["train.py:7", "train.py:24", "train.py:41", "linear.py:134"],
	);
});
