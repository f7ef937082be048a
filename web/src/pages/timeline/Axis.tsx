// SPDX-License-Identifier: Apache-2.0
//
// The times above the rows. Where the whole is long and the window short, the base stands at the left.

import { useEffect, useRef, useState } from "preact/hooks";
import { openMenu } from "../../components/Menu";
import { ns } from "../../format";
import { tickStepNs, ticks, tickText, timeToX } from "../../paint/scale";
import type { Mark } from "./marks";
import type { Timeline } from "./model";

function markMenu(model: Timeline, mark: Mark, at: Element): void {
	openMenu(
		at,
		[
			{
				title: "Write a note …",
				run: () => {
					model.noting.value = mark;
				},
			},
			{
				title: "Take this mark away",
				run: () => model.setMarks(model.marks.value.filter((one) => one !== mark)),
			},
		],
		`Mark at ${ns(mark.ns)}`,
	);
}

export function Axis({ model }: { model: Timeline }) {
	const element = useRef<HTMLDivElement>(null);
	const [width, setWidth] = useState(0);
	useEffect(() => {
		if (!element.current) return;
		const host = element.current;
		const sizes = new ResizeObserver(() => setWidth(host.clientWidth));
		sizes.observe(host);
		return () => sizes.disconnect();
	}, []);
	const window = model.window.value;
	const step = tickStepNs(window, width || 1, 110);
	return (
		<div class="tl-axis" aria-hidden="true">
			<div class="tl-axis-times" ref={element}>
				{width > 0 &&
					ticks(window, width, 110).map((at) => (
						<span key={at} style={{ left: `${timeToX(window, width, at)}px` }}>
							{tickText(at, step)}
						</span>
					))}
				{width > 0 &&
					model.marks.value.map((mark) => (
						<button
							key={mark.ns}
							type="button"
							tabIndex={-1}
							class="tl-mark"
							style={{ left: `${timeToX(window, width, mark.ns)}px` }}
							data-tip={mark.note || ns(mark.ns)}
							onClick={(event) => markMenu(model, mark, event.currentTarget as Element)}
						>
							{mark.kept ? "▼" : "▽"}
							{mark.note && <span class="tl-mark-note">{mark.note}</span>}
						</button>
					))}
			</div>
		</div>
	);
}
