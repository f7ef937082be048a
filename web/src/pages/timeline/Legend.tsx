// SPDX-License-Identifier: Apache-2.0
//
// What the colours and the hatch mean: always there, with the categories that the result has.
import { useEffect, useState } from "preact/hooks";
import { legendColour } from "./colours";
import type { Timeline } from "./model";

export function Legend({ model }: { model: Timeline }) {
	const [seen, setSeen] = useState<ReadonlySet<number>>(new Set());
	useEffect(() => {
		const all = new Set<number>();
		return model.onChange(() => {
			const before = all.size;
			for (const id of model.categoriesSeen()) all.add(id);
			if (all.size !== before) setSeen(new Set(all));
		});
	}, [model]);
	const titles = new Map<string, string>();
	for (const category of model.categories)
		if (seen.has(category.id) && !titles.has(category.title))
			titles.set(category.title, legendColour(category.name));
	return (
		<ul class="tl-legend" aria-label="Colours">
			{[...titles].map(([title, colour]) => (
				<li key={title}>
					<i style={{ background: colour }} /> {title}
				</li>
			))}
			<li>
				<i class="hatch" /> several events, strong where busy
			</li>
			{model.tracks.some((track) => track.has_values && track.has_boxes) && (
				<li>
					<i class="cpu" /> CPU use
				</li>
			)}
		</ul>
	);
}
