// SPDX-License-Identifier: Apache-2.0
//
// The traces of the data directory: each can be opened as it is, or become a result, which can be compared and renamed.
import { useState } from "preact/hooks";
import { metaInfo } from "../../api/meta";
import { result_path } from "../../api/names";
import type { ResultInfo } from "../../api/types";
import { resultList } from "../../api/use";
import { CommandLine } from "../../components/Copy";
import { Dialog } from "../../components/Dialog";
import { Icon } from "../../components/Icon";
import { bytes, shellQuote } from "../../format";
import { openResult } from "../../state/view";
import { importTrace } from "./bring";

export function ImportTraces({ close }: { close: () => void }) {
	const traces = (resultList.value ?? []).filter((one) => one.kind === "trace");
	const [busy, setBusy] = useState("");
	const bring = async (trace: ResultInfo) => {
		setBusy(trace.id);
		const id = await importTrace(trace);
		setBusy("");
		if (!id) return;
		close();
		openResult(id);
	};
	return (
		<Dialog title="Import a trace" close={close}>
			<p class="dialog-text">
				Traces of torch.profiler (*.pt.trace.json, also .gz) in {metaInfo.value?.data_directory ?? "the folder"}{" "}
				open like results. Imported, they become results: they can be compared, renamed and asked on the command
				line.
			</p>
			{traces.length > 0 ? (
				<table class="plain-table import-list">
					<tbody>
						{traces.map((trace) => (
							<tr key={trace.id}>
								<td>
									{trace.project && <span class="muted">{trace.project} / </span>}
									{trace.name}
								</td>
								<td class="number">{bytes(trace.size_bytes)}</td>
								<td>
									<button
										type="button"
										class="button"
										disabled={busy !== ""}
										aria-label={`Import ${trace.name}`}
										onClick={() => void bring(trace)}
									>
										<Icon name="download" /> {busy === trace.id ? "Importing" : "Import"}
									</button>
								</td>
							</tr>
						))}
					</tbody>
				</table>
			) : (
				<p class="dialog-text">There is none in the folder now. Put one there, and it is listed at once.</p>
			)}
			<CommandLine
				text={shellQuote(["strata", "import", traces[0] ? result_path(traces[0].id) : "trace.json"])}
			/>
		</Dialog>
	);
}
