// SPDX-License-Identifier: Apache-2.0
//
// What the timeline knows while it is open: the tracks and tiles at hand, the window of time, what is under the pointer
// and what is selected. Drawing reads it; pointer and keys change it; the parts worth keeping are in the address.
import { batch, signal } from "@preact/signals";
import { is_abort } from "../../api/problem";
import { TileCache } from "../../paint/cache";
import type { Box } from "../../paint/hit";
import { type Place, TileLoader, type TrackAsk } from "../../paint/loader";
import { clampWindow, type Window } from "../../paint/scale";
import { tilesOver } from "../../paint/tile";
import { type Range, updateParams, view } from "../../state/view";
import { type EventDetails, type EventRef, eventKey, parseEvent, type SearchAnswer, TimelineData } from "./data";
import { Labels } from "./labels";
import { type Mark, marksText, parseMarks } from "./marks";
import {
	type Category,
	choicesFrom,
	choicesTo,
	heightOf,
	layoutRows,
	type Row,
	type RowChoices,
	type Track,
} from "./tracks";

export interface Hover {
	box: Box;
	row: Row;
	x: number; // in the picture, for the read-out
	y: number;
}

const ADDRESS_DELAY_MS = 250;

export class Timeline {
	readonly cache = new TileCache();
	readonly overview = new TileCache(); // of the strip: they stay
	readonly loader: TileLoader;
	readonly labels: Labels;
	readonly data: TimelineData;

	tracks: Track[] = [];
	categories: Category[] = [];
	durationNs = 0;
	pinned: Row[] = [];
	rows: Row[] = [];
	choices: RowChoices = choicesFrom({});
	width = 0; // of the picture, in pixels of the page
	height = 0;
	motion = 0;

	readonly window = signal<Window>({ startNs: 0, endNs: 1 });
	readonly scrollTop = signal(0);
	readonly laidOut = signal(0); // counts up when rows change
	readonly hover = signal<Hover | null>(null);
	readonly selected = signal<EventDetails | null>(null);
	readonly preview = signal<Range | null>(null);
	/** The text that was found; and the step to a hit that somebody asked for before it was. */
	foundFor = "";
	stepWhenFound = 0;
	/** Which table of the range is open; empty: the one that suits the result. */
	readonly rangeTab = signal("");
	readonly marks = signal<Mark[]>([]);
	readonly noting = signal<Mark | null>(null); // whose note is being written
	readonly found = signal<SearchAnswer | null>(null);
	readonly foundAt = signal(-1);
	readonly error = signal<unknown>(null);
	readonly named = signal(0); // counts up when names arrive
	readonly said = signal(""); // for those who listen
	readonly ready = signal(false);
	pointerNs: number | null = null;

	private readonly listeners = new Set<() => void>();
	private readonly closing = new AbortController();
	private addressTimer = 0;
	private asking: AbortController | null = null;

	constructor(result: string, filterWords: () => string[]) {
		this.data = new TimelineData(result, filterWords);
		this.labels = new Labels(
			(ids) => this.data.labels(ids),
			() => {
				this.named.value++;
				this.changed();
			},
		);
		this.loader = new TileLoader(
			this.cache,
			(level, places, stop) => this.data.tiles(level, places, stop),
			() => this.changed(),
			(error) => {
				if (!is_abort(error)) this.error.value = error;
			},
		);
	}

	/** Something that is drawn changed. */
	changed(): void {
		for (const listener of this.listeners) listener();
	}

	onChange(listener: () => void): () => void {
		this.listeners.add(listener);
		return () => this.listeners.delete(listener);
	}

	async open(stop: AbortSignal): Promise<void> {
		const answer = await this.data.tracks(stop);
		if (stop.aborted) return;
		this.tracks = answer.tracks;
		this.categories = answer.categories;
		this.durationNs = answer.end_ns;
		batch(() => {
			this.readAddress();
			this.ready.value = true;
		});
		this.changed();
	}

	close(): void {
		clearTimeout(this.addressTimer);
		this.closing.abort();
		this.loader.close();
		this.asking?.abort();
	}

	/** Takes over what the address says: after Back, or when another page changed it. */
	readAddress(): void {
		const { params, range } = view.value;
		const match = /^(\d+)-(\d+)$/.exec(params.w ?? "");
		const whole = { startNs: 0, endNs: this.durationNs };
		const asked = match ? { startNs: Number(match[1]), endNs: Number(match[2]) } : null;
		const wanted = asked ?? (range ? { startNs: range[0], endNs: range[1] } : whole);
		this.window.value = clampWindow(wanted, this.durationNs);
		this.choices = choicesFrom(params);
		if ((params.marks ?? "") !== marksText(this.marks.value)) this.marks.value = parseMarks(params.marks);
		this.layout();
		const event = parseEvent(params.event);
		if (!event) this.selected.value = null;
		else if (!this.isSelected(event)) void this.select(event, false);
	}

	layout(): void {
		const { pinned, rows } = layoutRows(this.tracks, this.choices);
		this.pinned = pinned;
		this.rows = rows;
		this.laidOut.value++;
		this.changed();
	}

	choose(patch: Partial<RowChoices>): void {
		this.choices = { ...this.choices, ...patch };
		updateParams(choicesTo(this.choices), patch.find === undefined ? "push" : "replace");
		this.layout();
	}

	/** Back undoes what was done to marks that stay; the one that moves only replaces itself. */
	setMarks(marks: Mark[]): void {
		const kept = (list: Mark[]) => marksText(list.filter((mark) => mark.kept));
		const how = kept(marks) === kept(this.marks.value) ? "replace" : "push";
		this.marks.value = marks;
		updateParams({ marks: marksText(marks) }, how);
		this.changed();
	}

	get pinnedHeight(): number {
		return Math.min(heightOf(this.pinned), this.height / 2);
	}

	get rowsHeight(): number {
		return heightOf(this.rows);
	}

	setWindow(next: Window): void {
		const before = this.window.value;
		const window = clampWindow(next, this.durationNs);
		if (window.startNs === before.startNs && window.endNs === before.endNs) return;
		const moved = window.startNs - before.startNs;
		const zoomed = Math.abs(window.endNs - window.startNs - (before.endNs - before.startNs)) > 1;
		this.motion = zoomed ? 0 : Math.sign(moved);
		this.window.value = window;
		this.changed();
		clearTimeout(this.addressTimer);
		this.addressTimer = setTimeout(() => this.writeAddress(), ADDRESS_DELAY_MS) as unknown as number;
	}

	/** Later, so that a movement of a hundred steps is one entry, which is replaced. */
	private writeAddress(): void {
		const { startNs, endNs } = this.window.value;
		const whole = startNs <= 0 && endNs >= this.durationNs;
		updateParams({ w: whole ? "" : `${Math.floor(startNs)}-${Math.ceil(endNs)}` }, "replace");
	}

	trackOf(id: number): Track | undefined {
		return this.tracks.find((track) => track.id === id);
	}

	refOf(box: { track: number; event: number }): EventRef {
		return { kind: this.trackOf(box.track)?.event_kind ?? "slice", row: box.event };
	}

	isSelected(event: EventRef): boolean {
		const now = this.selected.value;
		return now !== null && now.row === event.row && (now.kind ?? "slice") === event.kind;
	}

	/** Asks for everything about an event and selects it, here and on all pages. */
	async select(event: EventRef, keep = true): Promise<EventDetails | null> {
		this.asking?.abort();
		const asking = new AbortController();
		this.asking = asking;
		try {
			const details = await this.data.event(event, asking.signal);
			if (asking.signal.aborted) return null;
			const whole = { ...details, kind: details.kind ?? event.kind };
			this.selected.value = whole;
			if (keep) this.keepSelection(whole);
			this.changed();
			return whole;
		} catch (error) {
			if (!is_abort(error) && !asking.signal.aborted) this.error.value = error;
			return null;
		}
	}

	private keepSelection(details: EventDetails): void {
		const event = eventKey({ kind: details.kind ?? "slice", row: details.row });
		const now = view.value;
		if (now.params.event === event) return;
		updateParams({ event });
		view.value = { ...view.value, selection: { kind: "label", value: details.name } };
	}

	unselect(): void {
		if (this.selected.value) updateParams({ event: "" });
		this.selected.value = null;
		this.changed();
	}

	/** The few tiles that show everything. */
	async loadOverview(tracks: Track[], level: number, then: () => void): Promise<void> {
		const last = tilesOver(level, 0, this.durationNs)[1];
		const places = tracks.flatMap((track) =>
			Array.from({ length: last + 1 }, (_, index): Place => [track.id, index]).filter(
				(place) => !this.overview.has("boxes", track.id, level, place[1]),
			),
		);
		if (!places.length) return;
		try {
			const tiles = await this.data.tiles(level, places, this.closing.signal);
			for (const tile of tiles) this.overview.put(tile);
			if (tiles.length && tiles.length < places.length) await this.loadOverview(tracks, level, then);
			then();
		} catch (error) {
			if (!is_abort(error)) this.error.value = error;
		}
	}

	/** Categories of the tiles at hand, for the legend. */
	categoriesSeen(): Set<number> {
		return this.cache.categories;
	}

	/** The tracks in sight, as the loader wants them. */
	ask(tracks: TrackAsk[], width: number): void {
		this.loader.want(this.window.value, width, tracks, this.motion, this.durationNs);
	}
}
