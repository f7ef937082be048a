// SPDX-License-Identifier: Apache-2.0
//
// Every result and trace of the data directory: open, rename, delete with undo, pick two to compare. The list follows
// what is collected.
import { signal } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { act } from "../../api/client";
import { metaInfo } from "../../api/meta";
import { problem_of } from "../../api/problem";
import type { ResultInfo } from "../../api/types";
import { projectList, refreshResults, resultError, resultList } from "../../api/use";
import { Dialog } from "../../components/Dialog";
import { Empty, Failed } from "../../components/Empty";
import { Icon } from "../../components/Icon";
import { ViewLink } from "../../components/Link";
import { openMenu } from "../../components/Menu";
import { toast } from "../../components/Toast";
import { bytes, date, ns } from "../../format";
import { EMPTY, go, openResult, update, view } from "../../state/view";
import { addSamples, importTrace } from "./bring";
import { ImportTraces } from "./ImportTraces";
import { type SortKey, sort_results } from "./sort";

const picked = signal<string[]>([]);

async function rename(result: ResultInfo, name: string): Promise<void> {
	try {
		await act("PATCH", `/results/${encodeURIComponent(result.id)}`, { name });
	} catch (error) {
		toast(problem_of(error).detail || problem_of(error).message);
	}
	await refreshResults();
}

async function remove(result: ResultInfo): Promise<void> {
	try {
		await act("DELETE", `/results/${encodeURIComponent(result.id)}`);
	} catch (error) {
		toast(problem_of(error).detail || problem_of(error).message);
		return;
	}
	picked.value = picked.value.filter((id) => id !== result.id);
	await refreshResults();
	toast(`Deleted ${result.name || result.id}`, {
		title: "Undo",
		run: () =>
			void act("POST", `/results/${encodeURIComponent(result.id)}/restore`, {})
				.catch((error) => toast(problem_of(error).message))
				.then(refreshResults),
	});
}

function toggle(id: string): void {
	const now = picked.value;
	picked.value = now.includes(id) ? now.filter((one) => one !== id) : [...now.slice(-1), id];
}

function compare(): void {
	const [a, b] = [...picked.value].sort((one, other) => started(one).localeCompare(started(other)));
	if (a && b) update({ ...EMPTY, page: "compare", params: { a, b } });
}

function started(id: string): string {
	return resultList.value?.find((one) => one.id === id)?.started_at ?? "";
}

/** What has become of it, where it is not whole. */
function state_words(result: ResultInfo): string {
	return result.state === "torn" ? "strata was killed; opens as far as it was written" : result.state;
}

function ResultRow({ result }: { result: ResultInfo }) {
	const [editing, setEditing] = useState(false);
	const name = result.name || result.id;
	// Enter takes the field away, which blurs it: the second call must not rename what is gone.
	const open = useRef(false);
	const edit = () => {
		open.current = true;
		setEditing(true);
	};
	const leave = () => {
		open.current = false;
		setEditing(false);
	};
	const save = (to: string) => {
		if (!open.current) return;
		leave();
		if (to.trim() && to.trim() !== name) void rename(result, to.trim());
	};
	const is_over = result.state === "finished";
	const menu = (event: MouseEvent) =>
		openMenu(
			event.currentTarget as Element,
			[
				{ title: "Open", run: () => openResult(result.id) },
				{ title: "Rename", run: edit },
				result.kind === "trace"
					? { title: "Import as a result", run: () => void importTrace(result) }
					: { title: "Measure again", run: () => go("new", { result: "", params: { again: result.id } }) },
				{ title: "Delete", separated: true, run: () => void remove(result) },
			],
			name,
		);
	return (
		<tr data-result={result.id} aria-selected={picked.value.includes(result.id)}>
			<td>
				<input
					type="checkbox"
					aria-label={`Pick ${name} to compare`}
					checked={picked.value.includes(result.id)}
					onChange={() => toggle(result.id)}
				/>
			</td>
			<td class="nowrap">
				{result.project && <span class="muted">{result.project} / </span>}
				{editing ? (
					<input
						class="field"
						type="text"
						aria-label="New name"
						value={name}
						ref={(field) => field?.focus()}
						onBlur={(event) => save(event.currentTarget.value)}
						onKeyDown={(event) => {
							if (event.key === "Enter") save(event.currentTarget.value);
							if (event.key === "Escape") leave();
						}}
					/>
				) : (
					<ViewLink to={{ ...EMPTY, result: result.id, page: "summary" }}>{name}</ViewLink>
				)}
				{!is_over && <span class={`state ${result.state}`}> {state_words(result)}</span>}
			</td>
			<td class="nowrap">{result.type || result.kind}</td>
			<td class="command-cell mono" data-tip={result.command}>
				{result.command}
			</td>
			<td class="nowrap">{result.started_at ? date(result.started_at) : ""}</td>
			<td class="number" data-tip={is_over ? undefined : "As far as it was written down; there may be more."}>
				{result.elapsed_ns ? `${is_over ? "" : "≥ "}${ns(result.elapsed_ns)}` : ""}
			</td>
			<td class="number">{bytes(result.size_bytes)}</td>
			<td class="nowrap">{result.exit === null || result.exit === undefined ? "" : String(result.exit)}</td>
			<td>
				<button type="button" class="icon-button" aria-label={`More about ${name}`} onClick={menu}>
					<Icon name="more" />
				</button>
			</td>
		</tr>
	);
}

const HEADS: { key: SortKey; title: string; number?: boolean }[] = [
	{ key: "name", title: "Name" },
	{ key: "type", title: "Type" },
	{ key: "command", title: "Command" },
	{ key: "started_at", title: "Started" },
	{ key: "elapsed_ns", title: "Elapsed", number: true },
	{ key: "size_bytes", title: "Size", number: true },
	{ key: "exit", title: "End" },
];

function Samples() {
	const samples = metaInfo.value?.samples ?? [];
	if (!samples.length) return null;
	return (
		<section class="samples" aria-label="Samples">
			<p>No program at hand? Strata has two samples with it, to look at and to compare:</p>
			<ul>
				{samples.map((sample) => (
					<li key={sample.name}>
						<b>{sample.name.replace(/\.pt\.trace\.json(\.gz)?$/, "")}</b>: {sample.summary}
					</li>
				))}
			</ul>
			<button type="button" class="button primary" onClick={() => void addSamples()}>
				<Icon name="plus" /> Add the samples
			</button>
		</section>
	);
}

function NoResults() {
	return (
		<>
			<Empty
				title="No result in this folder yet."
				commands={["strata -collect hotspots -- python3 train.py", "strata import trace.json"]}
			>
				A result appears here while it is collected. Start one with New analysis or on the command line, or put
				a trace of torch.profiler into the folder.
			</Empty>
			<Samples />
		</>
	);
}

/** A project is a folder of the data directory; New analysis can write into it. */
function ProjectName({ close }: { close: () => void }) {
	const [name, setName] = useState("");
	const make = async (event: Event) => {
		event.preventDefault();
		try {
			await act("POST", "/projects", { name: name.trim() });
			await refreshResults();
			update({ params: { project: name.trim() } });
			close();
		} catch (error) {
			toast(problem_of(error).detail || problem_of(error).message);
		}
	};
	return (
		<Dialog title="New project" close={close}>
			<form class="toolbar" onSubmit={make}>
				<input
					class="field"
					type="text"
					aria-label="Name of the project"
					placeholder="Name"
					value={name}
					onInput={(event) => setName(event.currentTarget.value)}
				/>
				<button type="submit" class="button primary" disabled={!name.trim()}>
					Make
				</button>
			</form>
		</Dialog>
	);
}

/** Projects are folders of the data directory; choosing one narrows the list. */
function Projects({ chosen }: { chosen: string }) {
	const list = projectList.value;
	if (!list.length) return null;
	return (
		<select
			class="field"
			aria-label="Project"
			value={chosen}
			onChange={(event) => update({ params: { project: event.currentTarget.value } })}
		>
			<option value="">all projects</option>
			{list.map((name) => (
				<option key={name} value={name}>
					{name}
				</option>
			))}
		</select>
	);
}

export default function Results() {
	const list = resultList.value;
	const [filter, setFilter] = useState("");
	const [dialog, setDialog] = useState<"project" | "import" | null>(null);
	const close = () => setDialog(null);
	const [sort, setSort] = useState<{ key: SortKey; down: boolean }>({ key: "started_at", down: true });
	if (!list)
		return resultError.value ? (
			<Failed error={resultError.value} retry={() => void refreshResults()} />
		) : (
			<div class="skeleton" aria-busy="true" />
		);
	const project = view.value.params.project ?? "";
	const here = project ? list.filter((one) => one.project === project) : list;
	const shown = sort_results(here, sort.key, sort.down, filter);
	return (
		<div class="page">
			<div class="toolbar">
				<h1>Results</h1>
				<input
					class="field"
					type="search"
					aria-label="Filter the results"
					placeholder="Filter"
					value={filter}
					onInput={(event) => setFilter(event.currentTarget.value)}
				/>
				<Projects chosen={project} />
				<div class="spring" />
				<button
					type="button"
					class="button"
					disabled={picked.value.length !== 2}
					data-tip="Pick two results"
					onClick={compare}
				>
					<Icon name="compare" /> Compare
				</button>
				<button
					type="button"
					class="button"
					data-tip="Traces of torch.profiler in the folder"
					onClick={() => setDialog("import")}
				>
					<Icon name="download" /> Import
				</button>
				{list.length > 0 && (
					<button
						type="button"
						class="button"
						data-tip="Two traces that strata has with it, to try the page"
						onClick={() => void addSamples()}
					>
						<Icon name="plus" /> Samples
					</button>
				)}
				<button type="button" class="button" onClick={() => setDialog("project")}>
					<Icon name="plus" /> New project
				</button>
				<button
					type="button"
					class="button primary"
					onClick={() => go("new", { result: "", params: project ? { project } : {} })}
				>
					<Icon name="plus" /> New analysis
				</button>
			</div>
			{dialog === "project" && <ProjectName close={close} />}
			{dialog === "import" && <ImportTraces close={close} />}
			{!list.length && !project && <NoResults />}
			{project && !here.length && (
				<Empty small title={`The project ${project} has no result yet.`}>
					New analysis writes into it.
				</Empty>
			)}
			{here.length > 0 && (
				<table class="plain-table results">
					<thead>
						<tr>
							<th scope="col">
								<span class="hidden-text">Pick</span>
							</th>
							{HEADS.map((head) => (
								<th
									key={head.key}
									scope="col"
									class={head.number ? "number" : ""}
									aria-sort={
										sort.key === head.key ? (sort.down ? "descending" : "ascending") : undefined
									}
								>
									<button
										type="button"
										class="link"
										onClick={() =>
											setSort({
												key: head.key,
												down: sort.key === head.key ? !sort.down : Boolean(head.number),
											})
										}
									>
										{head.title}
										{sort.key === head.key && (
											<span aria-hidden="true">{sort.down ? " ▾" : " ▴"}</span>
										)}
									</button>
								</th>
							))}
							<th scope="col">
								<span class="hidden-text">More</span>
							</th>
						</tr>
					</thead>
					<tbody>
						{shown.map((result) => (
							<ResultRow key={result.id} result={result} />
						))}
					</tbody>
				</table>
			)}
			{here.length > 0 && !shown.length && <Empty small title="No result has these letters." />}
		</div>
	);
}
