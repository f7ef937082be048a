// SPDX-License-Identifier: Apache-2.0
//
// The whole run in a strip: each thread a thin line, and the window in it, which can be drawn, moved and resized.

import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { fillRect, type LaneRow, MARGIN, makeFrame, paintRow } from "../../paint/boxes";
import { clampWindow, timeToX, type Window, xToTime } from "../../paint/scale";
import { levelFor } from "../../paint/tile";
import { scheme } from "../../theme/theme";
import { coloursNow } from "./colours";
import type { Timeline } from "./model";

const HEIGHT = 44;
const THREADS = 10;

/** The tracks with most events, in the order of the rows. */
function chosen(model: Timeline) {
	const drawn = model.tracks.filter((track) => track.has_boxes && track.items > 0 && track.kind !== "markers");
	const most = [...drawn].sort((a, b) => b.items - a.items).slice(0, THREADS);
	return drawn.filter((track) => most.includes(track));
}

function paint(model: Timeline, canvas: HTMLCanvasElement): void {
	const scale = Math.min(3, window.devicePixelRatio || 1);
	const width = Math.round(canvas.clientWidth * scale);
	const height = Math.round(HEIGHT * scale);
	if (width < 2 || !model.durationNs) return;
	canvas.width = width;
	canvas.height = height;
	const colours = coloursNow(model.categories);
	const frame = makeFrame(width, height);
	fillRect(frame, -MARGIN, height + 2 * MARGIN, colours.background);
	const whole: Window = { startNs: 0, endNs: model.durationNs };
	const level = levelFor(model.durationNs / width);
	const tracks = chosen(model);
	const space = Math.max(2, Math.floor((HEIGHT - 6) / Math.max(1, tracks.length)));
	tracks.forEach((track, i) => {
		const pieces = model.overview.pieces("boxes", track.id, level, 0, model.durationNs);
		const y = Math.round((3 + i * space) * scale);
		const laneHeight = Math.max(1, Math.min(Math.round((space - 1) * scale), Math.round(8 * scale)));
		const row: LaneRow = {
			y,
			laneHeight,
			laneStep: laneHeight + 1,
			lanes: 1,
			background: colours.background,
			pieces,
		};
		const style = {
			palette: colours.palette,
			shades: model.labels.shades,
			found: model.labels.found,
			outlined: -1,
		};
		paintRow(frame, whole, row, style);
	});
	const image = new ImageData(new Uint8ClampedArray(frame.pixels.buffer as ArrayBuffer), width, height + 2 * MARGIN);
	const context = canvas.getContext("2d", { alpha: false });
	context?.putImageData(image, 0, -MARGIN, 0, MARGIN, width, height);
	if (!context || !model.found.value) return;
	context.fillStyle = colours.mark;
	for (const hit of model.found.value.hits)
		context.fillRect(timeToX(whole, width, hit.begin_ns), 0, scale, 5 * scale);
}

function useStrip(model: Timeline, canvas: { current: HTMLCanvasElement | null }): void {
	useEffect(() => {
		const element = canvas.current;
		if (!element) return;
		let queued = 0;
		const later = () => {
			if (!queued)
				queued = requestAnimationFrame(() => {
					queued = 0;
					paint(model, element);
				});
		};
		const sizes = new ResizeObserver(() => {
			const width = Math.round(element.clientWidth * Math.min(3, window.devicePixelRatio || 1));
			if (width > 1) void model.loadOverview(chosen(model), levelFor(model.durationNs / width), later);
			later();
		});
		sizes.observe(element);
		const off = effect(() => {
			void scheme.value;
			void model.found.value;
			later();
		});
		return () => {
			off();
			sizes.disconnect();
			cancelAnimationFrame(queued);
		};
	}, [model, canvas]);
}

export function Overview({ model }: { model: Timeline }) {
	const canvas = useRef<HTMLCanvasElement>(null);
	useStrip(model, canvas);
	const shown = model.window.value;
	const left = (shown.startNs / model.durationNs) * 100;
	const width = ((shown.endNs - shown.startNs) / model.durationNs) * 100;
	const down = (event: PointerEvent) => {
		const host = event.currentTarget as HTMLElement;
		const box = host.getBoundingClientRect();
		const whole: Window = { startNs: 0, endNs: model.durationNs };
		const timeAt = (x: number) => Math.min(Math.max(0, xToTime(whole, box.width, x - box.left)), model.durationNs);
		const from = timeAt(event.clientX);
		const before = model.window.value;
		const edge = (event.target as HTMLElement).dataset.edge;
		const inside = (event.target as HTMLElement).classList.contains("tl-brush");
		host.setPointerCapture(event.pointerId);
		const move = (moved: PointerEvent) => {
			const to = timeAt(moved.clientX);
			const by = to - from;
			const span = before.endNs - before.startNs;
			const next = edge
				? edge === "left"
					? { startNs: Math.min(to, before.endNs - 1), endNs: before.endNs }
					: { startNs: before.startNs, endNs: Math.max(to, before.startNs + 1) }
				: inside && span < model.durationNs * 0.999
					? { startNs: before.startNs + by, endNs: before.endNs + by }
					: { startNs: Math.min(from, to), endNs: Math.max(from, to) };
			if (next.endNs - next.startNs > 1) model.setWindow(clampWindow(next, model.durationNs));
		};
		const up = (last: PointerEvent) => {
			host.removeEventListener("pointermove", move);
			if (Math.abs(last.clientX - event.clientX) > 3 || edge || inside) return;
			const half = (before.endNs - before.startNs) / 2;
			model.setWindow({ startNs: from - half, endNs: from + half });
		};
		host.addEventListener("pointermove", move);
		host.addEventListener("pointerup", up, { once: true });
	};
	return (
		<div class="tl-overview" onPointerDown={down} data-tip="Drag to choose what is shown below">
			<canvas ref={canvas} />
			<div class="tl-outside" style={{ left: 0, width: `${left}%` }} />
			<div class="tl-outside" style={{ left: `${left + width}%`, right: 0 }} />
			<div class="tl-brush" style={{ left: `${left}%`, width: `${width}%` }}>
				<i data-edge="left" />
				<i data-edge="right" />
			</div>
		</div>
	);
}
