// SPDX-License-Identifier: Apache-2.0
//
// An operator's self time from step to step: as a column of the table, and as bars in the details.
import { Sparkline } from "../../components/Sparkline";
import type { DrawnColumn } from "../../components/TreeGrid";
import { ns, whole } from "../../format";
import { type StepTime, useStepsOf } from "./steps";

/** The column of the table whose cells are curves. */
export const OVER_STEPS: DrawnColumn = {
	column: { key: "over_steps", title: "Self Time, by Step", unit: "" },
	after: "wall_self_ns",
};

export function step_text(curve: StepTime[]): string {
	const times = curve.map((one) => one.self_ns);
	const longest = curve.reduce((a, b) => (b.self_ns > a.self_ns ? b : a));
	return `${whole(curve.length)} steps, ${ns(Math.min(...times))} to ${ns(longest.self_ns)}, most in ${longest.step}`;
}

export function StepCell({ curve }: { curve: StepTime[] | undefined }) {
	if (!curve?.length) return <span />;
	return <Sparkline values={curve.map((one) => one.self_ns)} text={step_text(curve)} />;
}

export function OverSteps({ operator }: { operator: string }) {
	const curve = useStepsOf(operator);
	if (curve.length < 2) return null;
	return (
		<>
			<h3>Self time by step</h3>
			<p class="muted">{step_text(curve)}</p>
			<div class="scroll-x">
				<Sparkline values={curve.map((one) => one.self_ns)} text={step_text(curve)} />
			</div>
		</>
	);
}
