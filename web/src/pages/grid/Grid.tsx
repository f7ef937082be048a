// SPDX-License-Identifier: Apache-2.0
//
// Bottom-up, top-down and callers/callees: one table, grouped by any chain of groupings.
import { useEffect, useState } from "preact/hooks";
import { report_kind } from "../../api/meta";
import type { Report } from "../../api/types";
import { currentResult } from "../../api/use";
import { register } from "../../commands/commands";
import { Icon } from "../../components/Icon";
import { type MenuItem, openMenu } from "../../components/Menu";
import { NoSamples, NoTasks } from "../../components/NoRows";
import { ReportTable } from "../../components/ReportTable";
import { Tabs } from "../../components/Tabs";
import { cell_text, type GridRow } from "../../components/TreeGrid";
import { addFilter, filterWord, update, updateParams, view } from "../../state/view";
import { CallerCallee } from "./CallerCallee";
import { GroupingBuilder } from "./GroupingBuilder";
import { type NamedGrouping, READY_CPU, READY_TASKS, savedGroupings } from "./groupings";
import { StackPane } from "./StackPane";

const MODES = [
	{ id: "bottom-up", title: "Bottom-up" },
	{ id: "top-down", title: "Top-down" },
	{ id: "callers", title: "Callers / callees" },
];

function is_cpu(): boolean {
	return view.value.params.data !== "tasks";
}

function levels_now(): string[] {
	const { groupBy } = view.value;
	if (groupBy.length) return groupBy;
	return is_cpu() ? READY_CPU[0]!.levels : READY_TASKS[0]!.levels;
}

function group(levels: string[]): void {
	update({ groupBy: levels, params: { ...view.value.params, sort: "", cols: "" } });
}

function GroupingMenu({ build }: { build: () => void }) {
	const levels = levels_now();
	const ready = is_cpu() ? READY_CPU : READY_TASKS;
	const named = [...savedGroupings.value, ...ready].find((one) => one.levels.join() === levels.join());
	const item = (one: NamedGrouping): MenuItem => ({
		title: one.name,
		checked: one.levels.join() === levels.join(),
		run: () => group(one.levels),
	});
	const show = (event: MouseEvent) => {
		const saved = savedGroupings.value.map(item);
		if (saved[0]) saved[0].separated = true;
		openMenu(
			event.currentTarget as Element,
			[...ready.map(item), ...saved, { title: "Build a grouping …", separated: true, run: build }],
			"Grouping",
		);
	};
	return (
		<button type="button" class="button" aria-haspopup="menu" onClick={show}>
			<span class="muted">Grouping</span> {named?.name ?? levels.join(" / ")} <Icon name="down" size={12} />
		</button>
	);
}

function nothing(report: Report) {
	return is_cpu() ? (
		<NoSamples said={report.empty}>
			{currentResult()?.name ?? view.value.result} has no stacks to group. Its tasks and operators can be grouped
			all the same:{" "}
			<button
				type="button"
				class="button"
				onClick={() => update({ groupBy: [], params: { ...view.value.params, data: "tasks" } })}
			>
				Group tasks
			</button>
		</NoSamples>
	) : (
		<NoTasks report={report}>Tasks are ITT tasks, record_function ranges and operators.</NoTasks>
	);
}

function words_now(): string[] {
	const { mode } = view.value.params;
	if (mode === "top-down") return is_cpu() ? ["top-down"] : ["top-down", "-group-by", "task-stack"];
	return [is_cpu() ? "hotspots" : "tasks", "-group-by", levels_now().join(",")];
}

/** The function whose stacks the pane shows: the row itself, or the one that it is in. */
function function_of(row: GridRow): string {
	return /^(function|python_function|callstack|function_stack)$/.test(row.column.key)
		? row.label
		: cell_text(row.row.function);
}

export default function Grid() {
	const { params } = view.value;
	const mode = params.mode ?? "bottom-up";
	const [building, setBuilding] = useState(false);
	const [selected, setSelected] = useState("");
	const pane = params.pane !== "off" && is_cpu();
	useEffect(
		() =>
			register(
				{
					id: "grid.invert",
					title: "Bottom-up or top-down",
					keys: ["KeyI"],
					scope: "Table",
					run: () =>
						updateParams({
							mode: view.value.params.mode === "top-down" ? "" : "top-down",
							sort: "",
							cols: "",
						}),
				},
				{
					id: "grid.group",
					title: "Build a grouping",
					keys: ["KeyG"],
					scope: "Table",
					run: () => setBuilding(true),
				},
				{
					id: "grid.no-interpreter",
					title: "Leave out the interpreter's own functions",
					keys: ["KeyP"],
					scope: "Table",
					run: () => addFilter(filterWord("module", "libpython*", false).replace("\\*", "*")),
				},
			),
		[],
	);
	const choose_mode = (id: string) =>
		update({ params: { ...params, mode: id === "bottom-up" ? "" : id, sort: "", cols: "" } });
	const tools = (
		<>
			{mode === "bottom-up" && <GroupingMenu build={() => setBuilding(true)} />}
			<select
				class="field"
				aria-label="What is grouped"
				value={is_cpu() ? "cpu" : "tasks"}
				onChange={(event) =>
					update({
						groupBy: [],
						params: {
							...params,
							data: event.currentTarget.value === "tasks" ? "tasks" : "",
							sort: "",
							cols: "",
						},
					})
				}
			>
				<option value="cpu">CPU time (samples)</option>
				<option value="tasks">Tasks and operators</option>
			</select>
			{is_cpu() && (
				<label class="check">
					<input
						type="checkbox"
						checked={pane}
						onChange={() => updateParams({ pane: pane ? "off" : "" }, "replace")}
					/>
					Stacks
				</label>
			)}
		</>
	);
	return (
		<div class="page filled">
			<Tabs tabs={MODES} chosen={mode} choose={choose_mode} label="Direction" />
			{mode === "callers" ? (
				<CallerCallee />
			) : (
				<div class="side-by-side grid-page">
					<div class="column">
						<ReportTable
							words={words_now()}
							label={mode === "top-down" ? "Top-down" : "Bottom-up"}
							tools={tools}
							keys
							empty={nothing}
							onSelect={(row) => setSelected(function_of(row))}
						/>
					</div>
					{pane && (
						<aside class="pane" aria-label="Call stacks">
							<h2>Call stacks</h2>
							<StackPane func={selected} />
						</aside>
					)}
				</div>
			)}
			{building && (
				<GroupingBuilder
					levels={levels_now()}
					allowed={report_kind(is_cpu() ? "hotspots" : "tasks")?.groupings ?? []}
					close={() => setBuilding(false)}
					apply={group}
				/>
			)}
		</div>
	);
}
