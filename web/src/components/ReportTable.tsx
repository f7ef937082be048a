// SPDX-License-Identifier: Apache-2.0
//
// A table of one report, tied to the view: range, filters, sort, columns and selection are in the address; every cell
// can be filtered by; the whole table can be copied as text, CSV, JSON, or as the command that prints it.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { report as ask_report, askText } from "../api/client";
import { accepts, applied_here, grouping_of, report_kind } from "../api/meta";
import { result_path } from "../api/names";
import type { Column, Report } from "../api/types";
import { currentResult } from "../api/use";
import { register } from "../commands/commands";
import { shellQuote } from "../format";
import { addFilter, filterWord, go, update, updateParams, view } from "../state/view";
import { copyText } from "./Copy";
import { is_number, other_columns, parse_show, type ShowAs, show_text, shown_columns } from "./columns";
import { Icon } from "./Icon";
import { type MenuItem, openMenu } from "./Menu";
import { NotApplied } from "./NotApplied";
import { toast } from "./Toast";
import { cell_text, type DrawnColumn, type GridRow, TreeGrid } from "./TreeGrid";
import type { Loader } from "./tree_model";

export interface ReportTableProps {
	/** The report's name, then its own words: groupings, knobs. Range, filters and sort are added. */
	words: string[];
	label: string;
	/** Before the parameters of this table in the address, where a page has several. */
	prefix?: string;
	tools?: ComponentChildren;
	rows?: number;
	columns?: string[];
	limit?: number;
	empty?: (report: Report) => ComponentChildren;
	onSelect?: (row: GridRow) => void;
	onOpen?: (row: GridRow) => void;
	onReport?: (report: Report) => void;
	menu?: (row: GridRow) => MenuItem[];
	cell?: (row: GridRow, column: Column) => ComponentChildren | undefined;
	/** A column more, whose cells `cell` draws. */
	drawn?: DrawnColumn | null;
	/** Keys for transforms act on this table. */
	keys?: boolean;
	whole?: boolean;
	/** How this report is sorted when it is not by -sort-desc. */
	sortWords?: (sort: string) => string[];
	/** The columns at first, where the report itself decides. */
	defaultColumns?: (report: Report) => string[];
	/** The top level is open at first. */
	expanded?: boolean;
	/** Changes how the report is laid out, such as its columns, not what it says. */
	adapt?: (report: Report) => Report;
	/** Instead of the report of the result in view, such as a comparison. */
	load?: (words: string[]) => { id: string; load: Loader; command: string[] };
}

/** The command that prints the same table. */
export function command_of(words: string[], result: string): string {
	return shellQuote(["strata", "report", ...words, "-r", result_path(result)]);
}

export async function copy_table(result: string, words: string[], format: "text" | "csv" | "json"): Promise<void> {
	await copyText(await askText(result, words, format));
	toast(`Copied as ${format === "csv" ? "CSV" : format === "json" ? "JSON" : "text"}`);
}

export function copy_items(result: string, words: string[], command: string): MenuItem[] {
	const as = (format: "text" | "csv" | "json") => () =>
		void copy_table(result, words, format).catch(() => toast("The table could not be copied"));
	return [
		{ title: "Copy as text", run: as("text") },
		{ title: "Copy as CSV", run: as("csv") },
		{ title: "Copy as JSON", run: as("json") },
		{
			title: "Copy as command",
			separated: true,
			run: () => void copyText(command).then(() => toast("Copied the command")),
		},
	];
}

function column_items(report: Report, chosen: string[], set: (keys: string[]) => void): MenuItem[] {
	const now = shown_columns(report, chosen).map((column) => column.key);
	const items: MenuItem[] = other_columns(report).map((column) => ({
		title: column.title.replace(/:/g, " · "),
		checked: now.includes(column.key),
		run: () => set(now.includes(column.key) ? now.filter((key) => key !== column.key) : [...now, column.key]),
	}));
	return [...items, { title: "As at first", separated: true, run: () => set([]) }];
}

/** Filter in and out by a cell of the row, and by the row itself. */
export function filter_items(row: GridRow, column: Column): MenuItem[] {
	const items: MenuItem[] = [];
	for (const one of new Set([column, row.column])) {
		const grouping = grouping_of(one.key);
		const value = cell_text(row.row[one.key]);
		if (!grouping || !value || value.startsWith("[")) continue;
		const short = value.length > 40 ? `${value.slice(0, 39)}…` : value;
		items.push(
			{
				title: `Keep only ${grouping.title} = ${short}`,
				hint: items.length ? "" : "F",
				run: () => addFilter(filterWord(grouping.name, value, true)),
			},
			{
				title: `Leave out ${grouping.title} = ${short}`,
				hint: items.length ? "" : "D",
				run: () => addFilter(filterWord(grouping.name, value, false)),
			},
		);
	}
	return items;
}

/** Focus, drop and library transforms on single keys: each becomes a filter chip, so Back undoes it. */
function useTransforms(on: boolean, cursor: { current: GridRow | null }): void {
	useEffect(() => {
		if (!on) return;
		const by = (key: string | null, keep: boolean) => () => {
			const row = cursor.current;
			if (!row) return;
			const column = key ?? row.column.key;
			const grouping = grouping_of(column);
			const value = cell_text(row.row[column]);
			if (grouping && value) addFilter(filterWord(grouping.name, value, keep));
			else toast("This row cannot be filtered by that");
		};
		const scope = "Table";
		return register(
			{
				id: "table.focus",
				title: "Keep only the row's function or task",
				keys: ["KeyF"],
				scope,
				run: by(null, true),
			},
			{
				id: "table.drop",
				title: "Leave out the row's function or task",
				keys: ["KeyD"],
				scope,
				run: by(null, false),
			},
			{
				id: "table.library",
				title: "Keep only the row's module",
				keys: ["KeyC"],
				scope,
				run: by("module", true),
			},
			{
				id: "table.drop-library",
				title: "Leave out the row's module",
				keys: ["Shift+KeyC"],
				scope,
				run: by("module", false),
			},
			{
				id: "table.source",
				title: "Show the row's source",
				keys: ["KeyS"],
				scope,
				run: () => cursor.current && show_source(cursor.current),
			},
		);
	}, [on, cursor]);
}

/** The palette copies the newest table. */
function useCopyCommands(result: string, words: string[], command: string, as_data: boolean): void {
	useEffect(
		() =>
			register(
				...copy_items(result, words, command)
					.filter((item) => as_data || item.title === "Copy as command")
					.map((item) => ({
						id: `table.${item.title.toLowerCase().replace(/ /g, "-")}`,
						title: item.title.replace("Copy", "Copy the table"),
						scope: "Table",
						run: () => item.run?.(),
					})),
			),
		[result, words.join("\0"), command, as_data],
	);
}

/** Opens the source page on what the row stands for. */
export function show_source(row: GridRow): void {
	const file = cell_text(row.row.source_file) || cell_text(row.row.source_file_path);
	const line = cell_text(row.row.python_line) || cell_text(row.row.source_line);
	const by_line = /^(.*):(\d+)$/.exec(line);
	if (by_line) return go("source", { params: { file: by_line[1]!, line: by_line[2]! } });
	if (/(function|stack|caller)/.test(row.column.key)) {
		const module = cell_text(row.row.module);
		return go("source", {
			params: { function: row.label, ...(module ? { module } : {}), ...(file ? { file } : {}) },
		});
	}
	if (file) go("source", { params: { file } });
	else toast("This row has no source of its own: open it down to a function or line");
}

export function ReportTable(props: ReportTableProps) {
	const { result, params } = view.value;
	const prefix = props.prefix ?? "";
	const cursor = useRef<GridRow | null>(null);
	const [report, setReport] = useState<Report | null>(null);
	useTransforms(Boolean(props.keys), cursor);
	const name = props.words[0] ?? "";
	const kind = report_kind(name);
	const narrowed = props.whole ? { words: [], left: [] } : applied_here(name);
	const sort = params[`${prefix}sort`] ?? "";
	const sort_words = !sort
		? []
		: props.sortWords
			? props.sortWords(sort)
			: [sort.startsWith("-") ? "-sort-desc" : "-sort-asc", sort.replace(/^-/, "")];
	const limit = props.limit ? ["-limit", String(props.limit)] : [];
	const words = [...props.words, ...narrowed.words, ...sort_words, ...limit];
	const generation = currentResult()?.generation ?? "";
	const own = props.load?.(words);
	const adapt = props.adapt ?? ((one: Report) => one);
	const load: Loader = own?.load ?? (async (page, signal) => adapt(await ask_report(result, words, page, signal)));
	const chosen = (params[`${prefix}cols`] ?? "").split(",").filter(Boolean);
	const columns = chosen.length ? chosen : (props.columns ?? (report && props.defaultColumns?.(report)) ?? []);
	const show = params[`${prefix}show`] ?? "";
	const command = own ? shellQuote(own.command) : command_of(words, result);
	const can_sort = Boolean(props.sortWords) || accepts(kind, "sort");

	useCopyCommands(result, words, command, !own);
	const set_show = (column: Column, as: ShowAs) =>
		updateParams({ [`${prefix}show`]: show_text(parse_show(show).set(column.key, as)) });
	const head_menu = (column: Column, at: Element) => {
		if (!report) return;
		const number = is_number(report, column);
		const as = parse_show(show).get(column.key);
		const sorted = (by: string) => () => updateParams({ [`${prefix}sort`]: by });
		const items: MenuItem[] = [
			{
				title: "Largest first",
				checked: sort === `-${column.key}`,
				disabled: !number || !can_sort,
				run: sorted(`-${column.key}`),
			},
			{
				title: "Smallest first",
				checked: sort === column.key,
				disabled: !number || !can_sort,
				run: sorted(column.key),
			},
			{ title: "As the report sorts", disabled: !sort, run: sorted("") },
			{
				title: "Show as value",
				separated: true,
				checked: as === "value",
				disabled: !number,
				run: () => set_show(column, "value"),
			},
			{
				title: "Show as percent",
				checked: as === "percent",
				disabled: !number,
				run: () => set_show(column, "percent"),
			},
			{ title: "Show as bar", checked: as === "bar", disabled: !number, run: () => set_show(column, "bar") },
			{
				title: "Hide this column",
				separated: true,
				run: () =>
					updateParams({
						[`${prefix}cols`]: shown_columns(report, columns)
							.map((one) => one.key)
							.filter((key) => key !== column.key)
							.join(","),
					}),
			},
		];
		openMenu(at, items, column.title);
	};
	const row_menu = (row: GridRow, column: Column, at: { x: number; y: number }) =>
		openMenu(
			at,
			[
				...(props.menu?.(row) ?? []),
				...filter_items(row, column),
				{ title: "Show its source", hint: "S", separated: true, run: () => show_source(row) },
				{
					title: "Copy this cell",
					run: () => void copyText(cell_text(row.row[column.key])).then(() => toast("Copied")),
				},
			],
			row.label,
		);
	return (
		<>
			<div class="toolbar">
				{props.tools}
				<div class="spring" />
				<button
					type="button"
					class="button"
					disabled={!report}
					onClick={(event) =>
						report &&
						openMenu(
							event.currentTarget,
							column_items(report, columns, (keys) =>
								updateParams({ [`${prefix}cols`]: keys.join(",") }),
							),
							"Columns",
						)
					}
				>
					Columns <Icon name="down" size={12} />
				</button>
				{!own && (
					<button
						type="button"
						class="button"
						onClick={(event) => openMenu(event.currentTarget, copy_items(result, words, command), "Copy")}
					>
						<Icon name="copy" /> Copy <Icon name="down" size={12} />
					</button>
				)}
				{own && (
					<button
						type="button"
						class="button"
						onClick={() => void copyText(command).then(() => toast("Copied the command"))}
					>
						<Icon name="copy" /> Copy as command
					</button>
				)}
			</div>
			<NotApplied left={narrowed.left} />
			<TreeGrid
				id={own?.id ?? JSON.stringify([result, generation, words])}
				load={load}
				label={props.label}
				columns={columns}
				show={show}
				sort={sort}
				cursor={cursor}
				onSort={head_menu}
				onMenu={row_menu}
				onSelect={(row) => {
					if (row.label && view.value.selection?.value !== row.label)
						update({ selection: { kind: row.column.key, value: row.label } }, "replace");
					props.onSelect?.(row);
				}}
				onOpen={props.onOpen ?? ((row) => show_source(row))}
				onReport={(next) => {
					setReport(next);
					props.onReport?.(next);
				}}
				{...(props.empty ? { empty: props.empty } : {})}
				expanded={Boolean(props.expanded)}
				drawn={props.drawn ?? null}
				{...(props.cell ? { cell: props.cell } : {})}
				{...(props.rows ? { rows: props.rows } : {})}
			/>
		</>
	);
}
