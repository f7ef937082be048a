// SPDX-License-Identifier: Apache-2.0
//
// The painter's pictures, pixel by pixel, as letters: "." is the background, a letter a colour.
import assert from "node:assert/strict";
import test from "node:test";
import { type BoxStyle, fillRect, type LaneRow, MARGIN, makeFrame, paintRows, strengthOf } from "./boxes";
import type { Piece } from "./cache";
import { encodeTiles, type MadeBox, wholeTile } from "./made_tiles";
import { abgr, contrast, DARK_TEXT, LIGHT_TEXT, makePalette, SHADES, STRENGTHS, shadeOfName } from "./palette";
import type { BoxTile } from "./tile";
import { decodeTiles, FLAG_LOST, FLAG_MERGED, FLAG_TO_RIGHT, FLAG_UNFINISHED, type ValueTile } from "./tile";
import { paintValues } from "./values";

const BACKGROUND = abgr(255, 255, 255);
const OUTLINE = abgr(1, 2, 3);
const STRIPE = abgr(9, 9, 9);
const HUES = [abgr(230, 159, 0), abgr(0, 114, 178)];
const palette = makePalette((category) => HUES[category % 2]!, BACKGROUND, OUTLINE, STRIPE);
const style: BoxStyle = { palette, shades: new Uint8Array([2, 2, 2, 2]), found: null, outlined: -1 };

function letterOf(pixel: number): string {
	if (pixel === BACKGROUND) return ".";
	if (pixel === OUTLINE) return "#";
	if (pixel === STRIPE) return "!";
	for (const category of [0, 1])
		for (let strength = STRENGTHS - 1; strength > 0; strength--)
			if (palette.colours[(category * SHADES + 2) * STRENGTHS + strength] === pixel)
				return strength === STRENGTHS - 1 ? "AB"[category]! : strength.toString(17)[0]!;
	return "?";
}

function picture(boxes: MadeBox[], more: Partial<LaneRow> = {}, how: Partial<BoxStyle> = {}, height = 8): string[] {
	const frame = makeFrame(16, height);
	fillRect(frame, -MARGIN, height + 2 * MARGIN, BACKGROUND);
	const tile = wholeTile(boxes, 1600);
	const piece: Piece<BoxTile> = { tile, fromNs: tile.startNs, toNs: tile.endNs };
	const row: LaneRow = {
		y: 0,
		laneHeight: 7,
		laneStep: 8,
		lanes: 4,
		background: BACKGROUND,
		pieces: [piece],
		...more,
	};
	paintRows(frame, { startNs: 0, endNs: 1600 }, [row], { ...style, ...how });
	return Array.from({ length: height }, (_, y) =>
		Array.from({ length: 16 }, (_, x) => letterOf(frame.pixels[(y + MARGIN) * 16 + x]!)).join(""),
	);
}

test("a gap of one pixel lies between boxes that touch", () => {
	const boxes = [
		{ startNs: 0, endNs: 800, lane: 0 },
		{ startNs: 800, endNs: 1600, lane: 0, category: 1 },
	];
	assert.deepEqual(picture(boxes), [...Array(7).fill("AAAAAAA.BBBBBBB."), "................"]);
});

test("a box that goes on in the next tile has no gap", () => {
	const boxes = [{ startNs: 0, endNs: 800, lane: 0, flags: FLAG_TO_RIGHT }];
	assert.equal(picture(boxes)[0], "AAAAAAAA........");
});

test("lanes lie below one another, partly visible ones are cut", () => {
	const boxes = [
		{ startNs: 0, endNs: 1600, lane: 0 },
		{ startNs: 400, endNs: 800, lane: 1, category: 1 },
	];
	const seen = picture(boxes, { y: -4 });
	assert.deepEqual(seen, [
		...Array(3).fill("AAAAAAAAAAAAAAA."),
		"................",
		...Array(4).fill("....BBB........."),
	]);
});

test("several events in one box are hatched, as strong as they are busy", () => {
	const busy = picture([{ startNs: 0, endNs: 800, lane: 0, count: 9, flags: FLAG_MERGED }]);
	assert.deepEqual(busy.slice(0, 7), [
		"AAAAAAA.........",
		"bAAAbAA.........",
		"AAAbAAA.........",
		"AAbAAAb.........",
		"AbAAAbA.........",
		"bAAAbAA.........",
		"AAAAAAA.........",
	]);
	const idle = picture([{ startNs: 0, endNs: 800, lane: 0, count: 9, busy: 0, flags: FLAG_MERGED }]);
	assert.equal(idle[0], "5555555.........");
	assert.equal(idle[1], ".555.55.........");
});

test("what is narrower than a pixel is fainter, and the strongest of a pixel stays", () => {
	assert.equal(picture([{ startNs: 210, endNs: 260, lane: 0 }])[0], "..8.............");
	const three = [
		{ startNs: 200, endNs: 210, lane: 0 },
		{ startNs: 210, endNs: 260, lane: 0 },
		{ startNs: 270, endNs: 290, lane: 0 },
	];
	assert.equal(picture(three)[0], "..8.............");
	assert.equal(strengthOf(0, 255, 0), 6);
	assert.equal(strengthOf(FLAG_MERGED, 255, 0.5), 16);
});

test("unfinished and lost parts are marked", () => {
	const cut = picture([{ startNs: 0, endNs: 1600, lane: 0, flags: FLAG_UNFINISHED }]);
	assert.equal(cut[1], "AAAAAAAA.AAA.AA.");
	const lost = picture([{ startNs: 0, endNs: 800, lane: 0, flags: FLAG_LOST }]);
	assert.equal(lost[1], "!AAA!AA.........");
});

test("all boxes of one name get an outline; others fade while something is searched for", () => {
	const boxes = [
		{ startNs: 0, endNs: 800, lane: 0, label: 1 },
		{ startNs: 800, endNs: 1600, lane: 0, label: 3 },
	];
	assert.deepEqual(picture(boxes, {}, { outlined: 3 }), [
		"AAAAAAA.#######.",
		...Array(5).fill("AAAAAAA.#AAAAA#."),
		"AAAAAAA.#######.",
		"................",
	]);
	assert.equal(picture(boxes, {}, { found: new Uint8Array([0, 1, 0, 0]) })[0], "AAAAAAA.3333333.");
});

test("a low lane is drawn without hatch", () => {
	const seen = picture([{ startNs: 0, endNs: 800, lane: 1, flags: FLAG_MERGED }], { laneHeight: 2, laneStep: 3 });
	assert.deepEqual(seen.slice(2, 6), [
		"................",
		"AAAAAAA.........",
		"AAAAAAA.........",
		"................",
	]);
});

test("a curve shows the mean and what it reached", () => {
	const frame = makeFrame(16, 4);
	fillRect(frame, -MARGIN, 4 + 2 * MARGIN, BACKGROUND);
	const tile: ValueTile = {
		kind: "values",
		track: 0,
		index: 0,
		level: 2,
		n: 2,
		startNs: 0,
		endNs: 2048,
		bytes: 0,
		bucket: new Uint16Array([0, 2]),
		min: new Float32Array([0, 0]),
		max: new Float32Array([1, 0.5]),
		mean: new Float32Array([0.5, 0.25]),
	};
	const pieces = [{ tile, fromNs: 0, toNs: 2048 }];
	const row = { y: 0, height: 4, low: 0, high: 1, mean: HUES[0]!, peak: OUTLINE, pieces };
	paintValues(frame, { startNs: 0, endNs: 16 }, row);
	const seen = Array.from({ length: 4 }, (_, y) =>
		Array.from({ length: 16 }, (_, x) => {
			const pixel = frame.pixels[(y + MARGIN) * 16 + x];
			return pixel === BACKGROUND ? "." : pixel === OUTLINE ? "#" : "A";
		}).join(""),
	);
	assert.deepEqual(seen, ["####............", "####............", "AAAA....####....", "AAAA....AAAA...."]);
});

test("numbers in a name do not change its shade, and text can be read on every shade", () => {
	assert.equal(shadeOfName("iteration_7"), shadeOfName("iteration_812"));
	const shades = new Set(["aten::mm", "aten::add", "relu", "conv", "sum", "addmm"].map(shadeOfName));
	assert.ok(shades.size > 2);
	for (let i = 0; i < 200; i++) assert.ok([0, 1, 2, 3, 4].includes(shadeOfName("x".repeat(i))));
	for (let at = 0; at < 2 * SHADES; at++) {
		const colour = palette.colours[at * STRENGTHS + STRENGTHS - 1]!;
		assert.ok(contrast(colour, palette.darkText[at] ? DARK_TEXT : LIGHT_TEXT) >= 4.5);
	}
});

test("an event that goes on in the next tile has no hole where the tiles meet", () => {
	const frame = makeFrame(20, 8);
	fillRect(frame, -MARGIN, 8 + 2 * MARGIN, BACKGROUND);
	const left = decodeTiles(
		encodeTiles([
			{ track: 1, level: 0, index: 0, boxes: [{ startNs: 0, endNs: 512, lane: 0, flags: FLAG_TO_RIGHT }] },
		]),
	)[0] as BoxTile;
	const right = decodeTiles(
		encodeTiles([
			{ track: 1, level: 0, index: 1, boxes: [{ startNs: 512, endNs: 1024, lane: 0, flags: FLAG_TO_RIGHT }] },
		]),
	)[0] as BoxTile;
	for (const endNs of [690, 700, 710, 720, 730]) {
		const pieces = [left, right].map((tile) => ({ tile, fromNs: tile.startNs, toNs: tile.endNs }));
		const row: LaneRow = { y: 0, laneHeight: 7, laneStep: 8, lanes: 1, background: BACKGROUND, pieces };
		paintRows(frame, { startNs: 3, endNs }, [row], style);
		for (let x = 0; x < 20; x++) assert.equal(letterOf(frame.pixels[MARGIN * 20 + x]!), "A", `${endNs} ${x}`);
	}
});
