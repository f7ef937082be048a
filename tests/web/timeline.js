// SPDX-License-Identifier: Apache-2.0
//
// What a person does with the timeline beyond the fifteen interactions (interactions.js), and the hands for both.
"use strict";

const { axe_problems, grid, must, same, until } = require("./page_run.js");

async function open({ go, page, context }, query = "", result = context.hs) {
	await go(`/r/${result}/timeline${query}`);
	await page.locator(".tl-picture").waitFor();
	await until(page, () => {
		const { model, picture } = window.strataTimeline || {};
		return model && picture.placed.length > 0 && !model.loader.waiting && model.cache.size > 0;
	});
	await page.locator(".tl-picture").focus();
}

const span = (page) => page.evaluate(() => window.strataTimeline.model.window.value);

/** Where the longest event with this name is in the window of the browser. */
async function place_of(page, name) {
	const found = await page.evaluate((wanted) => {
		const { model, picture } = window.strataTimeline;
		const host = document.querySelector(".tl-picture").getBoundingClientRect();
		const { startNs, endNs } = model.window.value;
		const boxes = picture.boxesInSight(100000).filter((box) => model.labels.name(box.label) === wanted && model.trackOf(box.track).kind === "thread");
		boxes.sort((a, b) => b.endNs - b.startNs - (a.endNs - a.startNs));
		const [box] = boxes;
		if (!box) return null;
		const middle = (Math.max(box.startNs, startNs) + Math.min(box.endNs, endNs)) / 2;
		const x = host.left + ((middle - startNs) / (endNs - startNs)) * host.width;
		return { x, y: host.top + picture.laneTop(box.track, box.lane) + 8 };
	}, name);
	return found;
}

async function show(page, name) {
	await until(page, (wanted) => {
		const { model, picture } = window.strataTimeline;
		return picture.boxesInSight(100000).some((box) => model.labels.name(box.label) === wanted);
	}, name);
	return place_of(page, name);
}

/** The drawer's own figures, by key. */
const drawer = (page) =>
	page.locator(".tl-details [data-value]").evaluateAll((all) => Object.fromEntries(all.map((one) => [one.dataset.key, Number(one.dataset.value)])));

const selected = (page) => page.evaluate(() => window.strataTimeline.model.selected.value);

async function select(page, name) {
	const at = await show(page, name);
	await page.mouse.click(at.x, at.y);
	await page.locator(".drawer h2", { hasText: name }).waitFor();
	return at;
}

const cases = {
	async comma_and_period_go_along_the_track(all) {
		const { page, context } = all;
		await open(all);
		await select(page, context.event.name);
		const from = await selected(page);
		await page.keyboard.press("Period");
		await until(page, (row) => window.strataTimeline.model.selected.value.row !== row, from.row);
		const next = await selected(page);
		must(next.begin_ns >= from.end_ns && next.track === from.track, ". goes on along the track");
		await page.keyboard.press("Comma");
		await until(page, (row) => window.strataTimeline.model.selected.value.row === row, from.row);
	},

	async n_goes_to_the_next_of_the_same_name(all) {
		const { page, context } = all;
		const { name, rows } = context.namesakes;
		await open(all, `?event=slice:${rows[0]}`);
		await page.locator(".drawer h2", { hasText: name }).waitFor();
		for (const [keys, row] of [["KeyN", rows[1]], ["KeyN", rows[2]], ["Shift+KeyN", rows[1]], ["Shift+KeyN", rows[0]]]) {
			await page.keyboard.press(keys);
			await until(page, (wanted) => window.strataTimeline.model.selected.value.row === wanted, row);
			same((await selected(page)).name, name, keys);
		}
		await page.keyboard.press("Shift+KeyN");
		await page.locator(".toast", { hasText: `There is no previous “${name}”.` }).waitFor();
	},

	async source_lines_of_a_box(all) {
		const { page, context } = all;
		const open_lines = async (name) => {
			const at = await show(page, name);
			await page.mouse.click(at.x, at.y, { button: "right" });
			await page.getByRole("menuitem", { name: "Open its source lines" }).click();
			await page.waitForURL(/\/source\?/);
		};
		// Where the line that began the task was recorded: that line.
		const { name, line, source } = context.other.task;
		await open(all, "", context.second);
		await open_lines(name);
		const begun = page.locator(`.code-row.chosen-line[data-line="${line}"]`);
		await begun.waitFor();
		same((await begun.locator(".code-text").innerText()).trim(), source, `line ${line}`);
		// Else the line of the program in which most of its time was spent.
		await open(all);
		await open_lines(context.event.name);
		const chosen = page.locator(".code-row.chosen-line");
		await chosen.waitFor();
		must(context.event_lines.includes(Number(await chosen.getAttribute("data-line"))), `one of the lines ${context.event_lines}`);
	},

	async show_in_the_grid(all) {
		const { page, context } = all;
		await open(all);
		const at = await show(page, context.event.name);
		await page.mouse.click(at.x, at.y, { button: "right" });
		await page.getByRole("menuitem", { name: "Show in the grid" }).click();
		await page.waitForURL(/\/grid\?/);
		await grid(page, "Bottom-up").locator(`.grid-row.selected[data-label="${context.event.name}"]`).waitFor();
		await page.goBack();
		await page.locator(".tl-picture").waitFor();
	},

	async nothing_in_sight_says_where_the_nearest_is(all) {
		const { page, context } = all;
		await open(all, `?w=${context.empty.join("-")}&rows=${encodeURIComponent(context.thread)}`);
		const hint = page.locator(".tl-nothing");
		await hint.waitFor();
		must(/nearest event .* (left|right)/.test(await hint.textContent()), "it says how far");
		await page.keyboard.press("KeyJ");
		await hint.waitFor({ state: "detached" });
	},

	async timeline_passes_axe(all) {
		const { page, context } = all;
		const problems = [];
		for (const colorScheme of ["light", "dark"]) {
			await page.emulateMedia({ colorScheme });
			await open(all);
			await select(page, context.event.name);
			problems.push(...(await axe_problems(page)));
			await page.keyboard.press("KeyT");
			await page.locator(".tl-as-table tbody tr").first().waitFor();
			problems.push(...(await axe_problems(page)));
		}
		must(!problems.length, problems.join("\n"));
	},

	async shown_as_a_table(all) {
		const { page, context } = all;
		await open(all);
		await show(page, context.event.name);
		await page.keyboard.press("KeyT");
		await page.locator(".tl-as-table tbody tr").first().waitFor();
		const names = await page.locator(".tl-as-table tbody th").allTextContents();
		must(names.includes(context.event.name), "the table has the event");
	},
};

module.exports = { cases, drawer, open, place_of, select, selected, show, span };
