// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { torch_memory, torch_time, torch_words } from "./torch";

test("times and sizes are written as torch writes them", () => {
	assert.equal(torch_time(10.6388), "10.639us");
	assert.equal(torch_time(1106.442), "1.106ms");
	assert.equal(torch_time(7_241_138.438), "7.241s");
	assert.equal(torch_memory(0), "0 B");
	assert.equal(torch_memory(-65_536_000), "-62.50 MB");
	assert.equal(torch_memory(2 ** 31), "2.00 GB");
	assert.ok(torch_words("shape").includes("group-by-input-shape=true"));
});
