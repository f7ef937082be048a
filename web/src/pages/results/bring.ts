// SPDX-License-Identifier: Apache-2.0
//
// Brings things into the list: a trace as a result of its own, and the samples that strata has with it.
import { act } from "../../api/client";
import { problem_of } from "../../api/problem";
import type { ResultInfo } from "../../api/types";
import { refreshResults, resultList } from "../../api/use";
import { toast } from "../../components/Toast";

/** The id of the result that `strata import` made of the trace; null: it could not, and that was said. */
export async function importTrace(trace: ResultInfo): Promise<string | null> {
	try {
		const made = await act<{ id: string }>("POST", `/results/${encodeURIComponent(trace.id)}/import`, {});
		await refreshResults();
		return made?.id ?? null;
	} catch (error) {
		toast(problem_of(error).detail || problem_of(error).message);
		return null;
	}
}

/** Puts the samples into the project "samples"; those that are there already stay as they are. */
export async function addSamples(): Promise<void> {
	try {
		const made = await act<{ ids: string[]; project: string }>("POST", "/samples", {});
		await refreshResults();
		toast(`${made?.ids.length ?? 0} samples are in the project ${made?.project}`);
	} catch (error) {
		toast(problem_of(error).detail || problem_of(error).message);
	}
}

export function isTrace(id: string | undefined): ResultInfo | undefined {
	return resultList.value?.find((one) => one.id === id && one.kind === "trace");
}
