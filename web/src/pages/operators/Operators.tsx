// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's operators: torch's own table in its own words, or grouped by shape, module, step or thread with memory and
// work; the modules as a tree. A row's details are its durations, shapes and places.
import { useEffect } from "preact/hooks";
import { hideDrawer, showDrawer } from "../../components/Drawer";
import { Empty } from "../../components/Empty";
import { GroupingSelect, type NamedLevels } from "../../components/GroupingSelect";
import { ReportTable } from "../../components/ReportTable";
import { Tabs } from "../../components/Tabs";
import type { GridRow } from "../../components/TreeGrid";
import { update, view } from "../../state/view";
import { OperatorDetails } from "./OperatorDetails";
import { OVER_STEPS, StepCell } from "./OverSteps";
import { useStepsOfTable } from "./steps";
import { short_count, sort_key, TORCH_COLUMNS, torch_cell, torch_layout, torch_words } from "./torch";

const TABS = [
	{ id: "torch", title: "As key_averages()" },
	{ id: "operators", title: "Work and memory" },
	{ id: "modules", title: "Modules" },
];

const GROUPINGS: NamedLevels[] = [
	{ title: "Name", levels: ["operator"] },
	{ title: "Name and shapes", levels: ["operator", "input-shapes"] },
	{ title: "Name and types", levels: ["operator", "input-types"] },
	{ title: "Module", levels: ["nn-module", "operator"] },
	{ title: "Step", levels: ["step", "operator"] },
	{ title: "Thread", levels: ["thread", "operator"] },
	{ title: "Scope", levels: ["operator-scope", "operator"] },
];

function nothing() {
	if (view.value.filters.length || view.value.range)
		return (
			<Empty title="No operator in this range with these filters.">
				Remove a chip above, or show the whole run.
			</Empty>
		);
	return (
		<Empty
			title="No operators were recorded."
			commands={[
				"strata -collect operators -- python3 train.py",
				"strata -collect hotspots -knob collect-operators=true -- python3 train.py",
			]}
		>
			Operators of PyTorch 2.0 and later are recorded without a change to the program.
		</Empty>
	);
}

function show_operator(name: string): void {
	showDrawer({ title: name, body: <OperatorDetails operator={name} /> });
}

function details(row: GridRow): void {
	if (row.label && (row.column.key === "operator" || row.column.key === "key")) show_operator(row.label);
}

function choose_tab(id: string): void {
	update({
		groupBy: [],
		params: { ...view.value.params, tab: id === "torch" ? "" : id, sort: "", cols: "", by: "" },
	});
}

function TorchTable() {
	const { params } = view.value;
	const by = params.by ?? "";
	const tools = (
		<select
			class="field"
			aria-label="Group by"
			value={by}
			onChange={(event) => update({ params: { ...params, by: event.currentTarget.value, cols: "" } })}
		>
			<option value="">group by name</option>
			<option value="shape">group_by_input_shape</option>
			<option value="stack">group_by_stack_n = 5</option>
		</select>
	);
	return (
		<ReportTable
			words={[...torch_words(by), "-report-knob", `sort-by=${sort_key(params.sort ?? "")}`]}
			label="Operators as key_averages()"
			tools={tools}
			columns={[
				...TORCH_COLUMNS,
				...(by === "shape" ? ["input_shapes"] : []),
				...(by === "stack" ? ["stack"] : []),
			]}
			sortWords={() => []}
			cell={torch_cell}
			adapt={torch_layout}
			empty={nothing}
			onSelect={details}
			onOpen={details}
		/>
	);
}

export default function Operators() {
	const { params, groupBy } = view.value;
	// A link with groupings means the table that has them.
	const tab = params.tab ?? (groupBy.length ? "operators" : "torch");
	useEffect(() => {
		// A link to one operator shows it at once.
		const { selection } = view.value;
		if (selection?.kind === "operator") show_operator(selection.value);
		return hideDrawer;
	}, []);
	const levels = groupBy.length ? groupBy : ["operator"];
	const curves = useStepsOfTable(tab === "operators" && levels[0] === "operator");
	return (
		<div class="page filled">
			<Tabs tabs={TABS} chosen={tab} choose={choose_tab} label="Operators" />
			<div class="column grid-page">
				{tab === "torch" && <TorchTable />}
				{tab === "operators" && (
					<ReportTable
						words={["operators", "-group-by", levels.join(",")]}
						label="Operators"
						tools={<GroupingSelect groupings={GROUPINGS} levels={levels} />}
						drawn={curves ? OVER_STEPS : null}
						empty={nothing}
						onSelect={details}
						onOpen={details}
						cell={(row, column) => {
							const value = row.row[column.key];
							if (column === OVER_STEPS.column) return <StepCell curve={curves?.get(row.label)} />;
							return column.key === "flops" && typeof value === "number" ? short_count(value) : undefined;
						}}
					/>
				)}
				{tab === "modules" && (
					<ReportTable
						words={["operators", "-group-by", "nn-module,operator,input-shapes"]}
						label="Modules"
						empty={nothing}
						onSelect={details}
						onOpen={details}
					/>
				)}
			</div>
		</div>
	);
}
