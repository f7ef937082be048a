// SPDX-License-Identifier: Apache-2.0
import { Icon } from "./Icon";

export interface Chip {
	id: string;
	text: string;
	/** For example the share of the time that is left. */
	note?: string;
	tip?: string;
}

export function Chips({ chips, remove, label }: { chips: Chip[]; remove: (id: string) => void; label: string }) {
	if (!chips.length) return null;
	return (
		<ul class="chips" aria-label={label}>
			{chips.map((chip) => (
				<li key={chip.id} class="chip" data-tip={chip.tip}>
					<span class="chip-text">{chip.text}</span>
					{chip.note && <span class="chip-note">{chip.note}</span>}
					<button
						type="button"
						class="icon-button"
						aria-label={`Remove ${chip.text}`}
						onClick={() => remove(chip.id)}
					>
						<Icon name="close" size={12} />
					</button>
				</li>
			))}
		</ul>
	);
}
