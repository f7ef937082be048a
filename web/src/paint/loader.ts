// SPDX-License-Identifier: Apache-2.0
//
// Which tiles to ask for, and when: first what is in sight, then as much again on either side, more of it on the side
// where the view moves to. Few requests at a time; one that nobody needs any more is given up.
import type { TileCache, TileKind } from "./cache";
import { nsPerPixel, type Window } from "./scale";
import { emptyTile, levelFor, type Tile, tilesOver } from "./tile";

export interface TrackAsk {
	track: number;
	kinds: TileKind[]; // that its tiles hold
}

export type Place = [track: number, index: number];
export type FetchTiles = (level: number, places: Place[], signal: AbortSignal) => Promise<Tile[]>;

/** In view, and what may be in view next. */
export interface Plan {
	level: number;
	now: Place[];
	next: Place[];
}

export const PLACES_PER_REQUEST = 64;
const REQUESTS = 2;

/** Which tiles of every track a window of so many pixels is about: in sight, and with what may be in sight next. */
export interface Reach {
	level: number;
	first: number;
	last: number;
	from: number;
	to: number;
	motion: number; // -1 to the left, 1 to the right, 0 neither
}

export function reachOf(window: Window, width: number, motion: number, durationNs: number): Reach {
	const level = levelFor(nsPerPixel(window, width));
	const span = window.endNs - window.startNs;
	const before = motion < 0 ? 1.5 : motion > 0 ? 0.5 : 1;
	const after = 2 - before;
	const [first, last] = tilesOver(level, window.startNs, window.endNs);
	const [from, to] = tilesOver(
		level,
		Math.max(0, window.startNs - before * span),
		Math.min(durationNs, window.endNs + after * span),
	);
	return { level, first, last, from, to, motion };
}

/** What the cache lacks of it. */
export function planTiles(cache: TileCache, reach: Reach, tracks: TrackAsk[]): Plan {
	const { level, first, last, from, to, motion } = reach;
	const plan: Plan = { level, now: [], next: [] };
	const missing = (ask: TrackAsk, index: number) =>
		ask.kinds.some((kind) => !cache.has(kind, ask.track, level, index));
	for (const ask of tracks)
		for (let index = first; index <= last; index++) if (missing(ask, index)) plan.now.push([ask.track, index]);
	const beside: number[] = [];
	for (let away = 1; first - away >= from || last + away <= to; away++) {
		const sides = motion < 0 ? [first - away, last + away] : [last + away, first - away];
		for (const index of sides) if (index >= from && index <= to) beside.push(index);
	}
	for (const index of beside) for (const ask of tracks) if (missing(ask, index)) plan.next.push([ask.track, index]);
	return plan;
}

function isSameReach(a: Reach, b: Reach): boolean {
	return (
		a.level === b.level &&
		a.first === b.first &&
		a.last === b.last &&
		a.from === b.from &&
		a.to === b.to &&
		a.motion === b.motion
	);
}

function areSameTracks(a: TrackAsk[], b: TrackAsk[]): boolean {
	if (a.length !== b.length) return false;
	for (let i = 0; i < a.length; i++) if (a[i]!.track !== b[i]!.track) return false;
	return true;
}

interface Request {
	level: number;
	places: Place[];
	stop: AbortController;
}

const placeKey = (level: number, place: Place) => `${level}/${place[0]}/${place[1]}`;

export class TileLoader {
	private plan: Plan = { level: 0, now: [], next: [] };
	private planned: { reach: Reach; tracks: TrackAsk[] } | null = null; // what the plan is for
	private kinds = new Map<number, TileKind[]>();
	private readonly running = new Set<Request>();
	private readonly failed = new Set<string>();
	private closed = false;

	constructor(
		private readonly cache: TileCache,
		private readonly fetchTiles: FetchTiles,
		private readonly onArrival: () => void,
		private readonly onError: (error: unknown) => void,
	) {}

	/** Whether something that is in view is still on its way. */
	get waiting(): boolean {
		return this.plan.now.some((place) => !this.failed.has(placeKey(this.plan.level, place)));
	}

	want(window: Window, width: number, tracks: TrackAsk[], motion: number, durationNs: number): void {
		const reach = reachOf(window, width, motion, durationNs);
		// Most frames of a movement are about the same tiles: the plan stands, less what has arrived.
		if (this.planned && isSameReach(this.planned.reach, reach) && areSameTracks(this.planned.tracks, tracks))
			return;
		this.planned = { reach, tracks };
		this.plan = planTiles(this.cache, reach, tracks);
		this.kinds = new Map(tracks.map((ask) => [ask.track, ask.kinds]));
		const wanted = new Set([...this.plan.now, ...this.plan.next].map((place) => placeKey(this.plan.level, place)));
		for (const request of this.running)
			if (!request.places.some((place) => wanted.has(placeKey(request.level, place)))) {
				this.running.delete(request);
				request.stop.abort();
			}
		this.pump();
	}

	close(): void {
		this.closed = true;
		for (const request of this.running) request.stop.abort();
		this.running.clear();
	}

	/** After the answers changed (another filter, a grown result). */
	reset(): void {
		for (const request of this.running) request.stop.abort();
		this.running.clear();
		this.failed.clear();
		this.cache.clear();
		this.planned = null;
	}

	private pump(): void {
		const asked = new Set<string>();
		for (const request of this.running)
			for (const place of request.places) asked.add(placeKey(request.level, place));
		const open = (place: Place) => {
			const key = placeKey(this.plan.level, place);
			return !asked.has(key) && !this.failed.has(key);
		};
		while (this.running.size < REQUESTS && !this.closed) {
			let places = this.plan.now.filter(open).slice(0, PLACES_PER_REQUEST);
			// What may be needed next waits until everything in sight is here.
			if (!places.length && !this.running.size) places = this.plan.next.filter(open).slice(0, PLACES_PER_REQUEST);
			if (!places.length) return;
			for (const place of places) asked.add(placeKey(this.plan.level, place));
			void this.send({ level: this.plan.level, places, stop: new AbortController() });
		}
	}

	private async send(request: Request): Promise<void> {
		this.running.add(request);
		try {
			const tiles = await this.fetchTiles(request.level, request.places, request.stop.signal);
			if (!this.running.has(request)) return;
			this.arrived(request, tiles);
		} catch (error) {
			if (!this.running.has(request)) return;
			for (const place of request.places) this.failed.add(placeKey(request.level, place));
			this.onError(error);
		}
		this.running.delete(request);
		this.onArrival();
		this.pump();
	}

	/** A long answer is cut between tiles: what is left of it is asked for again. */
	private arrived(request: Request, tiles: Tile[]): void {
		const here = new Set<string>();
		for (const tile of tiles) {
			this.cache.put(tile);
			here.add(placeKey(tile.level, [tile.track, tile.index]));
		}
		for (const place of request.places) {
			const key = placeKey(request.level, place);
			if (!here.size) this.failed.add(key);
			if (!here.has(key)) continue;
			for (const kind of this.kinds.get(place[0]) ?? [])
				if (!this.cache.has(kind, place[0], request.level, place[1]))
					this.cache.put(emptyTile(kind, place[0], request.level, place[1]));
		}
		if (request.level !== this.plan.level) return;
		const left = (place: Place) => !here.has(placeKey(request.level, place));
		this.plan = { ...this.plan, now: this.plan.now.filter(left), next: this.plan.next.filter(left) };
	}
}
