// SPDX-License-Identifier: Apache-2.0
//
// Numbers as people read them: one unit for a column, three significant digits, exact values for tooltips.

export type Unit = string;

interface Scale {
	size: number;
	name: string;
}

const TIME: Scale[] = [
	{ size: 1e9, name: "s" },
	{ size: 1e6, name: "ms" },
	{ size: 1e3, name: "µs" },
	{ size: 1, name: "ns" },
];
const BYTES: Scale[] = [
	{ size: 2 ** 40, name: "TiB" },
	{ size: 2 ** 30, name: "GiB" },
	{ size: 2 ** 20, name: "MiB" },
	{ size: 2 ** 10, name: "KiB" },
	{ size: 1, name: "B" },
];
const COUNT: Scale[] = [{ size: 1, name: "" }];

function scales(unit: Unit): Scale[] {
	if (unit === "ns") return TIME;
	if (unit === "bytes") return BYTES;
	return COUNT;
}

/** The unit in which the largest value of a column is between 1 and 1000, where there is one. */
export function scaleFor(unit: Unit, largest: number): Scale {
	const list = scales(unit);
	const size = Math.abs(largest);
	return list.find((scale) => size >= scale.size) ?? list[list.length - 1]!;
}

const formats = new Map<number, Intl.NumberFormat>();

/** Kept: to make one takes as long as to format a hundred numbers. */
function decimals(least: number, most: number): Intl.NumberFormat {
	const key = least * 100 + most;
	let format = formats.get(key);
	if (!format) {
		format = new Intl.NumberFormat("en-US", { minimumFractionDigits: least, maximumFractionDigits: most });
		formats.set(key, format);
	}
	return format;
}

/** Three significant digits, never an exponent: 12.3, 0.05, 1,230. */
export function digits(value: number, significant = 3): string {
	if (value === 0) return "0";
	const size = Math.abs(value);
	const places = Math.min(6, Math.max(0, significant - 1 - Math.floor(Math.log10(size))));
	return decimals(places, places).format(value);
}

/** Of a column: decimals are the same in all its rows, so that the points stand below one another. */
export function fixed(value: number, places: number): string {
	return decimals(places, places).format(value);
}

/** One value with its unit: "12.3 ms". */
export function withUnit(value: number, unit: Unit): string {
	if (unit === "ratio") return percent(value);
	if (!Number.isFinite(value)) return "";
	const scale = scaleFor(unit, value);
	if (scale.name === "") return Number.isInteger(value) ? whole(value) : digits(value);
	const scaled = value / scale.size;
	return `${scale.size === 1 ? whole(value) : digits(scaled)} ${scale.name}`;
}

export function percent(ratio: number, places = 1): string {
	return `${fixed(ratio * 100, places)} %`;
}

export function whole(value: number): string {
	return decimals(0, 0).format(value);
}

/** As it was stored, for tooltips and for what is copied. */
export function exact(value: number, unit: Unit): string {
	const text = decimals(0, 12).format(value);
	if (unit === "ns" || unit === "bytes") return `${text} ${unit}`;
	if (unit === "ratio") return `${fixed(value * 100, 4)} %`;
	return text;
}

export const ns = (value: number): string => withUnit(value, "ns");
export const bytes = (value: number): string => withUnit(value, "bytes");

/** A column: its unit and the decimals of its rows. The unit is that of the largest value, or the next smaller one where a
 * quarter of its heaviest rows would be 0.00 and the largest has no more than five digits before its point in it. */
export interface ColumnFormat {
	suffix: string;
	text(value: number): string;
}

const ROOM = 1e5; // for the largest value
const LOOKED_AT = 20; // of the largest: a long tail is 0.00 in any unit

/** The unit of a column, and whether it is smaller than the largest value asks for. */
function scaleOf(unit: Unit, values: number[], largest: number): [Scale, boolean] {
	const scale = scaleFor(unit, largest);
	const sizes = values
		.map(Math.abs)
		.filter(Boolean)
		.sort((a, b) => b - a)
		.slice(0, LOOKED_AT);
	const low = sizes[Math.floor(sizes.length * 0.75)] ?? 0;
	if (low >= scale.size / 100) return [scale, false];
	const smaller = scales(unit).find((one) => one.size < scale.size);
	return smaller && largest / smaller.size < ROOM ? [smaller, true] : [scale, false];
}

export function columnFormat(unit: Unit, values: number[]): ColumnFormat {
	let largest = 0;
	let all_whole = true;
	for (const value of values) {
		largest = Math.max(largest, Math.abs(value));
		if (!Number.isInteger(value)) all_whole = false;
	}
	if (unit === "ratio") return { suffix: "%", text: (value) => fixed(value * 100, 1) };
	const [scale, is_smaller] = scaleOf(unit, values, largest);
	if (scale.size === 1 && all_whole) return { suffix: scale.name, text: whole };
	const top = largest / scale.size;
	const places = is_smaller ? 2 : top === 0 ? 0 : Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(top))));
	return { suffix: scale.name, text: (value) => fixed(value / scale.size, places) };
}

/** "2026-11-17 09:12" in the reader's own time zone. */
export function date(iso: string): string {
	const when = new Date(iso);
	if (Number.isNaN(when.getTime())) return iso;
	const two = (value: number) => String(value).padStart(2, "0");
	const day = `${when.getFullYear()}-${two(when.getMonth() + 1)}-${two(when.getDate())}`;
	return `${day} ${two(when.getHours())}:${two(when.getMinutes())}`;
}

/** Words as a shell takes them. */
export function shellQuote(words: string[]): string {
	return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`)).join(" ");
}
