// SPDX-License-Identifier: Apache-2.0
//
// A band between two curves over time; a drag chooses a part of it. The figures of the bin under the pointer or the cursor
// are in text below.
import { useState } from "preact/hooks";
import { ns } from "../format";

export interface LineChartProps {
	label: string;
	/** Begin and end of each bin. */
	x: [number, number][];
	low: number[];
	high: number[];
	text: (value: number) => string;
	choose: (from: number, to: number) => void;
}

const WIDTH = 1000;
const HEIGHT = 150;

/** Steps, not slopes: a bin says what held in it, not how it came there. */
export function path_of(x: [number, number][], values: number[], top: number): string {
	const begin = x[0]?.[0] ?? 0;
	const span = Math.max(1, (x[x.length - 1]?.[1] ?? 1) - begin);
	const px = (value: number) => (((value - begin) / span) * WIDTH).toFixed(1);
	const py = (value: number) => (HEIGHT - (value / top) * HEIGHT).toFixed(1);
	return values
		.map((value, i) => `${i ? "L" : "M"}${px(x[i]![0])} ${py(value)}L${px(x[i]![1])} ${py(value)}`)
		.join("");
}

export function LineChart(props: LineChartProps) {
	const { x, low, high, text } = props;
	const [at, setAt] = useState(0);
	const [drag, setDrag] = useState<[number, number] | null>(null);
	// A little room above the peak, which is what the axis says.
	const peak = high.reduce((most, one) => Math.max(most, one), 0);
	const top = Math.max(1, peak) * 1.05;
	const peak_y = HEIGHT - (peak / top) * HEIGHT;
	const bin_at = (event: PointerEvent) => {
		const box = (event.currentTarget as Element).getBoundingClientRect();
		return Math.max(0, Math.min(x.length - 1, Math.floor(((event.clientX - box.left) / box.width) * x.length)));
	};
	const finish = () => {
		if (drag && drag[0] !== drag[1]) {
			const [from, to] = [Math.min(...drag), Math.max(...drag)];
			props.choose(x[from]![0], x[to]![1]);
		}
		setDrag(null);
	};
	const keys = (event: KeyboardEvent) => {
		const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
		if (step) {
			const to = Math.max(0, Math.min(x.length - 1, at + step));
			setAt(to);
			if (event.shiftKey) setDrag([drag?.[0] ?? at, to]);
			else setDrag(null);
		} else if (event.key === "Enter") finish();
		else return;
		event.preventDefault();
	};
	const area = `${path_of(x, high, top)}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z`;
	const describe = (i: number) =>
		x[i] ? `${ns(x[i][0])}: at most ${text(high[i] ?? 0)}, ${text(low[i] ?? 0)} at the end` : "";
	const left = (i: number) => (i / x.length) * WIDTH;
	return (
		<figure class="line-chart">
			<span class="axis-top">{text(peak)}</span>
			<svg
				viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
				preserveAspectRatio="none"
				role="slider"
				aria-label={`${props.label}: arrow keys move, Shift selects, Enter narrows the view`}
				aria-valuemin={0}
				aria-valuemax={x.length - 1}
				aria-valuenow={at}
				aria-valuetext={describe(at)}
				tabIndex={0}
				onKeyDown={keys}
				onPointerDown={(event) => {
					event.currentTarget.setPointerCapture(event.pointerId);
					setDrag([bin_at(event), bin_at(event)]);
				}}
				onPointerMove={(event) => {
					setAt(bin_at(event));
					if (drag) setDrag([drag[0], bin_at(event)]);
				}}
				onPointerUp={finish}
			>
				<path d={area} class="chart-area" />
				<path d={path_of(x, low, top)} class="chart-line" />
				<line x1={0} x2={WIDTH} y1={peak_y} y2={peak_y} class="chart-peak" />
				<rect x={left(at)} width={WIDTH / x.length} y={0} height={HEIGHT} class="chart-cursor" />
				{drag && (
					<rect
						x={left(Math.min(...drag))}
						width={left(Math.abs(drag[1] - drag[0]) + 1)}
						y={0}
						height={HEIGHT}
						class="chart-drag"
					/>
				)}
			</svg>
			<figcaption class="muted">
				<span>{ns(x[0]?.[0] ?? 0)}</span>
				<span>{describe(at)}</span>
				<span>{ns(x[x.length - 1]?.[1] ?? 0)}</span>
			</figcaption>
		</figure>
	);
}
