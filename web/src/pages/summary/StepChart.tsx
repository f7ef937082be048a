// SPDX-License-Identifier: Apache-2.0
//
// Every step as a bar of its parts; a click or Enter narrows the view to that step.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Report, Row } from "../../api/types";
import { ns } from "../../format";
import { type Range, setRange, view } from "../../state/view";

export const STEP_PARTS = [
	{ key: "data_wait_ns", title: "Data wait", colour: 5 },
	{ key: "forward_ns", title: "Forward", colour: 0 },
	{ key: "backward_ns", title: "Backward", colour: 2 },
	{ key: "optimizer_ns", title: "Optimizer", colour: 1 },
	{ key: "device_wait_ns", title: "Waits for the device", colour: 6 },
	{ key: "other_ns", title: "Python, other", colour: 7 },
];

const HEIGHT = 120;
export const MOST = 400;

/** The tallest bar that is drawn in full: a long first step must not flatten all others. */
export function ceiling(values: number[]): number {
	const sorted = [...values].sort((a, b) => a - b);
	return Math.min(sorted[sorted.length - 1] ?? 0, 1.6 * (sorted[Math.floor(sorted.length * 0.95)] ?? 0)) || 1;
}

export const step_range = (step: Row): Range => [
	Number(step.start_ns),
	Number(step.start_ns) + Number(step.wall_total_ns),
];

/** All steps stand side by side in the room that there is, unless a bar would be thinner than a pixel. */
export function bar_width(room: number, steps: number): number {
	return Math.max(1, Math.min(16, room / Math.max(1, steps)));
}

/** The width of an element in whole pixels. */
function useRoom(place: { current: HTMLElement | null }): number {
	const [px, setPx] = useState(600);
	useLayoutEffect(() => {
		const element = place.current;
		if (!element) return;
		const measure = () => setPx(Math.floor(element.getBoundingClientRect().width));
		measure();
		const watch = new ResizeObserver(measure);
		watch.observe(element);
		return () => watch.disconnect();
	}, []);
	return px;
}

export function StepChart({ data }: { data: Report }) {
	const { range } = view.value;
	const [at, setAt] = useState(0);
	const steps = data.rows;
	const top = ceiling(steps.map((row) => Number(row.wall_total_ns)));
	const place = useRef<HTMLDivElement>(null);
	const room = useRoom(place);
	const width = bar_width(room, steps.length);
	const choose = (row: Row) => setRange(step_range(row));
	const text = (row: Row) =>
		`${row.step}${row.warm_up ? " (warm-up)" : ""}: ${ns(Number(row.wall_total_ns))} at ${ns(Number(row.start_ns))}`;
	const keys = (event: KeyboardEvent) => {
		const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
		if (step) setAt(Math.max(0, Math.min(steps.length - 1, at + step)));
		else if (event.key === "Enter" && steps[at]) choose(steps[at]);
		else return;
		event.preventDefault();
	};
	const has_parts = (row: Row) => STEP_PARTS.some((part) => row[part.key] !== undefined);
	const bar = (row: Row, index: number) => {
		let y = HEIGHT;
		const over = Number(row.wall_total_ns) > top;
		const whole = over ? HEIGHT : (Number(row.wall_total_ns) / top) * HEIGHT;
		const inside = range && Number(row.start_ns) >= range[0] && Number(row.start_ns) < range[1];
		return (
			<g
				key={index}
				opacity={row.warm_up ? 0.45 : 1}
				data-tip={text(row)}
				onClick={() => {
					setAt(index);
					choose(row);
				}}
				class="step-bar"
			>
				<rect x={index * width} y={0} width={width} height={HEIGHT} fill="transparent" />
				{!has_parts(row) && (
					<rect
						class="fill-7 unknown-parts"
						x={index * width}
						y={HEIGHT - whole}
						width={Math.max(1, width - 1)}
						height={whole}
					/>
				)}
				{STEP_PARTS.map((part) => {
					const height = (Number(row[part.key] ?? 0) / (over ? Number(row.wall_total_ns) : top)) * HEIGHT;
					y -= height;
					return (
						<rect
							key={part.key}
							class={`fill-${part.colour}`}
							x={index * width}
							y={y}
							width={Math.max(1, width - 1)}
							height={height}
						/>
					);
				})}
				{over && <path d={`M${index * width} 5l${width / 2} -5l${width / 2} 5z`} class="over" />}
				{(inside || index === at) && (
					<rect
						x={index * width}
						y={HEIGHT + 2}
						width={Math.max(1, width - 1)}
						height={3}
						class={inside ? "chosen" : "cursor"}
					/>
				)}
			</g>
		);
	};
	const current = steps[at];
	return (
		<div class="step-chart">
			<p class="muted">{data.subject}</p>
			<div
				class="scroll-x"
				ref={place}
				role="slider"
				aria-label="Steps: arrow keys choose one, Enter narrows the view to it"
				aria-valuemin={0}
				aria-valuemax={steps.length - 1}
				aria-valuenow={at}
				aria-valuetext={current ? text(current) : ""}
				tabIndex={0}
				onKeyDown={keys}
			>
				<svg aria-hidden="true" width={steps.length * width} height={HEIGHT + 6}>
					{steps.map(bar)}
				</svg>
			</div>
			<p class="muted">
				{(data.row_count ?? 0) > steps.length && `The first ${MOST} of ${data.row_count} steps. `}
				{current && `${text(current)}. `}Click a step, or choose it by arrow keys and Enter, to see only it on
				all pages. The full height is {ns(top)}.
				{!steps.every(has_parts) && " Pale: operators were not recorded, so that its parts are not known."}
			</p>
		</div>
	);
}
