// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import type { LaneRow } from "./boxes";
import { TileCache } from "./cache";
import { hitBox, laneAt, wideBoxes } from "./hit";
import { encodeTiles } from "./made_tiles";
import {
	type BoxTile,
	decodeTiles,
	FLAG_FROM_LEFT,
	FLAG_MERGED,
	FLAG_TO_RIGHT,
	levelFor,
	tileSpanNs,
	tilesOver,
} from "./tile";

test("an answer is read column by column", () => {
	const span = tileSpanNs(3);
	const bytes = encodeTiles([
		{
			track: 7,
			level: 3,
			index: 2,
			boxes: [
				{ startNs: 2 * span + 8, endNs: 2 * span + 40, lane: 1, label: 5, event: 99, category: 3, busy: 200 },
				{ startNs: 2 * span + 64, endNs: 3 * span, lane: 0, count: 4, flags: FLAG_MERGED },
				{ startNs: 2 * span, endNs: 3 * span, lane: 2, flags: FLAG_TO_RIGHT },
			],
		},
		{ track: 8, level: 30, index: 1, values: [{ bucket: 511, min: 0, max: 1, mean: 0.5 }] },
	]);
	const [boxes, values] = decodeTiles(bytes);
	assert.ok(boxes?.kind === "boxes" && values?.kind === "values");
	assert.deepEqual([...boxes.start], [8, 64, 0]);
	assert.deepEqual([...boxes.dur], [32, span - 64, span]);
	assert.deepEqual([...boxes.label], [5, 0, 0]);
	assert.deepEqual([...boxes.lane], [1, 0, 2]);
	assert.deepEqual([...boxes.busy], [200, 255, 255]);
	assert.deepEqual([...boxes.flags], [0, FLAG_MERGED, FLAG_TO_RIGHT]);
	assert.equal(boxes.startNs, 2 * span);
	assert.equal(values.startNs, tileSpanNs(30));
	assert.deepEqual([...values.bucket], [511]);
	assert.deepEqual([...values.mean], [0.5]);
});

test("an answer that is cut or something else is refused", () => {
	const bytes = encodeTiles([{ track: 1, level: 0, index: 0, boxes: [{ startNs: 0, endNs: 9, lane: 0 }] }]);
	assert.throws(() => decodeTiles(bytes.slice(0, bytes.byteLength - 4)), /ends too early/);
	assert.throws(() => decodeTiles(new ArrayBuffer(16)), /no tiles/);
	assert.throws(() => decodeTiles(new ArrayBuffer(0)), /no tiles/);
});

test("a level has buckets of half a pixel to one", () => {
	assert.equal(levelFor(1), 0);
	assert.equal(levelFor(0.01), 0);
	assert.equal(levelFor(1024), 10);
	assert.equal(levelFor(2047), 10);
	assert.deepEqual(tilesOver(0, 0, 512), [0, 0]);
	assert.deepEqual(tilesOver(0, 511, 513), [0, 1]);
});

function made(level: number, index: number, boxes = 1): BoxTile {
	const from = index * tileSpanNs(level);
	const all = Array.from({ length: boxes }, () => ({ startNs: from, endNs: from + 4, lane: 0 }));
	return decodeTiles(encodeTiles([{ track: 1, level, index, boxes: all }]))[0] as BoxTile;
}

test("a coarser tile stands in for one that has not arrived, then finer ones", () => {
	const cache = new TileCache();
	const pieces = () =>
		cache.pieces("boxes", 1, 4, 0, 2 * tileSpanNs(4)).map((p) => [p.tile.level, p.tile.index, p.fromNs, p.toNs]);
	assert.deepEqual(pieces(), []);
	cache.put(made(6, 0));
	const span = tileSpanNs(4);
	assert.deepEqual(pieces(), [
		[6, 0, 0, span],
		[6, 0, span, 2 * span],
	]);
	cache.put(made(4, 1));
	assert.deepEqual(pieces(), [
		[6, 0, 0, span],
		[4, 1, span, 2 * span],
	]);
	cache.put(made(3, 0));
	assert.deepEqual(pieces()[0], [6, 0, 0, span]);
	cache.put(made(3, 1));
	assert.deepEqual(
		pieces().map((p) => p.slice(0, 2)),
		[
			[3, 0],
			[3, 1],
			[4, 1],
		],
	);
});

test("the tiles used longest ago leave first", () => {
	const size = made(0, 0, 10).bytes;
	// An eighth of it is made free at once.
	const limit = 3.5 * size;
	const cache = new TileCache(limit);
	for (const index of [0, 1, 2]) cache.put(made(0, index, 10));
	cache.get("boxes", 1, 0, 0);
	cache.put(made(0, 3, 10));
	assert.deepEqual(
		[0, 1, 2, 3].map((index) => cache.has("boxes", 1, 0, index)),
		[true, false, true, true],
	);
	assert.equal(cache.bytes, 3 * size);
	cache.put(made(0, 3, 20));
	assert.ok(cache.bytes <= limit);
	assert.equal(cache.size, [0, 1, 2, 3].filter((index) => cache.has("boxes", 1, 0, index)).length);
	cache.put(made(0, 4, 100));
	assert.deepEqual([cache.size, cache.has("boxes", 1, 0, 4)], [1, true]);
});

function rowOf(tiles: BoxTile[]): LaneRow {
	const pieces = tiles.map((tile) => ({ tile, fromNs: tile.startNs, toNs: tile.endNs }));
	return { y: 10, laneHeight: 17, laneStep: 18, lanes: 3, background: 0, pieces };
}

test("the box under the pointer, also one of a pixel", () => {
	const boxes = [
		{ startNs: 10, endNs: 20, lane: 0, event: 1 },
		{ startNs: 20, endNs: 30, lane: 0, event: 2 },
		{ startNs: 100, endNs: 101, lane: 1, event: 3 },
	];
	const row = rowOf([decodeTiles(encodeTiles([{ track: 1, level: 0, index: 0, boxes }]))[0] as BoxTile]);
	assert.equal(hitBox(row, 0, 15, 2)?.event, 1);
	assert.equal(hitBox(row, 0, 20, 2)?.event, 2);
	assert.equal(hitBox(row, 0, 40, 2), null);
	assert.equal(hitBox(row, 1, 103, 4)?.event, 3);
	assert.equal(hitBox(row, 1, 15, 4), null);
	assert.deepEqual(
		[9, 10, 26, 27, 28, 62, 64].map((y) => laneAt(row, y)),
		[-1, 0, 0, -1, 1, 2, -1],
	);
});

test("the parts of an event in several tiles are one box for its text", () => {
	const span = tileSpanNs(0);
	const answer = encodeTiles([
		{
			track: 1,
			level: 0,
			index: 0,
			boxes: [{ startNs: 400, endNs: 512, lane: 0, event: 5, flags: FLAG_TO_RIGHT }],
		},
		{
			track: 1,
			level: 0,
			index: 1,
			boxes: [{ startNs: span, endNs: span + 50, lane: 0, event: 5, flags: FLAG_FROM_LEFT }],
		},
	]);
	const wide = wideBoxes(rowOf(decodeTiles(answer) as BoxTile[]), { startNs: 0, endNs: 1000 }, 1000, 100);
	assert.equal(wide.length, 1);
	assert.deepEqual([wide[0]?.x0, wide[0]?.x1, wide[0]?.endNs], [400, 562, 562]);
});
