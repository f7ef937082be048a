// SPDX-License-Identifier: Apache-2.0
//
// Lines of code with their metrics: a windowed list with a heat map as its scroll bar. Source and assembly are the same.
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Column, Report, Row } from "../../api/types";
import { useInSight } from "../../components/windowed";
import { columnFormat, exact, percent } from "../../format";
import { view } from "../../state/view";
import { type Language, tokens_of_file } from "./tokens";

export interface CodeListProps {
	report: Report;
	/** The column with the text, and the one with its number or address. */
	text: string;
	place: string;
	language: Language;
	label: string;
	chosen: number;
	/** Other rows that belong to what is chosen on the other side. */
	linked: Set<number>;
	choose: (index: number) => void;
}

const OVERSCAN = 20;
const ROW_PX = 20;

export const heat_key = (report: Report): string =>
	report.columns.some((column) => column.key === "cpu_self_ns") &&
	report.rows.some((row) => Number(row.cpu_self_ns) > 0)
		? "cpu_self_ns"
		: "cpu_total_ns";

/** Rows by heat, the hottest first. */
export function hottest(report: Report): number[] {
	const key = heat_key(report);
	return report.rows
		.map((row, index) => [Number(row[key] ?? 0), index] as const)
		.filter(([heat]) => heat > 0)
		.sort((a, b) => b[0] - a[0])
		.map(([, index]) => index);
}

function metric_columns(report: Report): Column[] {
	return report.columns.filter(
		(column) => column.unit === "ns" && report.rows.some((row) => Number(row[column.key]) > 0),
	);
}

/** The whole file in the height of the list: how hot each part is. A click goes there. */
function HeatMap({ report, go }: { report: Report; go: (index: number) => void }) {
	const key = heat_key(report);
	const top = Math.max(1, ...report.rows.map((row) => Number(row[key] ?? 0)));
	const marks = report.rows
		.map((row, index) => ({ index, heat: Number(row[key] ?? 0) / top }))
		.filter((mark) => mark.heat > 0.004);
	const click = (event: MouseEvent) => {
		const box = (event.currentTarget as Element).getBoundingClientRect();
		go(Math.floor(((event.clientY - box.top) / box.height) * report.rows.length));
	};
	return (
		<div class="heat-map" aria-hidden="true" onClick={click}>
			{marks.map((mark) => (
				<span
					key={mark.index}
					style={{
						top: `${(mark.index / report.rows.length) * 100}%`,
						opacity: 0.25 + 0.75 * mark.heat,
						width: `${30 + 70 * mark.heat}%`,
					}}
				/>
			))}
		</div>
	);
}

export function CodeList(props: CodeListProps) {
	const { report, chosen } = props;
	const scroller = useRef<HTMLDivElement>(null);
	const columns = useMemo(() => metric_columns(report), [report]);
	const formats = useMemo(
		() =>
			new Map(
				columns.map((column) => [
					column.key,
					columnFormat(
						column.unit,
						report.rows.map((row) => Number(row[column.key] ?? 0)),
					),
				]),
			),
		[columns, report],
	);
	const tokens = useMemo(
		() =>
			tokens_of_file(
				report.rows.map((row) => String(row[props.text] ?? "")),
				props.language,
			),
		[report, props.text, props.language],
	);
	const seen = useInSight(scroller, () => ROW_PX, OVERSCAN, report);
	const show = (index: number) => {
		const box = scroller.current;
		if (!box || index < 0) return;
		const y = index * ROW_PX;
		if (y < box.scrollTop + ROW_PX * 2 || y > box.scrollTop + box.clientHeight - ROW_PX * 4)
			box.scrollTop = y - box.clientHeight / 3;
	};
	useEffect(() => show(chosen), [chosen, report]);
	const first_linked = props.linked.size ? Math.min(...props.linked) : -1;
	useEffect(() => show(first_linked), [first_linked]);
	const keys = (event: KeyboardEvent) => {
		const step = {
			ArrowDown: 1,
			ArrowUp: -1,
			PageDown: 20,
			PageUp: -20,
			Home: -chosen,
			End: report.rows.length - 1 - chosen,
		}[event.key];
		if (step === undefined || event.ctrlKey) return;
		event.preventDefault();
		props.choose(Math.max(0, Math.min(report.rows.length - 1, chosen + step)));
	};
	const total = (column: Column) => Number(report.totals[column.key] ?? 0);
	const wanted = view.value.search.toLowerCase();
	const letters = Math.max(5, ...report.rows.map((row) => String(row[props.place] ?? "").length));
	const template = [`${(letters * 0.62 + 1.4).toFixed(1)}em`, "minmax(0, 1fr)", ...columns.map(() => "84px")].join(
		" ",
	);
	const line = (row: Row, index: number) => {
		const hit =
			wanted &&
			String(row[props.text] ?? "")
				.toLowerCase()
				.includes(wanted);
		return (
			<div
				key={index}
				id={`${props.label}-${index}`.replace(/\W+/g, "-")}
				role="row"
				aria-rowindex={index + 2}
				aria-selected={index === chosen}
				data-line={String(row[props.place] ?? "")}
				class={`code-row${index === chosen ? " chosen-line" : ""}${props.linked.has(index) ? " linked" : ""}${hit ? " hit" : ""}`}
				style={{ gridTemplateColumns: template, top: `${index * ROW_PX}px` }}
				onClick={() => props.choose(index)}
			>
				<span role="rowheader" class="code-place">
					{String(row[props.place] ?? "")}
				</span>
				<code role="gridcell" class="code-text">
					{tokens[index]?.map(([kind, text], i) => (
						<span key={i} class={kind ? `token-${kind}` : undefined}>
							{text}
						</span>
					))}
				</code>
				{columns.map((column) => {
					const value = Number(row[column.key] ?? 0);
					const part = total(column) > 0 ? value / total(column) : 0;
					return (
						<span
							key={column.key}
							role="gridcell"
							class="cell number code-metric"
							data-key={column.key}
							data-tip={value ? `${exact(value, column.unit)}\n${percent(part)}` : undefined}
						>
							{value > 0 && <span class="cell-bar" style={{ width: `${Math.min(100, part * 100)}%` }} />}
							<span class="cell-value">{value > 0 ? formats.get(column.key)?.text(value) : ""}</span>
						</span>
					);
				})}
			</div>
		);
	};
	const last = Math.min(report.rows.length, seen.first + seen.count);
	return (
		<div class="code">
			<div
				class="code-scroller"
				ref={scroller}
				onScroll={seen.measure}
				tabIndex={0}
				role="grid"
				aria-label={props.label}
				aria-rowcount={report.rows.length + 1}
				aria-activedescendant={chosen >= 0 ? `${props.label}-${chosen}`.replace(/\W+/g, "-") : undefined}
				onKeyDown={keys}
			>
				<div role="row" class="code-head" style={{ gridTemplateColumns: template }}>
					<span role="columnheader" class="code-place">
						{report.columns.find((column) => column.key === props.place)?.title}
					</span>
					<span role="columnheader">{report.columns.find((column) => column.key === props.text)?.title}</span>
					{columns.map((column) => (
						<span key={column.key} role="columnheader" class="number">
							{column.title.replace(/^.*:/, "")}{" "}
							<span class="head-unit">{formats.get(column.key)?.suffix}</span>
						</span>
					))}
				</div>
				<div role="rowgroup" class="code-lines" style={{ height: `${report.rows.length * ROW_PX}px` }}>
					{report.rows.slice(seen.first, last).map((row, i) => line(row, seen.first + i))}
				</div>
			</div>
			<HeatMap report={report} go={(index) => props.choose(index)} />
		</div>
	);
}
