// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { columnFormat, digits, exact, hasOneUnit, percent, rowFormat, shellQuote, withUnit } from "./format";

test("values carry three significant digits and a unit", () => {
	assert.equal(withUnit(0, "ns"), "0 ns");
	assert.equal(withUnit(999, "ns"), "999 ns");
	assert.equal(withUnit(1234, "ns"), "1.23 µs");
	assert.equal(withUnit(20_200_750_283, "ns"), "20.2 s");
	assert.equal(withUnit(7_200e9, "ns"), "7,200 s");
	assert.equal(withUnit(477_202, "bytes"), "477 kB");
	assert.equal(withUnit(-1536, "bytes"), "-1.54 kB");
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
	assert.equal(columnFormat("", [1, 20_000]).text(20_000), "20,000");
	assert.equal(columnFormat("ns", [5, 999]).text(5), "5");
	assert.equal(columnFormat("ratio", [0.5]).text(0.025), "2.5");
	assert.equal(columnFormat("ns", []).text(0), "0");
});

test("what is not nothing is not shown as nothing", () => {
	// Waits: a few of seconds among many of milliseconds.
	const waits = [24_192_850_000, 7_800_000_000, 900_000_000, 30_000_000, 5_010_000, 4_000_000, 3_000_000];
	const column = columnFormat("ns", waits);
	assert.equal(column.suffix, "ms");
	assert.deepEqual(waits.slice(0, 5).map(column.text), ["24,192.85", "7,800.00", "900.00", "30.00", "5.01"]);
	const tail = columnFormat("ns", [24_200_000_000, 23e9, 22e9, 21e9, 100]);
	assert.deepEqual([24_200_000_000, 100, 0].map(tail.text), ["24.2", "<0.1", "0.0"]);
	const far = columnFormat("ns", [925_100_000_000, 54_000]);
	assert.equal(far.suffix, "");
	assert.deepEqual([925_100_000_000, 54_000].map(far.text), ["925 s", "54.0 µs"]);
	const held = columnFormat("bytes", [13_018_200, 2_600, 4]);
	assert.deepEqual([13_018_200, 2_600, 4].map(held.text), ["13.0 MB", "2.60 kB", "4 B"]);
	assert.equal(columnFormat("ns", [37_700_000_000, 60_000_000]).text(60_000_000), "0.06");
	assert.equal(percent(0.0001), "<0.1 %");
	assert.equal(percent(-0), "0.0 %");
	assert.equal(columnFormat("ratio", []).text(-0.0001), "<0.1");
	assert.equal(columnFormat("", [0.427, 0.0000001]).text(0.0000001), "<0.001");
});

test("what is read beside one another has one unit", () => {
	const row = rowFormat("ns", [1_200_000_000, 950_000_000]);
	assert.deepEqual([1_200_000_000, 950_000_000, -250_000_000].map(row.text), ["1.20 s", "0.95 s", "-0.25 s"]);
	assert.equal(row.text(-1_000), "<0.01 s");
	assert.equal(rowFormat("ns", [355_283_449, 317_096_689]).text(-38_186_760), "-38.2 ms");
	assert.equal(rowFormat("", [12, 3]).text(-9), "-9");
	assert.ok(hasOneUnit("ns", [2e9, 1e9, 90e6]));
	assert.ok(!hasOneUnit("ns", [29e9, 26e9, 12e6, 11e6]));
	assert.ok(hasOneUnit("", [1e9, 1]));
	const tail = [...new Array(30).fill(2e9), ...new Array(30).fill(1e6)];
	assert.ok(hasOneUnit("ns", tail));
	assert.ok(!hasOneUnit("ns", tail, tail.length));
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
