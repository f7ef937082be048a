// SPDX-License-Identifier: Apache-2.0
//
// Draws the rows of the timeline: boxes and curves as pixels, then text and what is selected on a canvas above. One
// frame at most per refresh of the screen, and only when something changed.

import { digits } from "../../format";
import { type Frame, fillRect, type LaneRow, MARGIN, makeFrame, paintRow } from "../../paint/boxes";
import { type Box, boxAt, hitBox, laneAt, type WideBox, wideBoxes } from "../../paint/hit";
import { SHADES } from "../../paint/palette";
import { nsPerPixel, ticks, timeToX, type Window, xToTime } from "../../paint/scale";
import { TextFit } from "../../paint/text";
import { FLAG_MERGED, levelFor } from "../../paint/tile";
import { paintValues, valueRange } from "../../paint/values";
import { view } from "../../state/view";
import { type Colours, coloursNow } from "./colours";
import type { Timeline } from "./model";
import { drawMarks, drawRange, drawSelection } from "./overlay";
import { isCurve, type Row, rowsBetween, tileKinds } from "./tracks";

export const FONT = '11px system-ui, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';
const TEXT_MIN_PIXELS = 26;
const TEXTS_MAX = 1200; // of a frame

/** A row where it is on the screen, in pixels of the device. */
export interface Placed {
	row: Row;
	top: number; // pixels of the page, in the picture
	lanes: LaneRow;
}

export interface FrameTimes {
	paintMs: number;
	textMs: number;
	totalMs: number;
}

export class Picture {
	placed: Placed[] = [];
	colours!: Colours;
	scale = 1; // pixels of the device for one of the page
	last: FrameTimes = { paintMs: 0, textMs: 0, totalMs: 0 };
	private frame: Frame = makeFrame(1, 1);
	private image: ImageData | null = null;
	private queued = 0;
	private readonly fit: TextFit;
	private readonly stop: () => void;
	readonly above: CanvasRenderingContext2D;
	private readonly below: CanvasRenderingContext2D;

	constructor(
		readonly timeline: Timeline,
		private readonly boxes: HTMLCanvasElement,
		private readonly texts: HTMLCanvasElement,
		private readonly onFrame: () => void,
	) {
		this.below = boxes.getContext("2d", { alpha: false })!;
		this.above = texts.getContext("2d")!;
		this.above.font = FONT;
		this.fit = new TextFit((text) => this.above.measureText(text).width);
		this.stop = timeline.onChange(() => this.queue());
	}

	close(): void {
		this.stop();
		cancelAnimationFrame(this.queued);
	}

	queue(): void {
		if (!this.queued)
			this.queued = requestAnimationFrame(() => {
				this.queued = 0;
				this.draw();
			});
	}

	/** Takes the size of the page's element. */
	resize(width: number, height: number): void {
		this.scale = Math.min(3, window.devicePixelRatio || 1);
		const w = Math.max(1, Math.round(width * this.scale));
		const h = Math.max(1, Math.round(height * this.scale));
		if (w !== this.boxes.width || h !== this.boxes.height) {
			for (const canvas of [this.boxes, this.texts]) {
				canvas.width = w;
				canvas.height = h;
			}
			this.frame = makeFrame(w, h);
			const bytes = new Uint8ClampedArray(this.frame.pixels.buffer as ArrayBuffer);
			this.image = new ImageData(bytes, w, h + 2 * MARGIN);
		}
		this.timeline.width = width;
		this.timeline.height = height;
		this.queue();
	}

	draw(): void {
		const { timeline, frame, image } = this;
		if (!image || !timeline.ready.value || frame.width < 2) return;
		const from = performance.now();
		this.colours = coloursNow(timeline.categories);
		this.place();
		this.askForTiles();
		fillRect(frame, -MARGIN, frame.height + 2 * MARGIN, this.colours.background);
		this.paintGrid();
		const pinnedBottom = timeline.pinnedHeight;
		for (const one of this.placed) if (!one.row.pinned) this.paintPlaced(one);
		if (pinnedBottom) {
			fillRect(frame, 0, Math.round(pinnedBottom * this.scale), this.colours.background);
			for (const one of this.placed) if (one.row.pinned) this.paintPlaced(one);
		}
		this.below.putImageData(image, 0, -MARGIN, 0, MARGIN, frame.width, frame.height);
		const painted = performance.now();
		this.drawAbove(pinnedBottom);
		const done = performance.now();
		this.last = { paintMs: painted - from, textMs: done - painted, totalMs: done - from };
		this.onFrame();
	}

	private place(): void {
		const { timeline } = this;
		const { pinnedHeight } = timeline;
		const scroll = timeline.scrollTop.value;
		const seen = rowsBetween(timeline.rows, scroll, scroll + timeline.height - pinnedHeight);
		const pinned = timeline.pinned.filter((row) => row.y + row.height <= pinnedHeight + 1);
		this.placed = [
			...pinned.map((row) => this.placeRow(row, row.y)),
			...seen.map((row) => this.placeRow(row, row.y - scroll + pinnedHeight)),
		];
	}

	private placeRow(row: Row, top: number): Placed {
		const { scale, timeline } = this;
		const step = Math.max(1, Math.round(row.laneStep * scale));
		const { startNs, endNs } = timeline.window.value;
		const level = levelFor(nsPerPixel(timeline.window.value, this.frame.width));
		return {
			row,
			top,
			lanes: {
				y: Math.round((top + row.laneTop) * scale),
				laneStep: step,
				laneHeight: Math.max(1, step - Math.max(1, Math.round(scale))),
				lanes: row.lanes,
				background: this.colours.background,
				pieces: row.lanes ? timeline.cache.pieces("boxes", row.track.id, level, startNs, endNs) : [],
			},
		};
	}

	private askForTiles(): void {
		const asks = this.placed.map(({ row }) => ({ track: row.track.id, kinds: tileKinds(row.track) }));
		this.timeline.ask(
			asks.filter((one) => one.kinds.length),
			this.frame.width,
		);
	}

	private paintGrid(): void {
		const { frame, timeline } = this;
		const at = ticks(timeline.window.value, timeline.width, 110);
		for (const ns of at) {
			const x = Math.round(timeToX(timeline.window.value, frame.width, ns));
			if (x < 0 || x >= frame.width) continue;
			for (let i = MARGIN * frame.width + x; i < (frame.height + MARGIN) * frame.width; i += frame.width)
				frame.pixels[i] = this.colours.grid;
		}
	}

	private paintPlaced(one: Placed): void {
		const { frame, scale, timeline, colours } = this;
		const top = Math.round(one.top * scale);
		const bottom = Math.round((one.top + one.row.height) * scale);
		if (one.row.track.kind === "process") fillRect(frame, top, bottom - top, colours.group);
		fillRect(frame, bottom - Math.max(1, Math.round(scale)), Math.max(1, Math.round(scale)), colours.line);
		if (one.row.cpuHeight) this.paintCurve(one);
		if (one.row.lanes)
			paintRow(frame, timeline.window.value, one.lanes, {
				palette: colours.palette,
				shades: timeline.labels.shades,
				found: timeline.labels.found,
				outlined: timeline.hover.value?.box.label ?? -1,
			});
	}

	private paintCurve(one: Placed): void {
		const { frame, scale, timeline, colours } = this;
		const { track } = one.row;
		const { startNs, endNs } = timeline.window.value;
		const level = levelFor(nsPerPixel(timeline.window.value, frame.width));
		const pieces = timeline.cache.pieces("values", track.id, level, startNs, endNs);
		let low = 0;
		let high = Math.max(1, track.value_max ?? 1);
		if (isCurve(track)) {
			const range = valueRange(pieces);
			low = Math.min(0, track.value_min ?? range?.[0] ?? 0);
			high = track.value_max ?? range?.[1] ?? 1;
		}
		paintValues(frame, timeline.window.value, {
			y: Math.round((one.top + one.row.cpuTop) * scale),
			height: Math.round(one.row.cpuHeight * scale),
			low,
			high: high > low ? high : low + 1,
			mean: isCurve(track) ? colours.counter : colours.cpu,
			peak: colours.cpuPeak,
			pieces,
		});
	}

	private drawAbove(pinnedBottom: number): void {
		const { above, scale, timeline } = this;
		above.setTransform(1, 0, 0, 1, 0, 0);
		above.clearRect(0, 0, this.texts.width, this.texts.height);
		above.setTransform(scale, 0, 0, scale, 0, 0);
		above.font = FONT;
		above.textBaseline = "middle";
		let left = TEXTS_MAX;
		for (const pinned of [false, true]) {
			above.save();
			above.beginPath();
			above.rect(0, pinned ? 0 : pinnedBottom, timeline.width, pinned ? pinnedBottom : timeline.height);
			above.clip();
			for (const one of this.placed) if (one.row.pinned === pinned) left = this.drawTexts(one, left);
			above.restore();
		}
		if (pinnedBottom) {
			above.fillStyle = this.colours.muted;
			above.fillRect(0, pinnedBottom - 1, timeline.width, 1);
		}
		drawSelection(this, pinnedBottom);
		drawRange(this, view.value.range);
		drawMarks(this);
	}

	private drawTexts(one: Placed, left: number): number {
		const { above, scale, timeline, colours } = this;
		if (one.row.cpuHeight && isCurve(one.row.track)) this.drawScale(one);
		if (one.row.laneHeight < 10) return left;
		const { palette } = colours;
		const boxes = wideBoxes(one.lanes, timeline.window.value, this.frame.width, TEXT_MIN_PIXELS * scale);
		for (const box of boxes) {
			if (left <= 0) break;
			const name = this.boxText(box);
			const y = one.top + one.row.laneTop + box.lane * one.row.laneStep;
			if (!name || y < -20 || y > timeline.height) continue;
			const x0 = box.x0 / scale;
			const text = this.fit.fit(name, box.x1 / scale - x0 - 8);
			if (!text) continue;
			const shade = (box.category % 32) * SHADES + (timeline.labels.shades[box.label] ?? 2);
			const faded = timeline.labels.found && !timeline.labels.found[box.label];
			above.fillStyle = faded ? colours.muted : palette.darkText[shade] ? "#000" : "#fff";
			above.fillText(text, x0 + 4, y + one.row.laneHeight / 2 + 0.5);
			left--;
		}
		return left;
	}

	private boxText(box: WideBox): string {
		const name = this.timeline.labels.name(box.label);
		return box.flags & FLAG_MERGED && name ? `${box.count} × ${name}` : name;
	}

	private drawScale(one: Placed): void {
		const { above } = this;
		const { track } = one.row;
		above.fillStyle = this.colours.muted;
		const unit = track.unit ? ` ${track.unit}` : "";
		above.fillText(`${digits(track.value_max ?? 0)}${unit}`, 4, one.top + one.row.cpuTop + 6);
	}

	/** The row and the box at a point of the picture, in pixels of the page. */
	hit(x: number, y: number): { placed: Placed; box: Box | null } | null {
		const { timeline, scale } = this;
		const inPinned = y < timeline.pinnedHeight;
		const placed = this.placed.find(
			(one) => one.row.pinned === inPinned && y >= one.top && y < one.top + one.row.height,
		);
		if (!placed) return null;
		const lane = laneAt(placed.lanes, Math.floor(y * scale));
		if (lane < 0) return { placed, box: null };
		const window = timeline.window.value;
		const at = xToTime(window, timeline.width, x);
		return { placed, box: hitBox(placed.lanes, lane, at, 3 * nsPerPixel(window, timeline.width)) };
	}

	/** Where a lane of a track is drawn now: its top in the picture, or null when it is not in sight. */
	laneTop(track: number, lane: number): number | null {
		const placed = this.placed.find((one) => one.row.track.id === track);
		return placed ? placed.top + placed.row.laneTop + lane * placed.row.laneStep : null;
	}

	/** Every box in sight, for the table and for moving from box to box. */
	boxesInSight(most: number): Box[] {
		const { startNs, endNs } = this.timeline.window.value;
		const found = new Map<string, Box>();
		for (const { lanes } of this.placed)
			for (const { tile, fromNs, toNs } of lanes.pieces)
				for (let i = 0; i < tile.n && found.size < most; i++) {
					const box = boxAt(tile, i);
					if (box.endNs <= Math.max(fromNs, startNs) || box.startNs >= Math.min(toNs, endNs)) continue;
					const key = `${box.track} ${box.lane} ${box.event}`;
					const before = found.get(key);
					if (before) before.endNs = Math.max(before.endNs, box.endNs);
					else found.set(key, box);
				}
		return [...found.values()];
	}
}

export function windowSpan(window: Window): number {
	return window.endNs - window.startNs;
}
