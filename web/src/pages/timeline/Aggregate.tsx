// SPDX-License-Identifier: Apache-2.0
//
// What the chosen range is made of: the same reports as everywhere, limited to it, while it is still being dragged.
import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { report } from "../../api/client";
import { applied, report_kind } from "../../api/meta";
import type { Column, Report, Row } from "../../api/types";
import { useAnswer, useReport } from "../../api/use";
import { Icon } from "../../components/Icon";
import { NotApplied } from "../../components/NotApplied";
import { Tabs } from "../../components/Tabs";
import { columnFormat, exact, ns } from "../../format";
import { type Range, setRange, view } from "../../state/view";
import type { Timeline } from "./model";

interface Table {
	id: string;
	title: string;
	words: string[];
	columns: string[];
}

const TABS: Table[] = [
	{
		id: "tasks",
		title: "Tasks",
		words: ["tasks"],
		columns: ["count", "wall_total_ns", "wall_self_ns", "wall_avg_ns", "cpu_self_ns"],
	},
	{
		id: "operators",
		title: "Operators",
		words: ["operators"],
		columns: ["count", "wall_total_ns", "wall_self_ns", "wall_avg_ns", "cpu_self_ns"],
	},
	{
		id: "functions",
		title: "Functions",
		words: ["hotspots", "-group-by", "function"],
		columns: ["cpu_self_ns", "effective_ns", "spin_ns", "overhead_ns", "module"],
	},
	{
		id: "threads",
		title: "Threads",
		words: ["tasks", "-group-by", "thread,task-type", "-sort-desc", "wall_self_ns"],
		columns: ["count", "wall_total_ns", "wall_self_ns", "cpu_self_ns"],
	},
];
/** What threads did, where no task says it. */
const THREADS_BY_SAMPLES = {
	words: ["hotspots", "-group-by", "thread,function"],
	columns: ["cpu_self_ns", "effective_ns", "spin_ns", "overhead_ns", "module"],
};
const LIMIT = 100;
const INSIDE = 3; // rows below another one
const SETTLE_MS = 120; // while a range is dragged

function useSettled(range: Range | null): Range | null {
	const [settled, setSettled] = useState(range);
	const key = String(range);
	useEffect(() => {
		const timer = setTimeout(() => setSettled(range), SETTLE_MS);
		return () => clearTimeout(timer);
	}, [key]);
	return range ? settled : null;
}

function Cells({ row, columns, formats }: { row: Row; columns: Column[]; formats: ReturnType<typeof columnFormat>[] }) {
	return (
		<>
			{columns.map((column, i) => {
				const value = row[column.key];
				const number = typeof value === "number";
				return (
					<td
						key={column.key}
						class={number ? "number" : ""}
						data-key={column.key}
						data-value={number ? value : undefined}
						data-tip={number ? exact(value, column.unit) : undefined}
					>
						{number ? formats[i]!.text(value) : String(value ?? "")}
					</td>
				);
			})}
		</>
	);
}

interface Line {
	row: Row;
	level: number;
	name: string;
}

/** Rows, each followed by the first of those inside it. */
function lines_of(data: Report): Line[] {
	const key = (level: number) => (data.group_by[level] ?? "name").replace(/-/g, "_");
	const line = (row: Row, level: number) => ({ row, level, name: String(row[key(level)] ?? "") });
	return data.rows.flatMap((row) => [
		line(row, 0),
		...(row.children ?? []).slice(0, INSIDE).map((child) => line(child, 1)),
	]);
}

export function ReportTable({ data, wanted }: { data: Report; wanted: string[] }) {
	const by = (data.group_by[0] ?? "name").replace(/-/g, "_");
	const columns = data.columns.filter((column) => wanted.includes(column.key));
	const formats = columns.map((column) =>
		columnFormat(
			column.unit,
			data.rows.map((row) => row[column.key]).filter((one): one is number => typeof one === "number"),
		),
	);
	return (
		<table class="tl-table">
			<thead>
				<tr>
					<th>{data.columns.find((column) => column.key === by)?.title ?? by}</th>
					{columns.map((column, i) => (
						<th key={column.key} class="number">
							{column.title} {formats[i]!.suffix && <small>{formats[i]!.suffix}</small>}
						</th>
					))}
				</tr>
			</thead>
			<tbody>
				{lines_of(data).map(({ row, level, name }, i) => (
					<tr key={i} data-name={name} class={level ? "tl-inside" : ""}>
						<th scope="row">{name}</th>
						<Cells row={row} columns={columns} formats={formats} />
					</tr>
				))}
			</tbody>
		</table>
	);
}

export function Aggregate({ model }: { model: Timeline }) {
	const tab = model.rangeTab;
	const closed = useSignal("");
	const { result, filters, range } = view.value;
	const chosen = model.preview.value ?? range;
	const settled = useSettled(chosen);
	const samples = model.tracks.some((track) => track.samples > 0 && track.has_values);
	const recorded = useReport(settled ? ["recorded"] : null, undefined, true);
	const has_operators = recorded.data?.rows.some((row) => row.data === "operators" && Number(row.count) > 0);
	const chosen_tab = TABS.find((one) => one.id === (tab.value || (has_operators ? "operators" : "tasks")))!;
	const by_samples = chosen_tab.id === "threads" && samples && !model.tracks.some((track) => track.items > 0);
	const now = by_samples ? { ...chosen_tab, ...THREADS_BY_SAMPLES } : chosen_tab;
	const open = settled !== null && closed.value !== String(settled);
	const narrowed = applied(report_kind(now.words[0]!), { range: settled, filters });
	const words = open ? [...now.words, ...narrowed.words] : [];
	// Which table comes first is known when it is known what was recorded.
	const known = tab.value || recorded.data || recorded.error;
	const answer = useAnswer(open && known ? JSON.stringify([result, words]) : "", (signal) =>
		report(result, words, { offset: 0, limit: LIMIT, depth: 2 }, signal),
	);
	if (!open || !settled) return null;
	const tabs = TABS.map((one) =>
		one.id === "functions" && !samples
			? { ...one, disabled: "No samples: strata -collect hotspots records them" }
			: one,
	);
	const close = () => {
		if (model.preview.value) {
			model.preview.value = null;
			model.changed();
		} else if (range) closed.value = String(settled);
	};
	return (
		<section class="tl-aggregate" aria-label="What the range is made of" aria-busy={answer.loading}>
			<header>
				<Tabs tabs={tabs} chosen={now.id} choose={(id) => (tab.value = id)} label="Table of the range" />
				<span class="muted">
					{ns(settled[1] - settled[0])} from {ns(settled[0])}
					{answer.data ? `, ${answer.data.row_count ?? answer.data.rows.length} rows` : ""}
				</span>
				<div class="spring" />
				{range && (
					<button type="button" class="button" onClick={() => setRange(null)}>
						Whole run
					</button>
				)}
				<button type="button" class="icon-button" aria-label="Close the table" onClick={close}>
					<Icon name="close" />
				</button>
			</header>
			<div class="tl-aggregate-rows" tabIndex={0} role="region" aria-label="Rows">
				<NotApplied left={narrowed.left} />
				{answer.error ? (
					<p class="muted">{String((answer.error as Error).message)}</p>
				) : answer.data ? (
					answer.data.rows.length ? (
						<ReportTable data={answer.data} wanted={now.columns} />
					) : (
						<p class="muted">Nothing of this kind lies in the range.</p>
					)
				) : null}
			</div>
		</section>
	);
}
