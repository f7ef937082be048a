// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { abgr, CATEGORY, categoryColour } from "./theme";

/** Tests run from a folder of their own; npm and test.mjs start them in web/. */
const tokens = readFileSync(`${process.env.STRATA_WEB ?? "."}/src/theme/tokens.css`, "utf-8");

function token(name: string): [number, number] {
	const match = new RegExp(`--${name}: light-dark\\(#([0-9a-f]{6}), #([0-9a-f]{6})\\)`).exec(tokens);
	assert.ok(match, `no token ${name}`);
	return [Number.parseInt(match[1]!, 16), Number.parseInt(match[2]!, 16)];
}

function luminance(rgb: number): number {
	const linear = [rgb >>> 16, (rgb >>> 8) & 0xff, rgb & 0xff].map((value) => {
		const share = value / 255;
		return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
	});
	return 0.2126 * linear[0]! + 0.7152 * linear[1]! + 0.0722 * linear[2]!;
}

function contrast(a: number, b: number): number {
	const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
	return (light + 0.05) / (dark + 0.05);
}

test("painted categories have the colours of the tokens", () => {
	CATEGORY.forEach((pair, index) => {
		assert.deepEqual(pair, token(`cat-${index}`));
	});
	assert.equal(abgr(0x112233), 0xff332211);
	assert.equal(categoryColour(0, "light"), abgr(0x56b4e9));
	assert.equal(categoryColour(8, "dark"), categoryColour(0, "dark"));
});

test("text can be read on every ground, light and dark", () => {
	const grounds = ["bg", "bg-raised", "bg-sunken", "bg-hover", "bg-selected", "bg-overlay"];
	for (const text of ["fg", "fg-muted", "accent", "good", "warn", "bad"])
		for (const ground of grounds)
			for (const which of [0, 1] as const) {
				const ratio = contrast(token(text)[which], token(ground)[which]);
				assert.ok(ratio >= 4.5, `${text} on ${ground} ${which ? "dark" : "light"}: ${ratio.toFixed(2)}`);
			}
});
