// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { tokens_of, tokens_of_file } from "./tokens";

const text = (tokens: [string, string][]) => tokens.map((token) => token[1]).join("");
const kinds = (tokens: [string, string][]) => tokens.filter((token) => token[0]).map((token) => token.join(" "));

test("tokens together are the line, whatever it holds", () => {
	for (const line of ["", "   ", "x = 'a", "\\\\", '"""', "/* a", 'é = "ü" # ñ', "0x1f + 1e-3", "@a.b", "*/ int"])
		for (const language of ["python", "c", "asm"] as const)
			assert.equal(text(tokens_of(line, language).tokens), line);
});

test("Python", () => {
	assert.deepEqual(kinds(tokens_of("for i in range(10):  # ten", "python").tokens), [
		"keyword for",
		"keyword in",
		"number 10",
		"comment # ten",
	]);
	const file = tokens_of_file(['"""A text', "of for lines", 'that ends""" if x'], "python");
	assert.deepEqual(file.map(kinds), [['text """A text'], ["text of for lines"], ['text that ends"""', "keyword if"]]);
});

test("C and assembly", () => {
	const file = tokens_of_file(["int a; /* one", "two */ return 'c'; // x"], "c");
	assert.deepEqual(file.map(kinds), [
		["keyword int", "comment /* one"],
		["comment two */", "keyword return", "text 'c'", "comment // x"],
	]);
	assert.deepEqual(kinds(tokens_of("mov rax, 0x10", "asm").tokens), ["keyword mov", "name rax", "number 0x10"]);
});
