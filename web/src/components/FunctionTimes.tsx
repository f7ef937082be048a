// SPDX-License-Identifier: Apache-2.0
//
// Functions with their CPU time, the heaviest first: what runs inside an event, or behind an operator.
import { report } from "../api/client";
import type { Row } from "../api/types";
import { useAnswer } from "../api/use";
import { exact, ns, percent } from "../format";
import { go } from "../state/view";
import { Failed } from "./Empty";

const MOST = 25;

function time(row: Row): number {
	return typeof row.cpu_self_ns === "number" ? row.cpu_self_ns : Number(row.cpu_total_ns ?? 0);
}

export interface FunctionTimesProps {
	result: string;
	/** What narrows the samples: filters and a range, as words of the command line. */
	words: string[];
	title: string;
	/** Shown instead when no sample was taken there. */
	none?: preact.ComponentChildren;
}

export function FunctionTimes({ result, words, title, none }: FunctionTimesProps) {
	const asked = ["hotspots", "-group-by", "function", ...words];
	const { data, error } = useAnswer(JSON.stringify([result, asked]), (signal) =>
		report(result, asked, { offset: 0, limit: MOST, depth: 1 }, signal),
	);
	const rows = (data?.rows ?? []).filter((row) => time(row) > 0);
	if (!rows.length && !error && !(data && none)) return null;
	const most = Math.max(...rows.map(time), 1);
	const sum = Number(data?.totals.cpu_self_ns ?? 0) || rows.reduce((total, row) => total + time(row), 0) || 1;
	return (
		<section aria-label={title}>
			<h3>{title}</h3>
			{error ? (
				<Failed error={error} />
			) : !rows.length ? (
				none
			) : (
				<table class="tl-table">
					<tbody>
						{rows.map((row) => (
							<tr key={String(row.function)} data-name={String(row.function)}>
								<td
									class="number"
									data-key="cpu_self_ns"
									data-value={time(row)}
									data-tip={exact(time(row), "ns")}
								>
									{ns(time(row))}
								</td>
								<td class="number muted">{percent(time(row) / sum)}</td>
								<td class="tl-bar">
									<i style={{ width: `${(time(row) / most) * 100}%` }} />
									<button
										type="button"
										class="link function-name"
										data-tip={String(row.function)}
										onClick={() =>
											go("grid", { selection: { kind: "function", value: String(row.function) } })
										}
									>
										{String(row.function)}
									</button>{" "}
									<span class="muted">{String(row.module ?? "")}</span>
								</td>
							</tr>
						))}
					</tbody>
				</table>
			)}
		</section>
	);
}
