// SPDX-License-Identifier: Apache-2.0
//
// The call stacks of the selected row, one at a time, heaviest first: "stack 1 of 12 (37 %)".
import { useEffect, useState } from "preact/hooks";
import { report } from "../../api/client";
import { applied_here } from "../../api/meta";
import type { Row } from "../../api/types";
import { useAnswer } from "../../api/use";
import { Failed } from "../../components/Empty";
import { Icon } from "../../components/Icon";
import { cell_text } from "../../components/TreeGrid";
import { ns, percent } from "../../format";
import { filterWord, go, view } from "../../state/view";

export interface Stack {
	frames: string[];
	cpu_ns: number;
}

/** The paths from the leaves of a tree of callers, heaviest first. Walks without recursion: stacks are deep. */
export function stacks_of(rows: Row[]): Stack[] {
	const found: Stack[] = [];
	const todo: { row: Row; frames: string[] }[] = rows.map((row) => ({ row, frames: [] }));
	for (let next = todo.pop(); next; next = todo.pop()) {
		const frames = [...next.frames, cell_text(next.row.callstack)];
		const children = next.row.children ?? [];
		const own =
			Number(next.row.cpu_self_ns ?? 0) -
			children.reduce((sum, child) => sum + Number(child.cpu_self_ns ?? 0), 0);
		if (!children.length || own > 0)
			found.push({ frames, cpu_ns: children.length ? own : Number(next.row.cpu_self_ns ?? 0) });
		for (const row of children) todo.push({ row, frames });
	}
	return found.sort((a, b) => b.cpu_ns - a.cpu_ns);
}

export function StackPane({ func }: { func: string }) {
	const { result } = view.value;
	const words = [
		"hotspots",
		"-group-by",
		"callstack",
		"-filter",
		filterWord("function", func, true),
		...applied_here("hotspots").words,
	];
	const { data, error, loading } = useAnswer(func ? JSON.stringify([result, words]) : "", (signal) =>
		report(result, words, undefined, signal),
	);
	const [at, setAt] = useState(0);
	useEffect(() => setAt(0), [func]);
	if (!func) return <p class="muted">Select a function to see the stacks that lead to it.</p>;
	if (error) return <Failed error={error} />;
	if (!data) return <div class="skeleton" aria-busy="true" />;
	const stacks = stacks_of(data.rows);
	const total = Number(data.totals.cpu_self_ns ?? 0);
	const stack = stacks[Math.min(at, stacks.length - 1)];
	if (!stack)
		return (
			<p class="muted">
				{loading
					? "…"
					: "This function has no CPU time of its own in the range and filters of now. What it has in total was spent in functions that it called: open it in Top-down to see them."}
			</p>
		);
	const open = (name: string) => go("source", { params: { function: name } });
	return (
		<>
			<div class="toolbar" role="group" aria-label="Stacks">
				<button
					type="button"
					class="icon-button"
					aria-label="Heavier stack"
					disabled={at === 0}
					onClick={() => setAt(at - 1)}
				>
					‹
				</button>
				<span class="number">
					stack {at + 1} of {stacks.length} ({percent(total ? stack.cpu_ns / total : 0)}, {ns(stack.cpu_ns)})
				</span>
				<button
					type="button"
					class="icon-button"
					aria-label="Lighter stack"
					disabled={at >= stacks.length - 1}
					onClick={() => setAt(at + 1)}
				>
					<Icon name="right" size={12} />
				</button>
			</div>
			<ol class="stack">
				{stack.frames.map((frame, i) => (
					<li key={`${i} ${frame}`}>
						<button type="button" data-tip="Show its source" onClick={() => open(frame)}>
							{frame}
						</button>
					</li>
				))}
			</ol>
		</>
	);
}
