// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { stacks_of } from "./StackPane";

test("stacks are the paths of the tree, heaviest first, and add up", () => {
	const rows = [
		{
			callstack: "leaf",
			cpu_self_ns: 100,
			children: [
				{ callstack: "a", cpu_self_ns: 30, children: [{ callstack: "main", cpu_self_ns: 30, children: [] }] },
				{ callstack: "b", cpu_self_ns: 60, children: [] },
			],
		},
	];
	const stacks = stacks_of(rows);
	assert.deepEqual(
		stacks.map((stack) => [stack.frames.join("<"), stack.cpu_ns]),
		[
			["leaf<b", 60],
			["leaf<a<main", 30],
			["leaf", 10],
		],
	);
});
