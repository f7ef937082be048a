// SPDX-License-Identifier: Apache-2.0
//
// One search over everything in a result: names on the timeline, functions, source lines and threads. Each is a question
// to the server; what a result does not have is not found, and no error.
import { ask, query, sqlAnywhere } from "../api/client";
import type { Row } from "../api/types";
import { resultList } from "../api/use";
import { ns, whole } from "../format";
import { go, openResult } from "../state/view";

export interface Found {
	id: string;
	title: string;
	kind: string;
	hint: string;
	run: () => void;
}

interface Names {
	names: { label: number; name: string; category_name: string; count: number; wall_total_ns: number }[];
}

const MOST = 8;

/** Functions, lines and threads in one statement, so that they cost one request. Short names first: the nearest. */
export function statement(text: string): string {
	const like = sqlAnywhere(text);
	return [
		`SELECT * FROM (SELECT 'function' AS kind, name AS text, module AS place, NULL AS line FROM functions
			WHERE name LIKE ${like} GROUP BY name, module ORDER BY length(name), name LIMIT ${MOST})`,
		`SELECT * FROM (SELECT DISTINCT 'line', source, NULL, line FROM stack_frames
			WHERE line > 0 AND source || ':' || line LIKE ${like} ORDER BY source, line LIMIT ${MOST})`,
		`SELECT * FROM (SELECT 'thread', thread, process, NULL FROM threads WHERE thread LIKE ${like} LIMIT ${MOST})`,
	]
		.join(" UNION ALL ")
		.replace(/\s+/g, " ");
}

const KINDS: Record<string, (row: Row) => Omit<Found, "id">> = {
	function: (row) => ({
		title: String(row.text),
		kind: "Function",
		hint: String(row.place ?? ""),
		run: () => go("grid", { groupBy: ["function"], selection: { kind: "function", value: String(row.text) } }),
	}),
	line: (row) => ({
		title: `${String(row.text).replace(/^.*\//, "")}:${row.line}`,
		kind: "Source line",
		hint: String(row.text),
		run: () => go("source", { params: { file: String(row.text), line: String(row.line) } }),
	}),
	thread: (row) => ({
		title: String(row.text),
		kind: "Thread",
		hint: String(row.place ?? ""),
		run: () => go("threads", { selection: { kind: "thread", value: String(row.text) } }),
	}),
};

/** Names of tasks, operators and Python calls: an operator's row, or the next one on the timeline. */
function name_of(one: Names["names"][number]): Found {
	const is_operator = one.category_name === "op";
	return {
		id: `name ${one.label}`,
		title: one.name,
		kind: is_operator ? "Operator" : "Task",
		hint: `${whole(one.count)} × in ${ns(one.wall_total_ns)}`,
		run: () =>
			is_operator
				? go("operators", {
						groupBy: ["operator"],
						params: { tab: "operators" },
						selection: { kind: "operator", value: one.name },
					})
				: go("timeline", { search: one.name }),
	};
}

export async function findEverything(result: string, text: string, signal: AbortSignal): Promise<Found[]> {
	const [names, rows] = await Promise.allSettled([
		ask<Names>(result, "search", { text, limit: 0 }, signal),
		query(result, statement(text), signal),
	]);
	const found: Found[] = [];
	if (names.status === "fulfilled") for (const one of names.value.names.slice(0, MOST)) found.push(name_of(one));
	if (rows.status === "fulfilled")
		for (const row of rows.value.rows) {
			const made = KINDS[String(row.kind)]?.(row);
			if (made) found.push({ ...made, id: `${row.kind} ${row.text} ${row.place} ${row.line}` });
		}
	return found;
}

/** Results by name: they can be opened from anywhere. */
export function findResults(text: string): Found[] {
	const wanted = text.trim().toLowerCase();
	if (!wanted) return [];
	return (resultList.value ?? [])
		.filter((one) => `${one.project ?? ""}/${one.name}`.toLowerCase().includes(wanted))
		.slice(0, MOST)
		.map((one) => ({
			id: `result ${one.id}`,
			title: one.name || one.id,
			kind: "Result",
			hint: one.command,
			run: () => openResult(one.id),
		}));
}
