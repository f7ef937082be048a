// SPDX-License-Identifier: Apache-2.0
//
// The tiles at hand, the least recently used ones leave first; and what to draw with them: where a tile has not arrived
// yet, a coarser one over the same time, or finer ones that lie there.

import { LEVEL_MAX, type Tile, tileSpanNs, tilesOver } from "./tile";

export const CACHE_BYTES = 64 << 20;

/** A part of a tile: what it shows outside [fromNs, toNs) is drawn by another piece. */
export interface Piece<T> {
	tile: T;
	fromNs: number;
	toNs: number;
}

export type TileKind = Tile["kind"];

interface Kept {
	tile: Tile;
	used: number; // the greatest was used last
}

const EVICTED_SHARE = 1 / 8; // of the limit: finding the least recently used ones is worth it for many only
const LEVELS = 64;

/** Numbers and not texts: a frame looks for thousands of tiles. */
const rowKey = (kind: TileKind, track: number) => track * 2 + (kind === "boxes" ? 0 : 1);
const placeKey = (level: number, index: number) => index * LEVELS + level;

export class TileCache {
	private readonly rows = new Map<number, Map<number, Kept>>(); // by track and kind, then by level and index
	private readonly seen = new Uint8Array(256);
	/** All that ever lay in it. */
	readonly categories = new Set<number>();
	private held = 0;
	private count = 0;
	private clock = 0;
	constructor(private readonly limit = CACHE_BYTES) {}

	get bytes(): number {
		return this.held;
	}

	get size(): number {
		return this.count;
	}

	has(kind: TileKind, track: number, level: number, index: number): boolean {
		return this.rows.get(rowKey(kind, track))?.has(placeKey(level, index)) ?? false;
	}

	get(kind: TileKind, track: number, level: number, index: number): Tile | undefined {
		return this.take(this.rows.get(rowKey(kind, track)), level, index);
	}

	private take(row: Map<number, Kept> | undefined, level: number, index: number): Tile | undefined {
		const kept = row?.get(placeKey(level, index));
		if (!kept) return undefined;
		kept.used = ++this.clock;
		return kept.tile;
	}

	put(tile: Tile): void {
		const key = rowKey(tile.kind, tile.track);
		const place = placeKey(tile.level, tile.index);
		let row = this.rows.get(key);
		if (!row) {
			row = new Map();
			this.rows.set(key, row);
		}
		const before = row.get(place);
		if (before) this.held -= before.tile.bytes;
		else this.count++;
		row.set(place, { tile, used: ++this.clock });
		this.held += tile.bytes;
		if (tile.kind === "boxes") this.seeCategories(tile.category);
		if (this.held > this.limit) this.evict();
	}

	private seeCategories(categories: Uint8Array): void {
		for (let i = 0; i < categories.length; i++) {
			const category = categories[i]!;
			if (this.seen[category]) continue;
			this.seen[category] = 1;
			this.categories.add(category);
		}
	}

	/** The newest one stays, however large. */
	private evict(): void {
		const all: Kept[] = [];
		for (const row of this.rows.values()) for (const kept of row.values()) all.push(kept);
		all.sort((a, b) => a.used - b.used);
		const enough = this.limit * (1 - EVICTED_SHARE);
		for (const { tile, used } of all) {
			if (this.held <= enough || used === this.clock) break;
			const key = rowKey(tile.kind, tile.track);
			const row = this.rows.get(key)!;
			row.delete(placeKey(tile.level, tile.index));
			if (!row.size) this.rows.delete(key);
			this.held -= tile.bytes;
			this.count--;
		}
	}

	clear(): void {
		this.rows.clear();
		this.held = 0;
		this.count = 0;
	}

	/** What covers [startNs, endNs) of a track best: the level itself, a coarser tile cut to size, or finer ones. */
	pieces<K extends TileKind>(kind: K, track: number, level: number, startNs: number, endNs: number) {
		type Wanted = Extract<Tile, { kind: K }>;
		const found: Piece<Wanted>[] = [];
		const [first, last] = tilesOver(level, startNs, endNs);
		const span = tileSpanNs(level);
		const row = this.rows.get(rowKey(kind, track));
		if (!row) return found;
		for (let index = first; index <= last; index++) {
			const tile = this.take(row, level, index);
			if (tile) found.push({ tile: tile as Wanted, fromNs: tile.startNs, toNs: tile.endNs });
			else this.substitute(found, row, level, index * span);
		}
		return found;
	}

	private substitute<K extends TileKind>(
		found: Piece<Extract<Tile, { kind: K }>>[],
		row: Map<number, Kept>,
		level: number,
		fromNs: number,
	): void {
		type Wanted = Extract<Tile, { kind: K }>;
		const toNs = fromNs + tileSpanNs(level);
		if (level > 0) {
			const half = tileSpanNs(level - 1);
			const left = this.take(row, level - 1, fromNs / half);
			const right = this.take(row, level - 1, fromNs / half + 1);
			if (left && right) {
				for (const tile of [left, right])
					found.push({ tile: tile as Wanted, fromNs: tile.startNs, toNs: tile.endNs });
				return;
			}
		}
		for (let up = level + 1; up <= LEVEL_MAX; up++) {
			const tile = this.take(row, up, Math.floor(fromNs / tileSpanNs(up)));
			if (tile) {
				found.push({ tile: tile as Wanted, fromNs, toNs });
				return;
			}
		}
	}
}
