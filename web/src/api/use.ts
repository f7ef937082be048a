// SPDX-License-Identifier: Apache-2.0
//
// Answers of the server as component state: the last answer stays on the page while the next is computed.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { view } from "../state/view";
import { report, results } from "./client";
import { applied_here } from "./meta";
import { is_abort } from "./problem";
import type { Page, Report, ResultInfo } from "./types";

export interface Answer<T> {
	data: T | null;
	error: unknown;
	/** A newer answer is on its way; `data` is of the question before. */
	loading: boolean;
	retry: () => void;
}

/** Asks when `key` changes; an empty key asks nothing. The question before is cancelled. */
export function useAnswer<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): Answer<T> {
	const [state, setState] = useState<{ data: T | null; error: unknown; key: string }>({
		data: null,
		error: null,
		key: "",
	});
	const [again, setAgain] = useState(0);
	const latest = useRef(ask);
	latest.current = ask;
	useEffect(() => {
		if (!key) return;
		const abort = new AbortController();
		latest.current(abort.signal).then(
			(data) => setState({ data, error: null, key }),
			(error) => {
				if (!is_abort(error) && !abort.signal.aborted)
					setState((before) => ({ data: before.data, error, key }));
			},
		);
		return () => abort.abort();
	}, [key, again]);
	return {
		data: state.data,
		error: state.key === key ? state.error : null,
		loading: key !== "" && state.key !== key,
		retry: () => {
			setState((before) => ({ ...before, error: null, key: "" }));
			setAgain(again + 1);
		},
	};
}

/** All results, kept up to date by the shell. */
export const resultList = signal<ResultInfo[] | null>(null);
export const projectList = signal<string[]>([]);
export const resultError = signal<unknown>(null);

export async function refreshResults(): Promise<void> {
	try {
		const list = await results();
		resultList.value = list.results;
		projectList.value = list.projects;
		resultError.value = null;
	} catch (error) {
		resultError.value = error;
	}
}

export function currentResult(): ResultInfo | undefined {
	return resultList.value?.find((one) => one.id === view.value.result);
}

/** A report of the result in view, in its range and with its filters unless `whole` says of all. */
export function useReport(words: string[] | null, page?: Page, whole = false): Answer<Report> {
	const { result } = view.value;
	const all = words && [...words, ...(whole ? [] : applied_here(words[0] ?? "").words)];
	const generation = currentResult()?.generation ?? "";
	const key = all && result ? JSON.stringify([result, generation, all, page ?? null]) : "";
	return useAnswer(key, (signal) => report(result, all ?? [], page, signal));
}
