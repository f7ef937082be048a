// SPDX-License-Identifier: Apache-2.0
//
// Which columns of a report a table shows, and as what. Titles and units are the report's.
import type { Column, Report, Row } from "../api/types";

export type ShowAs = "value" | "percent" | "bar";

/** Keys that help programs, not people; they can be added. */
const DETAIL =
	/^(depth|function_full|start_address|row|id|block|name_index|warm_up|overload_name|scope|is_user_annotation|is_python_function|cpu_parent)$/;

export function key_of_grouping(grouping: string): string {
	return grouping.replace(/-/g, "_");
}

/** The columns whose texts make the first column of the table: one for each level. */
export function tree_columns(report: Report): Column[] {
	const keys = report.group_by.map(key_of_grouping);
	const found = keys
		.map((key) => report.columns.find((column) => column.key === key))
		.filter((one): one is Column => !!one);
	return found.length ? found : report.columns.slice(0, 1);
}

/** Levels deeper than the groupings repeat the last: callers of callers. */
export function tree_column_at(report: Report, depth: number): Column | undefined {
	const columns = tree_columns(report);
	return columns[Math.min(depth, columns.length - 1)];
}

export function other_columns(report: Report): Column[] {
	const taken = new Set(tree_columns(report).map((column) => column.key));
	return report.columns.filter((column) => !taken.has(column.key));
}

/** Without a choice: no details of details, and no column that is empty in what is here. */
export function shown_columns(report: Report, chosen: string[]): Column[] {
	const all = other_columns(report);
	if (chosen.length) return all.filter((column) => chosen.includes(column.key));
	return all.filter((column) => {
		if (DETAIL.test(column.key) || column.title.split(":").length > 2) return false;
		return report.rows.some(
			(row) => row[column.key] !== undefined && row[column.key] !== null && row[column.key] !== "",
		);
	});
}

export function is_number(report: Report, column: Column): boolean {
	if (column.unit) return true;
	const cell = report.rows.find((row) => row[column.key] !== undefined && row[column.key] !== null)?.[column.key];
	return typeof cell === "number";
}

/** The columns that are read together: of a comparison both sides, their difference and its interval, else one alone. */
export function read_with(report: Report, column: Column): string[] {
	const of = /^(?:first|second|difference|interval)_(.+)$/.exec(column.key)?.[1];
	const sides = [`first_${of}`, `second_${of}`];
	return of && sides.every((key) => report.columns.some((one) => one.key === key)) ? sides : [column.key];
}

/** "cpu_self_ns:percent,count:bar" and back. */
export function parse_show(text: string): Map<string, ShowAs> {
	const show = new Map<string, ShowAs>();
	for (const part of text.split(",")) {
		const [key, as] = part.split(":");
		if (key && (as === "value" || as === "percent" || as === "bar")) show.set(key, as);
	}
	return show;
}

export function show_text(show: Map<string, ShowAs>): string {
	return [...show].map(([key, as]) => `${key}:${as}`).join(",");
}

/** A cell as a share of the column's total; null where there is none, or where shares mean nothing. */
export function share(report: Report, row: Row, key: string): number | null {
	const total = report.totals[key];
	const value = row[key];
	if (typeof total !== "number" || typeof value !== "number" || total <= 0) return null;
	return value / total;
}

/** Columns whose rows add up to the total: a bar of an average would say nothing. */
export function adds_up(column: Column): boolean {
	return /_(ns|bytes)$/.test(column.key) && !/(avg|median|p\d\d|min|max|stddev|start|end|largest)_/.test(column.key);
}
