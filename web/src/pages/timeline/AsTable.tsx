// SPDX-License-Identifier: Apache-2.0
//
// What is in sight as a table, for those who do not see the picture.
import { Dialog } from "../../components/Dialog";
import { exact, ns, whole } from "../../format";
import { FLAG_MERGED } from "../../paint/tile";
import type { Timeline } from "./model";
import { selectAndReveal } from "./moves";
import type { Picture } from "./picture";

const MOST = 500;

export function AsTable({ model, picture, close }: { model: Timeline; picture: Picture; close: () => void }) {
	const boxes = picture.boxesInSight(MOST).sort((a, b) => a.startNs - b.startNs || a.lane - b.lane);
	return (
		<Dialog title="Events in sight" close={close}>
			<div class="tl-as-table">
				<table class="tl-table">
					<thead>
						<tr>
							<th>Name</th>
							<th>Row</th>
							<th class="number">Begin</th>
							<th class="number">Duration</th>
							<th class="number">Events</th>
						</tr>
					</thead>
					<tbody>
						{boxes.map((box) => (
							<tr key={`${box.track} ${box.lane} ${box.event}`}>
								<th scope="row">
									<button
										type="button"
										class="link"
										onClick={() => {
											const event = model.refOf(box);
											close();
											void selectAndReveal(model, event.kind, event.row);
										}}
									>
										{model.labels.name(box.label) || "…"}
									</button>
								</th>
								<td>{model.trackOf(box.track)?.title}</td>
								<td class="number" data-tip={exact(box.startNs, "ns")}>
									{ns(box.startNs)}
								</td>
								<td class="number">{ns(box.endNs - box.startNs)}</td>
								<td class="number">{box.flags & FLAG_MERGED ? whole(box.count) : 1}</td>
							</tr>
						))}
					</tbody>
				</table>
				{boxes.length >= MOST && <p class="muted">The first {MOST}; zoom in for others.</p>}
			</div>
		</Dialog>
	);
}
