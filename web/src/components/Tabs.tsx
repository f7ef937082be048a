// SPDX-License-Identifier: Apache-2.0
export interface Tab {
	id: string;
	title: string;
	/** Why it cannot be chosen; it stays, so that nobody looks for it in vain. */
	disabled?: string;
}

export function Tabs({
	tabs,
	chosen,
	choose,
	label,
}: {
	tabs: Tab[];
	chosen: string;
	choose: (id: string) => void;
	label: string;
}) {
	const move = (event: KeyboardEvent) => {
		const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
		if (!step) return;
		event.preventDefault();
		const usable = tabs.filter((tab) => !tab.disabled);
		const at = usable.findIndex((tab) => tab.id === chosen);
		const next = usable[(at + step + usable.length) % usable.length];
		if (!next) return;
		choose(next.id);
		const list = event.currentTarget as HTMLElement;
		requestAnimationFrame(() => list.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
	};
	return (
		<div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
			{tabs.map((tab) => (
				<button
					key={tab.id}
					type="button"
					role="tab"
					aria-selected={tab.id === chosen}
					aria-disabled={Boolean(tab.disabled)}
					data-tip={tab.disabled}
					tabIndex={tab.id === chosen ? 0 : -1}
					onClick={() => !tab.disabled && choose(tab.id)}
				>
					{tab.title}
				</button>
			))}
		</div>
	);
}
