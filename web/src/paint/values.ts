// SPDX-License-Identifier: Apache-2.0
//
// Paints CPU use and counters: a filled curve of the mean, with what it reached at most behind it.

import { type Frame, MARGIN } from "./boxes";
import type { Piece } from "./cache";
import type { Window } from "./scale";
import type { ValueTile } from "./tile";

export interface ValueRow {
	y: number;
	height: number;
	low: number; // the value at the bottom
	high: number; // the value at the top
	mean: number; // colours
	peak: number;
	pieces: Piece<ValueTile>[];
}

/** The least and greatest value over the pieces; null: there is none. */
export function valueRange(pieces: Piece<ValueTile>[]): [number, number] | null {
	let low = Infinity;
	let high = -Infinity;
	for (const { tile } of pieces)
		for (let i = 0; i < tile.n; i++) {
			low = Math.min(low, tile.min[i]!);
			high = Math.max(high, tile.max[i]!);
		}
	return low <= high ? [low, high] : null;
}

function column(frame: Frame, x: number, from: number, to: number, colour: number): void {
	for (let y = Math.max(-MARGIN, from); y < Math.min(frame.height + MARGIN, to); y++)
		frame.pixels[(y + MARGIN) * frame.width + x] = colour;
}

/** By pixel of a row, kept from row to row: a frame has hundreds. */
let sum = new Float64Array(0);
let peak = new Float64Array(0);
let count = new Uint32Array(0);

function clearPixels(width: number): void {
	if (sum.length < width) {
		sum = new Float64Array(width);
		peak = new Float64Array(width);
		count = new Uint32Array(width);
	}
	sum.fill(0, 0, width);
	peak.fill(-Infinity, 0, width);
	count.fill(0, 0, width);
}

export function paintValues(frame: Frame, window: Window, row: ValueRow): void {
	const scale = frame.width / (window.endNs - window.startNs);
	const span = row.high - row.low || 1;
	const bottom = row.y + row.height;
	const topOf = (value: number) => {
		const share = Math.min(1, Math.max(0, (value - row.low) / span));
		return bottom - Math.round(share * row.height);
	};
	// Several buckets can fall on one pixel: it shows the mean of their means and the greatest of their peaks.
	clearPixels(frame.width);
	for (const { tile, fromNs, toNs } of row.pieces) {
		const bucketNs = 2 ** tile.level;
		const left = Math.max(0, Math.floor((fromNs - window.startNs) * scale));
		const right = Math.min(frame.width, Math.floor((toNs - window.startNs) * scale));
		for (let i = 0; i < tile.n; i++) {
			const at = tile.startNs + tile.bucket[i]! * bucketNs;
			const x0 = Math.max(left, Math.floor((at - window.startNs) * scale));
			const end = Math.floor((at + bucketNs - window.startNs) * scale);
			const x1 = Math.min(right, Math.max(end, Math.floor((at - window.startNs) * scale) + 1));
			for (let x = x0; x < x1; x++) {
				sum[x]! += tile.mean[i]!;
				peak[x] = Math.max(peak[x]!, tile.max[i]!);
				count[x]!++;
			}
		}
	}
	for (let x = 0; x < frame.width; x++) {
		if (!count[x]) continue;
		const mean = topOf(sum[x]! / count[x]!);
		column(frame, x, topOf(peak[x]!), mean, row.peak);
		column(frame, x, mean, bottom, row.mean);
	}
}
