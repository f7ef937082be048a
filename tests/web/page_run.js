// SPDX-License-Identifier: Apache-2.0
//
// Runs named cases against a server that shows results: node CASES.js URL CONTEXT.json [NAME ...]. Prints one JSON object,
// {name: "ok" or what went wrong}. A console error, an exception or a request to another origin fails the case. With "-"
// for the address the cases log in themselves, to the servers of the context, and may go to several.
"use strict";

const fs = require("fs");
const { chromium } = require("playwright-core");

const SIZE = { width: 1280, height: 720 };
// No case depends on it: only a failure takes so long.
const PATIENCE_MS = Number(process.env.STRATA_TEST_PATIENCE_MS || 60_000);

async function open_page(browser, origin, options = {}) {
	const context = await browser.newContext({ viewport: SIZE, ...options });
	const page = await context.newPage();
	page.setDefaultTimeout(PATIENCE_MS);
	const errors = [];
	page.on("pageerror", (error) => errors.push(String(error)));
	page.on("console", (message) => {
		if (message.type() === "error") errors.push(`${message.text()} ${message.location().url}`);
	});
	page.on("request", (request) => {
		const url = new URL(request.url());
		if (origin && url.origin !== origin && !/^(data|blob):/.test(request.url())) errors.push("asks for " + request.url());
	});
	return { context, page, errors };
}

function must(truth, text) {
	if (!truth) throw new Error(text);
}

function same(is, should, what) {
	const [a, b] = [JSON.stringify(is), JSON.stringify(should)];
	must(a === b, `${what}: ${a} instead of ${b}`);
}

/** The exact value behind a cell, which its tooltip has. */
async function exact_of(cell) {
	const tip = await cell.getAttribute("data-tip");
	const [number] = /-?\d+(\.\d+)?/.exec((tip || "").split("\n")[0].replace(/(?<=\d)[^\d.](?=\d)/g, "")) || [];
	return Number(number);
}

const grid = (page, label) => page.locator(`.tree-grid[aria-label="${label}"]`);
/** The same rows as the command line printed them. */
const rows_of = (report, label, keys, count) => report.rows.slice(0, count).map((row) => ({ label: String(row[label]), ...Object.fromEntries(keys.map((key) => [key, row[key]])) }));

/** Rows of the first table on the page: {label, key: exact value ...}. */
async function table_rows(page, label, keys, count) {
	const all = grid(page, label).locator(".grid-row[data-label]");
	await all.first().waitFor();
	const rows = [];
	for (let i = 0; i < count; i++) {
		const row = all.nth(i);
		const found = { label: await row.getAttribute("data-label") };
		for (const key of keys) found[key] = await exact_of(row.locator(`[data-key="${key}"]`));
		rows.push(found);
	}
	return rows;
}

/** Waits until the page says yes. Asked from outside: the page's own policy forbids what waitForFunction does. */
async function until(page, what, argument) {
	const deadline = Date.now() + PATIENCE_MS;
	while (!(await page.evaluate(what, argument))) {
		must(Date.now() < deadline, `waited in vain for ${what}`);
		await page.waitForTimeout(40);
	}
}

/** Waits until nothing is on its way any more. */
async function settled(page) {
	await until(page, () => !document.querySelector(".skeleton"));
}

const WCAG_AA = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];

async function axe_problems(page, run_only = WCAG_AA) {
	await page.evaluate(fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf-8"));
	const { violations } = await page.evaluate((runOnly) => window.axe.run({ runOnly }), run_only);
	return violations.flatMap((one) => one.nodes.slice(0, 2).map((node) => `${one.id}: ${node.html.slice(0, 160)}: ${node.failureSummary.slice(0, 200)}`));
}

/** Opens the session that all cases share, for the token of the address is good once; fills in the ids of results. */
async function log_in(browser, url, context) {
	const first = await open_page(browser, new URL(url).origin);
	await first.page.goto(url);
	await first.page.locator(".rail").waitFor();
	// The page knows results by ids, the command line by their folders.
	const { results } = await first.page.evaluate(async () => (await fetch("/api/v1/results")).json());
	for (const [key, name] of Object.entries(context.names || {})) context[key] = results.find((one) => one.name === name).id;
	const storageState = await first.context.storageState();
	await first.context.close();
	return storageState;
}

/** A case may name options of its browser context, and the console errors that it provokes: {options, expects}. */
async function run_cases(cases, { switches = [] } = {}) {
	const [url, context_file, ...names] = process.argv.slice(2);
	const context = JSON.parse(fs.readFileSync(context_file, "utf-8"));
	const origin = url === "-" ? "" : new URL(url).origin;
	const browser = await chromium.launch({
		executablePath: process.env.STRATA_TEST_CHROMIUM || "/usr/bin/chromium",
		args: ["--no-sandbox", ...switches],
	});
	const outcome = {};
	const shared = origin ? { storageState: await log_in(browser, url, context) } : {};
	for (const [name, run] of Object.entries(cases)) {
		if (names.length && !names.includes(name)) continue;
		const opened = await open_page(browser, origin, { ...shared, ...run.options });
		const began = Date.now();
		const go = async (path) => {
			await opened.page.goto(origin + path);
			await opened.page.locator("main").waitFor();
		};
		try {
			await run({ ...opened, go, origin, context });
			const unexpected = opened.errors.filter((error) => !run.expects?.test(error));
			must(!unexpected.length, unexpected.join("; "));
			outcome[name] = "ok";
		} catch (error) {
			outcome[name] = String(error.stack || error).slice(0, 1500) + (opened.errors.length ? ` [console: ${opened.errors.join("; ")}]` : "");
			const path = `${process.env.STRATA_TEST_SHOTS}/${name}.png`;
			if (process.env.STRATA_TEST_SHOTS) await opened.page.screenshot({ path }).catch(() => undefined);
		}
		await opened.context.close();
		console.error(`${name}: ${((Date.now() - began) / 1000).toFixed(1)} s`);
	}
	await browser.close();
	console.log(JSON.stringify(outcome, null, 1));
}

module.exports = { axe_problems, exact_of, grid, must, open_page, rows_of, run_cases, same, settled, table_rows, until };
