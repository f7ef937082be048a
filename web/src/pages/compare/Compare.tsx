// SPDX-License-Identifier: Apache-2.0
//
// Two results side by side: every table with before, after and difference, and whether it is more than chance.
import { useState } from "preact/hooks";
import { compare } from "../../api/client";
import { result_path } from "../../api/names";
import type { Column, Report } from "../../api/types";
import { resultList } from "../../api/use";
import { Empty } from "../../components/Empty";
import { Icon } from "../../components/Icon";
import { open_tab, PageTabs } from "../../components/PageTabs";
import { ReportTable } from "../../components/ReportTable";
import type { GridRow } from "../../components/TreeGrid";
import { shellQuote } from "../../format";
import { update, view } from "../../state/view";
import { importTrace, isTrace } from "../results/bring";

const TABS = [
	{ id: "overview", title: "What changed" },
	{ id: "operators", title: "Operators" },
	{ id: "hotspots", title: "Hotspots" },
	{ id: "tasks", title: "Tasks" },
	{ id: "steps", title: "Steps" },
	{ id: "top-down", title: "Top-down" },
];

function Picker({ side, label }: { side: "a" | "b"; label: string }) {
	const { params } = view.value;
	return (
		<label class="check">
			<span class="muted">{label}</span>
			<select
				class="field"
				aria-label={label}
				value={params[side] ?? ""}
				onChange={(event) => update({ params: { ...params, [side]: event.currentTarget.value } })}
			>
				<option value="">choose a result</option>
				{(resultList.value ?? []).map((one) => (
					<option key={one.id} value={one.id}>
						{one.name || one.id}
					</option>
				))}
			</select>
		</label>
	);
}

/** The first metric of a side that has none: the row was added or removed. */
function only_side(row: GridRow, column: Column) {
	const match = /^(first|second)_(.*)$/.exec(column.key);
	if (!match || row.row[column.key] !== undefined) return undefined;
	const other = row.row[`${match[1] === "first" ? "second" : "first"}_${match[2]}`];
	if (
		other === undefined ||
		row.report.columns.find((one) => /^(first|second)_/.test(one.key))?.key.replace(/^first/, match[1]!) !==
			column.key
	)
		return undefined;
	return <span class="muted">{match[1] === "first" ? "added" : "removed"}</span>;
}

/** The first metric of the report, of both sides with its difference: the others can be added. */
export function first_metric(report: Report): string[] {
	const key = report.columns.find((column) => column.key.startsWith("first_"))?.key.replace(/^first_/, "");
	if (!key || report.report === "compare") return [];
	return report.columns
		.filter((column) => new RegExp(`^(first|second|difference|change|interval)_(${key}|count)$`).test(column.key))
		.map((column) => column.key);
}

/** Traces open like results, but only results can be compared: offers to make them results. */
function Traces() {
	const { params } = view.value;
	const [busy, setBusy] = useState(false);
	const traces = (["a", "b"] as const).flatMap((side) => isTrace(params[side]) ?? []);
	const bring = async () => {
		setBusy(true);
		const next = { ...params };
		for (const side of ["a", "b"] as const) {
			const trace = isTrace(params[side]);
			const id = trace && (await importTrace(trace));
			if (id) next[side] = id;
		}
		setBusy(false);
		update({ params: next }, "replace");
	};
	return (
		<Empty
			title="Traces must be imported before they can be compared."
			commands={traces.map((trace) => shellQuote(["strata", "import", result_path(trace.id)]))}
		>
			<p>Importing makes a result of each beside it; the trace stays.</p>
			<button type="button" class="button primary" disabled={busy} onClick={() => void bring()}>
				<Icon name="download" /> {busy ? "Importing" : "Import and compare"}
			</button>
		</Empty>
	);
}

export default function Compare() {
	const { params } = view.value;
	const { a, b } = params;
	const tab = open_tab(TABS);
	const swap = () => update({ params: { ...params, a: b ?? "", b: a ?? "" } });
	const load = (words: string[]) => ({
		id: JSON.stringify(["compare", a, b, words]),
		load: (page: Parameters<typeof compare>[3], signal: AbortSignal) =>
			compare([a ?? ""], [b ?? ""], words, page, signal),
		command: ["strata", "compare", ...words, "-r", result_path(a ?? ""), "-against", result_path(b ?? "")],
	});
	return (
		<div class="page filled">
			<div class="toolbar">
				<h1>Compare</h1>
				<Picker side="a" label="Before" />
				<button
					type="button"
					class="icon-button"
					aria-label="Swap the two"
					data-tip="Swap the two"
					onClick={swap}
				>
					<Icon name="compare" />
				</button>
				<Picker side="b" label="After" />
			</div>
			{!a || !b ? (
				<Empty title="Choose two results." commands={["strata compare BEFORE AFTER"]}>
					Pick them here, or two in the list of results. Several runs of each side tell a change from chance:
					strata compare A1,A2 B1,B2.
				</Empty>
			) : a === b ? (
				<Empty title="Both sides are the same result." />
			) : isTrace(a) || isTrace(b) ? (
				<Traces />
			) : (
				<>
					<PageTabs tabs={TABS} label="What is compared" keep={{ a, b }} />
					<div class="column grid-page">
						<ReportTable
							key={tab}
							words={tab === "overview" ? [] : [tab]}
							label={TABS.find((one) => one.id === tab)?.title ?? tab}
							load={load}
							cell={only_side}
							defaultColumns={first_metric}
							expanded={tab === "overview"}
							whole
							tools={
								<span class="muted">
									Difference: after minus before; + takes longer now. Up to +/- it may be chance.
								</span>
							}
							empty={() => <Empty title="Neither result has this." />}
						/>
					</div>
				</>
			)}
		</div>
	);
}
