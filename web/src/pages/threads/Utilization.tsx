// SPDX-License-Identifier: Apache-2.0
//
// How long how many CPUs did effective work at the same time.
import { useReport } from "../../api/use";
import { Failed } from "../../components/Empty";
import { NoSamples } from "../../components/NoRows";
import { ns, percent } from "../../format";

export function Utilization({ small = false }: { small?: boolean }) {
	const { data, error } = useReport(["utilization"], undefined, true);
	if (error) return <Failed error={error} />;
	if (!data) return <div class="skeleton" aria-busy="true" />;
	if (!data.rows.length) return <NoSamples said={data.empty} small={small} />;
	return (
		<>
			{!small && (
				<p class="muted">How long how many CPUs did effective work at the same time, of the whole run.</p>
			)}
			<table class={small ? "plain-table top" : "plain-table utilization"}>
				<thead>
					<tr>
						<th scope="col">Simultaneous CPUs</th>
						<th scope="col" class="number">
							Elapsed
						</th>
						<th scope="col" class="number">
							Share
						</th>
						{!small && (
							<th scope="col" class="number">
								Effective Time
							</th>
						)}
						{!small && <th scope="col">Level</th>}
					</tr>
				</thead>
				<tbody>
					{data.rows.map((row) => (
						<tr key={String(row.cpus)}>
							<td>
								{String(row.cpus)}
								{small && <span class="muted"> {String(row.level)}</span>}
							</td>
							<td class="number">{ns(Number(row.elapsed_ns))}</td>
							<td class="number share">
								<span class="cell-bar" style={{ width: `${Number(row.share_ratio) * 100}%` }} />
								<span class="cell-value">{percent(Number(row.share_ratio))}</span>
							</td>
							{!small && <td class="number">{ns(Number(row.effective_ns))}</td>}
							{!small && <td>{String(row.level)}</td>}
						</tr>
					))}
				</tbody>
			</table>
			{data.subject && <p class="muted">{data.subject}</p>}
		</>
	);
}
