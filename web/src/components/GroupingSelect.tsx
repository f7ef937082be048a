// SPDX-License-Identifier: Apache-2.0
//
// Chooses among the groupings of a table; the choice is in the address.
import { update, view } from "../state/view";

export interface NamedLevels {
	title: string;
	levels: string[];
}

export function GroupingSelect({ groupings, levels }: { groupings: NamedLevels[]; levels: string[] }) {
	const known = groupings.some((one) => one.levels.join() === levels.join());
	return (
		<select
			class="field"
			aria-label="Group by"
			value={levels.join()}
			onChange={(event) =>
				update({
					groupBy: event.currentTarget.value.split(","),
					params: { ...view.value.params, sort: "", cols: "" },
				})
			}
		>
			{!known && <option value={levels.join()}>{levels.join(" / ")}</option>}
			{groupings.map((one) => (
				<option key={one.title} value={one.levels.join()}>
					{one.title}
				</option>
			))}
		</select>
	);
}
