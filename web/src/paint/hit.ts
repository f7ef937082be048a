// SPDX-License-Identifier: Apache-2.0
//
// Which box is under the pointer, and which boxes are wide enough for text. Both speak of boxes as a person sees them:
// the parts of one event in neighbouring tiles are one box.

import type { LaneRow } from "./boxes";
import { timeToX, type Window } from "./scale";
import { type BoxTile, FLAG_FROM_LEFT, FLAG_TO_RIGHT } from "./tile";

export interface Box {
	track: number;
	lane: number;
	event: number;
	label: number;
	category: number;
	count: number;
	busy: number;
	flags: number;
	startNs: number; // as far as the tiles at hand show it
	endNs: number;
}

export function boxAt(tile: BoxTile, i: number): Box {
	const startNs = tile.startNs + tile.start[i]! * tile.unitNs;
	return {
		track: tile.track,
		lane: tile.lane[i]!,
		event: tile.event[i]!,
		label: tile.label[i]!,
		category: tile.category[i]!,
		count: tile.count[i]!,
		busy: tile.busy[i]!,
		flags: tile.flags[i]!,
		startNs,
		endNs: startNs + tile.dur[i]! * tile.unitNs,
	};
}

/** The lane of a row at a height of the picture; -1: between lanes or outside. */
export function laneAt(row: LaneRow, y: number): number {
	const lane = Math.floor((y - row.y) / row.laneStep);
	if (lane < 0 || lane >= row.lanes || y - row.y - lane * row.laneStep >= row.laneHeight) return -1;
	return lane;
}

/** The box of a lane at atNs; within slackNs the nearest one, so that a box of one pixel can be met. */
export function hitBox(row: LaneRow, lane: number, atNs: number, slackNs: number): Box | null {
	let best: Box | null = null;
	let bestAway = slackNs;
	for (const { tile, fromNs, toNs } of row.pieces) {
		if (toNs < atNs - slackNs || fromNs > atNs + slackNs) continue;
		for (let i = 0; i < tile.n; i++) {
			if (tile.lane[i] !== lane) continue;
			const start = tile.startNs + tile.start[i]! * tile.unitNs;
			const end = start + tile.dur[i]! * tile.unitNs;
			if (atNs >= start && atNs < end) return boxAt(tile, i);
			const away = atNs < start ? start - atNs : atNs - end;
			if (away < bestAway) {
				best = boxAt(tile, i);
				bestAway = away;
			}
		}
	}
	return best;
}

export interface WideBox extends Box {
	x0: number; // cut to the picture
	x1: number;
}

/** The boxes of a row at least minPixels wide, the parts of one joined. */
export function wideBoxes(row: LaneRow, window: Window, width: number, minPixels: number): WideBox[] {
	const wide: WideBox[] = [];
	const open = new Map<number, WideBox>(); // by lane: one that goes on to the right
	const minNs = (minPixels * (window.endNs - window.startNs)) / width;
	for (const { tile, fromNs, toNs } of row.pieces)
		for (let i = 0; i < tile.n; i++) {
			const flags = tile.flags[i]!;
			const broken = flags & (FLAG_FROM_LEFT | FLAG_TO_RIGHT);
			if (!broken && tile.dur[i]! * tile.unitNs < minNs) continue;
			const box = boxAt(tile, i);
			if (box.endNs <= fromNs || box.startNs >= toNs) continue;
			const before = open.get(box.lane);
			if (before && flags & FLAG_FROM_LEFT && before.event === box.event) {
				before.endNs = box.endNs;
				before.flags = (before.flags & ~FLAG_TO_RIGHT) | (flags & FLAG_TO_RIGHT);
				continue;
			}
			const whole = { ...box, x0: 0, x1: 0 };
			wide.push(whole);
			if (flags & FLAG_TO_RIGHT) open.set(box.lane, whole);
		}
	for (const box of wide) {
		box.x0 = Math.max(0, Math.floor(timeToX(window, width, box.startNs)));
		box.x1 = Math.min(width, Math.floor(timeToX(window, width, box.endNs)));
	}
	return wide.filter((box) => box.x1 - box.x0 >= minPixels);
}
