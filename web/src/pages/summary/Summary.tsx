// SPDX-License-Identifier: Apache-2.0
//
// One screen of what the run was: figures, steps, findings, the heaviest of each kind, data quality and cost.
import type { ComponentChildren } from "preact";
import { applied_here } from "../../api/meta";
import { problem_of } from "../../api/problem";
import type { Report, Row } from "../../api/types";
import { type Answer, currentResult, useReport } from "../../api/use";
import { CommandLine } from "../../components/Copy";
import { Empty, Failed } from "../../components/Empty";
import { Icon } from "../../components/Icon";
import { ViewLink } from "../../components/Link";
import { NoSamplesHere } from "../../components/NoRows";
import { NotApplied } from "../../components/NotApplied";
import { bytes, exact, ns, percent, whole } from "../../format";
import { filterText } from "../../shell/FilterChips";
import { rangeText } from "../../shell/TopBar";
import { view_of_command } from "../../state/evidence";
import { EMPTY, type View, view, words_of } from "../../state/view";
import { ThreadTime } from "../threads/ThreadTime";
import { Utilization } from "../threads/Utilization";
import { Findings } from "./Findings";
import {
	cpu_note,
	is_filtered,
	is_narrowed,
	number,
	section,
	short_place,
	steady_range,
	task_metric,
	value,
} from "./rows";
import { Steps } from "./Steps";

interface CardProps {
	title: string;
	children: ComponentChildren;
	wide?: boolean;
	/** What its figures are of, where that is not the whole run. */
	of?: string;
}

function Card({ title, children, wide, of }: CardProps) {
	return (
		<section class={wide ? "card wide" : "card"} aria-label={title}>
			<h2>
				{title} {of && <small class="muted">{of}</small>}
			</h2>
			{children}
		</section>
	);
}

function Figure({ title, text, tip, note }: { title: string; text: string; tip?: string; note?: string }) {
	return (
		<div class="figure" data-tip={tip}>
			<div class="figure-title">{title}</div>
			<div class="figure-value">{text}</div>
			{note && <div class="figure-note">{note}</div>}
		</div>
	);
}

function Figures({ report }: { report: Report }) {
	const elapsed = number(report, "run", "elapsed_ns") ?? 0;
	const cpu = number(report, "cpu", "cpu_ns");
	const effective = number(report, "cpu", "effective_utilization_ratio");
	const spin = number(report, "cpu", "spin_ns");
	const [step] = section(report, "step");
	const start_up = number(report, "start_up", "elapsed_ns");
	return (
		<div class="figures">
			<Figure
				title="Elapsed time"
				text={ns(elapsed)}
				tip={exact(elapsed, "ns")}
				note={`${String(value(report, "run", "end") ?? "")}${is_narrowed(report) ? ", of the whole run" : ""}`}
			/>
			{start_up !== undefined && elapsed > 0 && (
				<Figure
					title="Start-up"
					text={ns(start_up)}
					tip={exact(start_up, "ns")}
					note={`${percent(start_up / elapsed)} of the run, before the first step`}
				/>
			)}
			{cpu !== undefined && (
				<Figure title="CPU time" text={ns(cpu)} tip={exact(cpu, "ns")} note={cpu_note(report)} />
			)}
			{spin !== undefined && cpu ? (
				<Figure
					title="Spin time"
					text={ns(spin)}
					tip={exact(spin, "ns")}
					note={`${percent(spin / cpu)} of the CPU time`}
				/>
			) : null}
			{effective !== undefined && (
				<Figure
					title="Effective utilization"
					text={percent(effective)}
					note={`of ${whole(number(report, "cpu", "cpus") ?? 0)} CPUs`}
				/>
			)}
			{step && (
				<Figure
					title="Step, median"
					text={ns(Number(step.wall_median_ns))}
					tip={exact(Number(step.wall_median_ns), "ns")}
					note={`${whole(Number(step.count))} steps, P95 ${ns(Number(step.wall_p95_ns))}`}
				/>
			)}
			<OperatorCount report={report} />
		</div>
	);
}

/** Of the range where there is one; with filters the summary does not count them. */
function OperatorCount({ report }: { report: Report }) {
	const all = number(report, "cost", "operators");
	const here = section(report, "operators").find((row) => row.name === "source")?.count;
	const tasks = is_narrowed(report) ? undefined : number(report, "cost", "tasks");
	const count = is_narrowed(report) ? here : all;
	if (!all || count === undefined) return null;
	return <Figure title="Operators" text={whole(Number(count))} note={tasks ? `${whole(tasks)} tasks` : ""} />;
}

interface TopProps {
	rows: Row[];
	metric: string;
	to: (row: Row) => View;
	name?: (row: Row) => string;
	note?: (row: Row) => string;
	missing: ComponentChildren;
}

function Top({ rows, metric, to, name, note, missing }: TopProps) {
	if (!rows.length) return <>{missing}</>;
	return (
		<table class="plain-table top">
			<tbody>
				{rows.map((row) => (
					<tr key={`${row.name} ${row.value}`}>
						<td data-tip={String(row.name)}>
							<ViewLink to={to(row)}>{name ? name(row) : String(row.name)}</ViewLink>
							{note?.(row) && <span class="muted"> {note(row)}</span>}
						</td>
						<td class="number" data-tip={exact(Number(row[metric] ?? 0), "ns")}>
							{ns(Number(row[metric] ?? 0))}
						</td>
						<td class="number share">
							<span
								class="cell-bar"
								style={{ width: `${Math.min(100, Number(row.share_ratio ?? 0) * 100)}%` }}
							/>
							<span class="cell-value">{percent(Number(row.share_ratio ?? 0))}</span>
						</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

const COLLECT_OPERATORS = "strata -collect operators -- python3 train.py";

/** left: filters that the figures are not narrowed by, so the way to more about them is not either. */
function Tops({ report, left }: { report: Report; left: string[] }) {
	const { result, range, outer } = view.value;
	const filters = view.value.filters.filter((one) => !left.includes(one));
	const base: View = { ...EMPTY, result, range, outer, filters, page: "grid", params: {} };
	const steady = range ? null : steady_range(report);
	const of = steady ? "of the steps, without start-up and end" : "";
	const grid = (grouping: string[], row: Row, kind: string): View => ({
		...base,
		groupBy: grouping,
		selection: { kind, value: String(row.name) },
		search: String(row.name),
	});
	const none_here = is_narrowed(report) && <p class="muted">None in this range with these filters.</p>;
	const no_samples = none_here || <NoSamplesHere otherwise={<Empty small title="None." />} small />;
	const with_tasks = is_filtered(report) && Boolean(number(report, "cost", "operators"));
	const lines = section(report, "own_line");
	const line_to = (row: Row): View => {
		const match = /^(.*):(\d+)$/.exec(String(row.name));
		const params = { file: match?.[1] ?? String(row.name), line: match?.[2] ?? "" };
		return { ...base, page: "source", params, range: range ?? steady };
	};
	return (
		<>
			<Card title="Lines of the program" of={of}>
				<Top
					rows={lines}
					metric="cpu_total_ns"
					to={line_to}
					name={(row) => short_place(String(row.name))}
					note={(row) => String(row.value ?? "")}
					missing={no_samples}
				/>
			</Card>
			<Card title="Top hotspots" of={of}>
				<Top
					rows={section(report, "hotspot")}
					metric="cpu_self_ns"
					to={(row) => ({ ...grid(["function", "callstack"], row, "function"), range: range ?? steady })}
					note={(row) => String(row.value ?? "")}
					missing={no_samples}
				/>
			</Card>
			<Card title="Top operators">
				<Top
					rows={section(report, "operator")}
					metric="wall_self_ns"
					to={(row) => ({
						...base,
						page: "operators",
						selection: { kind: "operator", value: String(row.name) },
						search: String(row.name),
					})}
					note={(row) => `× ${whole(Number(row.count))}`}
					missing={
						with_tasks ? (
							<p class="muted">With filters, operators are among the tasks.</p>
						) : (
							none_here || (
								<Empty small title="No operators were recorded." commands={[COLLECT_OPERATORS]} />
							)
						)
					}
				/>
			</Card>
			<Devices report={report} />
			<Card title={with_tasks ? "Top tasks and operators" : "Top tasks"}>
				<Top
					rows={section(report, "task")}
					metric={task_metric(report)}
					to={(row) => ({ ...grid(["task-type"], row, "task_type"), params: { data: "tasks" } })}
					note={(row) => `× ${whole(Number(row.count))}`}
					missing={
						none_here || (
							<Empty small title="No tasks.">
								Mark them with record_function, ITT or strata.itt in the program.
							</Empty>
						)
					}
				/>
			</Card>
		</>
	);
}

/** How busy devices were, and what ran on them. */
function Devices({ report }: { report: Report }) {
	const devices = section(report, "device");
	if (!devices.length) return null;
	const to = (row: Row): View => ({
		...EMPTY,
		result: view.value.result,
		page: "timeline",
		search: String(row.name),
	});
	return (
		<Card title="Devices and kernels">
			{devices.map((row) => (
				<p key={String(row.name)}>
					<b>{String(row.name)}</b> busy {percent(Number(row.share_ratio))} of {ns(Number(row.wall_total_ns))}
					<span class="muted">: {String(row.value)}</span>
				</p>
			))}
			<Top
				rows={section(report, "kernel")}
				metric="wall_self_ns"
				to={to}
				note={(row) => `× ${whole(Number(row.count))}`}
				missing={<p class="muted">No kernel was recorded.</p>}
			/>
		</Card>
	);
}

/** What was not recorded, with the way to its commands. */
function Missing() {
	const { data } = useReport(["recorded"], undefined, true);
	const missing = (data?.rows ?? []).filter((row) => row.options);
	if (!missing.length) return null;
	const to: View = { ...EMPTY, result: view.value.result, page: "diagnostics", params: { tab: "data" } };
	return (
		<p>
			Not recorded: {missing.map((row) => String(row.data)).join(", ")}.{" "}
			<ViewLink to={to}>What is missing, and how to get it</ViewLink>
		</p>
	);
}

function QualityCard({ report }: { report: Report }) {
	const cost = number(report, "cost", "estimate_ratio");
	const why = value(report, "cost", "not_measured");
	const without = value(report, "cost", "not_in_it");
	const notes = section(report, "quality");
	return (
		<>
			<dl class="facts">
				<dt>Source</dt>
				<dd>{String(value(report, "run", "source") ?? report.source)}</dd>
				<dt>Lost</dt>
				<dd>{whole(number(report, "cost", "lost") ?? 0)} records</dd>
				{cost !== undefined && <dt>Cost, estimated</dt>}
				{cost !== undefined && (
					<dd>
						{percent(cost)}
						{why ? <span class="muted"> {String(why)}</span> : null}
						{without ? <span class="muted"> {String(without)}</span> : null}
					</dd>
				)}
				<dt>strata itself</dt>
				<dd>
					{ns(number(report, "cost", "strata_cpu_ns") ?? 0)} CPU,{" "}
					{bytes(number(report, "cost", "strata_peak_rss_bytes") ?? 0)} at most
				</dd>
			</dl>
			<ul class="notes">
				{notes.map((row) => (
					<li key={String(row.value)}>{String(row.value)}</li>
				))}
			</ul>
			<Missing />
			<ViewLink to={{ ...EMPTY, result: view.value.result, page: "diagnostics" }}>All about the data</ViewLink>
		</>
	);
}

function NextSteps({ report }: { report: Report }) {
	const notes = section(report, "finding");
	return (
		<>
			<ul class="notes">
				{notes.map((row) => (
					<li key={String(row.name)}>{String(row.value)}</li>
				))}
			</ul>
			{section(report, "next").map((row) => {
				const text = String(row.value);
				const to = view_of_command(text, view.value.result);
				return (
					<p key={text} class="next-step">
						<CommandLine text={text} /> {to && <ViewLink to={to}>open</ViewLink>}
					</p>
				);
			})}
		</>
	);
}

/** In the range and with the filters of the view; what it cannot be narrowed by is in `left`. */
function useSummary(): Answer<Report> & { left: string[] } {
	const { range, filters } = view.value;
	const { left } = applied_here("summary");
	const narrowed = useReport(["summary"]);
	// Whether tasks have lines of Python, for example, only the result knows.
	const refused = filters.length > left.length && problem_of(narrowed.error).code === "usage";
	const rest = useReport(refused ? ["summary", ...words_of({ range, filters: [] })] : null, undefined, true);
	return refused ? { ...rest, left: filters } : { ...narrowed, left };
}

/** What the figures are of, in one sentence that is also true of filters that the summary cannot take. */
function Scope({ report, left }: { report: Report; left: string[] }) {
	if (!is_narrowed(report)) return <NotApplied left={left} />;
	const { range, filters } = view.value;
	const kept = filters.filter((one) => !left.includes(one));
	const of = [...(range ? [`the range ${rangeText(range)}`] : []), ...kept.map(filterText)].join(", ");
	return (
		<p class="note" role="note">
			Elapsed time, start-up, steps, what to change, the table of simultaneous CPUs, data quality and cost are of
			the whole run; everything else is of {of}
			{left.length > 0 &&
				`, and not narrowed by ${left.map(filterText).join(", ")}: the summary of this result cannot be`}
			.
		</p>
	);
}

/** A result that goes on, or broke off: said before any figure. */
function Incomplete({ report }: { report: Report }) {
	const state = currentResult()?.state;
	if (state !== "torn" && state !== "running") return null;
	const elapsed = number(report, "run", "elapsed_ns") ?? 0;
	return (
		<p class="note" role="note">
			<Icon name="warn" size={13} />{" "}
			{state === "torn"
				? `strata was killed while it recorded: this is what was written until then, ${ns(elapsed)} of the run.`
				: `Still being recorded: this is of the first ${ns(elapsed)} of the run.`}
		</p>
	);
}

export default function Summary() {
	const { data, error, retry, left } = useSummary();
	if (error) return <Failed error={error} retry={retry} />;
	if (!data) return <div class="skeleton" aria-busy="true" />;
	return (
		<div class="page">
			<h1>{String(value(data, "run", "type") ?? "Summary")}</h1>
			<p class="muted mono command-text">{String(value(data, "run", "command") ?? "")}</p>
			<Incomplete report={data} />
			<Scope report={data} left={left} />
			<Figures report={data} />
			<div class="cards">
				<Card title="Steps" wide>
					<Steps report={data} />
				</Card>
				<Card title="What to change" wide>
					<Findings />
				</Card>
				<Tops report={data} left={left} />
				{section(data, "thread_time").length > 0 && (
					<Card title="Where the time of the threads went">
						<ThreadTime report={data} />
						<ViewLink
							to={{ ...EMPTY, result: view.value.result, page: "threads", params: { tab: "waits" } }}
						>
							What they waited for
						</ViewLink>
					</Card>
				)}
				<Card title="CPU utilization" of={is_narrowed(data) ? "of the whole run" : ""}>
					<Utilization small />
				</Card>
				<Card title="Data quality and cost">
					<QualityCard report={data} />
				</Card>
				<Card title="What was noticed, and what to look at next" wide>
					<NextSteps report={data} />
				</Card>
			</div>
		</div>
	);
}
