// SPDX-License-Identifier: Apache-2.0
import { useReport } from "../../api/use";
import { CopyButton } from "../../components/Copy";
import { Failed } from "../../components/Empty";
import { ViewLink } from "../../components/Link";
import { ns } from "../../format";
import { view_of_command } from "../../state/evidence";
import { view } from "../../state/view";

/** What to change, how much it saves, on which evidence and by which rule. */
export function Findings() {
	const { data, error } = useReport(["findings"], undefined, true);
	if (error) return <Failed error={error} />;
	if (!data) return <div class="skeleton" aria-busy="true" />;
	if (!data.rows.length) return <p class="muted">No rule found something to change in what was recorded.</p>;
	return (
		<>
			{data.subject && <p class="muted">{data.subject}</p>}
			<ol class="findings">
				{data.rows.map((row) => {
					const command = String(row.command ?? "");
					const evidence = view_of_command(command, view.value.result);
					return (
						<li key={`${row.rule} ${row.where}`}>
							<div class="finding-head">
								<strong>{String(row.what)}</strong>
								{Number(row.saving_ns) > 0 && (
									<span class="saving">
										saves {row.saving_low_ns === row.saving_ns ? "about" : "up to"}{" "}
										{ns(Number(row.saving_ns))}
									</span>
								)}
							</div>
							<p>{String(row.remedy)}</p>
							<p class="muted">
								{row.where ? `${row.where} · ` : ""}rule {String(row.rule)}: {String(row.threshold)}
								{evidence && (
									<>
										{" · "}
										<ViewLink to={evidence}>evidence</ViewLink>
									</>
								)}{" "}
								<CopyButton text={command} title={`Copy: ${command}`} />
							</p>
						</li>
					);
				})}
			</ol>
		</>
	);
}
