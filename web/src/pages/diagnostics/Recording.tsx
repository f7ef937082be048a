// SPDX-License-Identifier: Apache-2.0
//
// How each process was recorded, and why not in a better way: what strata fell back to, what it did not enter, with which
// versions.
import { query } from "../../api/client";
import type { Report, Row } from "../../api/types";
import { currentResult, useAnswer } from "../../api/use";
import { Failed } from "../../components/Empty";
import { Icon } from "../../components/Icon";
import { ns, whole } from "../../format";
import { view } from "../../state/view";

interface Part {
	title: string;
	none: string;
	sql: string;
	heads: string[];
	cells: (row: Row) => (string | number)[];
}

const BEST = "the best way there is";

const PARTS: Part[] = [
	{
		title: "CPU samples",
		none: "No process was sampled.",
		sql: `SELECT process, rung, "trigger", period_ns, why, dropped, not_taken, handler_ns
			FROM samplers JOIN processes USING (process_id) LIMIT 200`,
		heads: ["Process", "Interrupted by", "Event", "Period", "Why not better", "Lost", "Not taken", "Time taken"],
		cells: (row) => [
			String(row.process),
			String(row.rung),
			String(row.trigger),
			ns(Number(row.period_ns)),
			String(row.why ?? BEST),
			Number(row.dropped),
			Number(row.not_taken),
			ns(Number(row.handler_ns)),
		],
	},
	{
		title: "Operators",
		none: "No framework's operators were recorded.",
		sql: `SELECT process, framework, level, untested, why
			FROM operator_sources JOIN processes USING (process_id) LIMIT 200`,
		heads: ["Process", "Framework", "Recorded", "Version", "Why not better"],
		cells: (row) => [
			String(row.process),
			String(row.framework ?? ""),
			String(row.level),
			row.untested ? "not tested; its self-check passed" : "tested",
			String(row.why ?? BEST),
		],
	},
	{
		title: "Programs that were not recorded",
		none: "Every program that was started was recorded.",
		sql: "SELECT executable, reason, count, cpu_ns FROM not_entered ORDER BY cpu_ns DESC LIMIT 200",
		heads: ["Program", "Why", "Times", "Their CPU time"],
		cells: (row) => [
			String(row.executable),
			String(row.reason),
			Number(row.count),
			row.cpu_ns === null ? "not seen" : ns(Number(row.cpu_ns)),
		],
	},
];

function Rows({ part, data }: { part: Part; data: Report }) {
	if (!data.rows.length) return <p class="muted">{part.none}</p>;
	return (
		<table class="plain-table quality">
			<thead>
				<tr>
					{part.heads.map((head) => (
						<th key={head} scope="col">
							{head}
						</th>
					))}
				</tr>
			</thead>
			<tbody>
				{data.rows.map((row, index) => (
					<tr key={index} class={row.why || row.reason ? "fallback" : ""}>
						{part.cells(row).map((cell, at) => (
							<td key={part.heads[at]} class={typeof cell === "number" ? "number" : ""}>
								{at === 0 && (row.why || row.reason) ? <Icon name="warn" size={13} /> : null}{" "}
								{typeof cell === "number" ? whole(cell) : cell}
							</td>
						))}
					</tr>
				))}
			</tbody>
		</table>
	);
}

function PartOf({ part }: { part: Part }) {
	const { result } = view.value;
	const key = JSON.stringify([result, currentResult()?.generation, part.sql]);
	const { data, error } = useAnswer(key, (signal) => query(result, part.sql.replace(/\s+/g, " "), signal));
	return (
		<section aria-label={part.title}>
			<h2>{part.title}</h2>
			{error ? (
				<Failed error={error} />
			) : data ? (
				<Rows part={part} data={data} />
			) : (
				<div class="skeleton" aria-busy="true" />
			)}
		</section>
	);
}

export function Recording() {
	return (
		<>
			{PARTS.map((part) => (
				<PartOf key={part.title} part={part} />
			))}
		</>
	);
}
