// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's memory over time, and what held it at its peak. A drag over the curve narrows the view to that time.
import { applied_here } from "../../api/meta";
import { useReport } from "../../api/use";
import { Empty, Failed } from "../../components/Empty";
import { LineChart } from "../../components/LineChart";
import { NotApplied } from "../../components/NotApplied";
import { ReportTable } from "../../components/ReportTable";
import { bytes } from "../../format";
import { setRange, updateParams, view } from "../../state/view";

const NONE = (
	<Empty
		title="No memory was recorded."
		commands={["strata -collect operators -knob operator-memory=true -- python3 train.py"]}
	>
		Allocations of PyTorch are recorded with its operators when they are asked for.
	</Empty>
);

function nothing_held(): string {
	const { range, filters } = view.value;
	const of = range ? "Nothing was held at the peak of this range" : "Nothing was held at the peak";
	return filters.length ? `${of} with these filters.` : `${of}.`;
}

export default function Memory() {
	const { data, error, retry } = useReport(["memory-timeline", "-report-knob", "bin-count=300"]);
	if (error) return <Failed error={error} retry={retry} />;
	if (!data) return <div class="skeleton" aria-busy="true" />;
	const rows = data.rows;
	if (!rows.length) return NONE;
	const by = view.value.params.by ?? "nn-module,operator";
	return (
		<div class="page filled">
			<div class="toolbar">
				<h1>Memory</h1>
				<span class="muted">{data.subject}</span>
			</div>
			<NotApplied left={applied_here("memory-timeline").left} what="chart" />
			<LineChart
				label="Memory held by PyTorch over time"
				x={rows.map((row) => [Number(row.start_ns), Number(row.end_ns)])}
				low={rows.map((row) => Number(row.held_end_bytes ?? 0))}
				high={rows.map((row) => Number(row.peak_bytes ?? 0))}
				text={bytes}
				choose={(from, to) => setRange([from, to])}
			/>
			<div class="column grid-page">
				<ReportTable
					words={["memory", "-group-by", by]}
					label="What held memory at its peak"
					tools={
						<select
							class="field"
							aria-label="Group by"
							value={by}
							onChange={(event) => updateParams({ by: event.currentTarget.value, cols: "", sort: "" })}
						>
							<option value="nn-module,operator">Module and operator</option>
							<option value="operator">Operator</option>
							<option value="operator,python-line">Operator and line</option>
							<option value="step,operator">Step and operator</option>
							<option value="thread,operator">Thread and operator</option>
						</select>
					}
					empty={() => <Empty small title={nothing_held()} />}
				/>
			</div>
		</div>
	);
}
