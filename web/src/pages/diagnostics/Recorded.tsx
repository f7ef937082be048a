// SPDX-License-Identifier: Apache-2.0
//
// Which data the result has, which is missing, what it would show and the command that records it.
import type { Row } from "../../api/types";
import { currentResult, useReport } from "../../api/use";
import { CommandLine } from "../../components/Copy";
import { Failed } from "../../components/Empty";
import { Icon } from "../../components/Icon";
import { whole } from "../../format";

/** What each kind of data answers, and why a program may have none of it. */
const ABOUT: Record<string, [shows: string, none: string]> = {
	"CPU samples": ["Which functions, source lines and stacks use the CPU.", "No program used enough CPU time."],
	operators: ["What PyTorch runs, and the parts of a step.", "No program ran operators of PyTorch."],
	"operator inputs": ["Operators by the shapes of their inputs; FLOPs and bytes.", "No operator had inputs."],
	"operator stacks": ["The Python line that calls each operator.", "No operator was called from Python."],
	"operator memory": ["What held memory at its peak, and what each operator took.", "No memory was allocated."],
	"nn.Module calls": ["The layers of a model.", "No module was called."],
	tasks: [
		"Parts of the program by its own names.",
		"The program names none: mark them with record_function, ITT or strata.itt.",
	],
	waits: ["What threads wait for, and who lets them go on.", "No thread waited."],
	"device work": ["Kernels and copies of devices, by operator.", "No program used a device that strata knows."],
	"Python calls": ["How often each Python function is called.", "No Python function was called."],
};

/** The run again, with what was missing: a knob is added to the type that was collected. */
export function command_for(options: string, type: string, program: string): string {
	const collect = options.startsWith("-collect") ? options : `-collect ${type} ${options}`;
	return `strata ${collect} -- ${program}`;
}

function Line({ row }: { row: Row }) {
	const [shows, none] = ABOUT[String(row.data)] ?? ["", ""];
	const { type = "hotspots", command = "" } = currentResult() ?? {};
	const recorded = Number(row.count) > 0;
	return (
		<tr class={row.options ? "fallback" : ""}>
			<th scope="row">{String(row.data)}</th>
			<td class="nowrap">
				<span class={recorded ? "verdict good" : row.options ? "verdict" : "muted"}>
					{recorded ? <Icon name="check" size={13} /> : row.options ? <Icon name="warn" size={13} /> : null}{" "}
					{recorded ? whole(Number(row.count)) : row.options ? "missing" : String(row.state)}
				</span>
			</td>
			<td>
				{shows} {!recorded && !row.options && <span class="muted">{none}</span>}
				{row.options ? (
					<CommandLine text={command_for(String(row.options), type, command || "PROGRAM")} />
				) : null}
			</td>
		</tr>
	);
}

export function Recorded() {
	const { data, error } = useReport(["recorded"], undefined, true);
	if (error) return <Failed error={error} />;
	if (!data) return <div class="skeleton" aria-busy="true" />;
	// What is missing first: that is what one comes for.
	const rows = [...data.rows].sort((a, b) => Number(Boolean(b.options)) - Number(Boolean(a.options)));
	return (
		<table class="plain-table recorded" aria-label="Recorded and missing data">
			<thead>
				<tr>
					<th scope="col">Data</th>
					<th scope="col">Recorded</th>
					<th scope="col">What it shows, and how to get it</th>
				</tr>
			</thead>
			<tbody>
				{rows.map((row) => (
					<Line key={String(row.data)} row={row} />
				))}
			</tbody>
		</table>
	);
}
