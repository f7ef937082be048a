// SPDX-License-Identifier: Apache-2.0
//
// usage: node result_page.js FILE PICTURE
// Opens an exported page from disk, light and dark, sorts a table, looks into the flame graph; prints what it saw as JSON.
"use strict";

const { open_browser, page_errors } = require("./browser.js");

async function look(page) {
	return page.evaluate(() => ({
		sections: [...document.querySelectorAll("section")].map((s) => [s.id, s.textContent.trim().length]),
		tables: [...document.querySelectorAll("table")].map((t) => ({
			heads: [...t.tHead.rows[0].cells].map((c) => c.textContent),
			rows: [...t.tBodies[0].rows].map((r) => [...r.cells].map((c) => c.dataset.v)),
		})),
		boxes: [...document.querySelectorAll("#timeline svg title")].map((t) => t.textContent),
		names: [...document.querySelectorAll("#timeline .name")].map((n) => n.textContent),
		colours: [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor],
		overflows: document.documentElement.scrollWidth > window.innerWidth,
		left: [...document.querySelectorAll(".left")].map((p) => p.textContent),
	}));
}

async function main(file, picture) {
	const { browser, page } = await open_browser();
	const requests = [];
	page.on("request", (request) => requests.push(request.url()));
	page.on("console", (message) => message.type() === "error" && page_errors.push(message.text()));
	await page.setViewportSize({ width: 1280, height: 720 });
	await page.goto("file://" + file);
	const light = await look(page);
	await page.locator("th button").first().click();
	const sorted = await look(page);
	await page.screenshot({ path: picture, fullPage: true });
	const frame = page.frames().find((f) => f !== page.mainFrame());
	const flames = frame ? await frame.$$eval(".f", (all) => all.length) : 0;
	await page.emulateMedia({ colorScheme: "dark" });
	const dark = await look(page);
	const dark_flames = frame ? await frame.$eval("#strata-flames", (svg) => [getComputedStyle(svg).backgroundColor, getComputedStyle(svg.querySelector(".title")).fill, getComputedStyle(svg.querySelector(".f text")).fill]) : [];
	if (frame) await page.locator("iframe").scrollIntoViewIfNeeded();
	await page.screenshot({ path: picture.replace(/\.png$/, "-dark.png") });
	await browser.close();
	process.stdout.write(JSON.stringify({ light, sorted, dark, flames, dark_flames, requests, errors: page_errors }));
}

main(process.argv[2], process.argv[3]).catch((error) => {
	process.stderr.write(String(error.stack || error) + "\n");
	process.exit(1);
});
