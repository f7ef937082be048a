// SPDX-License-Identifier: Apache-2.0
//
// The summary report is rows of sections; these find them.
import type { Report, Row } from "../../api/types";
import { percent, whole } from "../../format";
import type { Range } from "../../state/view";

export function section(report: Report, name: string): Row[] {
	return report.rows.filter((row) => row.section === name);
}

export function value(report: Report, part: string, name: string): string | number | undefined {
	const found = report.rows.find((row) => row.section === part && row.name === name)?.value;
	return typeof found === "string" || typeof found === "number" ? found : undefined;
}

export function number(report: Report, part: string, name: string): number | undefined {
	const found = value(report, part, name);
	return typeof found === "number" ? found : undefined;
}

/** "/a/b/train.py:88" as "train.py:88"; the whole is in the tooltip. */
export function short_place(place: string): string {
	return place.replace(/^.*\/(?=[^/]+:\d+$)/, "");
}

/** The time of the steps, where lines and hotspots are of it alone; null: they are of everything. */
export function steady_range(report: Report): Range | null {
	const begin = number(report, "steady", "begin_ns");
	const end = number(report, "steady", "end_ns");
	return begin !== undefined && end !== undefined && end > begin ? [begin, end] : null;
}

/** Whether it is of a range of time or of what filters keep. */
export function is_narrowed(report: Report): boolean {
	return section(report, "only").length > 0;
}

export function is_filtered(report: Report): boolean {
	return section(report, "only").some((row) => row.name !== "time");
}

/** What the shares of tasks are of. Where operators are listed beside them, tasks have little time of their own. */
export function task_metric(report: Report): "wall_total_ns" | "wall_self_ns" {
	return number(report, "cost", "operators") && !is_filtered(report) ? "wall_total_ns" : "wall_self_ns";
}

const WHOLE_ENOUGH = 0.9;

/** What the CPU time is known from. Where much of it was not sampled it is all that was used, and lists are of less. */
export function cpu_note(report: Report): string {
	const samples = whole(number(report, "cpu", "samples") ?? 0);
	const ratio = number(report, "cpu", "cpu_sampled_ratio") ?? 1;
	return ratio < WHOLE_ENOUGH ? `${samples} samples stand for ${percent(ratio)} of it` : `of ${samples} samples`;
}
