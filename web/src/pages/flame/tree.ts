// SPDX-License-Identifier: Apache-2.0
//
// The tree of a flame graph in columns, parents before children, and what can be done to it: focus, merge, collapse,
// drop. Self time is what is added up; totals follow from it. Nothing here calls itself: stacks can be deep.

export interface FlameAnswer {
	total_ns: number;
	samples: number;
	nodes: {
		parent: number[];
		depth: number[];
		name: number[];
		kind: number[];
		self_ns: number[];
		total_ns: number[];
		folded: number[];
		folded_ns?: number[];
		/** Of the other side of a comparison. */
		self_b_ns?: number[];
		total_b_ns?: number[];
		folded_b_ns?: number[];
	};
	names: string[];
	kinds: string[];
}

/** Stacks in the order of time, thread by thread. */
export interface TimeAnswer {
	total_ns: number;
	samples: number;
	/** Boxes that are too narrow for the whole time. */
	left_out: number;
	threads: { thread: number; tid: number; title: string }[];
	names: string[];
	boxes: {
		thread: number[];
		depth: number[];
		name: number[];
		samples: number[];
		begin_ns: number[];
		end_ns: number[];
	};
}

export interface Tree {
	parent: Int32Array;
	depth: Uint16Array;
	name: Int32Array; // index of names; -1: several that are too small
	kind: Uint8Array;
	self: Float64Array;
	total: Float64Array;
	folded: Uint32Array;
	before: Float64Array | null; // of a comparison
	after: Float64Array | null;
	names: string[];
	kinds: string[];
	totalNs: number;
}

export const MORE = -1;

/** The function of a frame: without the module or the line that its name ends with, as tables and filters know it. */
export function functionOf(name: string): string {
	return name.replace(/ (\[[^\]]+\]|\([^()]*:\d+\))$/, "");
}

export type TransformKind = "focus" | "merge" | "collapse" | "drop";
export interface Transform {
	kind: TransformKind;
	name: string;
}

const LETTERS: Record<TransformKind, string> = { focus: "f", merge: "m", collapse: "c", drop: "d" };

export function transformsText(list: Transform[]): string {
	return list.map((one) => LETTERS[one.kind] + encodeURIComponent(one.name).replace(/~/g, "%7E")).join("~");
}

export function parseTransforms(text: string | undefined): Transform[] {
	const kinds = Object.entries(LETTERS) as [TransformKind, string][];
	const found: Transform[] = [];
	for (const part of (text ?? "").split("~")) {
		const kind = kinds.find(([, letter]) => part[0] === letter)?.[0];
		if (!kind) continue;
		try {
			found.push({ kind, name: decodeURIComponent(part.slice(1)) });
		} catch {
			// An address that was cut has a part that cannot be read.
		}
	}
	return found;
}

/** Builds a tree node by node; children of one parent with the same name are one. */
class Builder {
	private readonly parent: number[] = [];
	private readonly name: number[] = [];
	private readonly kind: number[] = [];
	private readonly self: number[] = [];
	private readonly folded: number[] = [];
	private readonly sides: [number, number][] = [];
	private readonly known = new Map<string, number>();

	node(parent: number, name: number, kind: number): number {
		const key = `${parent} ${name} ${kind}`;
		let at = this.known.get(key);
		if (at === undefined) {
			at = this.parent.length;
			this.known.set(key, at);
			this.parent.push(parent);
			this.name.push(name);
			this.kind.push(kind);
			this.self.push(0);
			this.folded.push(0);
			this.sides.push([0, 0]);
		}
		return at;
	}

	add(at: number, self: number, folded: number, before: number, after: number): void {
		this.self[at]! += self;
		this.folded[at]! += folded;
		this.sides[at]![0] += before;
		this.sides[at]![1] += after;
	}

	tree(names: string[], kinds: string[], compared: boolean): Tree {
		const n = this.parent.length;
		const total = Float64Array.from(this.self);
		const depth = new Uint16Array(n);
		const before = Float64Array.from(this.sides, (side) => side[0]);
		const after = Float64Array.from(this.sides, (side) => side[1]);
		for (let i = n - 1; i > 0; i--) {
			const up = this.parent[i]!;
			if (up < 0) continue;
			total[up]! += total[i]!;
			before[up]! += before[i]!;
			after[up]! += after[i]!;
		}
		for (let i = 0; i < n; i++) depth[i] = this.parent[i]! < 0 ? 0 : depth[this.parent[i]!]! + 1;
		return {
			parent: Int32Array.from(this.parent),
			name: Int32Array.from(this.name),
			kind: Uint8Array.from(this.kind),
			self: Float64Array.from(this.self),
			folded: Uint32Array.from(this.folded),
			total,
			depth,
			before: compared ? before : null,
			after: compared ? after : null,
			names,
			kinds,
			totalNs: n ? total[0]! : 0,
		};
	}
}

/** What the children of each node add up to, of a column. */
function childSums(parent: ArrayLike<number>, values: ArrayLike<number>): Float64Array {
	const sums = new Float64Array(parent.length);
	for (let i = 0; i < parent.length; i++) if (parent[i]! >= 0) sums[parent[i]!]! += values[i]!;
	return sums;
}

/** The server's answer as a tree; what it left out because it is small is one box "n more" beside its siblings. Of a
 * comparison a box is as wide as both of its sides together. */
export function treeOf(answer: FlameAnswer): Tree {
	const { nodes, names, kinds } = answer;
	const builder = new Builder();
	const other = nodes.self_b_ns;
	const sums = childSums(nodes.parent, nodes.total_ns);
	const at = new Int32Array(nodes.parent.length);
	for (let i = 0; i < nodes.parent.length; i++) {
		const up = nodes.parent[i]!;
		const own = nodes.self_ns[i]!;
		const theirs = other?.[i] ?? 0;
		at[i] = builder.node(up < 0 ? -1 : at[up]!, nodes.name[i]!, nodes.kind[i]!);
		builder.add(at[i]!, other ? own + theirs : own, 0, own, theirs);
		if (!nodes.folded[i]) continue;
		const rest = nodes.folded_ns?.[i] ?? Math.max(0, nodes.total_ns[i]! - own - sums[i]!);
		const theirRest = nodes.folded_b_ns?.[i] ?? 0;
		builder.add(builder.node(at[i]!, MORE, 0), rest + theirRest, nodes.folded[i]!, rest, theirRest);
	}
	return builder.tree(names, kinds, other !== undefined);
}

/** Boxes in the order of time as a tree of one level, with places of their own; threads lie below one another. */
export function treeOfTime(answer: TimeAnswer): { tree: Tree; layout: Layout } {
	const { boxes } = answer;
	const n = boxes.name.length + answer.threads.length + 1;
	const names = ["all", ...answer.threads.map((one) => one.title), ...answer.names];
	const tree: Tree = {
		parent: new Int32Array(n),
		depth: new Uint16Array(n),
		name: new Int32Array(n),
		kind: new Uint8Array(n),
		self: new Float64Array(n),
		total: new Float64Array(n),
		folded: new Uint32Array(n),
		before: null,
		after: null,
		names,
		kinds: ["native", "group"],
		totalNs: 0,
	};
	const start = new Float64Array(n);
	let first = Number.POSITIVE_INFINITY;
	let last = 0;
	const deepest = new Map<number, number>();
	for (let i = 0; i < boxes.name.length; i++) {
		first = Math.min(first, boxes.begin_ns[i]!);
		last = Math.max(last, boxes.end_ns[i]!);
		deepest.set(boxes.thread[i]!, Math.max(deepest.get(boxes.thread[i]!) ?? 0, boxes.depth[i]!));
	}
	const whole = boxes.name.length ? last - first : 0;
	tree.parent[0] = -1;
	tree.totalNs = tree.total[0] = whole;
	const top = new Map<number, number>();
	let depth = 1;
	answer.threads.forEach((one, i) => {
		const node = i + 1;
		top.set(one.thread, depth);
		tree.name[node] = i + 1;
		tree.kind[node] = 1;
		tree.depth[node] = depth;
		tree.total[node] = whole;
		depth += (deepest.get(one.thread) ?? 0) + 2;
	});
	for (let i = 0; i < boxes.name.length; i++) {
		const node = i + answer.threads.length + 1;
		tree.name[node] = boxes.name[i]! + answer.threads.length + 1;
		tree.depth[node] = (top.get(boxes.thread[i]!) ?? 0) + 1 + boxes.depth[i]!;
		tree.total[node] = boxes.end_ns[i]! - boxes.begin_ns[i]!;
		start[node] = boxes.begin_ns[i]! - first;
	}
	return { tree, layout: { start, order: Int32Array.from({ length: n }, (_, i) => i), maxDepth: depth } };
}

function nameOf(tree: Tree, i: number): string {
	return tree.name[i]! < 0 ? "" : tree.names[tree.name[i]!]!;
}

const DROPPED = -2;

/** Where a node goes under a transformation: a node of the new tree, DROPPED, or "its parent's place". */
export function transform(tree: Tree, how: Transform): Tree {
	const builder = new Builder();
	const n = tree.parent.length;
	const before = tree.before ? childSums(tree.parent, tree.before) : null;
	const after = tree.after ? childSums(tree.parent, tree.after) : null;
	const to = new Int32Array(n).fill(DROPPED);
	const inside = new Uint8Array(n); // below, or at, a node of that name
	if (n) to[0] = builder.node(-1, tree.name[0]!, tree.kind[0]!);
	for (let i = 0; i < n; i++) {
		const up = tree.parent[i]!;
		const is = i > 0 && nameOf(tree, i) === how.name;
		const within = up >= 0 && inside[up] === 1;
		inside[i] = is || within ? 1 : 0;
		const above = up < 0 ? to[0]! : to[up]!;
		if (i > 0) {
			if (how.kind === "focus" && !inside[i]) to[i] = DROPPED;
			else if (how.kind === "focus" && is && !within) to[i] = builder.node(to[0]!, tree.name[i]!, tree.kind[i]!);
			else if (above === DROPPED || (how.kind === "drop" && is)) to[i] = DROPPED;
			else if ((how.kind === "merge" && is) || (how.kind === "collapse" && within)) to[i] = above;
			else to[i] = builder.node(above, tree.name[i]!, tree.kind[i]!);
		}
		if (to[i] === DROPPED || (how.kind === "focus" && !inside[i])) continue;
		const own = (side: Float64Array | null, sums: Float64Array | null) => (side && sums ? side[i]! - sums[i]! : 0);
		builder.add(to[i]!, tree.self[i]!, tree.folded[i]!, own(tree.before, before), own(tree.after, after));
	}
	return builder.tree(tree.names, tree.kinds, tree.before !== null);
}

export interface Layout {
	start: Float64Array; // ns from the left edge
	order: Int32Array; // nodes as they are laid out
	maxDepth: number;
}

/** Places by total time, the largest child first; what is small and folded comes last. */
export function layoutTree(tree: Tree): Layout {
	const n = tree.parent.length;
	const start = new Float64Array(n);
	const next = new Float64Array(n); // where the next child begins
	const order = Int32Array.from({ length: n }, (_, i) => i);
	const last = (i: number) => (tree.name[i] === MORE ? 1 : 0);
	order.sort(
		(a, b) => tree.depth[a]! - tree.depth[b]! || last(a) - last(b) || tree.total[b]! - tree.total[a]! || a - b,
	);
	let maxDepth = 0;
	let root = 0;
	for (const i of order) {
		const up = tree.parent[i]!;
		if (up < 0) {
			start[i] = root;
			root += tree.total[i]!;
		} else {
			start[i] = next[up]!;
			next[up]! += tree.total[i]!;
		}
		next[i] = start[i]!;
		maxDepth = Math.max(maxDepth, tree.depth[i]!);
	}
	return { start, order, maxDepth };
}

export interface NameTime {
	name: string;
	kind: string;
	self: number;
	total: number; // recursion counted once
}

/** Self and total time by name. */
export function byName(tree: Tree): NameTime[] {
	const sums = new Map<string, NameTime>();
	const n = tree.parent.length;
	for (let i = 1; i < n; i++) {
		if (tree.name[i] === MORE) continue;
		const name = nameOf(tree, i);
		let sum = sums.get(name);
		if (!sum) {
			sum = { name, kind: tree.kinds[tree.kind[i]!] ?? "", self: 0, total: 0 };
			sums.set(name, sum);
		}
		sum.self += tree.self[i]!;
		let again = false;
		for (let up = tree.parent[i]!; up > 0 && !again; up = tree.parent[up]!) again = tree.name[up] === tree.name[i];
		if (!again) sum.total += tree.total[i]!;
	}
	return [...sums.values()].sort((a, b) => b.self - a.self || b.total - a.total);
}

/** Time in nodes whose name has the text; a node below another match is not counted twice. */
export function matched(tree: Tree, text: string): { ns: number; count: number; found: Uint8Array } {
	const wanted = text.toLowerCase();
	const found = Uint8Array.from(tree.names, (name) => (name.toLowerCase().includes(wanted) ? 1 : 0));
	const inside = new Uint8Array(tree.parent.length);
	let ns = 0;
	let count = 0;
	for (let i = 0; i < tree.parent.length; i++) {
		const up = tree.parent[i]!;
		const is = i > 0 && tree.name[i]! >= 0 && found[tree.name[i]!] === 1;
		if (is) count++;
		const within = up >= 0 && inside[up] === 1;
		if (is && !within) ns += tree.total[i]!;
		inside[i] = is || within ? 1 : 0;
	}
	return { ns, count, found };
}

/** The names from the outermost to a node. */
export function pathOf(tree: Tree, node: number): string[] {
	const path: string[] = [];
	for (let i = node; i > 0; i = tree.parent[i]!) path.unshift(nameOf(tree, i));
	return path;
}

/** The node at a path, or the nearest one above it that there is. */
export function nodeAt(tree: Tree, path: string[]): number {
	let at = 0;
	for (const name of path) {
		let found = -1;
		for (let i = 0; i < tree.parent.length && found < 0; i++)
			if (tree.parent[i] === at && nameOf(tree, i) === name) found = i;
		if (found < 0) return at;
		at = found;
	}
	return at;
}
