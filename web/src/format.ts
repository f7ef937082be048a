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
// As the command line prints them, and as the subjects of reports say them.
const BYTES: Scale[] = [
	{ size: 1e12, name: "TB" },
	{ size: 1e9, name: "GB" },
	{ size: 1e6, name: "MB" },
	{ size: 1e3, name: "kB" },
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

/** Decimals with which a number has so many significant digits. */
function places_of(size: number, significant: number): number {
	return size === 0 ? 0 : Math.min(6, Math.max(0, significant - 1 - Math.floor(Math.log10(size))));
}

/** Three significant digits, never an exponent: 12.3, 0.05, 1,230. */
export function digits(value: number, significant = 3): string {
	if (value === 0) return "0";
	const size = Math.abs(value);
	return fixed(value, places_of(size, significant));
}

/** Of a column: decimals are the same in all its rows, so that the points stand below one another. What is not 0 is never
 * shown as 0, but as less than the last decimal: "<0.01". */
export function fixed(value: number, places: number): string {
	const format = decimals(places, places);
	const is_lost = value !== 0 && Math.abs(value) < 0.5 * 10 ** -places;
	return is_lost ? `<${format.format(10 ** -places)}` : format.format(value === 0 ? 0 : value);
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

/** A column: its unit and the decimals of its rows. */
export interface ColumnFormat {
	/** Of all rows; empty where every row carries its own. */
	suffix: string;
	text(value: number): string;
}

const ROOM = 1e5; // for the largest value
const LOOKED_AT = 20; // of the largest: a long tail is small in any unit
const SMALLEST = 0.05; // of a unit that is worth reading with two decimals

/** What three quarters of the heaviest rows reach. */
function low_of(values: number[], looked_at = LOOKED_AT): number {
	const sizes = values
		.map(Math.abs)
		.filter(Boolean)
		.sort((a, b) => b - a)
		.slice(0, looked_at);
	return sizes[Math.floor(sizes.length * 0.75)] ?? 0;
}

const largest_of = (values: number[]): number => values.reduce((most, one) => Math.max(most, Math.abs(one)), 0);

/** Whether the unit of the largest value suits most of the heavy ones, or of all. */
export function hasOneUnit(unit: Unit, values: number[], looked_at = LOOKED_AT): boolean {
	const { size } = scaleFor(unit, largest_of(values));
	return size === 1 || low_of(values, looked_at) >= SMALLEST * size;
}

/** The unit is that of the largest value. Where a quarter of the heaviest rows would be next to nothing in it, times are in
 * the next smaller one if the largest has no more than five digits before its point; else each row has its own. */
export function columnFormat(unit: Unit, values: number[]): ColumnFormat {
	if (unit === "ratio") return { suffix: "%", text: (value) => fixed(value * 100, 1) };
	const largest = largest_of(values);
	const low = low_of(values);
	const scale = scaleFor(unit, largest);
	if (scale.size === 1 && values.every(Number.isInteger)) return { suffix: scale.name, text: whole };
	if (hasOneUnit(unit, values)) {
		const places = Math.max(places_of(largest / scale.size, 3), Math.min(2, places_of(low / scale.size, 2)));
		return { suffix: scale.name, text: (value) => fixed(value / scale.size, places) };
	}
	const smaller = unit === "ns" ? TIME.find((one) => one.size < scale.size) : undefined;
	if (smaller && largest / smaller.size < ROOM && low >= SMALLEST * smaller.size)
		return { suffix: smaller.name, text: (value) => fixed(value / smaller.size, 2) };
	return { suffix: "", text: (value) => withUnit(value, unit) };
}

/** Of values that are read beside one another, such as before, after and their difference: the unit and the decimals of the
 * largest for all of them. */
export function rowFormat(unit: Unit, values: number[]): ColumnFormat {
	const largest = largest_of(values);
	const scale = scaleFor(unit, largest);
	const places = scale.size === 1 ? 0 : Math.min(2, places_of(largest / scale.size, 4));
	return { suffix: "", text: (value) => `${fixed(value / scale.size, places)} ${scale.name}`.trim() };
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
