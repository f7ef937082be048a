// SPDX-License-Identifier: Apache-2.0
//
// The Python lines behind a task or operator, by the samples taken in it.
import { report } from "../../api/client";
import type { Row } from "../../api/types";
import { filterWord } from "../../state/view";

export interface Line {
	/** FILE:LINE */
	place: string;
	cpu_ns: number;
}

const MOST = 4;
const ASKED = 40;

/** Lines of the program before those of installed packages: whoever asks wants the own ones. */
export function own_first(rows: Row[]): Line[] {
	const lines = rows
		.map((row) => ({ place: String(row.python_line ?? ""), cpu_ns: Number(row.cpu_total_ns ?? 0) }))
		.filter((line) => /:\d+$/.test(line.place) && !line.place.startsWith("[") && !line.place.startsWith("<"));
	const is_package = (line: Line) => /\/(site|dist)-packages\//.test(line.place);
	// Of one stack all lines have the same total, the outermost first: the innermost own line is the nearest.
	const own = lines.filter((line) => !is_package(line)).reverse();
	own.sort((a, b) => b.cpu_ns - a.cpu_ns);
	return [...own, ...lines.filter(is_package)].slice(0, MOST);
}

export async function linesOf(result: string, name: string, signal?: AbortSignal): Promise<Line[]> {
	const words = ["hotspots", "-group-by", "python-line", "-filter", filterWord("task-type", name, true)];
	const page = { path: [], offset: 0, limit: ASKED, depth: 1 };
	const { rows } = await report(result, [...words, "-sort-desc", "cpu_total_ns"], page, signal);
	return own_first(rows);
}
