// SPDX-License-Identifier: Apache-2.0
//
// The pointer on the timeline: hover, click, drag a range, pan with Shift or the middle button, zoom with the wheel at
// the pointer, right click for what can be done with an event.
import { nsPerPixel, panWindow, timeToX, xToTime, zoomWindow } from "../../paint/scale";
import type { Range } from "../../state/view";
import { eventMenu } from "./event_menu";
import type { Timeline } from "./model";
import { sayEvent } from "./moves";
import type { Picture } from "./picture";

const CLICK_PIXELS = 4;
const WHEEL_ZOOM = 0.0016;
const SNAP_PIXELS = 6;

interface Drag {
	kind: "range" | "pan";
	x: number;
	y: number;
	startNs: number; // where it began; of a pan the start of the window
	moved: boolean;
}

export class PointerControl {
	private drag: Drag | null = null;

	constructor(
		private readonly timeline: Timeline,
		private readonly picture: Picture,
		private readonly element: HTMLElement,
		private readonly scrollBy: (pixels: number) => void,
	) {
		element.addEventListener("wheel", this.wheel, { passive: false });
		element.addEventListener("pointerdown", this.down);
		element.addEventListener("pointermove", this.move);
		element.addEventListener("pointerup", this.up);
		element.addEventListener("pointercancel", this.cancel);
		element.addEventListener("pointerleave", this.leave);
		element.addEventListener("contextmenu", this.menu);
	}

	close(): void {
		this.element.removeEventListener("wheel", this.wheel);
		this.element.removeEventListener("pointerdown", this.down);
		this.element.removeEventListener("pointermove", this.move);
		this.element.removeEventListener("pointerup", this.up);
		this.element.removeEventListener("pointercancel", this.cancel);
		this.element.removeEventListener("pointerleave", this.leave);
		this.element.removeEventListener("contextmenu", this.menu);
	}

	private place(event: MouseEvent): { x: number; y: number } {
		const box = this.element.getBoundingClientRect();
		return { x: event.clientX - box.left, y: event.clientY - box.top };
	}

	private timeAt(x: number): number {
		const { timeline } = this;
		return xToTime(timeline.window.value, timeline.width, x);
	}

	private readonly wheel = (event: WheelEvent) => {
		const { timeline } = this;
		event.preventDefault();
		const lines = event.deltaMode === 1 ? 16 : 1;
		const window = timeline.window.value;
		const perPixel = nsPerPixel(window, timeline.width);
		if (event.altKey) this.scrollBy(event.deltaY * lines);
		else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
			const by = (event.deltaX || event.deltaY) * lines;
			timeline.setWindow(panWindow(window, by * perPixel, timeline.durationNs));
		} else {
			const factor = Math.exp(Math.max(-200, Math.min(200, event.deltaY * lines)) * WHEEL_ZOOM);
			timeline.setWindow(zoomWindow(window, factor, this.timeAt(this.place(event).x), timeline.durationNs));
		}
	};

	private readonly down = (event: PointerEvent) => {
		if (event.button > 1) return;
		const { x, y } = this.place(event);
		const pan = event.shiftKey || event.button === 1;
		if (event.button === 1) event.preventDefault();
		this.drag = {
			kind: pan ? "pan" : "range",
			x,
			y,
			moved: false,
			startNs: pan ? this.timeline.window.value.startNs : this.snap(x, y),
		};
		this.element.setPointerCapture(event.pointerId);
	};

	/** The edge of a box near the pointer, or the time under it. */
	private snap(x: number, y: number): number {
		const { timeline } = this;
		const at = this.timeAt(x);
		const box = this.picture.hit(x, y)?.box;
		if (!box) return at;
		const window = timeline.window.value;
		for (const edge of [box.startNs, box.endNs])
			if (Math.abs(timeToX(window, timeline.width, edge) - x) <= SNAP_PIXELS) return edge;
		return at;
	}

	private readonly move = (event: PointerEvent) => {
		const { x, y } = this.place(event);
		this.timeline.pointerNs = this.timeAt(x);
		const { drag } = this;
		if (!drag) return this.hoverAt(x, y);
		if (Math.abs(x - drag.x) > CLICK_PIXELS || (drag.kind === "pan" && Math.abs(y - drag.y) > CLICK_PIXELS))
			drag.moved = true;
		if (!drag.moved) return;
		if (drag.kind === "pan") this.panTo(drag, x, y);
		else this.chooseTo(drag, x, y);
	};

	private panTo(drag: Drag, x: number, y: number): void {
		const { timeline } = this;
		const window = timeline.window.value;
		const start = drag.startNs - (x - drag.x) * nsPerPixel(window, timeline.width);
		timeline.setWindow({ startNs: start, endNs: start + window.endNs - window.startNs });
		this.scrollBy(drag.y - y);
		drag.y = y;
	}

	private chooseTo(drag: Drag, x: number, y: number): void {
		const { timeline } = this;
		const to = Math.min(Math.max(0, this.snap(x, y)), timeline.durationNs);
		const range: Range = [Math.round(Math.min(drag.startNs, to)), Math.round(Math.max(drag.startNs, to))];
		timeline.preview.value = range[1] > range[0] ? range : null;
		timeline.hover.value = null;
		timeline.changed();
	}

	private hoverAt(x: number, y: number): void {
		const { timeline } = this;
		const hit = this.picture.hit(x, y);
		const before = timeline.hover.value;
		if (!hit?.box) {
			if (before) {
				timeline.hover.value = null;
				timeline.changed();
			}
			return;
		}
		const redraw = before?.box.label !== hit.box.label;
		timeline.hover.value = { box: hit.box, row: hit.placed.row, x, y };
		if (redraw) timeline.changed();
	}

	private readonly up = (event: PointerEvent) => {
		const { drag, timeline } = this;
		this.drag = null;
		if (!drag || drag.moved) return;
		const { x, y } = this.place(event);
		const box = this.picture.hit(x, y)?.box;
		timeline.preview.value = null;
		if (!box) timeline.unselect();
		else
			void timeline.select(timeline.refOf(box)).then((details) => {
				if (details) timeline.said.value = sayEvent(timeline, details);
			});
		timeline.changed();
	};

	private readonly cancel = () => {
		this.drag = null;
	};

	private readonly leave = () => {
		this.timeline.pointerNs = null;
		this.timeline.hover.value = null;
		this.timeline.changed();
	};

	private readonly menu = (event: MouseEvent) => {
		event.preventDefault();
		const { x, y } = this.place(event);
		const hit = this.picture.hit(x, y);
		if (hit?.box) eventMenu(this.timeline, hit.box, { x: event.clientX, y: event.clientY });
	};
}
