// SPDX-License-Identifier: Apache-2.0
//
// The functions of the flame graph beside it: the same times in numbers, for reading, sorting and those who do not see
// the picture.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { columnFormat, exact, percent } from "../../format";
import { update, view } from "../../state/view";
import { addTransform } from "./Flame";
import { byName, functionOf, type Tree } from "./tree";
import { weight_of } from "./weights";

const MOST = 200;

export function FlameTable({ tree }: { tree: Tree }) {
	const sort = useSignal<"self" | "total">("self");
	const weight = weight_of(view.value.params.weight);
	const all = useMemo(() => byName(tree), [tree]);
	const search = view.value.search.toLowerCase();
	const wanted = view.value.selection?.kind === "function" ? view.value.selection.value : "";
	const is_wanted = (name: string) => wanted !== "" && functionOf(name) === wanted;
	const rows = all
		.filter((one) => !search || one.name.toLowerCase().includes(search))
		.sort((a, b) => b[sort.value] - a[sort.value])
		.filter((one, place) => place < MOST || is_wanted(one.name));
	// One format for both, so that they can be compared: that of the own times, with room for the largest total.
	const { suffix, text } = columnFormat(weight.unit, [
		...all.map((one) => one.self),
		all.reduce((most, one) => Math.max(most, one.total), 0),
	]);
	const whole = Math.max(1, tree.totalNs);
	const partly = weight.id === "cpu" && view.value.params.all !== "1";
	const head = (key: "self" | "total") => (
		<th
			class="number"
			aria-sort={sort.value === key ? "descending" : "none"}
			data-tip={key === "total" && partly ? "Where the function is shown: see All frames" : undefined}
		>
			<button type="button" class="link" onClick={() => (sort.value = key)}>
				{key === "self" ? "Self" : "Total"} {suffix}
			</button>
		</th>
	);
	return (
		<div class="fl-table" tabIndex={-1}>
			<table class="tl-table">
				<thead>
					<tr>
						{head("self")}
						<th class="number">%</th>
						{head("total")}
						<th>{weight.frame}</th>
					</tr>
				</thead>
				<tbody>
					{rows.map((one) => (
						<tr key={one.name} aria-selected={is_wanted(one.name)} data-name={one.name}>
							<td
								class="number"
								data-key="self"
								data-value={one.self}
								data-tip={exact(one.self, weight.unit)}
							>
								{text(one.self)}
							</td>
							<td class="number muted">{percent(one.self / whole)}</td>
							<td
								class="number"
								data-key="total"
								data-value={one.total}
								data-tip={exact(one.total, weight.unit)}
							>
								{text(one.total)}
							</td>
							<th scope="row">
								<button
									type="button"
									class="link"
									data-tip={one.name}
									onClick={() =>
										update(
											{ selection: { kind: "function", value: functionOf(one.name) } },
											"replace",
										)
									}
									onDblClick={() => addTransform("focus", one.name)}
								>
									{one.name}
								</button>
							</th>
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}
