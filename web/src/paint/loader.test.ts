// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { TileCache } from "./cache";
import { PLACES_PER_REQUEST, type Place, planTiles, reachOf, TileLoader, type TrackAsk } from "./loader";
import { encodeTiles } from "./made_tiles";
import { decodeTiles, type Tile, tileSpanNs } from "./tile";

const THREAD: TrackAsk[] = [{ track: 1, kinds: ["boxes"] }];
const WINDOW = { startNs: 4 * 512, endNs: 6 * 512 };

function tile(track: number, level: number, index: number): Tile {
	return decodeTiles(encodeTiles([{ track, level, index, boxes: [] }]))[0]!;
}

test("three times the view is asked for, what is in sight first", () => {
	const cache = new TileCache();
	const plan = planTiles(cache, reachOf(WINDOW, 1024, 0, 100 * 512), THREAD);
	assert.equal(plan.level, 0);
	assert.deepEqual(plan.now, [
		[1, 4],
		[1, 5],
	]);
	assert.deepEqual(plan.next, [
		[1, 6],
		[1, 3],
		[1, 7],
		[1, 2],
	]);
	cache.put(tile(1, 0, 4));
	assert.deepEqual(planTiles(cache, reachOf(WINDOW, 1024, 0, 100 * 512), THREAD).now, [[1, 5]]);
});

test("more is asked for where the view moves to, nothing beyond the end", () => {
	const next = (motion: number, duration = 1e6) =>
		planTiles(new TileCache(), reachOf(WINDOW, 1024, motion, duration), THREAD).next.map((place) => place[1]);
	assert.deepEqual(next(1), [6, 3, 7, 8]);
	assert.deepEqual(next(-1), [3, 6, 2, 1]);
	assert.deepEqual(next(1, 6 * 512), [3]);
});

interface Asked {
	level: number;
	places: Place[];
	signal: AbortSignal;
	answer: (tiles: Tile[]) => void;
	fail: (error: Error) => void;
}

function harness() {
	const asked: Asked[] = [];
	const errors: unknown[] = [];
	const cache = new TileCache();
	let arrivals = 0;
	const loader = new TileLoader(
		cache,
		(level, places, signal) => new Promise((answer, fail) => asked.push({ level, places, signal, answer, fail })),
		() => arrivals++,
		(error) => errors.push(error),
	);
	return { asked, errors, cache, loader, arrivals: () => arrivals };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("a request that nobody needs any more is given up", async () => {
	const { asked, cache, loader, arrivals } = harness();
	loader.want(WINDOW, 1024, THREAD, 0, 1e9);
	assert.deepEqual(asked[0]!.places, [
		[1, 4],
		[1, 5],
	]);
	loader.want({ startNs: 0, endNs: 1e9 }, 1024, THREAD, 0, 1e9);
	assert.equal(asked[0]!.signal.aborted, true);
	asked[0]!.answer([tile(1, 0, 4)]);
	await settled();
	assert.equal(cache.size, 0);
	assert.equal(arrivals(), 0);
	assert.equal(asked[1]!.level, 19);
});

test("what is beside the view is asked for once the view is here", async () => {
	const { asked, loader, arrivals } = harness();
	loader.want(WINDOW, 1024, THREAD, 0, 1e9);
	assert.equal(asked.length, 1);
	assert.ok(loader.waiting);
	asked[0]!.answer([tile(1, 0, 4), tile(1, 0, 5)]);
	await settled();
	assert.equal(arrivals(), 1);
	assert.ok(!loader.waiting);
	assert.deepEqual(asked[1]!.places, [
		[1, 6],
		[1, 3],
		[1, 7],
		[1, 2],
	]);
});

test("many tracks are asked for in parts, two at a time", () => {
	const { asked, loader } = harness();
	const many = Array.from({ length: 100 }, (_, track): TrackAsk => ({ track, kinds: ["boxes"] }));
	loader.want({ startNs: 0, endNs: tileSpanNs(0) * 2 }, 1024, many, 0, 1e9);
	assert.deepEqual(
		asked.map((one) => one.places.length),
		[PLACES_PER_REQUEST, PLACES_PER_REQUEST],
	);
});

test("a failure is told once, and not asked again until a reset", async () => {
	const { asked, errors, loader } = harness();
	loader.want({ startNs: 0, endNs: 512 }, 512, THREAD, 0, 512);
	asked[0]!.fail(new Error("gone"));
	await settled();
	assert.equal(errors.length, 1);
	assert.ok(!loader.waiting);
	loader.want({ startNs: 0, endNs: 512 }, 512, THREAD, 0, 512);
	assert.equal(asked.length, 1);
	loader.reset();
	loader.want({ startNs: 0, endNs: 512 }, 512, THREAD, 0, 512);
	assert.equal(asked.length, 2);
});

test("what a long answer left out is asked for again; a part without tiles counts as empty", async () => {
	const { asked, cache, loader } = harness();
	const both: TrackAsk[] = [{ track: 1, kinds: ["boxes", "values"] }];
	loader.want(WINDOW, 1024, both, 0, 6 * 512);
	asked[0]!.answer([tile(1, 0, 4)]);
	await settled();
	assert.ok(cache.has("values", 1, 0, 4));
	assert.deepEqual(asked[1]!.places, [[1, 5]]);
	asked[1]!.answer([]);
	await settled();
	assert.ok(!loader.waiting);
});

test("a frame about the same tiles looks for none of them again", () => {
	class Counted extends TileCache {
		looked = 0;
		override has(...place: Parameters<TileCache["has"]>): boolean {
			this.looked++;
			return super.has(...place);
		}
	}
	const cache = new Counted();
	const loader = new TileLoader(
		cache,
		() => new Promise<Tile[]>(() => undefined),
		() => undefined,
		() => undefined,
	);
	const want = (startNs: number, tracks = THREAD) =>
		loader.want({ startNs, endNs: startNs + 1024 }, 1024, tracks.slice(), 1, 1e6);
	const looks = (what: () => void) => {
		const before = cache.looked;
		what();
		return cache.looked > before;
	};
	assert.equal(
		looks(() => want(4 * 512 + 1)),
		true,
	);
	assert.equal(
		looks(() => want(4 * 512 + 2)),
		false,
	);
	assert.equal(
		looks(() => want(6 * 512 + 2)),
		true,
	);
	assert.equal(
		looks(() => want(6 * 512 + 2, [...THREAD, { track: 9, kinds: ["boxes"] }])),
		true,
	);
	loader.reset();
	assert.equal(
		looks(() => want(6 * 512 + 2, [...THREAD, { track: 9, kinds: ["boxes"] }])),
		true,
	);
	loader.close();
});
