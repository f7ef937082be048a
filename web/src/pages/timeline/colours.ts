// SPDX-License-Identifier: Apache-2.0
//
// The colours of the timeline and the flame graph in the scheme of now. A category has its hue for good.
import { makePalette, mix, type Palette } from "../../paint/palette";
import { categoryColour, scheme, tokenAbgr, tokenColour } from "../../theme/theme";
import type { Category } from "./tracks";

/** Place of the hue in the theme, by the name of a category. */
const HUES: Record<string, number> = {
	op: 0,
	task: 2,
	step: 7,
	range: 4,
	module: 6,
	python: 3,
	primitive: 1,
	kernel: 1,
	copy: 5,
	communication: 3,
	overlapped: 4,
	region: 6,
	frame: 6,
	timed: 2,
	event: 3,
	mark: 3,
	wait: 5,
	hold: 5,
	marker: 3,
	alloc: 5,
};

/** Names such as nn-module and primitive-create have the hue of what they are a kind of. */
export function hueOf(name: string): number {
	const known = HUES[name] ?? HUES[name.split(/[-_ ]/)[0]!] ?? HUES[name.split(/[-_ ]/).pop()!];
	return known ?? 7;
}

export interface Colours {
	scheme: string;
	palette: Palette;
	background: number;
	group: number; // behind the row of a process
	line: number;
	grid: number;
	cpu: number;
	cpuPeak: number;
	counter: number;
	text: string;
	muted: string;
	accent: string;
	shade: string; // over what lies outside of the range
	fill: string; // of a range that is being chosen
	mark: string;
	focus: string;
}

let made: { key: string; colours: Colours } | null = null;

/** The same object until the scheme or the categories change. */
export function coloursNow(categories: Category[]): Colours {
	const key = `${scheme.value} ${categories.map((one) => one.name).join()}`;
	if (made?.key === key) return made.colours;
	const background = tokenAbgr("bg");
	const hues = new Map(categories.map((one) => [one.id, hueOf(one.name)]));
	const colour = (category: number) => mix(categoryColour(hues.get(category) ?? 7), background, 0.12);
	const dark = scheme.value === "dark";
	const colours: Colours = {
		scheme: scheme.value,
		palette: makePalette(colour, background, tokenAbgr("fg"), tokenAbgr("bad")),
		background,
		group: tokenAbgr("bg-raised"),
		line: mix(background, tokenAbgr("line"), 0.8),
		grid: mix(background, tokenAbgr("line"), 0.55),
		cpu: mix(background, tokenAbgr("line-strong"), dark ? 0.75 : 0.6),
		cpuPeak: mix(background, tokenAbgr("line-strong"), dark ? 0.35 : 0.25),
		counter: mix(background, categoryColour(4), 0.45),
		text: tokenColour("fg"),
		muted: tokenColour("fg-muted"),
		accent: tokenColour("accent"),
		shade: dark ? "rgb(8 10 14 / 55%)" : "rgb(240 243 247 / 66%)",
		fill: dark ? "rgb(108 184 246 / 16%)" : "rgb(0 90 156 / 11%)",
		mark: tokenColour("bad"),
		focus: tokenColour("focus"),
	};
	made = { key, colours };
	return colours;
}

/** The hue of a category as the page's own colour, for legends. */
export function legendColour(name: string): string {
	return `var(--cat-${hueOf(name)})`;
}
