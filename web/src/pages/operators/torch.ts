// SPDX-License-Identifier: Apache-2.0
//
// torch's table, as key_averages().table() prints it: its columns, its words, its units. The server gives microseconds
// and bytes; what is done here is how torch writes them.
import type { Column, Report, Row } from "../../api/types";
import type { GridRow } from "../../components/TreeGrid";
import { digits, whole } from "../../format";

const TORCH_ORDER = [
	"key",
	"self_cpu_time_total",
	"cpu_time_total",
	"cpu_time",
	"cpu_memory_usage",
	"self_cpu_memory_usage",
	"count",
	"input_shapes",
	"stack",
	"flops",
];

const NOT_ALWAYS = ["cpu_memory_usage", "self_cpu_memory_usage", "flops"];

export const TORCH_COLUMNS = [
	"self_cpu_percent",
	"self_cpu_time_total",
	"cpu_total_percent",
	"cpu_time_total",
	"cpu_time",
	"cpu_memory_usage",
	"self_cpu_memory_usage",
	"count",
	"flops",
];

export function torch_words(by: string): string[] {
	const knobs = ["profile-memory=true", "with-flops=true"];
	if (by === "shape") knobs.push("group-by-input-shape=true");
	if (by === "stack") knobs.push("group-by-stack-n=5");
	return ["torch-averages", ...knobs.flatMap((knob) => ["-report-knob", knob])];
}

/** As torch's _format_time: three decimals and the unit that fits. */
export function torch_time(us: number): string {
	if (us >= 1e6) return `${(us / 1e6).toFixed(3)}s`;
	if (us >= 1e3) return `${(us / 1e3).toFixed(3)}ms`;
	return `${us.toFixed(3)}us`;
}

/** As torch's _format_memory. */
export function torch_memory(bytes: number): string {
	const size = Math.abs(bytes);
	if (size >= 2 ** 30) return `${(bytes / 2 ** 30).toFixed(2)} GB`;
	if (size >= 2 ** 20) return `${(bytes / 2 ** 20).toFixed(2)} MB`;
	if (size >= 2 ** 10) return `${(bytes / 2 ** 10).toFixed(2)} KB`;
	return `${bytes} B`;
}

/** 3.28 G: counts of ten digits have no room, and nobody reads them. The tooltip is exact. */
export function short_count(value: number): string {
	const [size, name] = (
		[
			[1e12, "T"],
			[1e9, "G"],
			[1e6, "M"],
		] as const
	).find(([one]) => value >= one) ?? [1, ""];
	return name ? `${digits(value / size)} ${name}` : whole(value);
}

/** The columns of key_averages().table() in its order. Its % columns are of the sum of the self times. */
export function torch_layout(report: Report): Report {
	const total = Number(report.totals.self_cpu_time_total ?? 0);
	const percent = (row: Row, key: string) => (total > 0 ? Number(row[key] ?? 0) / total : 0);
	// What was not recorded is 0 in every row: as in torch's own table, no column tells of it then.
	const is_recorded = (key: string) =>
		!NOT_ALWAYS.includes(key) || report.rows.some((row) => Number(row[key] ?? 0) !== 0);
	const column = (key: string) => report.columns.filter((one) => one.key === key && is_recorded(key));
	const rest = report.columns.filter((one) => !TORCH_ORDER.includes(one.key));
	return {
		...report,
		columns: [
			...column("key"),
			{ key: "self_cpu_percent", title: "Self CPU %", unit: "" },
			...column("self_cpu_time_total"),
			{ key: "cpu_total_percent", title: "CPU total %", unit: "" },
			...column("cpu_time_total"),
			...column("cpu_time"),
			...column("cpu_memory_usage"),
			...column("self_cpu_memory_usage"),
			...column("count"),
			...column("input_shapes"),
			...column("stack"),
			...column("flops"),
			...rest,
		],
		rows: report.rows.map((row) => ({
			...row,
			self_cpu_percent: percent(row, "self_cpu_time_total"),
			cpu_total_percent: percent(row, "cpu_time_total"),
		})),
	};
}

export function torch_cell(row: GridRow, column: Column): string | undefined {
	const value = row.row[column.key];
	if (typeof value !== "number") return undefined;
	if (/_percent$/.test(column.key)) return `${(value * 100).toFixed(2)}%`;
	if (/^(self_)?cpu_time(_total)?$/.test(column.key)) return torch_time(value);
	if (/memory_usage$/.test(column.key)) return torch_memory(value);
	if (column.key === "flops") return short_count(value);
	return undefined;
}

/** torch sorts largest first, by its own names; its % columns sort as what they are shares of. */
export function sort_key(sort: string): string {
	const key = sort.replace(/^-/, "");
	if (key === "self_cpu_percent" || !key) return "self_cpu_time_total";
	return key === "cpu_total_percent" ? "cpu_time_total" : key;
}
