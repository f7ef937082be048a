// SPDX-License-Identifier: Apache-2.0
//
// One operator: the histogram of its durations, how it goes from step to step, its shapes and types, and the functions
// that do its work. Dragging a band of the histogram lists those calls.
import { useState } from "preact/hooks";
import { ask, report } from "../../api/client";
import { applied_here } from "../../api/meta";
import type { Report } from "../../api/types";
import { useAnswer } from "../../api/use";
import { Empty, Failed } from "../../components/Empty";
import { FunctionTimes } from "../../components/FunctionTimes";
import { type Bin, Histogram } from "../../components/Histogram";
import { NotApplied } from "../../components/NotApplied";
import { bytes, ns, whole } from "../../format";
import { addFilter, filterWord, view } from "../../state/view";
import { BandCalls } from "./BandCalls";
import { OverSteps } from "./OverSteps";

const SAMPLED = "strata -collect hotspots -knob collect-operators=true -- python3 train.py";

interface Durations {
	count: number;
	sum_ns: number;
	median_ns?: number;
	p95_ns?: number;
	/** One more than counts. */
	edges_ns?: number[];
	counts?: number[];
}

function bins_of(answer: Durations) {
	const edges = answer.edges_ns ?? [];
	return (answer.counts ?? []).map((count, i) => ({ from: edges[i] ?? 0, to: edges[i + 1] ?? 0, count }));
}

/** torch takes an operator that only calls another one of its name for one call: why its table has fewer. */
function CountedByTorch({ operator, count }: { operator: string; count: number }) {
	const { result } = view.value;
	const words = [
		"torch-averages",
		"-filter",
		filterWord("operator", operator, true),
		...applied_here("torch-averages").words,
	];
	const { data } = useAnswer(JSON.stringify([result, words]), (signal) => report(result, words, {}, signal));
	const calls = Number(data?.rows[0]?.count ?? count);
	if (!(calls < count)) return null;
	return (
		<p class="muted">
			{whole(count - calls)} of them directly inside another {operator}: key_averages() counts the two as one.
		</p>
	);
}

function DurationChart({ operator }: { operator: string }) {
	const { result } = view.value;
	// Durations are asked of tasks, which operators are.
	const narrowed = applied_here("tasks");
	const words = ["-filter", filterWord("task-type", operator, true), ...narrowed.words];
	const { data, error } = useAnswer(JSON.stringify(["histogram", result, words]), (signal) =>
		ask<Durations>(result, "histogram", { words, bins: 40 }, signal),
	);
	const [band, setBand] = useState<Bin | null>(null);
	if (error) return <Failed error={error} />;
	if (!data) return <div class="skeleton" aria-busy="true" />;
	if (!data.count) return <p class="muted">No call in this range with these filters.</p>;
	return (
		<>
			<NotApplied left={narrowed.left} />
			<p class="muted" data-count={data.count}>
				{whole(data.count)} calls, median {ns(data.median_ns ?? 0)}, P95 {ns(data.p95_ns ?? 0)}
			</p>
			<CountedByTorch operator={operator} count={data.count} />
			<Histogram
				bins={bins_of(data)}
				text={ns}
				label={`Durations of ${operator}`}
				chosen={band}
				choose={setBand}
			/>
			{band ? (
				<BandCalls operator={operator} band={band} close={() => setBand(null)} />
			) : (
				<p class="muted">Drag over bars to list those calls.</p>
			)}
		</>
	);
}

function Shapes({ data, operator }: { data: Report; operator: string }) {
	const shapes = data.rows[0]?.children ?? [];
	const has_memory = shapes.some((shape) => shape.allocated_bytes !== undefined);
	return (
		<table class="plain-table shapes">
			<thead>
				<tr>
					<th scope="col">Input shapes and types</th>
					<th scope="col" class="number">
						Calls
					</th>
					<th scope="col" class="number">
						Self time
					</th>
					<th scope="col" class="number">
						Average
					</th>
					{has_memory && (
						<th scope="col" class="number">
							Allocated
						</th>
					)}
				</tr>
			</thead>
			<tbody>
				{shapes.flatMap((shape) =>
					(shape.children?.length ? shape.children : [shape]).map((row) => (
						<tr key={`${shape.input_shapes} ${row.input_types}`}>
							<td class="mono">
								<button
									type="button"
									class="link"
									data-tip="Keep only these shapes"
									onClick={() =>
										addFilter(filterWord("input-shapes", String(shape.input_shapes), true))
									}
								>
									{String(shape.input_shapes ?? "")}
								</button>{" "}
								<span class="muted">{String(row.input_types ?? "")}</span>
							</td>
							<td class="number">{whole(Number(row.count))}</td>
							<td class="number">{ns(Number(row.wall_self_ns))}</td>
							<td class="number">{ns(Number(row.wall_avg_ns))}</td>
							{has_memory && (
								<td class="number">
									{row.allocated_bytes === undefined ? "" : bytes(Number(row.allocated_bytes))}
								</td>
							)}
						</tr>
					)),
				)}
			</tbody>
			<caption class="hidden-text">Shapes of {operator}</caption>
		</table>
	);
}

export function OperatorDetails({ operator }: { operator: string }) {
	const { result } = view.value;
	const words = [
		"operators",
		"-group-by",
		"operator,input-shapes,input-types",
		"-filter",
		filterWord("operator", operator, true),
		...applied_here("operators").words,
	];
	const { data, error } = useAnswer(JSON.stringify([result, words]), (signal) =>
		report(result, words, { path: [], offset: 0, limit: 50, depth: 3 }, signal),
	);
	return (
		<div class="details-columns">
			<section>
				<h3>Durations</h3>
				<DurationChart key={operator} operator={operator} />
				<OverSteps operator={operator} />
			</section>
			<section>
				<h3>Shapes</h3>
				{error ? (
					<Failed error={error} />
				) : data ? (
					<Shapes data={data} operator={operator} />
				) : (
					<div class="skeleton" aria-busy="true" />
				)}
			</section>
			<section>
				<FunctionTimes
					result={result}
					words={["-filter", filterWord("operator", operator, true), ...applied_here("hotspots").words]}
					title="Functions behind it, by CPU time"
					none={
						<Empty small title="No CPU sample was taken in it." commands={[SAMPLED]}>
							Samples say which native functions do the work of an operator.
						</Empty>
					}
				/>
			</section>
		</div>
	);
}
