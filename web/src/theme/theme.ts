// SPDX-License-Identifier: Apache-2.0
//
// Light or dark, and colours as numbers for whoever paints pixels. The colours themselves are in tokens.css.
import { computed, effect, signal } from "@preact/signals";

export type Choice = "system" | "light" | "dark";
export type Scheme = "light" | "dark";

/** Okabe and Ito's hues in the order of --cat-0 ... --cat-7: light, dark. */
export const CATEGORY: readonly [number, number][] = [
	[0x56b4e9, 0x56b4e9],
	[0xe69f00, 0xe69f00],
	[0x009e73, 0x009e73],
	[0xcc79a7, 0xcc79a7],
	[0x0072b2, 0x3f8fc9],
	[0xd55e00, 0xd55e00],
	[0xc9bb27, 0xf0e442],
	[0x8c96a1, 0x76818d],
];

const in_browser = typeof window !== "undefined";
const KEY = "strata.theme";

function stored(): Choice {
	try {
		const value = in_browser ? localStorage.getItem(KEY) : null;
		return value === "light" || value === "dark" ? value : "system";
	} catch {
		return "system";
	}
}

const system = signal<Scheme>("light");
export const choice = signal<Choice>(stored());
export const scheme = computed<Scheme>(() => (choice.value === "system" ? system.value : choice.value));

/** RGB to the order in which pixel buffers hold it on little-endian machines: alpha, blue, green, red. */
export function abgr(rgb: number): number {
	return (0xff000000 | ((rgb & 0xff) << 16) | (rgb & 0xff00) | (rgb >>> 16)) >>> 0;
}

/** The colour of a category for a pixel buffer; ids beyond the eight hues come round again. */
export function categoryColour(id: number, of: Scheme = scheme.value): number {
	const pair = CATEGORY[((id % CATEGORY.length) + CATEGORY.length) % CATEGORY.length]!;
	return abgr(pair[of === "dark" ? 1 : 0]);
}

const resolved = new Map<string, string>();

/** A token's colour as "rgb(...)", in the scheme of now; for canvases. */
export function tokenColour(name: string): string {
	const key = `${scheme.value} ${name}`;
	const known = resolved.get(key);
	if (known) return known;
	const probe = document.createElement("span");
	probe.style.color = `var(--${name})`;
	document.body.append(probe);
	const colour = getComputedStyle(probe).color;
	probe.remove();
	resolved.set(key, colour);
	return colour;
}

export function tokenAbgr(name: string): number {
	const parts = tokenColour(name)
		.match(/[\d.]+/g)
		?.map(Number) ?? [0, 0, 0];
	return abgr(((parts[0] ?? 0) << 16) | ((parts[1] ?? 0) << 8) | (parts[2] ?? 0));
}

export function setTheme(value: Choice): void {
	choice.value = value;
	try {
		localStorage.setItem(KEY, value);
	} catch {
		// A browser without storage follows the system next time.
	}
}

export function start_theme(): void {
	const query = window.matchMedia("(prefers-color-scheme: dark)");
	const follow = () => {
		system.value = query.matches ? "dark" : "light";
	};
	query.addEventListener("change", follow);
	follow();
	effect(() => {
		document.documentElement.dataset.theme = scheme.value;
	});
}
