// SPDX-License-Identifier: Apache-2.0
//
// The filters as chips, each with the share of the time that is left after it and those before.
import { report } from "../api/client";
import { applied, metaAsked, report_kind } from "../api/meta";
import { currentResult, useAnswer } from "../api/use";
import { Chips } from "../components/Chips";
import { percent } from "../format";
import { type Range, removeFilter, view } from "../state/view";

/** "function=operator\[\]" as people write it. */
export function filterText(filter: string): string {
	const match = /^([\w-]+)(!?=)([\s\S]*)$/.exec(filter);
	if (!match) return filter;
	const value = match[3]!.replace(/\\([\\*?[\]])/g, "$1");
	return `${match[1]} ${match[2] === "=" ? "=" : "≠"} ${value}`;
}

interface Kept {
	notes: string[];
	/** What the shares are of. */
	of: string;
}

/** CPU time where there are samples, else time in tasks; the totals are the server's. */
async function kept(result: string, range: Range | null, filters: string[], signal: AbortSignal): Promise<Kept> {
	for (const [name, key, of] of [
		["hotspots", "cpu_self_ns", "CPU time"],
		["tasks", "wall_self_ns", "task time"],
	] as const) {
		const kind = report_kind(name);
		const total = async (count: number) => {
			const { words } = applied(kind, { range, filters: filters.slice(0, count) });
			const answer = await report(
				result,
				[name, ...words, "-limit", "1"],
				{ path: [], offset: 0, limit: 1 },
				signal,
			);
			return Number(answer.totals[key] ?? 0);
		};
		const all = await total(0);
		if (!all) continue;
		const notes: string[] = [];
		for (let i = 0; i < filters.length; i++) {
			const takes = applied(kind, { range: null, filters: [filters[i]!] }).left.length === 0;
			notes.push(takes ? percent((await total(i + 1)) / all) : "");
		}
		return { notes, of };
	}
	return { notes: [], of: "" };
}

export function FilterChips() {
	const { result, filters, range } = view.value;
	const known = metaAsked.value && currentResult();
	const key = filters.length && known ? JSON.stringify(["kept", result, known.generation, range, filters]) : "";
	const { data } = useAnswer(key, (signal) => kept(result, range, filters, signal));
	const chips = filters.map((filter, i) => ({
		id: filter,
		text: filterText(filter),
		...(data?.notes[i] ? { note: data.notes[i] } : {}),
		tip: `-filter ${filter}${data?.notes[i] ? `\n${data.notes[i]} of the ${data.of} is left` : ""}`,
	}));
	return <Chips chips={chips} remove={removeFilter} label="Filters" />;
}
