// SPDX-License-Identifier: Apache-2.0
//
// The one table of the page: flat or a tree, of any length. Only the rows in sight are in the document; they are fetched
// as they come into sight. Keyboard as in the ARIA treegrid pattern.
import { useComputed } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Cell, Column, Report, Row } from "../api/types";
import { columnFormat, exact, hasOneUnit, percent, rowFormat } from "../format";
import { view } from "../state/view";
import {
	adds_up,
	is_number,
	parse_show,
	read_with,
	share,
	shown_columns,
	tree_column_at,
	tree_columns,
} from "./columns";
import { Failed } from "./Empty";
import { Icon } from "./Icon";
import { indent_of } from "./indent";
import { child_count, type Line, type Loader, TreeModel } from "./tree_model";
import { useInSight } from "./windowed";

export interface GridRow {
	row: Row;
	report: Report;
	path: number[];
	/** The column that names this row: that of its level. */
	column: Column;
	label: string;
}

export interface TreeGridProps {
	/** Says which table this is; another key starts afresh. */
	id: string;
	load: Loader;
	label: string;
	columns?: string[];
	show?: string;
	sort?: string;
	sortable?: (column: Column) => boolean;
	onSort?: (column: Column, at: Element) => void;
	onSelect?: (row: GridRow) => void;
	onOpen?: (row: GridRow) => void;
	onMenu?: (row: GridRow, column: Column, at: { x: number; y: number }) => void;
	onReport?: (report: Report) => void;
	empty?: (report: Report) => preact.ComponentChildren;
	/** What stands in a cell instead of its value. */
	drawn?: DrawnColumn | null;
	cell?: (row: GridRow, column: Column) => preact.ComponentChildren | undefined;
	/** Rows in sight before it scrolls; without it the table fills its place. */
	rows?: number;
	expanded?: boolean;
	/** What the cursor's row can be asked for by keys of the page. */
	cursor?: { current: GridRow | null };
}

const OVERSCAN = 12;
const NAME_PX = 250;
const SEARCH_ROWS = 4000;

export function cell_text(value: Cell | Row[]): string {
	if (value === undefined || value === null) return "";
	if (typeof value === "boolean") return value ? "yes" : "no";
	return String(value);
}

function useModel(id: string, load: Loader): TreeModel {
	const holder = useRef<{ id: string; model: TreeModel } | null>(null);
	if (holder.current?.id !== id) {
		holder.current?.model.dispose();
		holder.current = { id, model: new TreeModel(load) };
	}
	useEffect(() => () => holder.current?.model.dispose(), []);
	const { model } = holder.current;
	useComputed(() => model.version.value).value;
	model.version.value;
	return model;
}

interface CellFormat {
	suffix: string;
	text(value: number, row: Row): string;
}

interface Layout {
	columns: Column[];
	formats: Map<string, CellFormat>;
	numbers: Set<string>;
	template: string;
	/** The rows are grids of their own: the same width gives them the same columns. */
	width: string;
}

/** A column that the report does not have: its cells are drawn by the page, after the column with that key. */
export interface DrawnColumn {
	column: Column;
	after: string;
}

const numbers_of = (row: Row | undefined, keys: string[]): number[] =>
	keys.map((key) => row?.[key]).filter((value): value is number => typeof value === "number");

/** One unit for what is read together; one for each row of a comparison whose rows are of very different size. */
function format_of(report: Report, column: Column, lines: Line[]): CellFormat {
	const keys = read_with(report, column);
	const values = lines.slice(0, 2000).flatMap(({ row }) => numbers_of(row, keys));
	if (keys.length === 1 || hasOneUnit(column.unit, values, values.length)) return columnFormat(column.unit, values);
	return { suffix: "", text: (value, row) => rowFormat(column.unit, numbers_of(row, keys)).text(value) };
}

function layout_of(report: Report, lines: Line[], chosen: string[], drawn?: DrawnColumn | null): Layout {
	const columns = shown_columns(report, chosen);
	if (drawn) columns.splice(columns.findIndex((column) => column.key === drawn.after) + 1, 0, drawn.column);
	const formats = new Map<string, CellFormat>();
	const numbers = new Set(columns.filter((column) => is_number(report, column)).map((column) => column.key));
	for (const column of columns)
		if (numbers.has(column.key)) formats.set(column.key, format_of(report, column, lines));
	const mins = columns.map((column) =>
		numbers.has(column.key) ? Math.max(92, Math.min(150, title_letters(column.title) * 7.2 + 28)) : 130,
	);
	const widths = columns.map((column, i) => `minmax(${mins[i]}px, ${numbers.has(column.key) ? 0.3 : 0.8}fr)`);
	const width = `${NAME_PX + mins.reduce((sum, one) => sum + one, 0)}px`;
	return { columns, formats, numbers, template: [`minmax(${NAME_PX}px, 2.2fr)`, ...widths].join(" "), width };
}

/** Letters of the longest line when the title breaks at its colon. */
function title_letters(title: string): number {
	return Math.max(...title.split(":").map((part) => Math.ceil(part.length / (part.length > 16 ? 2 : 1))));
}

function Header(props: {
	report: Report;
	layout: Layout;
	sort: string;
	show: ReturnType<typeof parse_show>;
	sortable: (column: Column) => boolean;
	onSort: ((column: Column, at: Element) => void) | undefined;
}) {
	const { report, layout, sort } = props;
	const names = tree_columns(report).map((column) => column.title);
	const head = (column: Column) => {
		const as = props.show.get(column.key);
		const unit = as === "percent" ? "%" : layout.formats.get(column.key)?.suffix;
		const sorted = sort === `-${column.key}` ? "descending" : sort === column.key ? "ascending" : undefined;
		const parts = column.title.split(":");
		const inner = (
			<>
				{parts.length > 1 && <span class="head-above">{parts.slice(0, -1).join(" · ")}</span>}
				<span class="head-title">
					{parts[parts.length - 1]}
					{unit && <span class="head-unit"> {unit}</span>}
					{sorted && <span aria-hidden="true">{sorted === "descending" ? " ▾" : " ▴"}</span>}
				</span>
			</>
		);
		const numeric = layout.numbers.has(column.key) ? "head number" : "head";
		return (
			<div key={column.key} role="columnheader" class={numeric} aria-sort={sorted} data-tip={column.title}>
				{props.onSort ? (
					<button type="button" onClick={(event) => props.onSort?.(column, event.currentTarget)}>
						{inner}
					</button>
				) : (
					inner
				)}
			</div>
		);
	};
	return (
		<div
			role="row"
			class="grid-row grid-head"
			style={{ gridTemplateColumns: layout.template, minWidth: layout.width }}
		>
			<div role="columnheader" class="head tree-cell">
				<span class="head-title">{names.join(" / ")}</span>
			</div>
			{layout.columns.map(head)}
		</div>
	);
}

function CellView(props: {
	row: GridRow;
	column: Column;
	layout: Layout;
	as: string;
	own: preact.ComponentChildren | undefined;
}) {
	const { row, column, layout } = props;
	const value = row.row[column.key] as Cell;
	if (props.own !== undefined)
		return (
			<div role="gridcell" class={layout.numbers.has(column.key) ? "cell number" : "cell"} data-key={column.key}>
				{props.own}
			</div>
		);
	if (typeof value !== "number" || !layout.numbers.has(column.key))
		return (
			<div role="gridcell" class="cell" data-key={column.key} data-tip={cell_text(value) || undefined}>
				{cell_text(value)}
			</div>
		);
	// Of a comparison: what was added or taken away carries its sign, so that its colour is not needed.
	const is_change = /^(difference|change)_/.test(column.key);
	const part = is_change ? null : share(row.report, row.row, column.key);
	const plain = layout.formats.get(column.key)?.text(value, row.row) ?? "";
	const is_nothing = value === 0 || plain.startsWith("<");
	const text =
		props.as === "percent" && part !== null
			? percent(part).replace(" %", "")
			: is_change && value > 0 && !is_nothing
				? `+${plain}`
				: plain;
	const kind = is_change && !is_nothing ? (value > 0 ? "more" : "less") : value === 0 ? "zero" : "";
	const tip =
		part === null ? exact(value, column.unit) : `${exact(value, column.unit)}\n${percent(part)} of the total`;
	return (
		<div role="gridcell" class="cell number" data-key={column.key} data-tip={tip}>
			{props.as === "bar" && part !== null && (
				<span class="cell-bar" style={{ width: `${Math.min(100, part * 100)}%` }} />
			)}
			<span class={`cell-value ${kind}`}>{text}</span>
		</div>
	);
}

function Highlighted({ text, wanted }: { text: string; wanted: string }) {
	const at = wanted ? text.toLowerCase().indexOf(wanted.toLowerCase()) : -1;
	if (at < 0) return <>{text}</>;
	return (
		<>
			{text.slice(0, at)}
			<mark>{text.slice(at, at + wanted.length)}</mark>
			{text.slice(at + wanted.length)}
		</>
	);
}

export function grid_row(report: Report, line: Line): GridRow | null {
	if (!line.row) return null;
	const column = tree_column_at(report, line.path.length - 1);
	if (!column) return null;
	return { row: line.row, report, path: line.path, column, label: cell_text(line.row[column.key]) };
}

/** What folded rows hold is not searched: they may not even be here. Rows that are still to come may have hits. */
function found_text(count: number, model: TreeModel, lines: Line[]): string {
	const is_coming = lines.some((line) => line.path.length === 1 && (line.path[0] ?? 0) < SEARCH_ROWS && !line.row);
	if (!model.report || is_coming) return "…";
	const is_folded = lines.some((line) => child_count(line.row) > 0 && !model.is_open(line.path));
	return is_folded ? `${count} in open rows` : `${count}`;
}

/** Which lines have the text, and where the cursor goes next. */
function useSearch(model: TreeModel, lines: Line[], cursor: number, move: (to: number) => void) {
	const wanted = view.value.search.trim().toLowerCase();
	const { report } = model;
	const hits = useMemo(() => {
		if (!wanted || !report) return [];
		const found: number[] = [];
		lines.forEach((line, i) => {
			if (grid_row(report, line)?.label.toLowerCase().includes(wanted)) found.push(i);
		});
		return found;
	}, [lines, wanted, report]);
	useEffect(() => {
		const count = document.getElementById("search-count");
		if (count) count.textContent = wanted ? found_text(hits.length, model, lines) : "";
		if (wanted) model.need_top(SEARCH_ROWS);
	}, [hits, wanted, model]);
	// Before the next key: pressed twice in a frame, the second goes on from where the first went.
	useLayoutEffect(() => {
		const next = (event: Event) => {
			const step = (event as CustomEvent<number>).detail;
			const to =
				step > 0
					? (hits.find((hit) => hit > cursor) ?? hits[0])
					: (hits.filter((hit) => hit < cursor).pop() ?? hits[hits.length - 1]);
			if (to !== undefined) move(to);
		};
		window.addEventListener("strata:search-next", next);
		return () => window.removeEventListener("strata:search-next", next);
	});
	return wanted;
}

/** The width of the first column as it is on the screen. */
function useNameWidth(scroller: { current: HTMLElement | null }, of: unknown): number {
	const [px, setPx] = useState(NAME_PX);
	useLayoutEffect(() => {
		const head = scroller.current?.querySelector<HTMLElement>(".grid-head .tree-cell");
		if (!head) return;
		const measure = () => setPx(head.offsetWidth);
		measure();
		const watch = new ResizeObserver(measure);
		watch.observe(head);
		return () => watch.disconnect();
	}, [of]);
	return px;
}

export function TreeGrid(props: TreeGridProps) {
	const model = useModel(props.id, props.load);
	const { report } = model;
	const lines = model.visible();
	const [cursor, setCursor] = useState(-1);
	const scroller = useRef<HTMLDivElement>(null);
	const show = useMemo(() => parse_show(props.show ?? ""), [props.show]);
	const chosen = props.columns ?? [];
	const layout = useMemo(
		() => (report ? layout_of(report, lines, chosen, props.drawn) : null),
		[report, lines, chosen.join(","), props.drawn],
	);
	const bar_key = layout?.columns.find((column) => layout.numbers.has(column.key) && adds_up(column))?.key;
	const row_height = () =>
		Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) || 26;

	const name_px = useNameWidth(scroller, report);
	const in_sight = useInSight(scroller, row_height, OVERSCAN, report);
	// A table of another question starts at its top.
	useEffect(() => {
		setCursor(-1);
		if (scroller.current) scroller.current.scrollTop = 0;
	}, [props.id]);
	useEffect(
		() => model.need(in_sight.first, in_sight.first + in_sight.count),
		[model, in_sight.first, in_sight.count, lines],
	);
	useEffect(() => {
		if (!report) return;
		props.onReport?.(report);
		if (props.expanded) for (let i = 0; i < model.top_count; i++) model.set_open([i], true);
	}, [report]);

	const at = (index: number): GridRow | null => {
		const line = lines[index];
		return line && report ? grid_row(report, line) : null;
	};
	if (props.cursor) props.cursor.current = at(cursor);
	const move = (to: number) => {
		const index = Math.max(0, Math.min(lines.length - 1, to));
		setCursor(index);
		const box = scroller.current;
		if (!box) return;
		const height = row_height();
		const head = box.querySelector<HTMLElement>(".grid-head")?.offsetHeight ?? 0;
		if (index * height < box.scrollTop) box.scrollTop = index * height;
		else if ((index + 1) * height + head > box.scrollTop + box.clientHeight)
			box.scrollTop = (index + 1) * height + head - box.clientHeight;
		const row = at(index);
		if (row) props.onSelect?.(row);
	};
	const wanted = useSearch(model, lines, cursor, move);

	const toggle = (line: Line, open: boolean, chain = false) => {
		if (open && chain) void model.open_chain(line.path);
		else model.set_open(line.path, open);
	};
	const left = (line: Line) => {
		if (model.is_open(line.path)) return toggle(line, false);
		const parent = line.path.slice(0, -1).join(".");
		const index = lines.findIndex((one) => one.path.join(".") === parent);
		if (index >= 0) move(index);
	};
	const siblings = (line: Line) => {
		const above = line.path.slice(0, -1).join(".");
		for (const one of lines.slice(0, 500)) if (one.path.slice(0, -1).join(".") === above) toggle(one, true);
	};
	const menu_at_cursor = () => {
		const row = at(cursor);
		const element = scroller.current?.querySelector('[data-cursor="true"]');
		const box = element?.getBoundingClientRect();
		if (row && box) props.onMenu?.(row, row.column, { x: box.left + 60, y: box.bottom });
	};
	const keys = (event: KeyboardEvent) => {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const line = lines[cursor];
		const page = Math.max(1, in_sight.count - 2 * OVERSCAN - 2);
		const steps: Record<string, () => void> = {
			ArrowDown: () => move(cursor + 1),
			ArrowUp: () => move(cursor - 1),
			PageDown: () => move(cursor + page),
			PageUp: () => move(cursor - page),
			Home: () => move(0),
			End: () => move(lines.length - 1),
			ArrowRight: () => line && (model.is_open(line.path) ? move(cursor + 1) : toggle(line, true)),
			ArrowLeft: () => line && left(line),
			"*": () => line && siblings(line),
			Enter: () => {
				const row = at(cursor);
				if (row) (props.onOpen ?? props.onSelect)?.(row);
			},
			ContextMenu: menu_at_cursor,
		};
		const step = event.shiftKey && event.key === "F10" ? menu_at_cursor : steps[event.key];
		if (!step) return;
		event.preventDefault();
		event.stopPropagation();
		step();
	};

	if (model.error && !report) return <Failed error={model.error} retry={() => model.retry()} />;
	if (!report || !layout) return <div class="skeleton" aria-busy="true" />;
	if (!lines.length && props.empty) return <>{props.empty(report)}</>;
	const first = Math.min(in_sight.first, Math.max(0, lines.length - 1));
	const last = Math.min(lines.length, first + in_sight.count);
	const style = props.rows
		? { maxHeight: `calc(var(--row) * ${Math.min(props.rows, lines.length)} + 52px)` }
		: undefined;
	const flat = report.group_by.length < 2 && !report.rows.some((row) => child_count(row) > 0);
	return (
		<div
			class={props.rows ? "tree-grid fixed" : "tree-grid"}
			role={flat ? "grid" : "treegrid"}
			aria-label={props.label}
			aria-rowcount={lines.length + 1}
			aria-activedescendant={cursor >= 0 ? `${props.label}-row-${cursor}`.replace(/\W+/g, "-") : undefined}
			tabIndex={0}
			ref={scroller}
			style={style}
			onScroll={in_sight.measure}
			onKeyDown={keys}
			onFocus={() => cursor < 0 && lines.length > 0 && setCursor(0)}
		>
			<Header
				report={report}
				layout={layout}
				sort={props.sort ?? ""}
				show={show}
				sortable={props.sortable ?? (() => true)}
				onSort={props.onSort}
			/>
			<div class="grid-space" role="presentation" style={{ height: `calc(var(--row) * ${first})` }} />
			{lines.slice(first, last).map((line, i) => {
				const index = first + i;
				const row = grid_row(report, line);
				const depth = line.path.length - 1;
				const indent = indent_of(depth, name_px);
				const has_children = child_count(line.row) > 0;
				const open = model.is_open(line.path);
				const selected = row !== null && view.value.selection?.value === row.label && row.label !== "";
				return (
					<div
						key={line.path.join(".")}
						id={`${props.label}-row-${index}`.replace(/\W+/g, "-")}
						role="row"
						aria-rowindex={index + 2}
						aria-level={flat ? undefined : depth + 1}
						aria-expanded={has_children ? open : undefined}
						aria-selected={selected || index === cursor}
						data-cursor={index === cursor}
						data-label={row?.label}
						class={selected ? "grid-row selected" : "grid-row"}
						style={{ gridTemplateColumns: layout.template, minWidth: layout.width }}
						onClick={() => {
							setCursor(index);
							if (row) props.onSelect?.(row);
						}}
						onDblClick={() => row && props.onOpen?.(row)}
						onContextMenu={(event) => {
							if (!row || !props.onMenu) return;
							event.preventDefault();
							setCursor(index);
							const key = (event.target as Element).closest("[data-key]")?.getAttribute("data-key");
							const column = report.columns.find((one) => one.key === key) ?? row.column;
							props.onMenu(row, column, { x: event.clientX, y: event.clientY });
						}}
					>
						<div
							role={flat ? "rowheader" : "gridcell"}
							class="cell tree-cell"
							data-key={row?.column.key}
							style={{ paddingLeft: `${indent.px}px` }}
							data-tip={row?.label}
						>
							{!flat && (
								<button
									type="button"
									class={has_children ? "twist" : "twist none"}
									tabIndex={-1}
									aria-hidden="true"
									onClick={(event) => {
										event.stopPropagation();
										toggle(line, !open, event.shiftKey || depth > 0);
									}}
								>
									{has_children && <Icon name={open ? "down" : "right"} size={12} />}
								</button>
							)}
							{indent.deep && (
								<span class="tree-level" aria-hidden="true" data-tip={`Level ${depth + 1}`}>
									{depth + 1}
								</span>
							)}
							<span class="tree-label">
								{row ? <Highlighted text={row.label || "[none]"} wanted={wanted} /> : "…"}
							</span>
						</div>
						{row &&
							layout.columns.map((column) => (
								<CellView
									key={column.key}
									row={row}
									column={column}
									layout={layout}
									as={show.get(column.key) ?? (column.key === bar_key ? "bar" : "value")}
									own={props.cell?.(row, column)}
								/>
							))}
					</div>
				);
			})}
			<div
				class="grid-space"
				role="presentation"
				style={{ height: `calc(var(--row) * ${lines.length - last})` }}
			/>
		</div>
	);
}
