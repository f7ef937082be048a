// SPDX-License-Identifier: Apache-2.0
//
// usage: node flamegraph.js FILE FUNCTION PICTURE
// Opens a flame graph, searches for the function, zooms into it and out again; prints what it saw as JSON.
"use strict";

const path = require("path");
const { open_browser, page_errors } = require("./browser.js");

// What a person sees: boxes that are displayed, with their names and where they are.
function visible_boxes() {
	const boxes = [];
	for (const g of document.querySelectorAll("#strata-flames .f")) {
		if (getComputedStyle(g).display === "none")
			continue;
		const at = g.querySelector("rect").getBoundingClientRect();
		boxes.push({
			name: g.querySelector("title").textContent.split("\n")[0],
			title: g.querySelector("title").textContent,
			text: g.querySelector("text").textContent,
			kind: g.getAttribute("class").split(" ")[1],
			x: at.x, y: at.y, width: at.width, height: at.height,
			fill: getComputedStyle(g.querySelector("rect")).fill,
			match: g.classList.contains("match"),
		});
	}
	return boxes;
}

async function look(page) {
	return {
		boxes: await page.evaluate(visible_boxes),
		matched: await page.textContent("#strata-matched"),
		details: await page.textContent("#strata-details"),
		reset: await page.isVisible("#strata-reset"),
		legend: await page.$$eval("#strata-flames .key", (all) => all.map((e) => e.textContent)),
		// The outermost frame and the search field are both in the window.
		in_sight: await page.evaluate(() => ["#strata-flames .f rect", "#strata-search"].map((what) => {
			const at = document.querySelector(what).getBoundingClientRect();
			return at.height > 0 && at.top >= 0 && at.bottom <= window.innerHeight;
		})),
		focused: await page.evaluate(() => document.activeElement && document.activeElement.id),
	};
}

// The widest box of a function, where it can be clicked.
async function click_box(page, name) {
	const boxes = (await page.evaluate(visible_boxes)).filter((box) => box.name.includes(name));
	boxes.sort((a, b) => b.width - a.width);
	const box = boxes[0];
	await page.evaluate((y) => window.scrollTo(0, window.scrollY + y), box.y - 300);
	const now = (await page.evaluate(visible_boxes)).filter((b) => b.title === box.title && b.width === box.width)[0];
	await page.mouse.move(now.x + now.width / 2, now.y + now.height / 2);
	const hovered = await page.textContent("#strata-details");
	await page.mouse.click(now.x + now.width / 2, now.y + now.height / 2);
	return { box, hovered };
}

async function main(file, name, picture) {
	const { browser, page } = await open_browser();
	const seen = {};
	await page.goto("file://" + path.resolve(file));
	seen.first = await look(page);
	await page.screenshot({ path: picture + ".png" });
	await page.keyboard.press("Control+f");
	await page.keyboard.type(name);
	seen.searched = await look(page);
	await page.screenshot({ path: picture + "-search.png" });
	seen.clicked = await click_box(page, name);
	seen.zoomed = await look(page);
	await page.screenshot({ path: picture + "-zoom.png" });
	await page.evaluate(() => window.scrollTo(0, 0));
	await page.click("#strata-reset");
	seen.back = await look(page);
	await page.keyboard.press("Escape");
	seen.cleared = await look(page);
	await browser.close();
	seen.errors = page_errors;
	process.stdout.write(JSON.stringify(seen));
}

main(...process.argv.slice(2)).catch((error) => {
	process.stderr.write(String(error.stack) + "\n");
	process.exit(1);
});
