// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { marksText, parseMarks } from "./marks";

test("the address holds marks with their notes", () => {
	const marks = [
		{ ns: 12, kept: true, note: "50 % done. why ~ so slow?" },
		{ ns: 0, kept: false, note: "" },
		{ ns: 9007199254740991, kept: true, note: "" },
	];
	assert.deepEqual(parseMarks(marksText(marks)), marks);
	assert.equal(marksText(marks.slice(1)), "0~9007199254740991k");
});

test("an address that makes no sense has no marks", () => {
	assert.deepEqual(parseMarks("~x~12q~-3~5.%zz"), []);
	assert.deepEqual(parseMarks(undefined), []);
});
