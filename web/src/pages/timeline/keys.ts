// SPDX-License-Identifier: Apache-2.0
//
// The keys of the timeline. WASD move while they are held; they are places on the keyboard, not letters.
import { register } from "../../commands/commands";
import { hideDrawer } from "../../components/Drawer";
import type { Timeline } from "./model";
import {
	centreThenFit,
	commitRange,
	jumpToNearest,
	panBy,
	putMark,
	showAll,
	stepDepth,
	stepFlow,
	stepHit,
	stepOnTrack,
	stepSameName,
	zoomBy,
} from "./moves";
import type { Picture } from "./picture";

const ZOOM_STEP = 0.8;
const PAN_STEP = 0.12;
const ZOOM_PER_SECOND = 6; // times, while a key is held
const PAN_PER_SECOND = 1.2; // windows

/** Moves while a key is held: at once by a step, then evenly with every frame until it is let go. */
class Held {
	private readonly codes = new Set<string>();
	private last = 0;
	private frame = 0;

	constructor(private readonly timeline: Timeline) {
		window.addEventListener("keyup", this.up);
		window.addEventListener("blur", this.none);
	}

	close(): void {
		window.removeEventListener("keyup", this.up);
		window.removeEventListener("blur", this.none);
		cancelAnimationFrame(this.frame);
	}

	down(code: string): void {
		if (this.codes.has(code)) return;
		this.codes.add(code);
		if (code === "KeyW") zoomBy(this.timeline, ZOOM_STEP);
		else if (code === "KeyS") zoomBy(this.timeline, 1 / ZOOM_STEP);
		else panBy(this.timeline, code === "KeyA" ? -PAN_STEP : PAN_STEP);
		if (this.codes.size === 1) {
			this.last = performance.now();
			this.frame = requestAnimationFrame(this.move);
		}
	}

	private readonly up = (event: KeyboardEvent) => {
		this.codes.delete(event.code);
	};

	private readonly none = () => this.codes.clear();

	private readonly move = (now: number) => {
		if (!this.codes.size) return;
		const seconds = Math.min(0.05, Math.max(0, (now - this.last) / 1000));
		this.last = now;
		if (this.codes.has("KeyW")) zoomBy(this.timeline, ZOOM_PER_SECOND ** -seconds);
		if (this.codes.has("KeyS")) zoomBy(this.timeline, ZOOM_PER_SECOND ** seconds);
		if (this.codes.has("KeyA")) panBy(this.timeline, -PAN_PER_SECOND * seconds);
		if (this.codes.has("KeyD")) panBy(this.timeline, PAN_PER_SECOND * seconds);
		this.frame = requestAnimationFrame(this.move);
	};
}

export interface Actions {
	findRows: () => void;
	asTable: () => void;
	fold: () => void;
}

export function timelineKeys(timeline: Timeline, picture: Picture, actions: Actions): () => void {
	const held = new Held(timeline);
	const at = (id: string, title: string, keys: string[], run: () => unknown) => ({
		id: `timeline.${id}`,
		title,
		keys,
		scope: "Timeline",
		run: () => void run(),
	});
	const off = register(
		at("in", "Zoom in", ["KeyW"], () => held.down("KeyW")),
		at("out", "Zoom out", ["KeyS"], () => held.down("KeyS")),
		at("left", "Move left", ["KeyA"], () => held.down("KeyA")),
		at("right", "Move right", ["KeyD"], () => held.down("KeyD")),
		at("fit", "Centre what is selected, then fit it", ["KeyF"], () => centreThenFit(timeline)),
		at("all", "Show everything", ["Digit0"], () => showAll(timeline)),
		at("mark", "Put a mark at the pointer", ["KeyM"], () => putMark(timeline, false)),
		at("mark.keep", "Put a mark that stays", ["Shift+KeyM"], () => putMark(timeline, true)),
		at("mark.none", "Take all marks away", ["Alt+KeyM"], () => timeline.setMarks([])),
		at("mark.note", "Write a note at the newest mark", ["Alt+Shift+KeyM"], () => {
			timeline.noting.value = timeline.marks.value.at(-1) ?? null;
		}),
		at("next", "Next event on the track", ["Period", "ArrowRight"], () => stepOnTrack(timeline, picture, 1)),
		at("previous", "Previous event on the track", ["Comma", "ArrowLeft"], () => stepOnTrack(timeline, picture, -1)),
		at("parent", "The event around this one", ["ArrowUp"], () => stepDepth(timeline, picture, false)),
		at("child", "The first event inside this one", ["ArrowDown"], () => stepDepth(timeline, picture, true)),
		at("same.next", "Next event of the same name", ["KeyN"], () => stepSameName(timeline, "next")),
		at("same.previous", "Previous event of the same name", ["Shift+KeyN"], () =>
			stepSameName(timeline, "previous"),
		),
		at("flow.out", "Along the arrow, to what follows", ["BracketRight"], () => stepFlow(timeline, true)),
		at("flow.in", "Back along the arrow", ["BracketLeft"], () => stepFlow(timeline, false)),
		at("hit.next", "Next hit of the search", ["KeyG"], () => stepHit(timeline, 1)),
		at("hit.previous", "Previous hit of the search", ["Shift+KeyG"], () => stepHit(timeline, -1)),
		at("nearest", "Jump to the nearest event", ["KeyJ"], () => jumpToNearest(timeline, picture)),
		at("range", "Limit all pages to the chosen range, or to the time of what is selected", ["KeyR", "Enter"], () =>
			commitRange(timeline),
		),
		at("rows", "Find rows", ["Ctrl+KeyP"], actions.findRows),
		at("dense", "Low rows, or rows with text", ["KeyV"], () => timeline.choose({ dense: !timeline.choices.dense })),
		at("table", "Show what is in sight as a table", ["KeyT"], actions.asTable),
		at("clear", "Let go of the range, then of the selection", ["Escape"], () => {
			if (timeline.preview.value) timeline.preview.value = null;
			else {
				timeline.unselect();
				hideDrawer();
			}
			timeline.changed();
		}),
	);
	return () => {
		off();
		held.close();
	};
}
