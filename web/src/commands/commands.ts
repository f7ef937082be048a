// SPDX-License-Identifier: Apache-2.0
//
// Everything that a key or the palette can do. Help and palette are made from this list, so that they cannot be wrong.
import { signal } from "@preact/signals";
import { chord } from "./keys";

export interface Command {
	id: string;
	title: string;
	/** Chords as in keys.ts; none: only in the palette. */
	keys?: string[];
	/** The heading in help: "Everywhere", "Timeline", ... */
	scope: string;
	run: () => void;
	/** Also while a field has focus. Never for a single key. */
	inFields?: boolean;
}

export const commands = signal<Command[]>([]);
/** Someone who dictates or uses a screen reader can switch single keys off. */
export const singleKeys = signal(read_setting());

function read_setting(): boolean {
	try {
		return localStorage.getItem("strata.single-keys") !== "off";
	} catch {
		return true;
	}
}

export function setSingleKeys(on: boolean): void {
	singleKeys.value = on;
	try {
		localStorage.setItem("strata.single-keys", on ? "on" : "off");
	} catch {
		// A browser without storage forgets the switch.
	}
}

/** The newest command of a chord wins: a page's before the shell's. Returns how to take it away again. */
export function register(...list: Command[]): () => void {
	commands.value = [...commands.value, ...list];
	return () => {
		commands.value = commands.value.filter((one) => !list.includes(one));
	};
}

export function find(keys: string): Command | undefined {
	const list = commands.value;
	for (let i = list.length - 1; i >= 0; i--) if (list[i]?.keys?.includes(keys)) return list[i];
	return undefined;
}

export function takes_text(target: EventTarget | null): boolean {
	if (!(target instanceof HTMLElement)) return false;
	if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
		return true;
	return target instanceof HTMLInputElement && !/^(checkbox|radio|button|range)$/.test(target.type);
}

export function is_single(keys: string): boolean {
	return !/(Ctrl|Alt)\+/.test(keys);
}

/** Whether a command of these keys may run now. */
export function allowed(command: Command, keys: string, in_field: boolean, single_keys: boolean): boolean {
	if (in_field) return Boolean(command.inFields) && !is_single(keys);
	return single_keys || !is_single(keys);
}

export function listen(): void {
	window.addEventListener("keydown", (event) => {
		if (event.defaultPrevented || event.isComposing) return;
		const keys = chord(event);
		const command = find(keys);
		if (!command || !allowed(command, keys, takes_text(event.target), singleKeys.value)) return;
		event.preventDefault();
		command.run();
	});
}
