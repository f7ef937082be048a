// SPDX-License-Identifier: Apache-2.0
//
// The column with the names of the rows in sight, each where its row is drawn; and what can be done with a row.
import type { Signal } from "@preact/signals";
import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { Icon } from "../../components/Icon";
import { openMenu } from "../../components/Menu";
import { whole } from "../../format";
import type { Timeline } from "./model";
import { moveTrack, type Row, rowsBetween } from "./tracks";

function toggle(list: number[], id: number): number[] {
	return list.includes(id) ? list.filter((one) => one !== id) : [...list, id];
}

export function rowMenu(model: Timeline, row: Row, at: Element | { x: number; y: number }): void {
	const { choices, tracks } = model;
	const { id, title } = row.track;
	openMenu(
		at,
		[
			{
				title: choices.pinned.includes(id) ? "Unpin" : "Pin to the top",
				run: () => model.choose({ pinned: toggle(choices.pinned, id) }),
			},
			{ title: "Hide", run: () => model.choose({ hidden: [...choices.hidden, id] }) },
			{
				title: row.folded ? "Unfold" : row.group ? "Fold" : "Make low",
				run: () => model.choose({ folded: toggle(choices.folded, id) }),
			},
			{
				title: "Move up",
				separated: true,
				run: () => model.choose({ order: moveTrack(tracks, choices, id, -1) }),
			},
			{ title: "Move down", run: () => model.choose({ order: moveTrack(tracks, choices, id, 1) }) },
			{ title: "Move to the top", run: () => model.choose({ order: moveTrack(tracks, choices, id, -1e9) }) },
		],
		title,
	);
}

function about(row: Row): string {
	const { track } = row;
	const parts = [track.title, track.subtitle ?? ""];
	if (track.items) parts.push(`${whole(track.items)} events`);
	if (track.samples) parts.push(`${whole(track.samples)} samples`);
	if (track.lost) parts.push(`${whole(track.lost)} lost`);
	return parts.filter(Boolean).join(" · ");
}

/** From here on there is room for a second line. */
const TALL = 40;
/** Several rows of these have the same title, and only the subtitle tells them apart. */
const ALIKE = new Set(["regions", "overlapped", "frames", "timed", "events", "marks", "waits", "holds"]);

function title_of(row: Row): string {
	const { title, subtitle, kind } = row.track;
	return subtitle && row.height < TALL && ALIKE.has(kind) ? `${title}: ${subtitle}` : title;
}

function Name({ model, row, top }: { model: Timeline; row: Row; top: number }) {
	const { id } = row.track;
	const fold = () => model.choose({ folded: toggle(model.choices.folded, id) });
	return (
		<div
			class={`tl-name kind-${row.track.kind}${row.pinned ? " pinned" : ""}`}
			style={{ top: `${top}px`, height: `${row.height}px`, paddingLeft: `${6 + row.depth * 12}px` }}
			data-track={id}
			onContextMenu={(event) => {
				event.preventDefault();
				rowMenu(model, row, { x: event.clientX, y: event.clientY });
			}}
		>
			<button
				type="button"
				class="icon-button tl-fold"
				aria-label={row.folded ? `Unfold ${row.track.title}` : `Fold ${row.track.title}`}
				aria-expanded={!row.folded}
				onClick={fold}
			>
				<Icon name={row.folded ? "right" : "down"} size={11} />
			</button>
			<span class="tl-title" data-tip={about(row)}>
				<span>{title_of(row)}</span>
				{row.track.subtitle && row.height >= TALL && <small>{row.track.subtitle}</small>}
			</span>
			{row.track.lost ? (
				<span class="tl-lost" data-tip={`${whole(row.track.lost)} events were lost here`}>
					<Icon name="warn" size={12} />
				</span>
			) : null}
			<button
				type="button"
				class="icon-button tl-more"
				aria-label={`More about ${row.track.title}`}
				onClick={(event) => rowMenu(model, row, event.currentTarget as Element)}
			>
				<Icon name="more" size={13} />
			</button>
		</div>
	);
}

/** Made anew when rows or their height change. Scrolling moves what is there and makes what comes into sight: a row that is
 * given again as it was is not looked at. */
export function Names({ model, height: shown }: { model: Timeline; height: Signal<number> }) {
	void model.laidOut.value;
	const made = useRef(new Map<Row, VNode>());
	const height = shown.value;
	const scroll = model.scrollTop.value;
	const { pinnedHeight } = model;
	const seen = rowsBetween(model.rows, scroll, scroll + Math.max(0, height - pinnedHeight));
	const pinned = model.pinned.filter((row) => row.y + row.height <= pinnedHeight + 1);
	const kept = new Map<Row, VNode>();
	for (const row of seen)
		kept.set(row, made.current.get(row) ?? <Name key={row.track.id} model={model} row={row} top={row.y} />);
	made.current = kept;
	return (
		<div class="tl-names">
			<div class="tl-names-rows" style={{ top: `${pinnedHeight}px` }}>
				<div class="tl-names-moved" style={{ transform: `translateY(${-scroll}px)` }}>
					{[...kept.values()]}
				</div>
			</div>
			{pinned.map((row) => (
				<Name key={`p${row.track.id}`} model={model} row={row} top={row.y} />
			))}
		</div>
	);
}
