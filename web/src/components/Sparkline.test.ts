// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { spark_points } from "./Sparkline";

test("the largest value touches the top, zero lies at the bottom", () => {
	assert.equal(spark_points([0, 10, 5], 20, 12), "0.0,11.0 10.0,1.0 20.0,6.0");
});

test("one value is a line, and nothing but zeros stays at the bottom", () => {
	assert.equal(spark_points([3], 20, 12), "0,1.0 20,1.0");
	assert.equal(spark_points([0, 0], 20, 12), "0.0,11.0 20.0,11.0");
});
