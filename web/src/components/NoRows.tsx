// SPDX-License-Identifier: Apache-2.0
//
// Why there is nothing to show: filters and range, a run that was too short to be sampled, or data that was not
// recorded. Which of them it is, the server says with the empty report.
import type { ComponentChildren, VNode } from "preact";
import type { Report } from "../api/types";
import { currentResult, useReport } from "../api/use";
import { ns } from "../format";
import { view } from "../state/view";
import { Empty } from "./Empty";

/** Whether it is the range or the filters that leave nothing. */
export function narrowed_away(said: string | undefined): boolean {
	if (said) return /^No .* match\b/.test(said);
	return view.value.filters.length > 0 || view.value.range !== null;
}

export function Narrowed({ small = false, more }: { small?: boolean; more?: ComponentChildren }) {
	return (
		<Empty title="Nothing in this range with these filters." small={small}>
			Remove a chip above, or show the whole run.
			{more}
		</Empty>
	);
}

/** The program was sampled, and no sample was taken: in the server's words. */
function NotTaken({ said, small, more }: { said: string; small: boolean; more: ComponentChildren }) {
	const result = currentResult();
	const [why = "", ...advice] = said.split("\n");
	const rest = why.replace(/^No samples were taken(: |, )?/, "").replace(" (or see the notes)", "");
	const finer = /-knob sampling-interval=\S+/.exec(said)?.[0];
	const ran = result?.elapsed_ns ? `It ran ${ns(result.elapsed_ns)}.` : "";
	return (
		<Empty
			title="No samples were taken."
			small={small}
			commands={finer && result?.command ? [`strata -collect ${result.type} ${finer} -- ${result.command}`] : []}
		>
			{rest.charAt(0).toUpperCase() + rest.slice(1)} {ran} {!finer && advice.join(" ")}
			{more}
		</Empty>
	);
}

export interface NoSamplesProps {
	/** What the report without rows says about it. */
	said: string | undefined;
	/** What else there is to do where none were recorded. */
	children?: ComponentChildren;
	/** What can be looked at instead, whatever the reason. */
	more?: ComponentChildren;
	small?: boolean;
}

export function NoSamples({ said, children, more, small = false }: NoSamplesProps) {
	if (narrowed_away(said)) return <Narrowed small={small} more={more} />;
	if (said?.startsWith("No samples were taken")) return <NotTaken said={said} small={small} more={more} />;
	return (
		<Empty
			title="No CPU samples in this result."
			small={small}
			commands={["strata -collect hotspots -- python3 train.py"]}
		>
			{children}
			{more}
		</Empty>
	);
}

export interface NoSamplesHereProps {
	/** Where there are samples all the same. */
	otherwise: VNode;
	more?: ComponentChildren;
	small?: boolean;
}

/** The same where what is empty is no such report. */
export function NoSamplesHere({ otherwise, more, small = false }: NoSamplesHereProps) {
	const { data, error } = useReport(["hotspots", "-group-by", "function"], {
		path: [],
		offset: 0,
		limit: 1,
		depth: 1,
	});
	if (!data && !error) return <div class="skeleton" aria-busy="true" />;
	return data && !data.rows.length ? <NoSamples said={data.empty} small={small} more={more} /> : otherwise;
}

export function NoTasks({ report, children }: { report: Report; children?: ComponentChildren }) {
	if (narrowed_away(report.empty)) return <Narrowed />;
	return (
		<Empty title="No tasks in this result." commands={["strata -collect tasks -- python3 train.py"]}>
			{children}
		</Empty>
	);
}
