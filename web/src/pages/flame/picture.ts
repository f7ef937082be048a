// SPDX-License-Identifier: Apache-2.0
//
// Draws a flame graph with the painter of the timeline: time from the left edge instead of time of day, depth for lanes.
import { percent } from "../../format";
import { type Frame, fillRect, type LaneRow, MARGIN, makeFrame, paintRow } from "../../paint/boxes";
import { hitBox, laneAt, wideBoxes } from "../../paint/hit";
import { type MadeBox, wholeTile } from "../../paint/made_tiles";
import { abgr, makePalette, mix, type Palette, SHADES, shadeOfName } from "../../paint/palette";
import { type Window, xToTime } from "../../paint/scale";
import { TextFit } from "../../paint/text";
import { FLAG_MERGED } from "../../paint/tile";
import { categoryColour, scheme, tokenAbgr, tokenColour } from "../../theme/theme";
import { FONT } from "../timeline/picture";
import { type Layout, MORE, type Tree } from "./tree";

export const LANE = 19; // pixels of the page
const TEXT_MIN_PIXELS = 30;

/** Hues by kind of frame. */
const HUES: Record<string, number> = {
	python: 3,
	native: 0,
	inlined: 4,
	jit: 1,
	kernel: 7,
	unknown: 7,
	recovered: 7,
	group: 2,
	task: 2,
	op: 0,
	operator: 0,
};

export function kindHue(kind: string): number {
	return HUES[kind] ?? HUES[kind.split(/[-_ ]/)[0]!] ?? 7;
}

/** Blue: less than before, orange: more. Seventeen steps, the middle one grey. */
export const DIFF_STEPS = 17;

export function diffStep(before: number, after: number): number {
	const most = Math.max(before, after);
	const share = most > 0 ? (after - before) / most : 0;
	return Math.round(((share + 1) / 2) * (DIFF_STEPS - 1));
}

function diffColour(step: number): number {
	const middle = (DIFF_STEPS - 1) / 2;
	const away = (step - middle) / middle;
	const neutral = tokenAbgr("line");
	return mix(
		neutral,
		away < 0 ? abgr(0x1f, 0x7f, 0xc4) : abgr(0xe0, 0x82, 0x14),
		Math.min(1, Math.abs(away) * 0.9 + (away ? 0.1 : 0)),
	);
}

export interface Shown {
	tree: Tree;
	layout: Layout;
	flame: boolean; // the outermost frame below
	found: Uint8Array | null; // by name
	window: Window;
	scroll: number;
	selected: number; // node, or -1
	hovered: number;
}

export class FlamePicture {
	private frame: Frame = makeFrame(1, 1);
	private image: ImageData | null = null;
	private scale = 1;
	private width = 0;
	private height = 0;
	private queued = 0;
	private tile: { key: Shown["tree"]; flame: boolean; row: LaneRow } | null = null;
	private palette: { key: string; made: Palette } | null = null;
	private shades = new Uint8Array(0);
	private readonly fit: TextFit;
	private readonly above: CanvasRenderingContext2D;
	shown: Shown | null = null;
	lastMs = 0;

	constructor(
		private readonly boxes: HTMLCanvasElement,
		private readonly texts: HTMLCanvasElement,
	) {
		this.above = texts.getContext("2d")!;
		this.above.font = FONT;
		this.fit = new TextFit((text) => this.above.measureText(text).width);
	}

	close(): void {
		cancelAnimationFrame(this.queued);
	}

	resize(width: number, height: number): void {
		this.scale = Math.min(3, window.devicePixelRatio || 1);
		this.width = width;
		this.height = height;
		const w = Math.max(1, Math.round(width * this.scale));
		const h = Math.max(1, Math.round(height * this.scale));
		for (const canvas of [this.boxes, this.texts]) {
			canvas.width = w;
			canvas.height = h;
		}
		this.frame = makeFrame(w, h);
		this.image = new ImageData(new Uint8ClampedArray(this.frame.pixels.buffer as ArrayBuffer), w, h + 2 * MARGIN);
		this.queue();
	}

	show(next: Shown): void {
		this.shown = next;
		this.queue();
	}

	queue(): void {
		if (!this.queued)
			this.queued = requestAnimationFrame(() => {
				this.queued = 0;
				this.draw();
			});
	}

	/** The tree as one tile; made anew only for another tree. */
	private rowOf(shown: Shown): LaneRow {
		if (this.tile?.key === shown.tree && this.tile.flame === shown.flame) return this.tile.row;
		const { tree, layout } = shown;
		const made: MadeBox[] = Array.from(layout.order, (node) => ({
			startNs: layout.start[node]!,
			endNs: layout.start[node]! + tree.total[node]!,
			lane: shown.flame ? layout.maxDepth - tree.depth[node]! : tree.depth[node]!,
			label: tree.name[node] === MORE ? tree.names.length : tree.name[node]!,
			event: node,
			category: tree.before && tree.after ? diffStep(tree.before[node]!, tree.after[node]!) : tree.kind[node]!,
			flags: tree.name[node] === MORE ? FLAG_MERGED : 0,
			busy: tree.name[node] === MORE ? 60 : 255,
		}));
		const tile = wholeTile(made, Math.max(1, tree.totalNs));
		const row: LaneRow = {
			y: 0,
			laneHeight: 1,
			laneStep: 1,
			lanes: layout.maxDepth + 1,
			background: 0,
			pieces: [{ tile, fromNs: 0, toNs: tile.endNs }],
		};
		this.tile = { key: tree, flame: shown.flame, row };
		this.shades = Uint8Array.from([...tree.names, ""], (name) => (tree.before ? 2 : shadeOfName(name)));
		return row;
	}

	private paletteOf(tree: Tree): Palette {
		const key = `${scheme.value} ${tree.before !== null} ${tree.kinds.join()}`;
		if (this.palette?.key === key) return this.palette.made;
		const background = tokenAbgr("bg");
		const colour = (category: number) =>
			tree.before
				? diffColour(category)
				: mix(categoryColour(kindHue(tree.kinds[category] ?? "")), background, 0.12);
		const made = makePalette(colour, background, tokenAbgr("fg"), tokenAbgr("bad"));
		this.palette = { key, made };
		return made;
	}

	private place(shown: Shown): LaneRow {
		const step = Math.round(LANE * this.scale);
		const row = this.rowOf(shown);
		const y = Math.round(-shown.scroll * this.scale);
		return { ...row, y, laneStep: step, laneHeight: step - Math.max(1, Math.round(this.scale)) };
	}

	draw(): void {
		const { shown, image, frame } = this;
		if (!shown || !image) return;
		const from = performance.now();
		const palette = this.paletteOf(shown.tree);
		const row = { ...this.place(shown), background: palette.background };
		fillRect(frame, -MARGIN, frame.height + 2 * MARGIN, palette.background);
		const outlined = shown.hovered >= 0 ? shown.tree.name[shown.hovered]! : -1;
		paintRow(frame, shown.window, row, { palette, shades: this.shades, found: shown.found, outlined });
		this.boxes
			.getContext("2d", { alpha: false })
			?.putImageData(image, 0, -MARGIN, 0, MARGIN, frame.width, frame.height);
		this.drawTexts(shown, row, palette);
		this.lastMs = performance.now() - from;
	}

	private drawTexts(shown: Shown, row: LaneRow, palette: Palette): void {
		const { above, scale } = this;
		above.setTransform(1, 0, 0, 1, 0, 0);
		above.clearRect(0, 0, this.texts.width, this.texts.height);
		above.setTransform(scale, 0, 0, scale, 0, 0);
		above.font = FONT;
		above.textBaseline = "middle";
		const muted = tokenColour("fg-muted");
		for (const box of wideBoxes(row, shown.window, this.frame.width, TEXT_MIN_PIXELS * scale)) {
			const y = box.lane * LANE - shown.scroll;
			if (y < -LANE || y > this.height) continue;
			const x = box.x0 / scale;
			const text = this.fit.fit(this.textOf(shown, box.event), box.x1 / scale - x - 8);
			const shade = box.category * SHADES + (this.shades[box.label] ?? 2);
			const more = shown.tree.name[box.event] === MORE;
			const faded = more || (shown.found && !shown.found[box.label]);
			above.fillStyle = faded ? muted : palette.darkText[shade] ? "#000" : "#fff";
			above.fillText(text, x + 4, y + LANE / 2);
		}
		this.outlineSelected(shown);
	}

	private textOf(shown: Shown, node: number): string {
		const { tree } = shown;
		if (tree.name[node] === MORE) return `${tree.folded[node]} more`;
		const name = tree.names[tree.name[node]!]!;
		if (!tree.before || !tree.after) return name;
		const before = tree.before[node]!;
		const after = tree.after[node]!;
		if (!before) return `${name}  new`;
		if (!after) return `${name}  gone`;
		return `${name}  ${after >= before ? "+" : "−"}${percent(Math.abs(after - before) / before)}`;
	}

	private outlineSelected(shown: Shown): void {
		const at = shown.selected >= 0 ? this.rectOf(shown.selected) : null;
		if (!at) return;
		this.above.strokeStyle = tokenColour("fg");
		this.above.lineWidth = 2;
		this.above.strokeRect(at.x, at.y, at.width, at.height);
	}

	/** Where a node is in the picture now. */
	rectOf(node: number): { x: number; y: number; width: number; height: number } | null {
		const { shown } = this;
		if (!shown || node >= shown.tree.parent.length) return null;
		const { startNs, endNs } = shown.window;
		const per = this.width / (endNs - startNs);
		const depth = shown.tree.depth[node]!;
		const lane = shown.flame ? shown.layout.maxDepth - depth : depth;
		const x0 = Math.max(0, (shown.layout.start[node]! - startNs) * per);
		const x1 = Math.min(this.width, (shown.layout.start[node]! + shown.tree.total[node]! - startNs) * per);
		return { x: x0, y: lane * LANE - shown.scroll, width: Math.max(1, x1 - x0), height: LANE - 1 };
	}

	/** The node at a point of the picture, or -1. */
	hit(x: number, y: number): number {
		const { shown } = this;
		if (!shown) return -1;
		const row = this.place(shown);
		const lane = laneAt(row, Math.floor(y * this.scale));
		if (lane < 0) return -1;
		const per = (shown.window.endNs - shown.window.startNs) / Math.max(1, this.width);
		return hitBox(row, lane, xToTime(shown.window, this.width, x), per)?.event ?? -1;
	}
}
