// SPDX-License-Identifier: Apache-2.0
//
// What the steps are made of: all of them together, or the one that the view is narrowed to, beside a bar for each.
import { report as ask_report } from "../../api/client";
import type { Report, Row } from "../../api/types";
import { currentResult, useAnswer } from "../../api/use";
import { Empty, Failed } from "../../components/Empty";
import { ViewLink } from "../../components/Link";
import { type Part, StackedBar } from "../../components/StackedBar";
import { ns, whole } from "../../format";
import { setRange, view } from "../../state/view";
import { section } from "./rows";
import { MOST, STEP_PARTS, StepChart, step_range } from "./StepChart";

function parts_of_all(report: Report): Part[] {
	const colour = (name: string) =>
		STEP_PARTS.find((part) => part.title.toLowerCase() === name.toLowerCase())?.colour ?? 6;
	return section(report, "step_part").map((row) => ({
		name: String(row.name),
		value: Number(row.wall_total_ns),
		ratio: Number(row.share_ratio),
		colour: colour(String(row.name)),
	}));
}

function parts_of_one(step: Row): Part[] {
	const whole_ns = Number(step.wall_total_ns) || 1;
	return STEP_PARTS.filter((part) => step[part.key] !== undefined).map((part) => ({
		name: part.title.replace(/^(?!Python)./, (letter) => letter.toLowerCase()),
		value: Number(step[part.key] ?? 0),
		ratio: Number(step[part.key] ?? 0) / whole_ns,
		colour: part.colour,
	}));
}

function OneStep({ step }: { step: Row }) {
	return (
		<div>
			<h3>{String(step.step)}</h3>
			<StackedBar
				parts={parts_of_one(step)}
				unit="ns"
				label={`What ${step.step} is made of`}
				total={ns(Number(step.wall_total_ns))}
			/>
			<p>
				<ViewLink to={{ ...view.value, page: "timeline", params: {}, search: "" }}>
					Its events on the timeline
				</ViewLink>{" "}
				·{" "}
				<button type="button" class="link" onClick={() => setRange(null)}>
					All steps
				</button>
			</p>
		</div>
	);
}

function AllSteps({ report }: { report: Report }) {
	const [step] = section(report, "step");
	const parts = parts_of_all(report);
	if (!parts.length || !step) return <div />;
	return (
		<StackedBar
			parts={parts}
			unit="ns"
			label="Where the time of the steps went"
			total={`${ns(Number(step.wall_total_ns))} in ${whole(Number(step.count))} steps`}
		/>
	);
}

export function Steps({ report }: { report: Report }) {
	const { result, range } = view.value;
	const { data, error } = useAnswer(JSON.stringify([result, currentResult()?.generation]), (signal) =>
		ask_report(result, ["steps"], { path: [], offset: 0, limit: MOST, depth: 1 }, signal),
	);
	if (error) return <Failed error={error} />;
	if (!data) return <div class="skeleton" aria-busy="true" />;
	if (!data.rows.length)
		return (
			<Empty
				small
				title="No training steps were recognised."
				commands={["strata -collect hotspots -knob collect-operators=true -- python3 train.py"]}
			>
				Steps are taken from the optimizer, from profiler steps or from tasks named iteration_N.
			</Empty>
		);
	const one = data.rows.find((row) => String(step_range(row)) === String(range));
	return (
		<div class="steps">
			{one ? <OneStep step={one} /> : <AllSteps report={report} />}
			<StepChart data={data} />
		</div>
	);
}
