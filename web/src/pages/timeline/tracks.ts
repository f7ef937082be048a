// SPDX-License-Identifier: Apache-2.0
//
// The tracks of a result as rows: which are shown, in which order, and where each lies. Pixels are those of the page.
import type { TileKind } from "../../paint/cache";

export interface Track {
	id: number;
	kind: string;
	title: string;
	subtitle?: string;
	process?: number | null;
	tid?: number | null;
	parent: number | null;
	lanes: number;
	items: number;
	samples: number;
	first_ns: number;
	last_ns: number;
	has_boxes: boolean;
	has_values: boolean; // CPU use, a counter, memory
	event_kind: string; // what `event` calls its boxes
	unit?: string;
	value_min?: number;
	value_max?: number;
	lost?: number;
}

export interface Category {
	id: number;
	name: string;
	title: string;
}

export interface Tracks {
	begin_ns: number;
	end_ns: number;
	tracks: Track[];
	categories: Category[];
	pauses?: { process: number | null; begin_ns: number; end_ns: number }[];
}

export interface Row {
	track: Track;
	depth: number; // of indentation
	group: boolean; // has rows below it
	folded: boolean;
	pinned: boolean;
	y: number;
	height: number;
	cpuTop: number; // from y on; height 0: no curve
	cpuHeight: number;
	laneTop: number;
	laneHeight: number;
	laneStep: number;
	lanes: number;
}

/** What a person changed; all of it is in the address. */
export interface RowChoices {
	pinned: number[];
	hidden: number[];
	folded: number[];
	order: number[]; // tracks that were moved, before all others of their parent
	find: string;
	dense: boolean;
}

export const NO_CHOICES: RowChoices = { pinned: [], hidden: [], folded: [], order: [], find: "", dense: false };

const HEAD = 26; // of a process, and the least of any other row
const CPU = 18;
const COUNTER = 40;
const PAD = 4;

export function isCurve(track: Track): boolean {
	return track.has_values && !track.has_boxes && track.kind !== "process" && track.kind !== "thread";
}

export function tileKinds(track: Track): TileKind[] {
	const kinds: TileKind[] = [];
	if (track.has_boxes) kinds.push("boxes");
	if (track.has_values) kinds.push("values");
	return kinds;
}

/** Children by parent, in the order of the server but for those that were moved. */
export function childrenOf(tracks: Track[], order: number[]): Map<number | null, Track[]> {
	const known = new Set(tracks.map((track) => track.id));
	const by = new Map<number | null, Track[]>();
	for (const track of tracks) {
		const parent = track.parent !== null && known.has(track.parent) ? track.parent : null;
		const list = by.get(parent);
		if (list) list.push(track);
		else by.set(parent, [track]);
	}
	const rank = new Map(order.map((id, i) => [id, i]));
	const place = (track: Track) => rank.get(track.id) ?? order.length;
	for (const list of by.values()) list.sort((a, b) => place(a) - place(b));
	return by;
}

function matches(track: Track, find: string): boolean {
	return `${track.title} ${track.subtitle ?? ""}`.toLowerCase().includes(find.toLowerCase());
}

function makeRow(track: Track, depth: number, group: boolean, choices: RowChoices, pinned: boolean): Row {
	const folded = choices.folded.includes(track.id);
	const small = choices.dense || (folded && !group);
	const laneHeight = small ? 5 : 18;
	const laneStep = laneHeight + 1;
	const curve = isCurve(track);
	const boxes = track.has_boxes ? Math.max(1, track.lanes) : 0;
	const values = curve ? (small ? HEAD - 2 * PAD : COUNTER) : track.has_values ? (choices.dense ? 8 : CPU) : 0;
	const top = PAD + (values ? values + 2 : 0);
	const height = Math.max(HEAD, boxes ? top + boxes * laneStep + PAD - 1 : values + 2 * PAD);
	return {
		track,
		depth,
		group,
		folded,
		pinned,
		y: 0,
		height,
		laneHeight,
		laneStep,
		lanes: boxes,
		cpuTop: PAD,
		cpuHeight: values,
		laneTop: top,
	};
}

/** Pinned rows first, then the tree; y of each list from 0 on. */
export function layoutRows(tracks: Track[], choices: RowChoices): { pinned: Row[]; rows: Row[] } {
	const children = childrenOf(tracks, choices.order);
	const rows: Row[] = [];
	const hidden = new Set(choices.hidden);
	const shown = (track: Track): boolean =>
		!choices.find || matches(track, choices.find) || (children.get(track.id) ?? []).some(shown);
	const visit = (track: Track, depth: number, all: boolean) => {
		if (hidden.has(track.id) || !(all || shown(track))) return;
		const below = children.get(track.id) ?? [];
		const row = makeRow(track, depth, below.length > 0, choices, false);
		rows.push(row);
		const whole = all || (choices.find !== "" && matches(track, choices.find));
		if (!(row.folded && row.group)) for (const child of below) visit(child, depth + 1, whole);
	};
	for (const track of children.get(null) ?? []) visit(track, 0, choices.find === "");
	const byId = new Map(tracks.map((track) => [track.id, track]));
	const pinned = choices.pinned
		.map((id) => byId.get(id))
		.filter((track): track is Track => track !== undefined)
		.map((track) => makeRow(track, 0, false, choices, true));
	for (const list of [pinned, rows]) {
		let y = 0;
		for (const row of list) {
			row.y = y;
			y += row.height;
		}
	}
	return { pinned, rows };
}

export function heightOf(rows: Row[]): number {
	const last = rows[rows.length - 1];
	return last ? last.y + last.height : 0;
}

/** The rows that touch [top, bottom): found by halving, there may be thousands. */
export function rowsBetween(rows: Row[], top: number, bottom: number): Row[] {
	let low = 0;
	let high = rows.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		const row = rows[middle]!;
		if (row.y + row.height <= top) low = middle + 1;
		else high = middle;
	}
	const found: Row[] = [];
	for (let i = low; i < rows.length && rows[i]!.y < bottom; i++) found.push(rows[i]!);
	return found;
}

/** The order after a track is moved up (-1) or down (1) among its siblings. */
export function moveTrack(tracks: Track[], choices: RowChoices, id: number, by: number): number[] {
	for (const [, list] of childrenOf(tracks, choices.order)) {
		const at = list.findIndex((track) => track.id === id);
		if (at < 0) continue;
		const to = Math.min(list.length - 1, Math.max(0, at + by));
		const ids = list.map((track) => track.id);
		ids.splice(to, 0, ...ids.splice(at, 1));
		return [...choices.order.filter((one) => !ids.includes(one)), ...ids];
	}
	return choices.order;
}

const numbers = (text: string | undefined) =>
	(text ?? "")
		.split(",")
		.filter((part) => /^\d+$/.test(part))
		.map(Number);

export function choicesFrom(params: Record<string, string>): RowChoices {
	return {
		pinned: numbers(params.pin),
		hidden: numbers(params.hide),
		folded: numbers(params.fold),
		order: numbers(params.order),
		find: params.rows ?? "",
		dense: params.dense === "1",
	};
}

export function choicesTo(choices: RowChoices): Record<string, string> {
	return {
		pin: choices.pinned.join(","),
		hide: choices.hidden.join(","),
		fold: choices.folded.join(","),
		order: choices.order.join(","),
		rows: choices.find,
		dense: choices.dense ? "1" : "",
	};
}
