// SPDX-License-Identifier: Apache-2.0
//
// What can be done with one event: look only at it or without it, everywhere; find it in the grid; open its lines.
import { type MenuItem, openMenu } from "../../components/Menu";
import { toast } from "../../components/Toast";
import type { Box } from "../../paint/hit";
import { addFilter, filterWord, go, openLine, setRange, view } from "../../state/view";
import { linesOf } from "./lines";
import type { Timeline } from "./model";
import { rangeOf, reveal } from "./moves";

/** Under which grouping a name is filtered: operators have one of their own. */
export function groupingOf(category: string): string {
	if (category === "op") return "operator";
	return category === "nn-module" ? "nn-module" : "task-type";
}

/** The line that started it where that was recorded, else the Python line in which its name spent most time. */
export async function openSource(timeline: Timeline, box: Box): Promise<void> {
	const details = await timeline.select(timeline.refOf(box));
	const started = details?.python_line;
	if (typeof started === "string" && started) return openLine(started);
	const name = details?.name ?? timeline.labels.name(box.label);
	const rows = await linesOf(timeline.data.result, name).catch(() => []);
	const [first] = rows;
	if (first) openLine(first.place);
	else toast(`No line of ${name} is known: it was not sampled in a Python function`);
}

export function eventMenu(timeline: Timeline, box: Box, at: { x: number; y: number }): void {
	const name = timeline.labels.name(box.label);
	const category = timeline.categories.find((one) => one.id === box.category)?.name ?? "task";
	const grouping = groupingOf(category);
	const thread = timeline.trackOf(box.track);
	const ref = timeline.refOf(box);
	const items: MenuItem[] = [
		{ title: `Show only “${name}”`, run: () => addFilter(filterWord(grouping, name, true)) },
		{ title: `Leave out “${name}”`, run: () => addFilter(filterWord(grouping, name, false)) },
		{
			title: "Limit to the time of this event",
			separated: true,
			run: () =>
				void timeline.select(ref).then((details) => {
					if (!details) return;
					setRange(rangeOf(details));
					reveal(timeline, details);
				}),
		},
		{
			title: "Show in the grid",
			run: () =>
				go("grid", {
					groupBy: view.value.groupBy.length ? view.value.groupBy : [grouping, "function"],
					selection: { kind: "label", value: name },
				}),
		},
		{ title: "Open its source lines", run: () => void openSource(timeline, box) },
	];
	if (thread) {
		items.push({
			title: `Pin ${thread.title}`,
			separated: true,
			run: () => timeline.choose({ pinned: [...timeline.choices.pinned, thread.id] }),
		});
		items.push({
			title: `Hide ${thread.title}`,
			run: () => timeline.choose({ hidden: [...timeline.choices.hidden, thread.id] }),
		});
	}
	openMenu(at, items, name || "Event");
}
