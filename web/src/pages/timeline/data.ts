// SPDX-License-Identifier: Apache-2.0
//
// What the timeline asks the server, and the form of the answers; docs/http-api.md describes them.
import { ask, askBinary } from "../../api/client";
import type { Place } from "../../paint/loader";
import { decodeTiles, type Tile } from "../../paint/tile";
import type { Label } from "./labels";
import type { Tracks } from "./tracks";

export interface EventRef {
	kind: string; // "slice", "span" or "marker"
	row: number;
}

export interface Neighbour {
	row: number;
	kind?: string;
	track?: number;
	begin_ns?: number;
	end_ns?: number;
	lane?: number;
	label?: number;
	name?: string;
}

export interface Flow extends Neighbour {
	direction: "in" | "out" | string;
	flow?: string;
}

/** Everything about one event; a key that is not known is not there. */
export interface EventDetails {
	row: number;
	kind?: string;
	name: string;
	label: number;
	domain?: string;
	category?: number | string;
	track: number;
	lane?: number;
	begin_ns: number;
	end_ns: number;
	wall_ns?: number;
	self_ns?: number;
	parent?: number | Neighbour | null;
	child_count?: number;
	flows?: Flow[];
	previous?: number | Neighbour | null;
	next?: number | Neighbour | null;
	operator?: { same_sequence?: Neighbour[]; python_stack?: string[]; [key: string]: unknown };
	[key: string]: unknown;
}

export interface SearchName {
	label: number;
	name: string;
	domain?: string;
	count: number;
	wall_total_ns: number;
}

export interface SearchHit {
	row: number;
	kind?: string;
	track: number;
	begin_ns: number;
	end_ns: number;
	label: number;
}

export interface SearchAnswer {
	names: SearchName[];
	total: number;
	hits: SearchHit[];
}

export interface NextAsk {
	labels?: number[];
	text?: string;
	from_ns: number;
	track?: number;
	direction: "next" | "previous";
}

export function eventKey(event: EventRef): string {
	return `${event.kind}:${event.row}`;
}

export function parseEvent(text: string | undefined): EventRef | null {
	const match = /^([a-z]+):(\d+)$/.exec(text ?? "");
	return match ? { kind: match[1]!, row: Number(match[2]) } : null;
}

/** The questions about one result, with the filters of the page. */
export class TimelineData {
	constructor(
		readonly result: string,
		private readonly filterWords: () => string[],
	) {}

	tracks(signal?: AbortSignal): Promise<Tracks> {
		return ask<Tracks>(this.result, "tracks", {}, signal);
	}

	async labels(ids: number[]): Promise<Label[]> {
		return (await ask<{ labels: Label[] }>(this.result, "labels", { ids })).labels;
	}

	async tiles(level: number, places: Place[], signal: AbortSignal): Promise<Tile[]> {
		const words = this.filterWords();
		const body = words.length ? { level, tiles: places, filter: { words } } : { level, tiles: places };
		return decodeTiles(await askBinary(this.result, "tiles", body, signal));
	}

	event(event: EventRef, signal?: AbortSignal): Promise<EventDetails> {
		return ask<EventDetails>(this.result, "event", { row: event.row, kind: event.kind }, signal);
	}

	search(text: string, signal?: AbortSignal): Promise<SearchAnswer> {
		return ask<SearchAnswer>(this.result, "search", { text, offset: 0, limit: 500 }, signal);
	}

	next(what: NextAsk, signal?: AbortSignal): Promise<SearchHit | { row: null }> {
		return ask<SearchHit | { row: null }>(this.result, "next", what, signal);
	}
}
