// SPDX-License-Identifier: Apache-2.0
//
// What the server can do, known once; and which of the view's range and filters a report takes.
import { signal } from "@preact/signals";
import { type View, view, words_of } from "../state/view";
import { meta } from "./client";
import type { Grouping, Meta, ReportKind } from "./types";

export const metaInfo = signal<Meta | null>(null);
/** It was asked for, whatever came of it. */
export const metaAsked = signal(false);

export async function load_meta(): Promise<void> {
	try {
		metaInfo.value = await meta();
	} catch {
		// Without it every filter is sent, and the server says which it does not take.
	}
	metaAsked.value = true;
}

export function report_kind(name: string): ReportKind | undefined {
	return metaInfo.value?.reports.find((one) => one.name === name);
}

/** Without knowledge of the report: yes, and the server decides. */
export function accepts(kind: ReportKind | undefined, option: string): boolean {
	return !kind || kind.accepts.includes(option);
}

export interface Applied {
	words: string[];
	/** What the report cannot be narrowed by: said beside it, so that nobody takes its figures for narrower ones. */
	left: string[];
}

/** The words of range and filters that a report takes, and what is left. */
export function applied(kind: ReportKind | undefined, from: Pick<View, "range" | "filters">): Applied {
	const left: string[] = [];
	const filters = from.filters.filter((filter) => {
		const grouping = /^[\w-]+/.exec(filter)?.[0] ?? "";
		const takes = accepts(kind, "filter") && (!kind || kind.filters.includes(grouping));
		if (!takes) left.push(filter);
		return takes;
	});
	const range = from.range && accepts(kind, "filter") ? from.range : null;
	if (from.range && !range) left.push("the range of time");
	return { words: words_of({ range, filters }), left };
}

export function applied_here(report: string): Applied {
	return applied(report_kind(report), view.value);
}

/** The grouping by which a column's cells can be filtered. Levels of a stack are functions or tasks. */
export function grouping_of(key: string): Grouping | undefined {
	const names: Record<string, string> = {
		callstack: "function",
		function_stack: "function",
		task_stack: "task-type",
		caller: "function",
	};
	const list = metaInfo.value?.groupings ?? [];
	return list.find((one) => one.key === (names[key] ?? key) || one.name === names[key]);
}
