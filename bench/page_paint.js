// SPDX-License-Identifier: Apache-2.0
//
// How fast the timeline of the page is drawn in Chromium: node page_paint.js URL [DENSE]. URL is what strata serve
// printed, of a folder with one result. Prints one JSON object: milliseconds from opening the page to the first picture
// that lacks nothing, and the times of frames while the view moves, zooms and scrolls.
"use strict";

const path = require("path");
const modules = path.join(__dirname, "../tests/web/node_modules");
const { chromium } = require(path.join(modules, "playwright-core"));

const SIZE = { width: 1920, height: 1080 };
const FRAMES = 90;

/** In the page: the view changes before every refresh of the screen, as when a key is held. Frames whose tiles are still
 * on their way count as well: on a busy machine they are many, and cheaper than complete ones. */
async function frames_of([kind, count]) {
	const { model, picture } = window.strataTimeline;
	const whole = model.durationNs;
	const times = [];
	const gaps = [];
	const tell = picture.onFrame;
	picture.onFrame = () => {
		times.push({ ...picture.last });
		tell();
	};
	const steps = {
		pan: (i) => model.setWindow({ startNs: (whole * (20 + i * 0.2)) / 100, endNs: (whole * (40 + i * 0.2)) / 100 }),
		zoom: (i) => {
			const half = (whole / 2) * 0.92 ** i;
			model.setWindow({ startNs: whole / 2 - half, endNs: whole / 2 + half });
		},
		scroll: (i) => {
			model.scrollTop.value = Math.min(i * 40, model.rowsHeight);
		},
	};
	let before = 0;
	for (let i = 0; i < count; i++) {
		const now = await new Promise(requestAnimationFrame);
		if (before) gaps.push(now - before);
		before = now;
		steps[kind](i);
	}
	picture.onFrame = tell;
	model.setWindow({ startNs: 0, endNs: whole });
	model.scrollTop.value = 0;
	return { times, gaps };
}

function at_share(values, share) {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

/** The first picture with everything in sight, seen from inside: no word of the driver lies between. */
function first_picture() {
	return new Promise((done) => {
		const look = () => {
			const { model, picture } = window.strataTimeline || {};
			if (model && picture.placed.length && model.cache.size && !model.loader.waiting && picture.last.totalMs) done(performance.now());
			else requestAnimationFrame(look);
		};
		look();
	});
}

/** What the browser did on its threads meanwhile: events with their wall time (dur) and CPU time (tdur), in microseconds. */
async function traced(browser, run) {
	const session = await browser.newBrowserCDPSession();
	const events = [];
	session.on("Tracing.dataCollected", ({ value }) => {
		for (const event of value) events.push(event);
	});
	const ended = new Promise((done) => session.once("Tracing.tracingComplete", done));
	await session.send("Tracing.start", {
		transferMode: "ReportEvents",
		traceConfig: { includedCategories: ["devtools.timeline", "disabled-by-default-devtools.timeline", "v8"], recordMode: "recordAsMuchAsPossible" },
	});
	const result = await run();
	await session.send("Tracing.end");
	await ended;
	await session.detach();
	return { result, events };
}

/** Of every frame, all of its task on the main thread: callbacks, styles, layout and what it records for the screen. */
function cpu_of_frames(events) {
	const whole = (one) => one.ph === "X" && one.tdur !== undefined;
	const tasks = events.filter((one) => whole(one) && one.name === "RunTask");
	const calls = events.filter((one) => whole(one) && one.name === "FireAnimationFrame");
	const garbage = events.filter((one) => whole(one) && /^(Minor|Major)GC$/.test(one.name));
	const has = (task, one) => one.tid === task.tid && one.ts >= task.ts && one.ts < task.ts + task.dur;
	const frames = tasks.filter((task) => calls.some((one) => has(task, one)));
	const in_ms = (list) => list.reduce((sum, one) => sum + one.tdur, 0) / 1000;
	return {
		cpu: frames.map((one) => one.tdur / 1000),
		garbage: frames.map((task) => in_ms(garbage.filter((one) => has(task, one)))),
	};
}

async function main() {
	const [url, dense] = process.argv.slice(2);
	const browser = await chromium.launch({
		executablePath: process.env.STRATA_TEST_CHROMIUM || "/usr/bin/chromium",
		args: ["--no-sandbox"],
	});
	const page = await (await browser.newContext({ viewport: SIZE })).newPage();
	await page.goto(url);
	await page.locator(".rail").waitFor();
	const origin = new URL(url).origin;
	const id = await page.evaluate(async () => (await (await fetch("/api/v1/results")).json()).results[0].id);
	const open = async () => {
		await page.goto(`${origin}/r/${id}/timeline${dense ? "?dense=1" : ""}`);
		return page.evaluate(first_picture);
	};
	const first_ever = await open(); // its worker starts and indexes
	const first = [];
	for (let i = 0; i < 3; i++) first.push(await open());
	const told = { first_ever_ms: first_ever, first_ms: first, rows: await page.evaluate(() => window.strataTimeline.picture.placed.length) };
	told.all_rows = await page.evaluate(() => window.strataTimeline.model.rows.length);
	// CPU time of the page's main thread, in seconds: what other programs do at the same time is not in it.
	const inspector = await page.context().newCDPSession(page);
	await inspector.send("Performance.enable", { timeDomain: "threadTicks" });
	const cpu = async () => (await inspector.send("Performance.getMetrics")).metrics.find((one) => one.name === "TaskDuration").value;
	for (const kind of ["pan", "zoom", "scroll"]) {
		await page.evaluate(first_picture);
		const before = await cpu();
		const { times, gaps } = await page.evaluate(frames_of, [kind, FRAMES]);
		const spent = (await cpu()) - before;
		await page.evaluate(first_picture);
		const { events } = await traced(browser, () => page.evaluate(frames_of, [kind, FRAMES]));
		const frames = cpu_of_frames(events);
		const totals = times.map((one) => one.totalMs);
		told[kind] = {
			frames: times.length,
			main_thread_ms: (spent * 1000) / times.length,
			median_ms: at_share(totals, 0.5),
			p95_ms: at_share(totals, 0.95),
			longest_ms: Math.max(...totals),
			// Another run, traced: CPU time of each frame, which other programs do not lengthen.
			traced_frames: frames.cpu.length,
			cpu_median_ms: at_share(frames.cpu, 0.5),
			cpu_p95_ms: at_share(frames.cpu, 0.95),
			cpu_longest_ms: Math.max(...frames.cpu),
			garbage_longest_ms: Math.max(...frames.garbage),
			paint_median_ms: at_share(times.map((one) => one.paintMs), 0.5),
			text_median_ms: at_share(times.map((one) => one.textMs), 0.5),
			gap_median_ms: at_share(gaps, 0.5),
			gap_p95_ms: at_share(gaps, 0.95),
		};
	}
	await browser.close();
	console.log(JSON.stringify(told, null, 1));
}

main();
