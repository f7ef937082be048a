// SPDX-License-Identifier: Apache-2.0
//
// The colours of boxes as numbers for a pixel buffer (ABGR: what a little-endian Uint32Array over RGBA bytes holds).
// The category gives the hue; the name may only make it a little lighter or darker, so that neighbours differ.

export const SHADES = 5;
export const MIDDLE_SHADE = 2;
export const STRENGTHS = 17; // of a box over the background: 0 is the background, 16 the colour itself
export const CATEGORIES = 32;

export interface Palette {
	background: number;
	colours: Uint32Array; // [category][shade][strength]
	darkText: Uint8Array; // [category][shade]: whether dark text reads better on it than light
	outline: number;
	stripe: number; // of lost data
}

export function abgr(red: number, green: number, blue: number): number {
	return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export function mix(a: number, b: number, share: number): number {
	const part = (shift: number) => Math.round(((a >>> shift) & 255) * (1 - share) + ((b >>> shift) & 255) * share);
	return abgr(part(0), part(8), part(16));
}

export function css(colour: number): string {
	return `rgb(${colour & 255} ${(colour >>> 8) & 255} ${(colour >>> 16) & 255})`;
}

/** Relative luminance, as WCAG defines it. */
export function luminance(colour: number): number {
	const linear = (value: number) => {
		const share = value / 255;
		return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
	};
	return (
		0.2126 * linear(colour & 255) + 0.7152 * linear((colour >>> 8) & 255) + 0.0722 * linear((colour >>> 16) & 255)
	);
}

export function contrast(a: number, b: number): number {
	const first = luminance(a);
	const second = luminance(b);
	return (Math.max(first, second) + 0.05) / (Math.min(first, second) + 0.05);
}

/** Darker, then lighter, in steps that keep the hue. */
export function shade(colour: number, index: number): number {
	const by = (index - MIDDLE_SHADE) * 0.09;
	return by < 0 ? mix(colour, abgr(0, 0, 0), -by) : mix(colour, abgr(255, 255, 255), by * 1.3);
}

/** Black and white: one of them has a contrast of 4.58 or more on any colour. */
export const DARK_TEXT = abgr(0, 0, 0);
export const LIGHT_TEXT = abgr(255, 255, 255);

export function makePalette(
	categoryColour: (category: number) => number,
	background: number,
	outline: number,
	stripe: number,
): Palette {
	const colours = new Uint32Array(CATEGORIES * SHADES * STRENGTHS);
	const darkText = new Uint8Array(CATEGORIES * SHADES);
	for (let category = 0; category < CATEGORIES; category++)
		for (let index = 0; index < SHADES; index++) {
			const colour = shade(categoryColour(category), index);
			const at = category * SHADES + index;
			darkText[at] = contrast(colour, DARK_TEXT) >= contrast(colour, LIGHT_TEXT) ? 1 : 0;
			for (let strength = 0; strength < STRENGTHS; strength++)
				colours[at * STRENGTHS + strength] = mix(background, colour, strength / (STRENGTHS - 1));
		}
	return { background, colours, darkText, outline, stripe };
}

/** FNV-1a; the same name has the same shade in every result. */
export function nameHash(name: string): number {
	let hash = 0x811c9dc5;
	for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
	return hash >>> 0;
}

/** Digits do not count: iteration_7 looks like iteration_8. */
export function shadeOfName(name: string): number {
	const hash = nameHash(name.replace(/[0-9]+/g, "#"));
	return ((hash ^ (hash >>> 15)) >>> 0) % SHADES;
}
