// SPDX-License-Identifier: Apache-2.0
//
// The self time of operators step by step, for curves in the table and in the details.
import { report } from "../../api/client";
import { applied_here } from "../../api/meta";
import type { Report, Row } from "../../api/types";
import { currentResult, useAnswer } from "../../api/use";
import { filterWord, view } from "../../state/view";

/** More steps than this would be a larger answer than the table itself; the details of a row still show them. */
const MOST_IN_TABLE = 200;
const MOST_IN_DETAILS = 5000;

export interface StepTime {
	step: string;
	self_ns: number;
}

/** "step 2" before "step 10": the report has them by time. What lies outside of steps has no number and is left out. */
export function by_step(rows: Row[]): StepTime[] {
	return rows
		.filter((row) => /\d$/.test(String(row.step)))
		.map((row) => ({ step: String(row.step), self_ns: Number(row.wall_self_ns ?? 0) }))
		.sort((a, b) => a.step.localeCompare(b.step, "en", { numeric: true }));
}

/** Of each operator of the table; null: no steps, or too many. Steps in which an operator was not called count as 0. */
export function over_steps(data: Report | null): Map<string, StepTime[]> | null {
	if (!data) return null;
	const steps = new Set<string>();
	const rows = data.rows.map((row) => ({ name: String(row.operator), of: by_step(row.children ?? []), row }));
	if (rows.some(({ row }) => Number(row.child_count ?? 0) > MOST_IN_TABLE)) return null;
	for (const { of } of rows) for (const one of of) steps.add(one.step);
	if (steps.size < 2) return null;
	const order = [...steps].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
	return new Map(
		rows.map(({ name, of }) => {
			const known = new Map(of.map((one) => [one.step, one.self_ns]));
			return [name, order.map((step) => ({ step, self_ns: known.get(step) ?? 0 }))];
		}),
	);
}

function useSteps(words: string[], limit: number, on: boolean): Report | null {
	const { result } = view.value;
	const all = [...words, "-column", "Self Time", ...applied_here("operators").words];
	const key = on ? JSON.stringify([result, currentResult()?.generation, all]) : "";
	const { data } = useAnswer(key, (signal) => report(result, all, { path: [], offset: 0, limit, depth: 2 }, signal));
	return on ? data : null;
}

export function useStepsOfTable(on: boolean): Map<string, StepTime[]> | null {
	return over_steps(useSteps(["operators", "-group-by", "operator,step"], MOST_IN_TABLE, on));
}

export function useStepsOf(operator: string): StepTime[] {
	const words = ["operators", "-group-by", "step", "-filter", filterWord("operator", operator, true)];
	return by_step(useSteps(words, MOST_IN_DETAILS, true)?.rows ?? []);
}
