// SPDX-License-Identifier: Apache-2.0
//
// From time to pixels and back, and the ticks of the axis. Times are nanoseconds from the start of the collection,
// exact in a number up to 2^53 (104 days).

export interface Window {
	startNs: number;
	endNs: number;
}

/** Nobody needs to see less than this: the clock does not resolve it. */
export const NARROWEST_NS = 20;

export function nsPerPixel(window: Window, width: number): number {
	return (window.endNs - window.startNs) / Math.max(1, width);
}

export function timeToX(window: Window, width: number, ns: number): number {
	return ((ns - window.startNs) * width) / (window.endNs - window.startNs);
}

export function xToTime(window: Window, width: number, x: number): number {
	return window.startNs + (x * (window.endNs - window.startNs)) / Math.max(1, width);
}

/** Keeps a window inside the collection: a width first, then a place. */
export function clampWindow(window: Window, durationNs: number): Window {
	const whole = Math.max(durationNs, NARROWEST_NS);
	const span = Math.min(whole, Math.max(NARROWEST_NS, window.endNs - window.startNs));
	const start = Math.min(Math.max(0, window.startNs), whole - span);
	return { startNs: start, endNs: start + span };
}

/** Zooms by factor (below 1: in); what is at atNs stays where it is. */
export function zoomWindow(window: Window, factor: number, atNs: number, durationNs: number): Window {
	const whole = Math.max(durationNs, NARROWEST_NS);
	const before = window.endNs - window.startNs;
	const span = Math.min(whole, Math.max(NARROWEST_NS, before * factor));
	const share = (atNs - window.startNs) / before;
	const start = atNs - share * span;
	return clampWindow({ startNs: start, endNs: start + span }, durationNs);
}

export function panWindow(window: Window, byNs: number, durationNs: number): Window {
	return clampWindow({ startNs: window.startNs + byNs, endNs: window.endNs + byNs }, durationNs);
}

/** The window around an event: in the middle, with as much on either side as it is long. */
export function fitWindow(beginNs: number, endNs: number, durationNs: number): Window {
	const span = Math.max(endNs - beginNs, NARROWEST_NS);
	return clampWindow({ startNs: beginNs - span * 0.25, endNs: beginNs + span * 1.25 }, durationNs);
}

/** Puts an event in the middle without zooming. */
export function centreWindow(window: Window, beginNs: number, endNs: number, durationNs: number): Window {
	const span = window.endNs - window.startNs;
	const middle = (beginNs + endNs) / 2;
	return clampWindow({ startNs: middle - span / 2, endNs: middle + span / 2 }, durationNs);
}

/** The step between ticks: 1, 2 or 5 times a power of ten, at least minPixels apart. */
export function tickStepNs(window: Window, width: number, minPixels: number): number {
	const least = nsPerPixel(window, width) * minPixels;
	let step = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
	for (const times of [1, 2, 5, 10])
		if (step * times >= least) {
			step *= times;
			break;
		}
	return Math.max(1, Math.round(step));
}

export function ticks(window: Window, width: number, minPixels: number): number[] {
	const step = tickStepNs(window, width, minPixels);
	const all: number[] = [];
	for (let at = Math.ceil(window.startNs / step) * step; at <= window.endNs; at += step) all.push(at);
	return all;
}

const UNITS: [number, string][] = [
	[1e9, "s"],
	[1e6, "ms"],
	[1e3, "µs"],
	[1, "ns"],
];

/** What a tick says: the time in the unit of the step, with the digits that the step needs. */
export function tickText(ns: number, stepNs: number): string {
	let unit = UNITS[UNITS.length - 1]!;
	for (const candidate of UNITS)
		if (ns >= candidate[0]) {
			unit = candidate;
			break;
		}
	if (ns === 0)
		for (const candidate of UNITS)
			if (stepNs >= candidate[0]) {
				unit = candidate;
				break;
			}
	const digits = Math.max(0, Math.ceil(Math.log10(unit[0] / stepNs) - 1e-9));
	return `${(ns / unit[0]).toFixed(digits)} ${unit[1]}`;
}
