// SPDX-License-Identifier: Apache-2.0
//
// Tiles as the server sends them: 512 buckets of 2^level ns of one track, in columns. Boxes are slices, or what is left
// of several in one bucket; values are CPU use or a counter.

export const BUCKETS_PER_TILE = 512;
export const TILE_MAGIC = 0x31545453; // "STT1"
export const LEVEL_MAX = 43; // 2^(43+9) ns is as far as numbers are exact

export const FLAG_MERGED = 1;
export const FLAG_FROM_LEFT = 2;
export const FLAG_TO_RIGHT = 4;
export const FLAG_UNFINISHED = 8;
export const FLAG_LOST = 16;

interface TileHead {
	track: number;
	index: number;
	level: number;
	n: number;
	startNs: number;
	endNs: number;
	bytes: number;
}

export interface BoxTile extends TileHead {
	kind: "boxes";
	unitNs: number; // what one of start and dur stands for
	start: Uint32Array;
	dur: Uint32Array;
	count: Uint32Array;
	label: Uint32Array;
	event: Uint32Array;
	lane: Uint16Array;
	busy: Uint8Array;
	category: Uint8Array;
	flags: Uint8Array;
}

export interface ValueTile extends TileHead {
	kind: "values";
	bucket: Uint16Array;
	min: Float32Array;
	max: Float32Array;
	mean: Float32Array;
}

export type Tile = BoxTile | ValueTile;

export function tileSpanNs(level: number): number {
	return BUCKETS_PER_TILE * 2 ** level;
}

/** The level whose buckets are at most a pixel wide, and more than half of one. */
export function levelFor(nsPerPixel: number): number {
	return Math.min(LEVEL_MAX, Math.max(0, Math.floor(Math.log2(Math.max(1, nsPerPixel)))));
}

/** First and last index of the tiles over [startNs, endNs). */
export function tilesOver(level: number, startNs: number, endNs: number): [number, number] {
	const span = tileSpanNs(level);
	return [Math.max(0, Math.floor(startNs / span)), Math.max(0, Math.ceil(endNs / span) - 1)];
}

/** Magic, number of tiles, number of places that were answered, first lane. */
const HEADER_BYTES = 16;

class Reader {
	at = HEADER_BYTES;
	readonly view: DataView;
	constructor(readonly buffer: ArrayBuffer) {
		this.view = new DataView(buffer);
	}
	u32(): number {
		const value = this.view.getUint32(this.at, true);
		this.at += 4;
		return value;
	}
	i64(): number {
		const value = this.view.getBigInt64(this.at, true);
		this.at += 8;
		return Number(value);
	}
	/** The bytes of all columns of a tile; a copy, so that a tile that is kept does not keep a whole answer. */
	columns(bytes: number): ArrayBuffer {
		if (this.at + bytes > this.buffer.byteLength) throw new Error("the answer with tiles ends too early");
		const columns = this.buffer.slice(this.at, this.at + bytes);
		this.at += bytes;
		return columns;
	}
}

/** A column is padded to four bytes. */
const padded = (bytes: number) => (bytes + 3) & ~3;

const BOX_BYTES = 25;
const VALUE_BYTES = 14;
const HEAD_BYTES = 96; // about what the object itself takes

function readBoxes(reader: Reader, head: TileHead): BoxTile {
	const n = head.n;
	const narrow = 20 * n + padded(2 * n); // where the columns of one byte begin
	const all = reader.columns(narrow + 3 * padded(n));
	return {
		...head,
		kind: "boxes",
		unitNs: 2 ** Math.max(0, head.level - 20),
		start: new Uint32Array(all, 0, n),
		dur: new Uint32Array(all, 4 * n, n),
		count: new Uint32Array(all, 8 * n, n),
		label: new Uint32Array(all, 12 * n, n),
		event: new Uint32Array(all, 16 * n, n),
		lane: new Uint16Array(all, 20 * n, n),
		busy: new Uint8Array(all, narrow, n),
		category: new Uint8Array(all, narrow + padded(n), n),
		flags: new Uint8Array(all, narrow + 2 * padded(n), n),
		bytes: HEAD_BYTES + n * BOX_BYTES,
	};
}

function readValues(reader: Reader, head: TileHead): ValueTile {
	const n = head.n;
	const wide = padded(2 * n);
	const all = reader.columns(wide + 12 * n);
	return {
		...head,
		kind: "values",
		bucket: new Uint16Array(all, 0, n),
		min: new Float32Array(all, wide, n),
		max: new Float32Array(all, wide + 4 * n, n),
		mean: new Float32Array(all, wide + 8 * n, n),
		bytes: HEAD_BYTES + n * VALUE_BYTES,
	};
}

export function decodeTiles(buffer: ArrayBuffer): Tile[] {
	const reader = new Reader(buffer);
	if (buffer.byteLength < HEADER_BYTES || reader.view.getUint32(0, true) !== TILE_MAGIC)
		throw new Error("the answer is no tiles");
	const count = reader.view.getUint32(4, true);
	const tiles: Tile[] = [];
	for (let i = 0; i < count; i++) {
		const track = reader.u32();
		const kind = reader.u32();
		const index = reader.i64();
		const level = reader.u32();
		const n = reader.u32();
		const span = tileSpanNs(level);
		const head = { track, index, level, n, startNs: index * span, endNs: (index + 1) * span, bytes: 0 };
		tiles.push(kind === 0 ? readBoxes(reader, head) : readValues(reader, head));
	}
	return tiles;
}

/** Nothing lies there. */
export function emptyTile(kind: Tile["kind"], track: number, level: number, index: number): Tile {
	const span = tileSpanNs(level);
	const head = { track, index, level, n: 0, startNs: index * span, endNs: (index + 1) * span, bytes: 0 };
	const reader = new Reader(new ArrayBuffer(HEADER_BYTES));
	return kind === "boxes" ? readBoxes(reader, head) : readValues(reader, head);
}
