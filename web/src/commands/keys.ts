// SPDX-License-Identifier: Apache-2.0
//
// Keys by their place on the keyboard ("KeyW", "Shift+KeyM", "Ctrl+KeyP"), so that WASD is a cross on every layout.

export interface KeyLike {
	code: string;
	ctrlKey: boolean;
	metaKey: boolean;
	altKey: boolean;
	shiftKey: boolean;
}

/** Ctrl and Command are the same modifier. */
export function chord(event: KeyLike): string {
	const parts: string[] = [];
	if (event.ctrlKey || event.metaKey) parts.push("Ctrl");
	if (event.altKey) parts.push("Alt");
	if (event.shiftKey) parts.push("Shift");
	parts.push(event.code);
	return parts.join("+");
}

const NAMES: Record<string, string> = {
	Slash: "/",
	Period: ".",
	Comma: ",",
	BracketLeft: "[",
	BracketRight: "]",
	ArrowUp: "↑",
	ArrowDown: "↓",
	ArrowLeft: "←",
	ArrowRight: "→",
	Escape: "Esc",
	NumpadMultiply: "*",
	Minus: "-",
	Equal: "=",
	Backquote: "`",
	Semicolon: ";",
	Quote: "'",
};

let layout: ReadonlyMap<string, string> = new Map();

/** The letters that are on the reader's keys, where the browser tells. */
export async function learn_layout(): Promise<void> {
	const keyboard = (navigator as { keyboard?: { getLayoutMap(): Promise<ReadonlyMap<string, string>> } }).keyboard;
	try {
		if (keyboard) layout = await keyboard.getLayoutMap();
	} catch {
		// Refused in some frames: the letters of a US keyboard are shown.
	}
}

/** How a chord is written in help: "Shift M", "?". */
export function chordText(keys: string): string {
	if (keys === "Shift+Slash" && !layout.size) return "?";
	const parts = keys.split("+");
	const code = parts.pop() ?? "";
	const letter = layout.get(code) ?? NAMES[code] ?? code.replace(/^(Key|Digit)/, "");
	return [...parts, letter.length === 1 ? letter.toUpperCase() : letter].join(" ");
}
