// SPDX-License-Identifier: Apache-2.0
//
// Parts of a whole that add up to it: one bar and its legend with the figures, so that no colour is needed to read it.
import { exact, percent, withUnit } from "../format";

export interface Part {
	name: string;
	value: number;
	ratio: number;
	/** Index into the category colours. */
	colour: number;
}

export function StackedBar({
	parts,
	unit,
	label,
	total,
}: {
	parts: Part[];
	unit: string;
	label: string;
	total?: string;
}) {
	return (
		<figure class="stacked" aria-label={label}>
			<div class="stacked-bar" aria-hidden="true">
				{parts
					.filter((part) => part.ratio > 0)
					.map((part) => (
						<span
							key={part.name}
							class={`cat-${part.colour}`}
							style={{ flexGrow: part.ratio }}
							data-tip={`${part.name}: ${withUnit(part.value, unit)}, ${percent(part.ratio)}`}
						/>
					))}
			</div>
			<table class="legend">
				<tbody>
					{parts.map((part) => (
						<tr key={part.name}>
							<th scope="row">
								<i class={`swatch cat-${part.colour}`} /> {part.name}
							</th>
							<td class="number" data-tip={exact(part.value, unit)}>
								{withUnit(part.value, unit)}
							</td>
							<td class="number">{percent(part.ratio)}</td>
						</tr>
					))}
				</tbody>
				{total && (
					<tfoot>
						<tr>
							<th scope="row">sum</th>
							<td class="number" colSpan={2}>
								{total}
							</td>
						</tr>
					</tfoot>
				)}
			</table>
		</figure>
	);
}
