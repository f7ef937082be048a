// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import {
	byName,
	type FlameAnswer,
	functionOf,
	layoutTree,
	MORE,
	matched,
	nodeAt,
	parseTransforms,
	pathOf,
	type Tree,
	transform,
	transformsText,
	treeOf,
	treeOfTime,
} from "./tree";

// all ─┬ main ─┬ a ─┬ b (30)
//      │       │    └ a (10)        a calls itself
//      │       └ c ── b (20)
//      └ idle (40)
const ANSWER: FlameAnswer = {
	total_ns: 110,
	samples: 11,
	names: ["all", "main", "a", "b", "c", "idle"],
	kinds: ["native", "python"],
	nodes: {
		parent: [-1, 0, 1, 2, 2, 1, 5, 0],
		depth: [0, 1, 2, 3, 3, 2, 3, 1],
		name: [0, 1, 2, 3, 2, 4, 3, 5],
		kind: [0, 1, 0, 0, 0, 0, 0, 0],
		self_ns: [0, 0, 5, 30, 10, 0, 20, 40],
		total_ns: [110, 70, 45, 30, 10, 25, 20, 40],
		folded: [0, 0, 0, 0, 0, 3, 0, 0],
	},
};

function text(tree: Tree): string[] {
	return Array.from(tree.parent, (_, i) => {
		const name = tree.name[i] === MORE ? `${tree.folded[i]} more` : tree.names[tree.name[i]!];
		return `${" ".repeat(tree.depth[i]!)}${name} ${tree.self[i]}/${tree.total[i]}`;
	}).sort();
}

test("what the server left out is a box of its own, and totals still add up", () => {
	const tree = treeOf(ANSWER);
	assert.ok(text(tree).includes("   3 more 5/5"));
	assert.equal(tree.totalNs, 110);
	assert.equal(tree.total[nodeAt(tree, ["main", "c"])], 25);
});

test("the largest child lies at the left, small ones last", () => {
	const tree = treeOf(ANSWER);
	const { start, maxDepth } = layoutTree(tree);
	assert.equal(maxDepth, 3);
	assert.equal(start[nodeAt(tree, ["main"])], 0);
	assert.equal(start[nodeAt(tree, ["idle"])], 70);
	assert.equal(start[nodeAt(tree, ["main", "c"])], 45);
	assert.equal(start[nodeAt(tree, ["main", "a", "a"])], 30);
});

test("focus keeps what is below a function, from everywhere", () => {
	const seen = transform(treeOf(ANSWER), { kind: "focus", name: "b" });
	assert.deepEqual(text(seen), [" b 50/50", "all 0/50"]);
	const deep = transform(treeOf(ANSWER), { kind: "focus", name: "a" });
	assert.deepEqual(text(deep), ["  a 10/10", "  b 30/30", " a 5/45", "all 0/45"]);
});

test("merge gives a function's time to its callers, collapse takes that of what it calls, drop forgets it", () => {
	const merged = transform(treeOf(ANSWER), { kind: "merge", name: "a" });
	assert.equal(merged.totalNs, 110);
	assert.equal(merged.self[nodeAt(merged, ["main"])], 15);
	assert.equal(merged.total[nodeAt(merged, ["main", "b"])], 30);
	const collapsed = transform(treeOf(ANSWER), { kind: "collapse", name: "a" });
	assert.equal(collapsed.totalNs, 110);
	assert.equal(collapsed.self[nodeAt(collapsed, ["main", "a"])], 45);
	const dropped = transform(treeOf(ANSWER), { kind: "drop", name: "b" });
	assert.equal(dropped.totalNs, 60);
	assert.ok(!text(dropped).some((line) => line.includes(" b ")));
});

test("a name's total counts recursion once", () => {
	const a = byName(treeOf(ANSWER)).find((one) => one.name === "a");
	assert.deepEqual([a?.self, a?.total], [15, 45]);
});

test("a search says how much it matched, nested matches once", () => {
	const tree = treeOf(ANSWER);
	assert.equal(matched(tree, "A").ns, 70);
	assert.equal(matched(tree, "b").ns, 50);
	assert.equal(matched(tree, "b").count, 2);
	assert.equal(matched(tree, "zzz").ns, 0);
});

test("paths and transformations survive the address", () => {
	const tree = treeOf(ANSWER);
	const node = nodeAt(tree, ["main", "a", "b"]);
	assert.deepEqual(pathOf(tree, node), ["main", "a", "b"]);
	assert.equal(nodeAt(tree, ["main", "gone", "b"]), nodeAt(tree, ["main"]));
	const list = [
		{ kind: "focus", name: "f~x: y" },
		{ kind: "drop", name: "operator~" },
	] as const;
	assert.deepEqual(parseTransforms(transformsText([...list])), list);
});

test("a stack of ten thousand frames is no trouble", () => {
	const n = 10000;
	const nodes = {
		parent: Array.from({ length: n }, (_, i) => i - 1),
		depth: Array.from({ length: n }, (_, i) => i),
		name: Array.from({ length: n }, () => 1),
		kind: Array.from({ length: n }, () => 0),
		self_ns: Array.from({ length: n }, (_, i) => (i === n - 1 ? 5 : 0)),
		total_ns: Array.from({ length: n }, () => 5),
		folded: Array.from({ length: n }, () => 0),
	};
	const tree = treeOf({ total_ns: 5, samples: 1, nodes, names: ["all", "f"], kinds: ["native"] });
	assert.equal(layoutTree(transform(tree, { kind: "merge", name: "f" })).maxDepth, 0);
});

test("what was folded on the other side of a comparison counts, too", () => {
	const nodes = {
		parent: [-1],
		depth: [0],
		name: [0],
		kind: [0],
		self_ns: [1],
		total_ns: [3],
		folded: [2],
		folded_ns: [2],
		self_b_ns: [10],
		total_b_ns: [30],
		folded_b_ns: [20],
	};
	const tree = treeOf({ total_ns: 3, samples: 1, nodes, names: ["all"], kinds: ["native"] });
	assert.deepEqual([tree.totalNs, tree.before?.[0], tree.after?.[0]], [33, 3, 30]);
});

test("the sides of a comparison stay apart, in all transformations", () => {
	const both = treeOf({
		...ANSWER,
		nodes: { ...ANSWER.nodes, self_b_ns: [0, 0, 5, 60, 10, 0, 20, 0], total_b_ns: [] },
	});
	const b = nodeAt(both, ["main", "a", "b"]);
	assert.deepEqual([both.before?.[b], both.after?.[b]], [30, 60]);
	assert.deepEqual([both.before?.[0], both.after?.[0]], [110, 95]);
	const merged = transform(both, { kind: "merge", name: "main" });
	assert.deepEqual([merged.before?.[0], merged.after?.[0]], [110, 95]);
});

test("in the order of time threads lie below one another", () => {
	const { tree, layout } = treeOfTime({
		total_ns: 40,
		samples: 4,
		left_out: 0,
		names: ["f", "g"],
		threads: [
			{ thread: 0, tid: 1, title: "main" },
			{ thread: 3, tid: 2, title: "worker" },
		],
		boxes: {
			thread: [0, 0, 3],
			depth: [0, 1, 0],
			name: [0, 1, 0],
			samples: [2, 1, 1],
			begin_ns: [100, 110, 120],
			end_ns: [120, 120, 140],
		},
	});
	assert.equal(tree.totalNs, 40);
	assert.deepEqual([...tree.depth], [0, 1, 4, 2, 3, 5]);
	assert.deepEqual([...layout.start], [0, 0, 0, 0, 10, 20]);
	assert.deepEqual(
		[...tree.name].map((i) => tree.names[i]),
		["all", "main", "worker", "f", "g", "f"],
	);
});

test("a frame's function is known by its name alone", () => {
	assert.equal(functionOf("compute (page_steps.py:17)"), "compute");
	assert.equal(functionOf("func@0x1de20 [libgomp.so.1]"), "func@0x1de20");
	assert.equal(functionOf("<lambda> (a b.py:3)"), "<lambda>");
	assert.equal(functionOf("operator()(int) const"), "operator()(int) const");
	assert.equal(functionOf("std::vector<int>::operator[]"), "std::vector<int>::operator[]");
});
