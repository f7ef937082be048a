// SPDX-License-Identifier: Apache-2.0
//
// What the page says where there is little to show: filters that leave nothing, a run too short to be sampled, a
// collection that was killed.
"use strict";

const { must, run_cases, same, settled, until } = require("./page_run.js");

const NARROWED = "Nothing in this range with these filters.";
const EMPTIES = ["threads", "threads?tab=utilization", "grid", "grid?mode=callers", "flame", "source"];

/** Everything that the page says in place of what it has not. */
async function said(page) {
	await page.locator(".empty").first().waitFor();
	await settled(page);
	return page.locator(".empty").allInnerTexts();
}

const cases = {
	async filters_that_leave_nothing({ page, go, context }) {
		const asked = { threads: "thread=nosuch", "grid?mode=callers": "function=nosuch", grid: "function=nosuch", flame: "function=nosuch", source: "function=nosuch" };
		for (const [path, filter] of Object.entries(asked)) {
			await go(`/r/${context.hot}/${path}${path.includes("?") ? "&" : "?"}f=${encodeURIComponent(filter)}`);
			const texts = await said(page);
			must(texts.length === 1 && texts[0].startsWith(NARROWED), `${path}: ${texts}`);
			same(await page.locator(".command-line", { hasText: "-collect" }).count(), 0, `advice on ${path} to record what was recorded`);
		}
		await go(`/r/${context.tasks}/threads?tab=tasks&f=${encodeURIComponent("task-type=nosuch")}`);
		must((await said(page))[0].startsWith(NARROWED), "tasks");
	},

	async run_that_was_too_short({ page, go, context }) {
		for (const path of EMPTIES) {
			await go(`/r/${context.short}/${path}`);
			const [text] = await said(page);
			must(text.includes("less CPU time than one sampling interval"), `${path}: ${text}`);
			await page.locator(".command-line", { hasText: "-collect hotspots -knob sampling-interval=1 -- /bin/true" }).first().waitFor();
		}
	},

	/** Filters do not make a result of tasks one of samples. */
	async samples_that_were_not_recorded({ page, go, context }) {
		for (const path of ["threads", "flame", "grid?mode=callers"]) {
			await go(`/r/${context.tasks}/${path}${path.includes("?") ? "&" : "?"}f=${encodeURIComponent("function=nosuch")}`);
			must((await said(page))[0].startsWith("No CPU samples in this result."), path);
		}
	},

	async tab_that_is_not_there({ page, go, context }) {
		await go(`/r/${context.hot}/threads?tab=bogus`);
		await page.locator('.tree-grid[aria-label="Threads by CPU time"] .grid-row').first().waitFor();
		await page.getByRole("tab", { name: "CPU time", selected: true }).waitFor();
	},

	async collection_that_was_killed({ page, go, context }) {
		await go("/");
		await page.locator(`[data-result="${context.killed}"] .state`, { hasText: "strata was killed" }).waitFor();
		await go(`/r/${context.killed}/summary`);
		await page.getByRole("note").filter({ hasText: "strata was killed while it recorded" }).waitFor();
		await go(`/r/${context.hot}/summary`);
		await page.getByRole("region", { name: "Top hotspots" }).waitFor();
		same(await page.getByRole("note").filter({ hasText: "killed" }).count(), 0, "of one that is whole");
	},

	async summary_with_a_filter_that_it_cannot_take({ page, go, context }) {
		await go(`/r/${context.tasks}/summary?range=1-90000000000&f=${encodeURIComponent("module!=libgomp*")}`);
		await settled(page);
		const notes = await page.getByRole("note").allInnerTexts();
		same(notes.length, 1, `notes: ${notes}`);
		must(/everything else is of the range .*, and not narrowed by module ≠ libgomp\*/.test(notes[0]), notes[0]);
		const links = await page.getByRole("region", { name: /^Top tasks/ }).locator("a").evaluateAll((all) => all.map((one) => one.href));
		must(links.length > 0 && links.every((link) => link.includes("range=") && !link.includes("libgomp")), `links: ${links}`);
	},

	async rows_of_waits_say_which({ page, go, context }) {
		await go(`/r/${context.waits}/timeline`);
		const names = page.locator(".tl-name.kind-waits .tl-title");
		await names.first().waitFor();
		await until(page, () => document.querySelectorAll(".tl-name.kind-waits").length > 1);
		for (const name of await names.allInnerTexts()) must(/^waits(: |\n)\S/.test(name), `a row is called ${name}`);
	},
};

// No source file has samples with these filters: the server says so with 404.
cases.filters_that_leave_nothing.expects = /404/;

run_cases(cases);
