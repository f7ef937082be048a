// SPDX-License-Identifier: Apache-2.0
//
// Tiles made by hand: of boxes that a page computes itself (a flame graph), and in the form that the server sends them
// (for tests).
import { type BoxTile, BUCKETS_PER_TILE, TILE_MAGIC, tileSpanNs } from "./tile";

export interface MadeBox {
	startNs: number;
	endNs: number;
	lane: number;
	label?: number;
	event?: number;
	category?: number;
	count?: number;
	busy?: number;
	flags?: number;
}

/** One tile over everything, whatever its length: not cut into buckets, as exact as 32 bits of the whole. */
export function wholeTile(boxes: MadeBox[], durationNs: number): BoxTile {
	let level = 0;
	while (tileSpanNs(level) < durationNs) level++;
	const unitNs = 2 ** Math.max(0, level - 22);
	const n = boxes.length;
	const units = (ns: number) => Math.round(ns / unitNs);
	return {
		kind: "boxes",
		track: 0,
		index: 0,
		level,
		n,
		startNs: 0,
		endNs: tileSpanNs(level),
		unitNs,
		bytes: n * 25,
		start: Uint32Array.from(boxes, (box) => units(box.startNs)),
		dur: Uint32Array.from(boxes, (box) => Math.max(0, units(box.endNs) - units(box.startNs))),
		count: Uint32Array.from(boxes, (box) => box.count ?? 1),
		label: Uint32Array.from(boxes, (box) => box.label ?? 0),
		event: Uint32Array.from(boxes, (box, i) => box.event ?? i),
		lane: Uint16Array.from(boxes, (box) => box.lane),
		busy: Uint8Array.from(boxes, (box) => box.busy ?? 255),
		category: Uint8Array.from(boxes, (box) => box.category ?? 0),
		flags: Uint8Array.from(boxes, (box) => box.flags ?? 0),
	};
}

export interface MadeTile {
	track: number;
	level: number;
	index: number;
	boxes?: MadeBox[];
	values?: { bucket: number; min: number; max: number; mean: number }[];
}

class Writer {
	private readonly parts: number[] = [];
	put(size: 1 | 2 | 4, value: number): void {
		for (let i = 0; i < size; i++) this.parts.push(Math.floor(value / 256 ** i) & 255);
	}
	column(size: 1 | 2 | 4, values: number[]): void {
		for (const value of values) this.put(size, value);
		while (this.parts.length % 4) this.parts.push(0);
	}
	floats(values: number[]): void {
		this.parts.push(...new Uint8Array(Float32Array.from(values).buffer));
	}
	buffer(): ArrayBuffer {
		return Uint8Array.from(this.parts).buffer;
	}
}

function putBoxes(writer: Writer, tile: MadeTile, boxes: MadeBox[]): void {
	const from = tile.index * tileSpanNs(tile.level);
	const unit = 2 ** Math.max(0, tile.level - 20);
	const numbers = (get: (box: MadeBox) => number) => boxes.map(get);
	writer.column(
		4,
		numbers((box) => Math.floor((box.startNs - from) / unit)),
	);
	writer.column(
		4,
		numbers((box) => Math.floor((box.endNs - box.startNs) / unit)),
	);
	writer.column(
		4,
		numbers((box) => box.count ?? 1),
	);
	writer.column(
		4,
		numbers((box) => box.label ?? 0),
	);
	writer.column(
		4,
		numbers((box) => box.event ?? 0),
	);
	writer.column(
		2,
		numbers((box) => box.lane),
	);
	writer.column(
		1,
		numbers((box) => box.busy ?? 255),
	);
	writer.column(
		1,
		numbers((box) => box.category ?? 0),
	);
	writer.column(
		1,
		numbers((box) => box.flags ?? 0),
	);
}

/** The bytes of an answer with these tiles. */
export function encodeTiles(tiles: MadeTile[]): ArrayBuffer {
	const writer = new Writer();
	writer.put(4, TILE_MAGIC);
	writer.put(4, tiles.length);
	writer.put(4, tiles.length);
	writer.put(4, 0);
	for (const tile of tiles) {
		writer.put(4, tile.track);
		writer.put(4, tile.values ? 1 : 0);
		writer.put(4, tile.index % 2 ** 32);
		writer.put(4, Math.floor(tile.index / 2 ** 32));
		writer.put(4, tile.level);
		writer.put(4, (tile.values ?? tile.boxes ?? []).length);
		if (tile.values) {
			writer.column(
				2,
				tile.values.map((value) => value.bucket % BUCKETS_PER_TILE),
			);
			writer.floats(tile.values.map((value) => value.min));
			writer.floats(tile.values.map((value) => value.max));
			writer.floats(tile.values.map((value) => value.mean));
		} else putBoxes(writer, tile, tile.boxes ?? []);
	}
	return writer.buffer();
}
