// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { indent_of } from "./indent";

test("a name has room at every level of a tree", () => {
	for (const width of [200, 250, 400, 900])
		for (let depth = 1; depth < 200; depth++) {
			const { px } = indent_of(depth, width);
			assert.ok(px >= indent_of(depth - 1, width).px, `level ${depth} stands before its parent`);
			assert.ok(px < width / 2, `level ${depth} begins at ${px} of ${width}`);
		}
});

test("a level that cannot be seen from where it stands is said", () => {
	assert.deepEqual(indent_of(0, 250), { px: 8, deep: false });
	assert.deepEqual(indent_of(3, 250), { px: 53, deep: false });
	assert.ok(indent_of(20, 250).deep);
	assert.ok(!indent_of(12, 900).deep);
});
