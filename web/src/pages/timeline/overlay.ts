// SPDX-License-Identifier: Apache-2.0
//
// What lies above the boxes: the selected event and its arrows, the range, marks with the time between them.
import { ns } from "../../format";
import { timeToX } from "../../paint/scale";
import type { Range } from "../../state/view";
import type { EventDetails, Flow } from "./data";
import type { Picture } from "./picture";

function xOf(picture: Picture, at: number): number {
	return timeToX(picture.timeline.window.value, picture.timeline.width, at);
}

function badge(picture: Picture, text: string, x: number, y: number, colour: string): void {
	const { above, timeline, colours } = picture;
	const width = above.measureText(text).width + 10;
	const left = Math.min(Math.max(2, x - width / 2), Math.max(2, timeline.width - width - 2));
	above.fillStyle = colour;
	above.beginPath();
	above.roundRect(left, y, width, 17, 4);
	above.fill();
	above.fillStyle = colours.scheme === "dark" ? "#000" : "#fff";
	above.fillText(text, left + 5, y + 9);
}

/** The box of an event as far as its row is in sight. */
function placeOf(picture: Picture, event: { track?: number; lane?: number; begin_ns?: number; end_ns?: number }) {
	if (event.track === undefined || event.begin_ns === undefined) return null;
	const placed = picture.placed.find((one) => one.row.track.id === event.track);
	if (!placed) return null;
	const x0 = xOf(picture, event.begin_ns);
	const x1 = Math.max(x0 + 2, xOf(picture, event.end_ns ?? event.begin_ns));
	const y = placed.top + placed.row.laneTop + (event.lane ?? 0) * placed.row.laneStep;
	return { x0, x1, y, height: placed.row.laneHeight };
}

function arrow(picture: Picture, from: { x: number; y: number }, to: { x: number; y: number }): void {
	const { above, colours } = picture;
	const bend = Math.max(24, Math.abs(to.x - from.x) / 2);
	above.strokeStyle = colours.accent;
	above.fillStyle = colours.accent;
	above.lineWidth = 1.5;
	above.beginPath();
	above.moveTo(from.x, from.y);
	above.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x, to.y);
	above.stroke();
	above.beginPath();
	above.moveTo(to.x, to.y);
	above.lineTo(to.x - 7, to.y - 4);
	above.lineTo(to.x - 7, to.y + 4);
	above.fill();
}

function drawFlow(picture: Picture, selected: EventDetails, flow: Flow): void {
	const here = placeOf(picture, selected);
	const there = placeOf(picture, flow);
	if (!here || !there) return;
	const incoming = flow.direction === "in" || flow.direction === "from";
	const [source, target] = incoming ? [there, here] : [here, there];
	arrow(
		picture,
		{ x: Math.min(source.x1, source.x0 + 4), y: source.y + source.height / 2 },
		{ x: target.x0, y: target.y + target.height / 2 },
	);
}

export function drawSelection(picture: Picture, pinnedBottom: number): void {
	const { above, timeline, colours } = picture;
	const selected = timeline.selected.value;
	if (!selected) return;
	const at = placeOf(picture, selected);
	if (at) {
		const left = Math.max(-4, at.x0);
		const width = Math.min(timeline.width + 4, at.x1) - left;
		if (width > 0 && at.y + at.height > pinnedBottom) {
			above.strokeStyle = colours.text;
			above.lineWidth = 2;
			above.strokeRect(left, at.y, width, at.height);
		}
	}
	for (const flow of selected.flows ?? []) drawFlow(picture, selected, flow);
}

/** The range that all pages are limited to, and the one that is being chosen. */
export function drawRange(picture: Picture, range: Range | null): void {
	const { above, timeline, colours } = picture;
	const shown = timeline.preview.value ?? range;
	if (!shown) return;
	const x0 = xOf(picture, shown[0]);
	const x1 = xOf(picture, shown[1]);
	above.fillStyle = colours.shade;
	above.fillRect(0, 0, Math.max(0, x0), timeline.height);
	above.fillRect(Math.max(0, x1), 0, Math.max(0, timeline.width - x1), timeline.height);
	above.fillStyle = colours.accent;
	above.fillRect(x0 - 1, 0, 1, timeline.height);
	above.fillRect(x1, 0, 1, timeline.height);
	if (!timeline.preview.value) return;
	above.fillStyle = colours.fill;
	above.fillRect(x0, 0, x1 - x0, timeline.height);
	badge(picture, ns(shown[1] - shown[0]), (x0 + x1) / 2, 6, colours.accent);
}

export function drawMarks(picture: Picture): void {
	const { above, timeline, colours } = picture;
	const marks = [...timeline.marks.value].sort((a, b) => a.ns - b.ns);
	marks.forEach((mark, i) => {
		const x = xOf(picture, mark.ns);
		above.fillStyle = colours.mark;
		above.fillRect(Math.round(x), 0, 1, timeline.height);
		const next = marks[i + 1];
		if (!next) return;
		const to = xOf(picture, next.ns);
		if (to - x > 40) badge(picture, ns(next.ns - mark.ns), (x + to) / 2, timeline.height - 22, colours.mark);
	});
}
