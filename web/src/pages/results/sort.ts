// SPDX-License-Identifier: Apache-2.0
import type { ResultInfo } from "../../api/types";

export type SortKey = "name" | "type" | "command" | "started_at" | "elapsed_ns" | "size_bytes" | "exit";

/** The results that have the letters, in order. */
export function sort_results(list: ResultInfo[], key: SortKey, down: boolean, filter: string): ResultInfo[] {
	const wanted = filter.trim().toLowerCase();
	const has = (one: ResultInfo) => `${one.name} ${one.id} ${one.type} ${one.command}`.toLowerCase().includes(wanted);
	const order = (a: ResultInfo, b: ResultInfo) => {
		const [x, y] = [a[key] ?? "", b[key] ?? ""];
		return typeof x === "number" && typeof y === "number"
			? x - y
			: String(x).localeCompare(String(y), "en", { numeric: true });
	};
	return list.filter((one) => !wanted || has(one)).sort((a, b) => (down ? -order(a, b) : order(a, b)));
}
