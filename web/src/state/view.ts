// SPDX-License-Identifier: Apache-2.0
//
// The whole state of the view, mirrored in the address: what is shown can be bookmarked and shared, and Back undoes.
// Pages read `view` and change it with `update`; nothing else touches the history.
import { signal } from "@preact/signals";

export type Range = [number, number];

/** What is selected everywhere at once: a label, a function, a row of a dataset, ... */
export interface Selection {
	kind: string;
	value: string;
}

export interface View {
	page: string;
	result: string;
	/** Nanoseconds since the start of the collection. */
	range: Range | null;
	/** Outer ranges, from the widest, that a narrower one was taken in. */
	outer: Range[];
	/** Words as after -filter: GROUPING=VALUE or GROUPING!=VALUE. */
	filters: string[];
	groupBy: string[];
	metric: string;
	selection: Selection | null;
	search: string;
	/** What only one page knows, such as a file name or a sort. */
	params: Record<string, string>;
}

export const EMPTY: View = {
	page: "results",
	result: "",
	range: null,
	outer: [],
	filters: [],
	groupBy: [],
	metric: "",
	selection: null,
	search: "",
	params: {},
};

/** Pages that need no result; all others live below /r/ID/. */
const TOP_PAGES = new Set(["results", "new", "compare"]);
const OWN_KEYS = new Set(["range", "outer", "f", "g", "m", "sel", "q"]);

function parse_range(text: string): Range | null {
	const match = /^(\d+)-(\d+)$/.exec(text);
	if (!match) return null;
	const begin = Number(match[1]);
	const end = Number(match[2]);
	return end > begin && Number.isSafeInteger(end) ? [begin, end] : null;
}

function parse_selection(text: string | null): Selection | null {
	const colon = text?.indexOf(":") ?? -1;
	return text && colon > 0 ? { kind: text.slice(0, colon), value: text.slice(colon + 1) } : null;
}

function safe_decode(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

/** An address that makes no sense gives the list of results, never an error. */
export function parse(path: string, query: string): View {
	const words = path.split("/").filter(Boolean).map(safe_decode);
	const asked = new URLSearchParams(query);
	const view: View = { ...EMPTY, params: {} };
	if (words[0] === "r" && words[1]) {
		view.result = words[1];
		view.page = words[2] ?? "summary";
	} else if (words[0] && TOP_PAGES.has(words[0])) view.page = words[0];
	view.range = parse_range(asked.get("range") ?? "");
	view.outer = (asked.get("outer") ?? "")
		.split(",")
		.map(parse_range)
		.filter((one): one is Range => one !== null);
	view.filters = asked.getAll("f").filter(Boolean);
	view.groupBy = (asked.get("g") ?? "").split(",").filter(Boolean);
	view.metric = asked.get("m") ?? "";
	view.selection = parse_selection(asked.get("sel"));
	view.search = asked.get("q") ?? "";
	for (const [key, value] of asked) if (!OWN_KEYS.has(key)) view.params[key] = value;
	return view;
}

/** The address of a view: parse(address) gives it back. */
export function address(view: View): string {
	const path = TOP_PAGES.has(view.page)
		? view.page === "results"
			? "/"
			: `/${view.page}`
		: `/r/${encodeURIComponent(view.result)}/${encodeURIComponent(view.page)}`;
	const asked = new URLSearchParams();
	const text = (range: Range) => `${range[0]}-${range[1]}`;
	if (view.range) asked.set("range", text(view.range));
	if (view.outer.length) asked.set("outer", view.outer.map(text).join(","));
	for (const filter of view.filters) asked.append("f", filter);
	if (view.groupBy.length) asked.set("g", view.groupBy.join(","));
	if (view.metric) asked.set("m", view.metric);
	if (view.selection) asked.set("sel", `${view.selection.kind}:${view.selection.value}`);
	if (view.search) asked.set("q", view.search);
	for (const key of Object.keys(view.params).sort())
		if (view.params[key] && !OWN_KEYS.has(key)) asked.set(key, view.params[key]);
	const query = asked.toString();
	return query ? `${path}?${query}` : path;
}

const in_browser = typeof window !== "undefined";

export const view = signal<View>(in_browser ? parse(location.pathname, location.search) : EMPTY);

/** The range and filters as words of the command line; api/meta.ts knows which a report takes. */
export function words_of(from: Pick<View, "range" | "filters">): string[] {
	const words = from.filters.flatMap((filter) => ["-filter", filter]);
	if (from.range) words.push("-time-filter", `${seconds(from.range[0])}:${seconds(from.range[1])}`);
	return words;
}

/** Nanoseconds as seconds without rounding: the command line takes decimals. */
export function seconds(ns: number): string {
	const whole = Math.floor(ns / 1e9);
	const rest = Math.round(ns - whole * 1e9);
	return rest ? `${whole}.${String(rest).padStart(9, "0").replace(/0+$/, "")}` : String(whole);
}

export type How = "push" | "replace";

/** Changes the view and the address. "push" makes a step that Back undoes; "replace" is for what moves continuously. */
export function update(patch: Partial<View>, how: How = "push"): void {
	const next = { ...view.value, ...patch };
	const to = address(next);
	if (in_browser && to !== location.pathname + location.search) {
		if (how === "push") history.pushState(null, "", to);
		else history.replaceState(null, "", to);
	}
	view.value = next;
}

/** A parameter of the page alone; an empty text removes it. */
export function updateParams(patch: Record<string, string>, how: How = "push"): void {
	update({ params: { ...view.value.params, ...patch } }, how);
}

/** Goes to another page of the same or another result. What only the old page knew stays behind. */
export function go(page: string, patch: Partial<View> = {}): void {
	update({ params: {}, search: "", ...patch, page });
}

/** Opens a result with nothing of the one before. */
export function openResult(result: string, page = "summary"): void {
	update({ ...EMPTY, params: {}, result, page });
}

/** Opens the source page at "FILE:LINE", or at the begin of a file without a line. */
export function openLine(place: string): void {
	const match = /^(.+):(\d+)$/.exec(place);
	go("source", { params: match ? { file: match[1]!, line: match[2]! } : { file: place } });
}

/** Narrows to a range; the wider one becomes a breadcrumb. null shows everything again. */
export function setRange(range: Range | null, how: How = "push"): void {
	const before = view.value;
	if (!range) return update({ range: null, outer: [] }, how);
	const inside = before.range && range[0] >= before.range[0] && range[1] <= before.range[1];
	const same = inside && range[0] === before.range?.[0] && range[1] === before.range?.[1];
	if (same) return;
	const outer =
		before.range && inside && how === "push" ? [...before.outer, before.range] : inside ? before.outer : [];
	update({ range: [Math.round(range[0]), Math.round(range[1])], outer }, how);
}

/** Back to the breadcrumb at this place; -1 is the whole run. */
export function popRange(index: number): void {
	const { outer } = view.value;
	const to = outer[index];
	if (to) update({ range: to, outer: outer.slice(0, index) });
	else setRange(null);
}

export function addFilter(filter: string): void {
	const { filters } = view.value;
	if (!filters.includes(filter)) update({ filters: [...filters, filter] });
}

export function removeFilter(filter: string): void {
	update({ filters: view.value.filters.filter((one) => one !== filter) });
}

/** Filter words match patterns: a name that has such characters is taken letter by letter. */
export function filterWord(grouping: string, value: string, keep: boolean): string {
	return `${grouping}${keep ? "=" : "!="}${value.replace(/[\\*?[\]]/g, "\\$&")}`;
}

if (in_browser)
	window.addEventListener("popstate", () => {
		view.value = parse(location.pathname, location.search);
	});
