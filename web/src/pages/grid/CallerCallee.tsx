// SPDX-License-Identifier: Apache-2.0
//
// Functions on the left; callers and callees of the chosen one on the right, from the gprof report's block of it.
import { useMemo } from "preact/hooks";
import type { Row } from "../../api/types";
import { useReport } from "../../api/use";
import { Failed } from "../../components/Empty";
import { NoSamples } from "../../components/NoRows";
import { ReportTable } from "../../components/ReportTable";
import { ns } from "../../format";
import { update, view } from "../../state/view";

function Part({ title, rows, choose }: { title: string; rows: Row[]; choose: (name: string) => void }) {
	return (
		<section>
			<h2>{title}</h2>
			{!rows.length && <p class="muted">none</p>}
			<table class="plain-table">
				<thead>
					<tr>
						<th scope="col">Function</th>
						<th scope="col" class="number">
							Self
						</th>
						<th scope="col" class="number">
							Children
						</th>
					</tr>
				</thead>
				<tbody>
					{rows.map((row) => (
						<tr key={String(row.name)}>
							<td>
								<button type="button" class="link" onClick={() => choose(String(row.name).trim())}>
									{String(row.name).trim()}
								</button>
							</td>
							<td class="number">{ns(Number(row.cpu_self_ns ?? 0))}</td>
							<td class="number">{ns(Number(row.cpu_children_ns ?? 0))}</td>
						</tr>
					))}
				</tbody>
			</table>
		</section>
	);
}

export function CallerCallee() {
	const chosen = view.value.selection?.value ?? "";
	const { data, error } = useReport(["gprof-cc"]);
	const block = useMemo(() => {
		const own = data?.rows.find((row) => row.role === "function" && String(row.name).trim() === chosen);
		return own ? (data?.rows.filter((row) => row.block === own.block) ?? []) : [];
	}, [data, chosen]);
	const choose = (name: string) => update({ selection: { kind: "function", value: name } });
	return (
		<div class="side-by-side grid-page">
			<div class="column">
				<ReportTable
					words={["hotspots", "-group-by", "function"]}
					label="Functions"
					keys
					empty={(report) => <NoSamples said={report.empty} />}
				/>
			</div>
			<aside class="pane wide" aria-label="Callers and callees">
				{error ? <Failed error={error} /> : null}
				{!block.length && !error && (
					<p class="muted">Select a function to see who calls it and whom it calls.</p>
				)}
				{block.length > 0 && (
					<>
						<Part
							title={`Callers of ${chosen}`}
							rows={block.filter((row) => row.role === "caller")}
							choose={choose}
						/>
						<Part title="Callees" rows={block.filter((row) => row.role === "callee")} choose={choose} />
					</>
				)}
			</aside>
		</div>
	);
}
