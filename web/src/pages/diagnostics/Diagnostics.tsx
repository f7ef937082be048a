// SPDX-License-Identifier: Apache-2.0
//
// How good the data is and where it comes from: losses, fall-backs, versions, the run's own facts, exports, keys.
import { useState } from "preact/hooks";
import { exportFile } from "../../api/client";
import { metaInfo } from "../../api/meta";
import { result_path } from "../../api/names";
import { problem_of } from "../../api/problem";
import type { Report } from "../../api/types";
import { useReport } from "../../api/use";
import { CommandLine } from "../../components/Copy";
import { Failed } from "../../components/Empty";
import { KeyTable } from "../../components/Help";
import { Icon } from "../../components/Icon";
import { open_tab, PageTabs } from "../../components/PageTabs";
import { ReportTable } from "../../components/ReportTable";
import { toast } from "../../components/Toast";
import { percent, shellQuote, whole, withUnit } from "../../format";
import { view } from "../../state/view";
import { Log } from "./Log";
import { Recorded } from "./Recorded";
import { Recording } from "./Recording";

const TABS = [
	{ id: "quality", title: "Data quality" },
	{ id: "data", title: "Recorded and missing data" },
	{ id: "recording", title: "How it was recorded" },
	{ id: "log", title: "Log" },
	{ id: "run", title: "The run" },
	{ id: "exports", title: "Exports" },
	{ id: "keys", title: "Keys" },
];

function Quality() {
	const { data, error } = useReport(["quality"], undefined, true);
	if (error) return <Failed error={error} />;
	if (!data) return <div class="skeleton" aria-busy="true" />;
	const losses = (data.quality.losses ?? []) as unknown[];
	return (
		<>
			<p class="muted">Source: {data.source}</p>
			<table class="plain-table quality">
				<thead>
					<tr>
						{data.columns.map((column) => (
							<th
								key={column.key}
								scope="col"
								class={column.key === "count" || column.unit ? "number" : ""}
							>
								{column.title}
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					{data.rows.map((row) => (
						<tr key={String(row.fact)}>
							<td>{String(row.fact)}</td>
							<td class="number">{row.count === undefined ? "" : whole(Number(row.count))}</td>
							<td class="number">
								{row.share_ratio === undefined ? "" : percent(Number(row.share_ratio))}
							</td>
							<td class={`verdict ${row.verdict}`}>{String(row.verdict ?? "")}</td>
						</tr>
					))}
				</tbody>
			</table>
			{[...losses, ...(data.quality.notes ?? [])].map((note) => (
				<p key={JSON.stringify(note)} class="note">
					<Icon name="warn" size={13} /> {typeof note === "string" ? note : JSON.stringify(note)}
				</p>
			))}
			<CommandLine text={shellQuote(["strata", "report", "quality", "-r", result_path(view.value.result)])} />
		</>
	);
}

function fact(name: string, value: unknown): string {
	if (typeof value !== "number") return String(value ?? "");
	if (/_ns$/.test(name)) return withUnit(value, "ns");
	if (/_bytes$/.test(name)) return withUnit(value, "bytes");
	if (/_ratio$/.test(name)) return percent(value);
	return whole(value);
}

function Run() {
	const { data, error } = useReport(["info"], undefined, true);
	if (error) return <Failed error={error} />;
	if (!data) return <div class="skeleton" aria-busy="true" />;
	return (
		<>
			<Sections report={data} />
			<h2>Processes and threads</h2>
			<ReportTable words={["info"]} label="All facts of the run" whole rows={16} prefix="info-" />
		</>
	);
}

function Sections({ report }: { report: Report }) {
	const sections = [...new Set(report.rows.map((row) => String(row.section)))].filter(
		(name) => !/process|thread|module/.test(name),
	);
	return (
		<div class="cards">
			{sections.map((name) => (
				<section key={name} class="card" aria-label={name}>
					<h2>{name.replace(/_bytes$/, "s").replace(/_/g, " ")}</h2>
					<dl class="facts">
						{report.rows
							.filter((row) => row.section === name)
							.map((row) => [
								<dt key={`${row.name} name`}>
									{String(row.name)
										.replace(/_(ns|bytes|ratio)$/, "")
										.replace(/_/g, " ")}
								</dt>,
								<dd key={`${row.name} value`}>
									{fact(name === "file_bytes" ? "_bytes" : String(row.name), row.value)}
								</dd>,
							])}
					</dl>
				</section>
			))}
		</div>
	);
}

function Exports() {
	const [busy, setBusy] = useState("");
	const { result } = view.value;
	const save = async (name: string) => {
		setBusy(name);
		try {
			const file = await exportFile(result, [name]);
			const link = document.createElement("a");
			link.href = URL.createObjectURL(file.blob);
			link.download = file.name;
			link.click();
			URL.revokeObjectURL(link.href);
		} catch (error) {
			toast(problem_of(error).detail || problem_of(error).message);
		}
		setBusy("");
	};
	return (
		<>
			<p class="note" role="note">
				<Icon name="warn" size={13} /> Exported files hold names, paths and source lines of the program.
			</p>
			<table class="plain-table exports">
				<tbody>
					{(metaInfo.value?.exports ?? []).map((format) => (
						<tr key={format.name}>
							<td>
								<button
									type="button"
									class="button"
									disabled={busy !== ""}
									onClick={() => void save(format.name)}
								>
									<Icon name="download" /> {format.name}
								</button>
							</td>
							<td>{format.summary}</td>
							<td>
								<CommandLine
									text={shellQuote([
										"strata",
										"export",
										format.name,
										"-r",
										result_path(result),
										"-o",
										"FILE",
									])}
								/>
							</td>
						</tr>
					))}
				</tbody>
			</table>
		</>
	);
}

export default function Diagnostics() {
	const tab = open_tab(TABS);
	return (
		<div class="page">
			<PageTabs tabs={TABS} label="Diagnostics" />
			<div class="grid-page">
				{tab === "quality" && <Quality />}
				{tab === "data" && <Recorded />}
				{tab === "recording" && <Recording />}
				{tab === "log" && <Log />}
				{tab === "run" && <Run />}
				{tab === "exports" && <Exports />}
				{tab === "keys" && <KeyTable />}
			</div>
			<p class="muted">
				strata {metaInfo.value?.version}, page {STRATA_BUNDLE.slice(0, 12)}
			</p>
		</div>
	);
}
