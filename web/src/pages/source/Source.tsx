// SPDX-License-Identifier: Apache-2.0
//
// Source and assembly side by side, with the time of each line: choosing a line marks its instructions, and back.
import { useEffect, useState } from "preact/hooks";
import { applied_here } from "../../api/meta";
import { result_path } from "../../api/names";
import { problem_of } from "../../api/problem";
import { useReport } from "../../api/use";
import { register } from "../../commands/commands";
import { CommandLine } from "../../components/Copy";
import { Empty, Failed } from "../../components/Empty";
import { Icon } from "../../components/Icon";
import { openMenu } from "../../components/Menu";
import { Narrowed, NoSamplesHere, narrowed_away } from "../../components/NoRows";
import { NotApplied } from "../../components/NotApplied";
import { command_of, copy_items } from "../../components/ReportTable";
import { toast } from "../../components/Toast";
import { ns, shellQuote } from "../../format";
import { go, updateParams, view } from "../../state/view";
import { CodeList, hottest } from "./CodeList";
import { language_of } from "./tokens";

function object_words(): string[] {
	const { file, function: func, module } = view.value.params;
	const words: string[] = [];
	if (file) words.push("-source-object", `source-file=${file}`);
	else if (func) words.push("-source-object", `function=${func}`);
	if (module && !file) words.push("-source-object", `module=${module}`);
	return words;
}

/** The files with the most time, to choose from. */
function Files() {
	const { data } = useReport(["hotspots", "-group-by", "source-file-path", "-sort-desc", "cpu_total_ns"], {
		path: [],
		offset: 0,
		limit: 40,
		depth: 1,
	});
	const files = (data?.rows ?? []).filter(
		(row) => String(row.source_file_path ?? "").startsWith("/") || /\.py/.test(String(row.source_file_path)),
	);
	const show = (event: MouseEvent) =>
		openMenu(
			event.currentTarget as Element,
			files.map((row) => ({
				title: String(row.source_file_path),
				hint: ns(Number(row.cpu_total_ns ?? row.cpu_self_ns ?? 0)),
				run: () => go("source", { params: { file: String(row.source_file_path) } }),
			})),
			"Files",
		);
	return (
		<button type="button" class="button" disabled={!files.length} onClick={show}>
			Files <Icon name="down" size={12} />
		</button>
	);
}

/** The functions of the file that have instructions, for the right side. */
function Functions({ file }: { file: string }) {
	const { data } = useReport(
		["hotspots", "-group-by", "function", "-filter", `source-file-path=*${file.replace(/^.*\//, "")}`],
		{ path: [], offset: 0, limit: 30, depth: 1 },
	);
	const rows = (data?.rows ?? []).filter((row) => row.start_address && Number(row.cpu_self_ns) > 0);
	if (!rows.length)
		return (
			<Empty small title="No machine code of this file was sampled.">
				Python lines run in the interpreter: Bottom-up shows which of its functions they spend their time in.
			</Empty>
		);
	return (
		<>
			<p class="muted">Functions of this file with samples. Choose one to see its instructions.</p>
			<ul class="plain">
				{rows.map((row) => (
					<li key={String(row.function)}>
						<button
							type="button"
							class="link"
							onClick={() =>
								updateParams({ function: String(row.function), module: String(row.module ?? "") })
							}
						>
							{String(row.function)}
						</button>{" "}
						<span class="muted number">{ns(Number(row.cpu_self_ns))}</span>
					</li>
				))}
			</ul>
		</>
	);
}

function Assembly({ line, choose }: { line: number; choose: (line: number) => void }) {
	const { function: func, module } = view.value.params;
	const [at, setAt] = useState(-1);
	const by = view.value.params.asm ?? "";
	const words = [
		"disassembly",
		...(by ? ["-group-by", by] : []),
		"-source-object",
		`function=${func}`,
		...(module ? ["-source-object", `module=${module}`] : []),
	];
	const { data, error } = useReport(func ? words : null);
	if (error) return <Failed error={error} />;
	if (!data) return <div class="skeleton" aria-busy="true" />;
	const linked = new Set<number>();
	const hot = hottest(data)[0] ?? -1;
	data.rows.forEach((row, i) => {
		if (line > 0 && Number(row.line) === line) linked.add(i);
	});
	return (
		<>
			<div class="toolbar">
				<select
					class="field"
					aria-label="Assembly by"
					value={by}
					onChange={(event) => {
						setAt(-1);
						updateParams({ asm: event.currentTarget.value }, "replace");
					}}
				>
					<option value="">Instructions</option>
					<option value="basic-block">Basic blocks</option>
					<option value="source-line">Source lines</option>
				</select>
				<span class="muted subject">{data.subject}</span>
			</div>
			<CodeList
				report={data}
				text="instruction"
				place="address"
				language="asm"
				label="Assembly"
				chosen={at < 0 ? hot : at}
				linked={linked}
				choose={(index) => {
					setAt(index);
					const to = Number(data.rows[index]?.line ?? 0);
					if (to) choose(to);
				}}
			/>
		</>
	);
}

export function split_subject(subject: string): [string, string] {
	const match = /^(.*?)(?:, function .*?)?: (not found.*|not shown.*|differs.*)$/.exec(subject);
	return match ? [match[1]!, `${match[1]} was ${match[2]}`] : [subject, ""];
}

function NoteLine({ text }: { text: string }) {
	return (
		<p class="note" role="note">
			<Icon name="warn" size={13} /> {text}
		</p>
	);
}

/** A file without samples: none at all, none here, or none of that file. */
function NoSource({ error }: { error: unknown }) {
	if (problem_of(error).status !== 404) return <Failed error={error} />;
	return <NoSamplesHere otherwise={narrowed_away("") ? <Narrowed /> : <Failed error={error} />} />;
}

function NoFile() {
	const finalize = shellQuote(["strata", "finalize", "-r", result_path(view.value.result)]);
	return (
		<Empty title="No source to show." commands={[`${finalize} -source-search-dir DIR`]}>
			The file was not found where the program was built.
		</Empty>
	);
}

export default function Source() {
	const { params, result } = view.value;
	const words = ["source", ...object_words()];
	const { data, error } = useReport(words);
	const [at, setAt] = useState(-1);
	const [rank, setRank] = useState(-1);
	const hot = data ? hottest(data) : [];
	useEffect(() => {
		if (!data) return;
		const wanted = Number(params.line ?? 0);
		const index = wanted ? data.rows.findIndex((row) => row.line === wanted) : (hottest(data)[0] ?? 0);
		setAt(index);
		setRank(0);
	}, [data, params.line]);
	const next = (step: number) => {
		if (!hot.length) return toast("No line of this file has samples");
		const to = Math.max(0, Math.min(hot.length - 1, rank + step));
		setRank(to);
		setAt(hot[to]!);
	};
	useEffect(() =>
		register(
			{ id: "source.next", title: "Next hottest line", keys: ["KeyN"], scope: "Source", run: () => next(1) },
			{ id: "source.previous", title: "Hotter line", keys: ["Shift+KeyN"], scope: "Source", run: () => next(-1) },
		),
	);
	const all = [...words, ...applied_here("source").words];
	// "FILE, function NAME: not found; ..." names the file first and then what to do.
	const [file, trouble] = split_subject(data?.subject ?? params.file ?? "");
	const chosen = data?.rows[at];
	return (
		<div class="page filled">
			<div class="toolbar">
				<Files />
				<strong class="file-name" data-tip={file}>
					{file}
				</strong>
				<div class="spring" />
				<button
					type="button"
					class="button"
					disabled={!hot.length}
					data-tip="Next hottest line: N, back: Shift N"
					onClick={() => next(1)}
				>
					Next hottest
				</button>
				<button
					type="button"
					class="button"
					onClick={(event) =>
						openMenu(event.currentTarget, copy_items(result, all, command_of(all, result)), "Copy")
					}
				>
					<Icon name="copy" /> Copy <Icon name="down" size={12} />
				</button>
			</div>
			{trouble && <NoteLine text={trouble} />}
			<NotApplied left={applied_here("source").left} />
			<div class="side-by-side source-page">
				<div class="column">
					{error ? (
						<NoSource error={error} />
					) : !data ? (
						<div class="skeleton" aria-busy="true" />
					) : !data.rows.length ? (
						<NoSamplesHere otherwise={<NoFile />} />
					) : (
						<CodeList
							report={data}
							text="source"
							place="line"
							language={language_of(file)}
							label="Source"
							chosen={at}
							linked={new Set()}
							choose={(index) => {
								setAt(index);
								updateParams({ line: String(data.rows[index]?.line ?? "") }, "replace");
							}}
						/>
					)}
				</div>
				<aside class={params.function ? "pane half" : "pane"} aria-label="Assembly">
					<h2>Assembly</h2>
					{params.function ? (
						<Assembly
							line={Number(chosen?.line ?? 0)}
							choose={(line) => {
								const index = data?.rows.findIndex((row) => row.line === line) ?? -1;
								if (index >= 0) setAt(index);
							}}
						/>
					) : data?.rows.length ? (
						<Functions file={file} />
					) : (
						<CommandLine text={command_of(["disassembly"], result)} />
					)}
				</aside>
			</div>
		</div>
	);
}
