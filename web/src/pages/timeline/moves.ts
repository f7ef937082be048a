// SPDX-License-Identifier: Apache-2.0
//
// Ways through the timeline: along a track, along flows, to the next of the same name, to what a search found, to the
// nearest event when there is none in sight.
import { hideDrawer } from "../../components/Drawer";
import { toast } from "../../components/Toast";
import { ns } from "../../format";
import { centreWindow, fitWindow, panWindow, zoomWindow } from "../../paint/scale";
import { type Range, setRange, view } from "../../state/view";
import type { EventDetails, Neighbour, SearchHit } from "./data";
import type { Timeline } from "./model";
import { type Picture, windowSpan } from "./picture";

/** Brings an event into the window, and its row into sight. */
export function reveal(
	timeline: Timeline,
	event: { begin_ns: number; end_ns: number; track: number; lane?: number },
): void {
	const window = timeline.window.value;
	if (event.end_ns < window.startNs || event.begin_ns > window.endNs)
		timeline.setWindow(centreWindow(window, event.begin_ns, event.end_ns, timeline.durationNs));
	revealRow(timeline, event);
}

/** Scrolls to the row of an event, unless it is in sight. */
export function revealRow(timeline: Timeline, event: { track: number; lane?: number }): void {
	const row = timeline.rows.find((one) => one.track.id === event.track);
	if (!row) return;
	const top = row.y + row.laneTop + (event.lane ?? 0) * row.laneStep;
	const height = timeline.height - timeline.pinnedHeight;
	const scroll = timeline.scrollTop.value;
	if (top < scroll || top + row.laneStep > scroll + height)
		timeline.scrollTop.value = Math.max(0, Math.min(top - height / 3, timeline.rowsHeight - height));
}

export async function selectAndReveal(timeline: Timeline, kind: string, row: number): Promise<EventDetails | null> {
	const details = await timeline.select({ kind, row });
	if (details) {
		reveal(timeline, details);
		timeline.said.value = sayEvent(timeline, details);
	}
	return details;
}

export function sayEvent(timeline: Timeline, event: EventDetails): string {
	const track = timeline.trackOf(event.track);
	const length = ns(event.end_ns - event.begin_ns);
	return `${event.name}, ${length}, at ${ns(event.begin_ns)}${track ? `, on ${track.title}` : ""}`;
}

export function zoomBy(timeline: Timeline, factor: number): void {
	const window = timeline.window.value;
	const at = timeline.pointerNs ?? (window.startNs + window.endNs) / 2;
	timeline.setWindow(zoomWindow(window, factor, at, timeline.durationNs));
}

export function panBy(timeline: Timeline, share: number): void {
	const window = timeline.window.value;
	timeline.setWindow(panWindow(window, share * windowSpan(window), timeline.durationNs));
}

export function showAll(timeline: Timeline): void {
	timeline.setWindow({ startNs: 0, endNs: timeline.durationNs });
}

/** Centres what is selected; when it is centred already, fits it. */
export function centreThenFit(timeline: Timeline): void {
	const range = timeline.preview.value ?? view.value.range;
	const event = timeline.selected.value;
	const [begin, end] = event ? [event.begin_ns, event.end_ns] : (range ?? [0, timeline.durationNs]);
	const window = timeline.window.value;
	const centred = centreWindow(window, begin, end, timeline.durationNs);
	if (event) reveal(timeline, event);
	if (Math.abs(centred.startNs - window.startNs) > windowSpan(window) * 0.01 && end - begin <= windowSpan(window))
		timeline.setWindow(centred);
	else timeline.setWindow(fitWindow(begin, end, timeline.durationNs));
}

function neighbourOf(details: EventDetails, key: "previous" | "next"): Neighbour | null {
	const value = details[key];
	if (typeof value === "number") return { row: value };
	return value ?? null;
}

/** The next or previous event of the same name, wherever it is. */
export async function stepSameName(timeline: Timeline, direction: "next" | "previous"): Promise<void> {
	const now = timeline.selected.value;
	if (!now) return void toast("Select an event first: its next namesake is looked for.");
	const known = neighbourOf(now, direction);
	if (known) await selectAndReveal(timeline, known.kind ?? now.kind ?? "slice", known.row);
	else toast(`There is no ${direction} “${now.name}”.`);
}

const CLIMBS = 64;

/** From an event that the server found on the way to the one of the wanted lane: what is around it. */
async function climb(timeline: Timeline, from: EventDetails, lane: number): Promise<EventDetails> {
	let at = from;
	for (let i = 0; i < CLIMBS && (at.lane ?? 0) > lane; i++) {
		const parent = typeof at.parent === "number" ? { row: at.parent, kind: undefined } : at.parent;
		if (!parent) break;
		at = await timeline.data.event({ kind: parent.kind ?? at.kind ?? "slice", row: parent.row });
	}
	return at;
}

/** The next or previous event of the track, on the lane of the selected one where there is one. */
export async function stepOnTrack(timeline: Timeline, picture: Picture, step: 1 | -1): Promise<void> {
	const now = timeline.selected.value;
	if (!now) return void selectFirst(timeline, picture);
	const answer = await timeline.data.next({
		from_ns: step > 0 ? Math.max(now.begin_ns + 1, now.end_ns) : now.begin_ns,
		track: now.track,
		direction: step > 0 ? "next" : "previous",
	});
	if (answer.row === null) {
		toast(step > 0 ? "This is the last event of the track." : "This is the first event of the track.");
		return;
	}
	const kind = (answer as SearchHit).kind ?? now.kind ?? "slice";
	const found = await climb(timeline, await timeline.data.event({ kind, row: answer.row }), now.lane ?? 0);
	await selectAndReveal(timeline, found.kind ?? kind, found.row);
}

/** Something to begin with: the box nearest to the pointer or the middle. */
export async function selectFirst(timeline: Timeline, picture: Picture): Promise<void> {
	const window = timeline.window.value;
	const at = timeline.pointerNs ?? (window.startNs + window.endNs) / 2;
	const away = (box: { startNs: number; endNs: number }) => Math.max(0, box.startNs - at, at - box.endNs);
	const [first] = picture.boxesInSight(20000).sort((a, b) => away(a) - away(b) || a.lane - b.lane);
	if (first) {
		const event = timeline.refOf(first);
		await selectAndReveal(timeline, event.kind, event.row);
	}
}

/** Up to the parent, down to the first child under the middle of the event. */
export async function stepDepth(timeline: Timeline, picture: Picture, down: boolean): Promise<void> {
	const now = timeline.selected.value;
	if (!now) return void selectFirst(timeline, picture);
	if (!down) {
		const parent = typeof now.parent === "number" ? { row: now.parent, kind: undefined } : now.parent;
		if (parent) await selectAndReveal(timeline, parent.kind ?? now.kind ?? "slice", parent.row);
		return;
	}
	const lane = (now.lane ?? 0) + 1;
	const inside = picture
		.boxesInSight(50000)
		.filter(
			(box) =>
				box.track === now.track && box.lane === lane && box.startNs < now.end_ns && box.endNs > now.begin_ns,
		)
		.sort((a, b) => a.startNs - b.startNs);
	const [first] = inside;
	if (first) {
		const event = timeline.refOf(first);
		await selectAndReveal(timeline, event.kind, event.row);
	}
}

/** Forward and backward of one operator have one sequence number: the nearest of the others, after or before this one. */
export function twinOf(event: EventDetails, later: boolean): Neighbour | undefined {
	const all = (event.operator?.same_sequence ?? []).filter((one) =>
		later ? (one.begin_ns ?? 0) >= event.end_ns : (one.end_ns ?? Infinity) <= event.begin_ns,
	);
	const away = (one: Neighbour) => Math.abs((one.begin_ns ?? 0) - event.begin_ns);
	return all.sort((a, b) => away(a) - away(b))[0];
}

/** Along flows: to what this one came from, or to what it led to. */
export async function stepFlow(timeline: Timeline, outgoing: boolean): Promise<void> {
	const now = timeline.selected.value;
	const flow = now?.flows?.find((one) => (one.direction === "out" || one.direction === "to") === outgoing);
	const wanted = flow ?? (now ? twinOf(now, outgoing) : undefined);
	if (!now || !wanted)
		return void toast(outgoing ? "Nothing follows from this event." : "This event follows from no other.");
	await selectAndReveal(timeline, wanted.kind ?? "slice", wanted.row);
}

/** To the next hit of the search in the top bar. */
export async function stepHit(timeline: Timeline, step: number): Promise<void> {
	const is_found = timeline.foundFor === view.value.search;
	timeline.stepWhenFound = is_found ? 0 : step;
	if (!is_found) return;
	const hits = timeline.found.value?.hits ?? [];
	if (!hits.length) return;
	const from = timeline.foundAt.value < 0 && step < 0 ? 0 : timeline.foundAt.value;
	const at = (from + step + hits.length) % hits.length;
	timeline.foundAt.value = at;
	const hit = hits[at]!;
	const kind = hit.kind ?? timeline.trackOf(hit.track)?.event_kind ?? "slice";
	const found = await selectAndReveal(timeline, kind, hit.row);
	if (found) zoomNear(timeline, found);
}

const NARROW = 1 / 60; // of the window: too narrow to be seen well
const AROUND = 6;

/** Zooms to an event that is found but hardly seen: with some of what is around it. */
function zoomNear(timeline: Timeline, event: EventDetails): void {
	const length = Math.max(1, event.end_ns - event.begin_ns);
	const span = windowSpan(timeline.window.value);
	if (length > span * NARROW && length < span) return;
	const margin = (length * (AROUND - 1)) / 2;
	timeline.setWindow({ startNs: event.begin_ns - margin, endNs: event.end_ns + margin });
}

export function rangeOf(event: { begin_ns: number; end_ns: number }): Range {
	return [event.begin_ns, Math.max(event.begin_ns + 1, event.end_ns)];
}

const NEAREST_TRACKS = 8;

export interface Nearest {
	text: string;
	begin_ns: number;
	end_ns: number;
}

/** When nothing is in sight: the nearest event of the rows in sight, and how far away it is. */
export async function findNearest(timeline: Timeline, picture: Picture): Promise<Nearest | null> {
	const { startNs, endNs } = timeline.window.value;
	const tracks = picture.placed.filter((one) => one.row.lanes && one.row.track.items).map((one) => one.row.track.id);
	const answers = await Promise.all(
		tracks
			.slice(0, NEAREST_TRACKS)
			.flatMap((track) =>
				(["previous", "next"] as const).map((direction) =>
					timeline.data.next({ from_ns: Math.round(startNs), track, direction }),
				),
			),
	);
	const away = (hit: SearchHit) => Math.max(0, hit.begin_ns - endNs, startNs - hit.end_ns);
	const [first] = answers.filter((one): one is SearchHit => one.row !== null).sort((a, b) => away(a) - away(b));
	if (!first) return null;
	const side = first.begin_ns > startNs ? "right" : "left";
	return { text: `nearest event ${ns(away(first))} ${side}`, begin_ns: first.begin_ns, end_ns: first.end_ns };
}

export async function jumpToNearest(timeline: Timeline, picture: Picture): Promise<void> {
	const near = await findNearest(timeline, picture);
	if (near) timeline.setWindow(centreWindow(timeline.window.value, near.begin_ns, near.end_ns, timeline.durationNs));
}

/** The newest mark, and how far it is from the one before. */
function saidMarks(timeline: Timeline): string {
	const [newest, before] = timeline.marks.value.slice(-2).reverse();
	if (!newest) return "";
	return `Mark at ${ns(newest.ns)}${before ? `, ${ns(Math.abs(newest.ns - before.ns))} from the last` : ""}`;
}

/** Puts a mark under the pointer, or at the begin of what is selected. */
export function putMark(timeline: Timeline, kept: boolean): void {
	const window = timeline.window.value;
	const at = timeline.pointerNs ?? timeline.selected.value?.begin_ns ?? (window.startNs + window.endNs) / 2;
	const others = timeline.marks.value.filter((mark) => mark.kept || kept);
	timeline.setMarks([...others, { ns: Math.round(at), kept, note: "" }]);
	timeline.said.value = saidMarks(timeline);
}

/** Limits all pages to the chosen range; without one, to the time of the selected event, to see what all threads do then. */
export function commitRange(timeline: Timeline): void {
	const event = timeline.selected.value;
	const range = timeline.preview.value ?? (event && rangeOf(event));
	if (!range) return;
	if (!timeline.preview.value) {
		timeline.rangeTab.value = "threads";
		timeline.unselect();
		hideDrawer();
	}
	timeline.preview.value = null;
	setRange(range);
	timeline.setWindow({ startNs: range[0], endNs: range[1] });
	timeline.changed();
}
