// SPDX-License-Identifier: Apache-2.0
import { ns, whole } from "../../format";
import { FLAG_FROM_LEFT, FLAG_MERGED, FLAG_TO_RIGHT, FLAG_UNFINISHED } from "../../paint/tile";
import type { Timeline } from "./model";

/** What is under the pointer, in a few words; the drawer has the rest. */
export function HoverCard({ model }: { model: Timeline }) {
	const hover = model.hover.value;
	if (!hover) return null;
	void model.named.value;
	const { box } = hover;
	const label = model.labels.get(box.label);
	const many = (box.flags & FLAG_MERGED) !== 0;
	const cut = (box.flags & (FLAG_FROM_LEFT | FLAG_TO_RIGHT)) !== 0;
	const right = hover.x > model.width - 280;
	const low = hover.y > model.height - 90;
	return (
		<div
			class="tl-hover"
			style={{
				[right ? "right" : "left"]: `${right ? model.width - hover.x + 12 : hover.x + 14}px`,
				[low ? "bottom" : "top"]: `${low ? model.height - hover.y + 10 : hover.y + 16}px`,
			}}
		>
			<strong>{label?.name ?? "…"}</strong>
			{label?.domain && <span class="muted"> {label.domain}</span>}
			<div>
				{many ? (
					<>
						{whole(box.count)} events in {ns(box.endNs - box.startNs)}, busy{" "}
						{Math.round((box.busy / 255) * 100)} %
					</>
				) : (
					<>
						{cut ? "at least " : ""}
						{ns(box.endNs - box.startNs)} at {ns(box.startNs)}
					</>
				)}
			</div>
			{(box.flags & FLAG_UNFINISHED) !== 0 && <div class="bad">its end or begin was not recorded</div>}
		</div>
	);
}
