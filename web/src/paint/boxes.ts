// SPDX-License-Identifier: Apache-2.0
//
// The painter: tiles and a window of time in, pixels out, nothing else touched. A lane is drawn as a few lines of
// pixels (its edge and one turn of the hatch), which are then copied to the rest of its height: what a box costs does
// not grow with the height of a lane.

import type { Piece } from "./cache";
import { CATEGORIES, MIDDLE_SHADE, type Palette, SHADES, STRENGTHS } from "./palette";
import type { Window } from "./scale";
import { type BoxTile, FLAG_LOST, FLAG_MERGED, FLAG_TO_RIGHT, FLAG_UNFINISHED } from "./tile";

/** A lane that is partly above or below the picture is drawn whole; so many lines of pixels are kept for that. */
export const MARGIN = 64;
export const LANE_MAX_PIXELS = MARGIN;

export interface Frame {
	pixels: Uint32Array; // width × (height + 2 × MARGIN)
	width: number;
	height: number;
}

export interface LaneRow {
	y: number; // of its first lane; may be above the picture
	laneHeight: number;
	laneStep: number; // from one lane to the next: laneHeight and the space between
	lanes: number;
	background: number;
	pieces: Piece<BoxTile>[];
}

export interface BoxStyle {
	palette: Palette;
	shades: Uint8Array; // by label; a label beyond it has the middle one
	found: Uint8Array | null; // by label: 1 where it matches what is searched for; null: nothing is
	outlined: number; // the label whose boxes get an outline, or -1
}

export function makeFrame(width: number, height: number): Frame {
	return { pixels: new Uint32Array(width * (height + 2 * MARGIN)), width, height };
}

const FULL = STRENGTHS - 1;
const HATCH = 4; // lines and columns of one turn
const DIMMED = 3; // strength of what is not found
const UNFINISHED_PIXELS = 8;
const SPECIAL = FLAG_UNFINISHED | FLAG_LOST; // drawn in a way of their own
const LOWEST_HATCHED = HATCH + 2; // a lower lane has no room for a hatch

/** By busy share. */
const MERGED_STRENGTH = Uint8Array.from({ length: 256 }, (_, busy) => Math.round(5 + ((FULL - 5) * busy) / 255));

/** Strength of what is narrower than a pixel, or stands for several: how much of it is busy, but never invisible. */
export function strengthOf(flags: number, busy: number, pixels: number): number {
	if (flags & FLAG_MERGED) return MERGED_STRENGTH[busy]!;
	return pixels >= 1 ? FULL : Math.max(6, Math.round(FULL * pixels));
}

interface Lines {
	frame: Frame;
	row: LaneRow;
	style: BoxStyle;
	hatched: boolean;
	phase: number; // moves the hatch with the boxes
	used: Uint8Array; // by lane
	lastX: Int32Array; // by lane: the last single pixel, and how strong it is
	lastStrength: Uint8Array;
}

function colourAt(style: BoxStyle, category: number, label: number): number {
	const known = label < style.shades.length ? style.shades[label]! : MIDDLE_SHADE;
	return ((category % CATEGORIES) * SHADES + known) * STRENGTHS;
}

function fillLine(pixels: Uint32Array, from: number, to: number, colour: number): void {
	if (to - from > 24) pixels.fill(colour, from, to);
	else for (let at = from; at < to; at++) pixels[at] = colour;
}

/** Stripes over [x0, x1) of the lines of a lane. */
function hatch(lines: Lines, top: number, x0: number, x1: number, colour: number): void {
	const { pixels, width } = lines.frame;
	for (let k = 0; k < HATCH; k++) {
		const line = (top + 1 + k) * width;
		for (let x = x0 + ((HATCH - ((x0 + k + lines.phase) % HATCH)) % HATCH); x < x1; x += HATCH)
			pixels[line + x] = colour;
	}
}

function outline(lines: Lines, top: number, x0: number, x1: number): void {
	const { pixels, width } = lines.frame;
	const colour = lines.style.palette.outline;
	fillLine(pixels, top * width + x0, top * width + x1, colour);
	if (!lines.hatched) return;
	for (let k = 0; k < HATCH; k++) {
		pixels[(top + 1 + k) * width + x0] = colour;
		pixels[(top + 1 + k) * width + x1 - 1] = colour;
	}
}

function drawBox(lines: Lines, tile: BoxTile, i: number, x0: number, x1: number, strength: number): void {
	const { pixels, width } = lines.frame;
	const { style } = lines;
	const label = tile.label[i]!;
	const flags = tile.flags[i]!;
	const top = lines.row.y + MARGIN + tile.lane[i]! * lines.row.laneStep;
	const at = colourAt(style, tile.category[i]!, label);
	const dimmed = style.found !== null && !(label < style.found.length && style.found[label]);
	const drawn = dimmed ? Math.min(strength, DIMMED) : strength;
	const colour = style.palette.colours[at + drawn]!;
	lines.used[tile.lane[i]!] = 1;
	if (!lines.hatched) fillLine(pixels, top * width + x0, top * width + x1, colour);
	else {
		for (let k = 0; k <= HATCH; k++) fillLine(pixels, (top + k) * width + x0, (top + k) * width + x1, colour);
		if (flags & FLAG_MERGED) hatch(lines, top, x0, x1, style.palette.colours[at + Math.max(0, drawn - 5)]!);
		if (flags & FLAG_UNFINISHED && !(flags & FLAG_TO_RIGHT))
			hatch(lines, top, Math.max(x0, x1 - UNFINISHED_PIXELS), x1, lines.row.background);
		if (flags & FLAG_LOST) hatch(lines, top, x0, x1, style.palette.stripe);
	}
	if (label === style.outlined) outline(lines, top, x0, x1);
}

/** Most boxes of a view of everything are one pixel wide: nothing is looked up twice for them, and their hatch is a point. */
function drawPixel(lines: Lines, at: number, x: number, colour: number, stripe: number): void {
	const { pixels, width } = lines.frame;
	pixels[at] = colour;
	if (!lines.hatched) return;
	for (let k = 1, to = at + width; k <= HATCH; k++, to += width) pixels[to] = colour;
	if (stripe !== colour) pixels[at + (1 + ((HATCH - ((x + lines.phase) % HATCH)) % HATCH)) * width] = stripe;
}

function paintPiece(lines: Lines, piece: Piece<BoxTile>, window: Window, firstLane: number, endLane: number): void {
	const { width } = lines.frame;
	const { tile } = piece;
	const scale = width / (window.endNs - window.startNs);
	const base = (tile.startNs - window.startNs) * scale;
	const unit = tile.unitNs * scale;
	const left = Math.max(0, Math.floor((piece.fromNs - window.startNs) * scale));
	const right = Math.min(width, Math.floor((piece.toNs - window.startNs) * scale));
	const { start, dur, lane, flags, busy, label, category } = tile;
	const { found, outlined } = lines.style;
	const { colours } = lines.style.palette;
	const top = lines.row.y + MARGIN;
	const { laneStep } = lines.row;
	for (let i = 0; i < tile.n; i++) {
		const on = lane[i]!;
		if (on < firstLane || on >= endLane) continue;
		const from = base + start[i]! * unit;
		if (from >= right) continue;
		const to = from + dur[i]! * unit;
		if (to < left) continue;
		let x0 = Math.floor(from);
		let x1 = Math.floor(to);
		const strength = strengthOf(flags[i]!, busy[i]!, to - from);
		if (x1 <= x0) x1 = x0 + 1;
		else if (x1 - x0 >= 3 && !(flags[i]! & FLAG_TO_RIGHT)) x1--;
		if (x0 < left) x0 = left;
		if (x1 > right) x1 = right;
		if (x1 <= x0) continue;
		if (x1 === x0 + 1) {
			if (lines.lastX[on] === x0 && lines.lastStrength[on]! >= strength) continue;
			lines.lastX[on] = x0;
			lines.lastStrength[on] = strength;
			if (!(flags[i]! & SPECIAL) && found === null && label[i] !== outlined) {
				const first = colourAt(lines.style, category[i]!, label[i]!);
				const colour = colours[first + strength]!;
				const stripe = flags[i]! & FLAG_MERGED ? colours[first + Math.max(0, strength - 5)]! : colour;
				lines.used[on] = 1;
				drawPixel(lines, (top + on * laneStep) * width + x0, x0, colour, stripe);
				continue;
			}
		}
		drawBox(lines, tile, i, x0, x1, strength);
	}
}

/** The lines that were drawn, to the rest of the lane's height. */
function copyLane(lines: Lines, lane: number): void {
	const { pixels, width } = lines.frame;
	const top = lines.row.y + MARGIN + lane * lines.row.laneStep;
	const bottom = top + lines.row.laneHeight - 1;
	if (!lines.hatched) {
		for (let y = top + 1; y <= bottom; y++) pixels.copyWithin(y * width, top * width, (top + 1) * width);
		return;
	}
	for (let y = top + 1 + HATCH; y < bottom; y++) {
		const from = (top + 1 + ((y - top - 1) % HATCH)) * width;
		pixels.copyWithin(y * width, from, from + width);
	}
	pixels.copyWithin(bottom * width, top * width, (top + 1) * width);
}

/** By lane, for the row that is being painted: a frame paints thousands, and would leave as many of each behind. */
let used = new Uint8Array(0);
let lastX = new Int32Array(0);
let lastStrength = new Uint8Array(0);

function clearLanes(lanes: number): void {
	if (used.length < lanes) {
		used = new Uint8Array(2 * lanes);
		lastX = new Int32Array(2 * lanes);
		lastStrength = new Uint8Array(2 * lanes);
	}
	for (let lane = 0; lane < lanes; lane++) {
		used[lane] = 0;
		lastX[lane] = -1;
		lastStrength[lane] = 0;
	}
}

export function paintRow(frame: Frame, window: Window, row: LaneRow, style: BoxStyle): void {
	const firstLane = Math.max(0, Math.floor((-row.y - row.laneHeight) / row.laneStep) + 1);
	const endLane = Math.min(row.lanes, Math.ceil((frame.height - row.y) / row.laneStep));
	if (endLane <= firstLane) return;
	const scale = frame.width / (window.endNs - window.startNs);
	clearLanes(row.lanes);
	const lines: Lines = {
		frame,
		row,
		style,
		hatched: row.laneHeight >= LOWEST_HATCHED,
		phase: Math.round(window.startNs * scale) % HATCH,
		used,
		lastX,
		lastStrength,
	};
	for (const piece of row.pieces) paintPiece(lines, piece, window, firstLane, endLane);
	for (let lane = firstLane; lane < endLane; lane++) if (lines.used[lane]) copyLane(lines, lane);
}

/** A rectangle of one colour, cut to the picture. */
export function fillRect(frame: Frame, y: number, height: number, colour: number): void {
	const from = Math.max(-MARGIN, y) + MARGIN;
	const to = Math.min(frame.height + MARGIN, y + height) + MARGIN;
	if (to > from) frame.pixels.fill(colour, from * frame.width, to * frame.width);
}

export function paintRows(frame: Frame, window: Window, rows: LaneRow[], style: BoxStyle): void {
	for (const row of rows) paintRow(frame, window, row, style);
}
