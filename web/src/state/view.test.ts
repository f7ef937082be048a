// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { address, EMPTY, filterWord, parse, seconds, type View, words_of } from "./view";

function round_trip(view: View): View {
	const [path, query] = address(view).split("?");
	return parse(path ?? "", query ?? "");
}

test("an address holds the whole view", () => {
	const view: View = {
		page: "grid",
		result: "r000 hs/ä",
		range: [1_000_000_001, 9_007_199_254_740_991],
		outer: [[0, 9_007_199_254_740_991]],
		filters: ["task-type=iteration_*", "thread!=main (12)", "function=a&b=c"],
		groupBy: ["task-domain", "function", "callstack"],
		metric: "cpu_self_ns",
		selection: { kind: "function", value: "at::native::add<a, b>:x" },
		search: "a+b %",
		params: { file: "train.py:88", sort: "-cpu_self_ns" },
	};
	assert.deepEqual(round_trip(view), view);
});

test("pages without a result have short addresses", () => {
	assert.equal(address(EMPTY), "/");
	assert.equal(address({ ...EMPTY, page: "new" }), "/new");
	assert.equal(parse("/r/r000hs", "").page, "summary");
});

test("nonsense in an address is left out", () => {
	const view = parse("/etc/passwd", "range=9-3&outer=x,1-2&sel=:x&g=,,");
	assert.equal(view.page, "results");
	assert.equal(view.range, null);
	assert.deepEqual(view.outer, [[1, 2]]);
	assert.equal(view.selection, null);
	assert.deepEqual(view.groupBy, []);
	assert.equal(parse("/r/%E0%A4%A", "").result, "%E0%A4%A");
});

test("a range becomes exact seconds", () => {
	assert.equal(seconds(0), "0");
	assert.equal(seconds(1_500_000_000), "1.5");
	assert.equal(seconds(4_501_899_847), "4.501899847");
	assert.deepEqual(words_of({ range: [1, 2_000_000_000], filters: ["a=b"] }), [
		"-filter",
		"a=b",
		"-time-filter",
		"0.000000001:2",
	]);
});

test("pattern characters in a name are taken as letters", () => {
	assert.equal(filterWord("function", "operator[]*", true), "function=operator\\[\\]\\*");
	assert.equal(filterWord("function", "a", false), "function!=a");
});
