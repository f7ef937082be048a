// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { columnFormat, digits, exact, percent, shellQuote, withUnit } from "./format";

test("values carry three significant digits and a unit", () => {
	assert.equal(withUnit(0, "ns"), "0 ns");
	assert.equal(withUnit(999, "ns"), "999 ns");
	assert.equal(withUnit(1234, "ns"), "1.23 µs");
	assert.equal(withUnit(20_200_750_283, "ns"), "20.2 s");
	assert.equal(withUnit(7_200e9, "ns"), "7,200 s");
	assert.equal(withUnit(477_202, "bytes"), "466 KiB");
	assert.equal(withUnit(-1536, "bytes"), "-1.50 KiB");
	assert.equal(withUnit(13_840, ""), "13,840");
	assert.equal(withUnit(0.4109, "ratio"), "41.1 %");
	assert.equal(digits(0.000123), "0.000123");
	assert.equal(percent(1), "100.0 %");
});

test("a column has one unit and one number of decimals", () => {
	const column = columnFormat("ns", [1_748_244_126, 90_121_450, 0]);
	assert.equal(column.suffix, "s");
	assert.deepEqual([1_748_244_126, 90_121_450, 0].map(column.text), ["1.75", "0.09", "0.00"]);
	const apart = columnFormat("ns", [9_251_000_000, 10_200_000, 54_000]);
	assert.equal(apart.suffix, "ms");
	assert.deepEqual([9_251_000_000, 54_000].map(apart.text), ["9,251.00", "0.05"]);
	assert.equal(columnFormat("ns", [925_100_000_000, 54_000]).suffix, "s");
	assert.equal(columnFormat("", [1, 20_000]).text(20_000), "20,000");
	assert.equal(columnFormat("ns", [5, 999]).text(5), "5");
	assert.equal(columnFormat("ratio", [0.5]).text(0.025), "2.5");
	assert.equal(columnFormat("ns", []).text(0), "0");
});

test("tooltips and copies are exact", () => {
	assert.equal(exact(20_200_750_283, "ns"), "20,200,750,283 ns");
	assert.equal(exact(0.123456, "ratio"), "12.3456 %");
});

test("commands survive a shell", () => {
	assert.equal(shellQuote(["strata", "-filter", "task-type=a b"]), "strata -filter 'task-type=a b'");
	assert.equal(shellQuote(["it's"]), "'it'\\''s'");
	assert.equal(shellQuote([""]), "''");
});
