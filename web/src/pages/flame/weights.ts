// SPDX-License-Identifier: Apache-2.0
//
// What the width of a frame stands for: CPU time by stacks of samples, time in nested tasks, or memory that operators
// allocated. The first comes as a tree; the others are reports, whose rows become one.
import { report } from "../../api/client";
import { applied_here } from "../../api/meta";
import type { Report, Row } from "../../api/types";
import { bytes, ns } from "../../format";
import type { FlameAnswer } from "./tree";

export type WeightId = "cpu" | "tasks" | "memory";

export interface Weight {
	id: WeightId;
	title: string;
	/** In a sentence: "1.2 s CPU time". */
	of: string;
	text: (value: number) => string;
	unit: "ns" | "bytes";
	/** What a frame is, and the grouping that filters by it. */
	frame: string;
	grouping: string;
	/** Words of the report; none: the verb flame. */
	words?: string[];
	/** Keys of the columns with all of a row and with what is its own. */
	total?: string;
	self?: string;
}

export const WEIGHTS: Weight[] = [
	{
		id: "cpu",
		title: "CPU time",
		of: "CPU time",
		text: ns,
		unit: "ns",
		frame: "Function",
		grouping: "function",
	},
	{
		id: "tasks",
		title: "Time in tasks",
		of: "in tasks",
		text: ns,
		unit: "ns",
		frame: "Task",
		grouping: "task-type",
		words: ["tasks", "-group-by", "task-stack", "-column", "Task Time,Task Time:Self"],
		total: "wall_total_ns",
		self: "wall_self_ns",
	},
	{
		id: "memory",
		title: "Allocated memory",
		of: "allocated by operators, by module",
		text: bytes,
		unit: "bytes",
		frame: "Operator",
		grouping: "operator",
		words: ["operators", "-group-by", "nn-module,operator,input-shapes", "-column", "Allocated:Self"],
		total: "self_allocated_bytes",
		self: "",
	},
];

export function weight_of(id: string | undefined): Weight {
	return WEIGHTS.find((one) => one.id === id) ?? WEIGHTS[0]!;
}

const PAGE = { path: [], offset: 0, limit: 400, depth: 16 };

function label_of(row: Row, keys: string[], depth: number): string {
	return String(row[keys[Math.min(depth, keys.length - 1)]!] ?? "");
}

/** The rows of a report as the tree that the verb flame answers with. What a page of it left out is counted as folded. */
export function report_tree(from: Report, weight: Weight): FlameAnswer {
	const keys = from.group_by.map((one) => one.replace(/-/g, "_"));
	const names = ["all"];
	const known = new Map<string, number>();
	const nodes = {
		parent: [-1],
		depth: [0],
		name: [0],
		kind: [0],
		self_ns: [0],
		total_ns: [0],
		folded: [Math.max(0, (from.row_count ?? from.rows.length) - from.rows.length)],
		folded_ns: [0],
	};
	const value = (row: Row, key: string | undefined) => Math.max(0, Number((key && row[key]) || 0));
	const queue = from.rows.map((row) => ({ row, parent: 0, depth: 0 }));
	for (let at = 0; at < queue.length; at++) {
		const { row, parent, depth } = queue[at]!;
		const total = value(row, weight.total);
		if (!total) continue;
		const label = label_of(row, keys, depth);
		if (!known.has(label)) known.set(label, names.push(label) - 1);
		const children = row.children ?? [];
		const below = children.reduce((sum, child) => sum + value(child, weight.total), 0);
		const missing = Math.max(0, Number(row.child_count ?? children.length) - children.length);
		// Children of a row can be more than it: they may run in other threads. It is as wide as they are then.
		const rest = Math.max(0, total - below);
		const self = missing && weight.self ? Math.min(rest, value(row, weight.self)) : rest;
		const node = nodes.parent.length;
		nodes.parent.push(parent);
		nodes.depth.push(depth + 1);
		nodes.name.push(known.get(label)!);
		nodes.kind.push(1);
		nodes.self_ns.push(self);
		nodes.total_ns.push(Math.max(total, below));
		nodes.folded.push(missing);
		nodes.folded_ns.push(missing ? rest - self : 0);
		nodes.total_ns[0]! += depth === 0 ? Math.max(total, below) : 0;
		for (const child of children) queue.push({ row: child, parent: node, depth: depth + 1 });
	}
	return { total_ns: nodes.total_ns[0]!, samples: 0, nodes, names, kinds: ["all", weight.frame.toLowerCase()] };
}

export async function askWeight(result: string, weight: Weight, signal: AbortSignal): Promise<FlameAnswer> {
	const words = [...(weight.words ?? []), ...applied_here(weight.words?.[0] ?? "").words];
	return report_tree(await report(result, words, PAGE, signal), weight);
}
