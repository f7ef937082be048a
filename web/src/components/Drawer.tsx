// SPDX-License-Identifier: Apache-2.0
//
// Details at the lower edge: any page puts them there with showDrawer. Its height is kept for the session.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Icon } from "./Icon";

export interface DrawerContent {
	title: string;
	body: ComponentChildren;
}

const content = signal<DrawerContent | null>(null);
const height = signal(260);
const LOWEST = 120;

export function showDrawer(next: DrawerContent): void {
	content.value = next;
}

export function hideDrawer(): void {
	content.value = null;
}

export function drawerIsOpen(): boolean {
	return content.value !== null;
}

function resize(to: number): void {
	height.value = Math.max(LOWEST, Math.min(to, window.innerHeight * 0.7));
}

export function DrawerLayer() {
	const now = content.value;
	if (!now) return null;
	const drag = (event: PointerEvent) => {
		const grip = event.currentTarget as HTMLElement;
		const from = event.clientY;
		const before = height.value;
		grip.setPointerCapture(event.pointerId);
		const move = (moved: PointerEvent) => resize(before + from - moved.clientY);
		grip.addEventListener("pointermove", move);
		grip.addEventListener("pointerup", () => grip.removeEventListener("pointermove", move), { once: true });
	};
	const keys = (event: KeyboardEvent) => {
		if (event.key === "ArrowUp") resize(height.value + 24);
		else if (event.key === "ArrowDown") resize(height.value - 24);
		else return;
		event.preventDefault();
	};
	return (
		<section class="drawer" aria-label={now.title} style={{ height: `${height.value}px` }}>
			<div
				class="drawer-grip"
				role="separator"
				aria-label="Height of the details"
				aria-orientation="horizontal"
				aria-valuenow={Math.round(height.value)}
				tabIndex={0}
				onPointerDown={drag}
				onKeyDown={keys}
			/>
			<header>
				<h2>{now.title}</h2>
				<button type="button" class="icon-button" aria-label="Close the details" onClick={hideDrawer}>
					<Icon name="close" />
				</button>
			</header>
			<div class="drawer-body">{now.body}</div>
		</section>
	);
}
