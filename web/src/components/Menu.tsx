// SPDX-License-Identifier: Apache-2.0
//
// One menu for buttons and right clicks. There is at most one open; the shell draws it.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

export interface MenuItem {
	title: string;
	run?: () => void;
	/** Shown right of the title. */
	hint?: string;
	checked?: boolean;
	disabled?: boolean;
	/** A line above. */
	separated?: boolean;
}

interface Open {
	x: number;
	y: number;
	items: MenuItem[];
	label: string;
	back: Element | null;
}

const open = signal<Open | null>(null);

export function openMenu(at: { x: number; y: number } | Element, items: MenuItem[], label: string): void {
	const box = at instanceof Element ? at.getBoundingClientRect() : null;
	const place = box ? { x: box.left, y: box.bottom + 2 } : (at as { x: number; y: number });
	open.value = { ...place, items, label, back: at instanceof Element ? at : document.activeElement };
}

export function closeMenu(): void {
	const back = open.value?.back;
	open.value = null;
	if (back instanceof HTMLElement) back.focus({ preventScroll: true });
}

export function MenuLayer() {
	const now = open.value;
	const list = useRef<HTMLDivElement>(null);
	useEffect(() => {
		const menu = list.current;
		if (!now || !menu) return;
		const box = menu.getBoundingClientRect();
		menu.style.left = `${Math.max(4, Math.min(now.x, window.innerWidth - box.width - 4))}px`;
		menu.style.top = `${Math.max(4, Math.min(now.y, window.innerHeight - box.height - 4))}px`;
		menu.querySelector<HTMLElement>('[role^="menuitem"]:not([aria-disabled="true"])')?.focus();
		const outside = (event: Event) => {
			if (!menu.contains(event.target as Node)) open.value = null;
		};
		window.addEventListener("pointerdown", outside, true);
		return () => window.removeEventListener("pointerdown", outside, true);
	}, [now]);
	if (!now) return null;
	const keys = (event: KeyboardEvent) => {
		const items = [...(list.current?.querySelectorAll<HTMLElement>('[role^="menuitem"]') ?? [])];
		const at = items.indexOf(document.activeElement as HTMLElement);
		const step = { ArrowDown: 1, ArrowUp: -1, Home: -at, End: items.length - 1 - at }[event.key];
		if (step !== undefined) items[(at + step + items.length) % items.length]?.focus();
		else if (event.key === "Escape" || event.key === "Tab") closeMenu();
		else return;
		event.preventDefault();
		event.stopPropagation();
	};
	const choose = (item: MenuItem) => {
		if (item.disabled) return;
		closeMenu();
		item.run?.();
	};
	return (
		<div class="menu" role="menu" aria-label={now.label} ref={list} onKeyDown={keys}>
			{now.items.map((item) => (
				<button
					key={item.title}
					type="button"
					role={item.checked === undefined ? "menuitem" : "menuitemcheckbox"}
					aria-checked={item.checked}
					aria-disabled={item.disabled}
					class={item.separated ? "separated" : ""}
					tabIndex={-1}
					onClick={() => choose(item)}
				>
					<span>{item.title}</span>
					{item.hint && <kbd>{item.hint}</kbd>}
				</button>
			))}
		</div>
	);
}
