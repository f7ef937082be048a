// SPDX-License-Identifier: Apache-2.0
//
// Screenshots of the pages, compared with kept ones: node pictures.js URL CONTEXT.json. The results are kept ones too, so
// that every number is the same each time. Letters are drawn a little differently on every machine; a missing panel or
// another layout is not such a difference: averages over squares of pixels are compared, not pixels. With
// STRATA_TEST_RENEW_PICTURES=1 the pictures are written anew; look at them before they are committed.
"use strict";

const fs = require("fs");
const path = require("path");
const { must, run_cases, same, settled, until } = require("./page_run.js");

const KEPT = path.join(__dirname, "kept");
const SHOWN = path.join(__dirname, "../../docs/images"); // the README's
const SQUARE = 8; // pixels
const LEVELS = 20; // of 255: what letters of another machine change in a square
const SHARE = 0.02; // of squares that may differ by more

const OPTIONS = { timezoneId: "UTC", locale: "en-US", reducedMotion: "reduce", colorScheme: "light" };

/** In the browser: the share of squares whose average differs; 1 when the sizes differ. */
async function difference([first, second, square, levels]) {
	const pixels = async (text) => {
		const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
		const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
		const canvas = new OffscreenCanvas(Math.ceil(image.width / square), Math.ceil(image.height / square));
		const context = canvas.getContext("2d");
		context.imageSmoothingQuality = "high";
		context.drawImage(image, 0, 0, canvas.width, canvas.height);
		return context.getImageData(0, 0, canvas.width, canvas.height);
	};
	const [a, b] = [await pixels(first), await pixels(second)];
	if (a.width !== b.width || a.height !== b.height) return 1;
	let differing = 0;
	for (let i = 0; i < a.data.length; i += 4) {
		const away = Math.max(...[0, 1, 2].map((channel) => Math.abs(a.data[i + channel] - b.data[i + channel])));
		if (away > levels) differing++;
	}
	return (differing * 4) / a.data.length;
}

async function compare(page, first, second) {
	const blank = await page.context().newPage();
	const share = await blank.evaluate(difference, [first.toString("base64"), second.toString("base64"), SQUARE, LEVELS]);
	await blank.close();
	return share;
}

async function take(page) {
	await page.mouse.move(0, 0);
	await page.evaluate(() => document.activeElement?.blur());
	await until(page, () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))));
	return page.screenshot({ animations: "disabled" });
}

/** A case that takes the picture of what `show` brings into view. */
function picture(name, show, { folder = KEPT, options = {} } = {}) {
	const run = async (all) => {
		await show(all);
		await settled(all.page);
		same(await all.page.locator(".failed").allInnerTexts(), [], "failures");
		const taken = await take(all.page);
		const file = path.join(folder, `${name}.png`);
		if (process.env.STRATA_TEST_RENEW_PICTURES) fs.writeFileSync(file, taken);
		if (process.env.STRATA_TEST_SHOTS) fs.writeFileSync(path.join(process.env.STRATA_TEST_SHOTS, `${name}.png`), taken);
		const share = await compare(all.page, taken, fs.readFileSync(file));
		console.error(`${name}: ${(share * 100).toFixed(2)} % of squares differ`);
		must(share <= SHARE, `${(share * 100).toFixed(1)} % of ${file} differ`);
	};
	return Object.assign(run, { options: { ...OPTIONS, ...options } });
}

async function timeline_ready(page) {
	await page.locator(".tl-picture").waitFor();
	await until(page, () => {
		const { model, picture: shown } = window.strataTimeline || {};
		if (!model || !shown.placed.length || model.loader.waiting || !model.cache.size) return false;
		return shown.boxesInSight(100000).every((box) => model.labels.name(box.label) !== "");
	});
}

const at = (query) => async ({ go, page, context }) => {
	await go(query(context));
	await page.locator("main").waitFor();
};

async function show_details({ go, page, context }) {
	await go(`/r/${context.trace}/timeline?event=slice:${context.event.row}&w=${context.event.window.join("-")}`);
	await page.locator(".drawer h2", { hasText: context.event.name }).waitFor();
	await timeline_ready(page);
}

const cases = {
	picture_of_summary: picture("summary", at((context) => `/r/${context.trace}/summary`)),
	picture_of_timeline: picture("timeline", async ({ go, page, context }) => {
		await go(`/r/${context.trace}/timeline`);
		await timeline_ready(page);
	}, { folder: SHOWN }),
	picture_of_details_in_the_dark: picture("details-dark", show_details, { options: { colorScheme: "dark" } }),
	picture_of_operators: picture("operators", at((context) => `/r/${context.trace}/operators`)),
	picture_of_grid: picture("grid", async ({ go, page, context }) => {
		await go(`/r/${context.trace}/grid`);
		await page.getByRole("button", { name: "Group tasks" }).click();
		await page.locator(".grid-row[data-label]").first().waitFor();
	}),
	picture_of_memory: picture("memory", at((context) => `/r/${context.trace}/memory`)),
	picture_of_compare: picture("compare", at((context) => `/compare?a=${context.operators}&b=${context.trace}&tab=operators`)),
	picture_of_flame_graph: picture("flame", async ({ go, page, context }) => {
		await go(`/r/${context.trace}/flame?weight=tasks`);
		await until(page, () => window.strataFlame?.shown?.tree.totalNs > 0);
	}),

	// The comparison can fail: one card less, or a rail of another width.
	pictures_without_a_part_are_told_apart: Object.assign(async ({ go, page, context }) => {
		await go(`/r/${context.trace}/summary`);
		await settled(page);
		const whole = await take(page);
		const share_without = async (what, hide) => {
			await page.evaluate(hide);
			const share = await compare(page, whole, await take(page));
			console.error(`without ${what}: ${(share * 100).toFixed(2)} % of squares differ`);
			must(share > SHARE, `a page without ${what} passes: ${(share * 100).toFixed(1)} %`);
			await page.reload();
			await settled(page);
		};
		await share_without("a card", () => (document.querySelectorAll("main .card")[1].style.display = "none"));
		await share_without("its rail", () => (document.querySelector(".rail").style.display = "none"));
		same(await compare(page, whole, await take(page)), 0, "the same page twice");
	}, { options: OPTIONS }),

	// Everything fits into the window of a large screen, and text is not the size of ants.
	looks_right_at_4k: Object.assign(async (all) => {
		const { go, page, context } = all;
		const pages = ["summary", "operators", "grid", "flame", "memory", "threads", "diagnostics"].map((one) => `/r/${context.trace}/${one}`);
		for (const one of ["/", "/new", ...pages, "timeline"]) {
			if (one === "timeline") await show_details(all);
			else await go(one);
			await settled(page);
			const seen = await page.evaluate(() => ({
				wide: document.documentElement.scrollWidth - window.innerWidth,
				outside: [...document.querySelectorAll(".top-bar *, .rail *, .toolbar *, .tl-tools *, h1, h2")]
					.filter((element) => element.getClientRects().length && element.getBoundingClientRect().right > window.innerWidth + 1)
					.map((element) => element.outerHTML.slice(0, 80)),
				size: Number.parseFloat(getComputedStyle(document.querySelector("main")).fontSize),
			}));
			same({ wide: seen.wide, outside: seen.outside }, { wide: 0, outside: [] }, one);
			must(seen.size >= 15, `${one}: letters of ${seen.size} pixels`);
			if (process.env.STRATA_TEST_SHOTS) await page.screenshot({ path: `${process.env.STRATA_TEST_SHOTS}/4k-${one.replace(/^.*\//, "") || "results"}.png` });
		}
	}, { options: { ...OPTIONS, viewport: { width: 3840, height: 2160 } } }),
};

run_cases(cases);
