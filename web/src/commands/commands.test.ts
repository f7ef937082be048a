// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { allowed, type Command, find, register } from "./commands";
import { chord, chordText } from "./keys";

const event = { code: "KeyM", ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };
const command = (id: string, keys: string[], more: Partial<Command> = {}): Command => ({
	id,
	title: id,
	keys,
	scope: "Test",
	run: () => undefined,
	...more,
});

test("chords name keys by place, Command is Ctrl", () => {
	assert.equal(chord(event), "KeyM");
	assert.equal(chord({ ...event, shiftKey: true }), "Shift+KeyM");
	assert.equal(chord({ ...event, metaKey: true, shiftKey: true }), "Ctrl+Shift+KeyM");
	assert.equal(chordText("Ctrl+Shift+KeyP"), "Ctrl Shift P");
	assert.equal(chordText("Shift+Slash"), "?");
	assert.equal(chordText("BracketLeft"), "[");
});

test("the newest command has the key, until it goes", () => {
	const off_first = register(command("first", ["KeyF"]));
	const off_second = register(command("second", ["KeyF"]));
	assert.equal(find("KeyF")?.id, "second");
	off_second();
	assert.equal(find("KeyF")?.id, "first");
	off_first();
	assert.equal(find("KeyF"), undefined);
});

test("no single key acts while text is typed, nor when they are off", () => {
	const single = command("s", ["KeyF"], { inFields: true });
	const chorded = command("c", ["Ctrl+KeyP"], { inFields: true });
	assert.equal(allowed(single, "KeyF", true, true), false);
	assert.equal(allowed(chorded, "Ctrl+KeyP", true, true), true);
	assert.equal(allowed(command("d", ["Ctrl+KeyA"]), "Ctrl+KeyA", true, true), false);
	assert.equal(allowed(single, "KeyF", false, false), false);
	assert.equal(allowed(chorded, "Ctrl+KeyP", false, false), true);
});
