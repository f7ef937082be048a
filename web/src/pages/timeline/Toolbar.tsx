// SPDX-License-Identifier: Apache-2.0
import { Icon } from "../../components/Icon";
import { openMenu } from "../../components/Menu";
import { ns } from "../../format";
import type { Timeline } from "./model";
import { commitRange, showAll, zoomBy } from "./moves";

export function Toolbar({ model }: { model: Timeline }) {
	const { startNs, endNs } = model.window.value;
	const preview = model.preview.value;
	void model.laidOut.value;
	const { choices } = model;
	const hidden = (event: MouseEvent) =>
		openMenu(
			event.currentTarget as Element,
			[
				...choices.hidden.map((id) => ({
					title: `Show ${model.trackOf(id)?.title ?? id}`,
					run: () => model.choose({ hidden: choices.hidden.filter((one) => one !== id) }),
				})),
				{ title: "Show all rows", separated: true, run: () => model.choose({ hidden: [] }) },
			],
			"Hidden rows",
		);
	return (
		<div class="tl-tools">
			<label class="tl-find">
				<Icon name="search" size={13} />
				<input
					id="tl-find"
					type="search"
					placeholder="Find rows"
					aria-label="Find rows"
					value={choices.find}
					onInput={(event) => model.choose({ find: (event.currentTarget as HTMLInputElement).value })}
				/>
			</label>
			{choices.hidden.length > 0 && (
				<button type="button" class="button" onClick={hidden}>
					{choices.hidden.length} hidden
				</button>
			)}
			<button
				type="button"
				class="button"
				aria-pressed={choices.dense}
				onClick={() => model.choose({ dense: !choices.dense })}
			>
				Low rows
			</button>
			<div class="spring" />
			{preview && (
				<button type="button" class="button primary" id="tl-commit" onClick={() => commitRange(model)}>
					Limit to {ns(preview[1] - preview[0])} <kbd>R</kbd>
				</button>
			)}
			<span class="tl-window number" id="tl-window">
				{ns(startNs)} + {ns(endNs - startNs)}
			</span>
			<button
				type="button"
				class="icon-button"
				aria-label="Zoom in"
				data-tip="Zoom in: W"
				onClick={() => zoomBy(model, 0.5)}
			>
				<Icon name="plus" />
			</button>
			<button
				type="button"
				class="icon-button"
				aria-label="Zoom out"
				data-tip="Zoom out: S"
				onClick={() => zoomBy(model, 2)}
			>
				<b aria-hidden="true">−</b>
			</button>
			<button type="button" class="button" data-tip="Show everything: 0" onClick={() => showAll(model)}>
				All
			</button>
		</div>
	);
}
