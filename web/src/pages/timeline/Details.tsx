// SPDX-License-Identifier: Apache-2.0
//
// The drawer with everything about one event. Keys that this page does not know are shown as they are.
import { useAnswer } from "../../api/use";
import { FunctionTimes } from "../../components/FunctionTimes";
import { exact, ns, whole } from "../../format";
import { filterWord, openLine, seconds } from "../../state/view";
import type { EventDetails, Flow, Neighbour } from "./data";
import { linesOf } from "./lines";
import type { Timeline } from "./model";
import { commitRange, selectAndReveal } from "./moves";

interface Fact {
	key: string;
	title: string;
	text: string;
	exact?: string;
	/** As the server sent it, for those who compare. */
	value?: number;
}

const SHOWN_APART = new Set([
	"row",
	"kind",
	"name",
	"label",
	"track",
	"lane",
	"parent",
	"flows",
	"previous",
	"next",
	"category",
	"python_line",
	"python_stack",
	"native_stack",
	"stack",
	"args",
	"metadata",
	"flags",
	"operator",
	"same_sequence",
	"depth",
	"category_name",
]);

const TITLES: Record<string, string> = {
	begin_ns: "Begin",
	end_ns: "End",
	wall_ns: "Duration",
	self_ns: "Self",
	wall_total_ns: "Duration",
	wall_self_ns: "Self",
	cpu_ns: "CPU time",
	cpu_self_ns: "CPU time: self",
	cpu_total_ns: "CPU time",
	child_count: "Events inside",
	domain: "Domain",
	step: "Step",
	module: "Module",
	module_path: "Module",
	shapes: "Input shapes",
	types: "Input types",
	input_shapes: "Input shapes",
	input_types: "Input types",
	sequence: "Sequence number",
	thread: "Thread",
};

function titleOf(key: string): string {
	const plain = key.replace(/_(ns|bytes)$/, "").replace(/_/g, " ");
	return TITLES[key] ?? plain.charAt(0).toUpperCase() + plain.slice(1);
}

function textOf(key: string, value: unknown): Fact | null {
	if (value === null || value === undefined || value === "" || value === "[]") return null;
	const title = titleOf(key);
	if (typeof value === "number") {
		if (key.endsWith("_ns")) return { key, title, text: ns(value), exact: exact(value, "ns"), value };
		return { key, title, text: whole(value), value };
	}
	if (typeof value === "string" || typeof value === "boolean") return { key, title, text: String(value) };
	const text = plain(value);
	return text ? { key, title, text } : null;
}

/** An event by its name, a list of plain values one after the other; anything else as it is. */
function plain(value: unknown): string {
	if (Array.isArray(value))
		return value.map((one) => (typeof one === "object" ? plain(one) : String(one))).join(" › ");
	if (value && typeof value === "object") {
		const { name } = value as { name?: string };
		if (name) return name;
		return Object.keys(value).length ? JSON.stringify(value) : "";
	}
	return String(value ?? "");
}

function facts(event: EventDetails): Fact[] {
	const found: Fact[] = [];
	if (event.wall_ns === undefined && event.wall_total_ns === undefined)
		found.push(textOf("wall_ns", event.end_ns - event.begin_ns)!);
	const first = ["wall_ns", "wall_total_ns", "self_ns", "wall_self_ns", "begin_ns", "end_ns"];
	const rank = (key: string) => (first.includes(key) ? first.indexOf(key) : first.length);
	const all = Object.entries(event).sort(([a], [b]) => rank(a) - rank(b));
	const inner = Object.entries(event.operator ?? {});
	for (const [key, value] of [...all, ...inner]) {
		if (SHOWN_APART.has(key)) continue;
		const fact = textOf(key, value);
		if (fact) found.push(fact);
	}
	return found;
}

function Facts({ list }: { list: Fact[] }) {
	return (
		<dl class="tl-facts">
			{list.map((fact) => (
				<div key={fact.key}>
					<dt>{fact.title}</dt>
					<dd data-key={fact.key} data-value={fact.value} data-tip={fact.exact}>
						{fact.text}
					</dd>
				</div>
			))}
		</dl>
	);
}

function Jump({ timeline, to, kind, title }: { timeline: Timeline; to: Neighbour; kind: string; title: string }) {
	return (
		<button type="button" class="button" onClick={() => void selectAndReveal(timeline, to.kind ?? kind, to.row)}>
			{title}
			{to.name ? `: ${to.name}` : ""}
		</button>
	);
}

function neighbour(value: number | Neighbour | null | undefined): Neighbour | null {
	return typeof value === "number" ? { row: value } : (value ?? null);
}

function Jumps({ timeline, event }: { timeline: Timeline; event: EventDetails }) {
	const kind = event.kind ?? "slice";
	const parent = neighbour(event.parent);
	const previous = neighbour(event.previous);
	const next = neighbour(event.next);
	return (
		<p class="tl-jumps">
			<button type="button" class="button primary" onClick={() => commitRange(timeline)}>
				What happens meanwhile <kbd>R</kbd>
			</button>
			{parent && <Jump timeline={timeline} to={parent} kind={kind} title="↑ Parent" />}
			{previous && <Jump timeline={timeline} to={previous} kind={kind} title="← Previous of this name" />}
			{next && <Jump timeline={timeline} to={next} kind={kind} title="→ Next of this name" />}
			{(event.operator?.same_sequence ?? []).map((twin) => (
				<Jump key={twin.row} timeline={timeline} to={twin} kind={kind} title="⇄ Same sequence" />
			))}
			{(event.flows ?? []).map((flow: Flow) => (
				<Jump
					key={`${flow.direction}${flow.row}`}
					timeline={timeline}
					to={flow}
					kind="slice"
					title={`${flow.direction === "in" || flow.direction === "from" ? "⇠" : "⇢"} ${flow.flow ?? flow.kind ?? "Flow"}`}
				/>
			))}
		</p>
	);
}

function lines(value: unknown): string[] {
	if (typeof value === "string") return value ? [value] : [];
	if (!Array.isArray(value)) return [];
	return value.map((frame) => {
		if (typeof frame === "string") return frame;
		const { function: name, file, line } = frame as { function?: string; file?: string; line?: number };
		return [name, file && `${file}${line ? `:${line}` : ""}`].filter(Boolean).join("  ") || JSON.stringify(frame);
	});
}

function Stack({ title, value }: { title: string; value: unknown }) {
	const all = lines(value);
	if (!all.length) return null;
	return (
		<section>
			<h3>{title}</h3>
			<ol class="tl-stack mono">
				{all.map((line, i) => (
					<li key={i}>{line}</li>
				))}
			</ol>
		</section>
	);
}

/** By function, on the thread of the event and in its time: what `strata report hotspots` says about it. */
function Functions({ timeline, event }: { timeline: Timeline; event: EventDetails }) {
	const track = timeline.trackOf(event.track);
	if (typeof event.cpu_ns !== "number" || event.cpu_ns <= 0 || !track) return null;
	const words = ["-time-filter", `${seconds(event.begin_ns)}:${seconds(event.end_ns)}`];
	words.push("-filter", filterWord("thread", track.title, true));
	return <FunctionTimes result={timeline.data.result} words={words} title="CPU time inside, by function" />;
}

/** Where the program spends the time of this name, all calls together: by samples, so only where there are some. */
function Lines({ result, name }: { result: string; name: string }) {
	const { data } = useAnswer(name ? JSON.stringify(["lines", result, name]) : "", (signal) =>
		linesOf(result, name, signal),
	);
	if (!data?.length) return null;
	return (
		<section aria-label="Source lines">
			<h3>Source lines of all its calls</h3>
			<ul class="plain">
				{data.map((line) => (
					<li key={line.place}>
						<button
							type="button"
							class="link mono"
							data-tip={line.place}
							onClick={() => openLine(line.place)}
						>
							{line.place.replace(/^.*\//, "")}
						</button>{" "}
						<span class="muted number">{ns(line.cpu_ns)}</span>
					</li>
				))}
			</ul>
		</section>
	);
}

export function Details({ timeline, event }: { timeline: Timeline; event: EventDetails }) {
	const line = typeof event.python_line === "string" ? event.python_line : "";
	return (
		<div class="tl-details" data-row={event.row}>
			<Jumps timeline={timeline} event={event} />
			<div>
				<Facts list={facts(event)} />
				{line && (
					<p>
						<button type="button" class="link mono" onClick={() => openLine(line)}>
							{line}
						</button>
					</p>
				)}
				<Lines result={timeline.data.result} name={event.name} />
				<Stack title="Arguments" value={argumentLines(event.args ?? event.metadata)} />
			</div>
			<div>
				<Stack title="Python stack" value={event.operator?.python_stack} />
				<Stack title="Native stack" value={event.native_stack ?? event.stack} />
			</div>
			<div>
				<Functions timeline={timeline} event={event} />
			</div>
		</div>
	);
}

function argumentLines(value: unknown): string[] {
	if (!value || typeof value !== "object") return [];
	if (Array.isArray(value))
		return value.map((one) => {
			const { key, name, value: text } = one as { key?: string; name?: string; value?: unknown };
			const word = key ?? name;
			return word === undefined
				? JSON.stringify(one)
				: `${word} = ${typeof text === "string" ? text : JSON.stringify(text)}`;
		});
	return Object.entries(value).map(
		([key, text]) => `${key} = ${typeof text === "string" ? text : JSON.stringify(text)}`,
	);
}
