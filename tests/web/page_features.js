// SPDX-License-Identifier: Apache-2.0
//
// What the page offers beside its tables: samples, imports, projects, the log, search over everything, durations.
"use strict";

const { axe_problems, exact_of, grid, must, rows_of, run_cases, same, table_rows, until } = require("./page_run.js");

const SAMPLES = ["training-after.pt.trace.json.gz", "training-before.pt.trace.json.gz"];
const results = (page) => page.evaluate(async () => (await fetch("/api/v1/results")).json());
const button = (page, name) => page.getByRole("button", { name, exact: true });
const names = async (page) => (await results(page)).results.map((one) => one.name).sort();
const settled = (page) => until(page, () => !document.querySelector(".skeleton"));
const value = async (page, name) => (await results(page)).results.find((one) => one.name === name);


async function find(page, text) {
	await page.keyboard.press("Control+KeyK");
	await page.getByRole("combobox", { name: "Command" }).and(page.locator(":focus")).waitFor();
	await page.keyboard.type(text);
}

const option = (page, kind, title) => page.locator(`[role="option"][data-kind="${kind}"]`).filter({ hasText: title });

/** From one share of the width to another. */
async function drag(page, what, from, to) {
	const box = await what.boundingBox();
	await page.mouse.move(box.x + box.width * from, box.y + box.height / 2);
	await page.mouse.down();
	await page.mouse.move(box.x + (box.width * (from + to)) / 2, box.y + box.height / 2);
	await page.mouse.move(box.x + box.width * to, box.y + box.height / 2);
	await page.mouse.up();
}

const cases = {
	async samples_in_an_empty_folder({ page, go }) {
		await go("/");
		await page.getByText("No result in this folder yet.").waitFor();
		same(await axe_problems(page), [], "axe on the empty list");
		await button(page, "Add the samples").click();
		await page.getByRole("link", { name: SAMPLES[1] }).waitFor();
		same(await names(page), SAMPLES, "samples in the folder");
		await page.getByRole("link", { name: SAMPLES[1] }).click();
		await page.getByRole("heading", { name: "Operators" }).first().waitFor();
		await settled(page);
		must((await page.locator("main").innerText()).includes("aten::mm"), "the sample has no aten::mm");
	},

	async samples_that_are_there_stay({ page, go }) {
		await go("/");
		const before = await names(page);
		await button(page, "Samples").click();
		await page.getByText("2 samples are in the project samples").waitFor();
		same(await names(page), before, "the list after a second time");
	},

	async traces_are_imported_to_be_compared({ page, go }) {
		await go("/");
		for (const name of SAMPLES) await page.getByRole("checkbox", { name: `Pick ${name} to compare` }).check();
		await button(page, "Compare").click();
		await page.getByText("Traces must be imported before they can be compared.").waitFor();
		await button(page, "Import and compare").click();
		const grid = page.locator('.tree-grid[aria-label="What changed"]');
		await grid.locator(".grid-row[data-label]").first().waitFor();
		const made = await results(page);
		same(
			made.results.filter((one) => one.kind === "result" && one.project === "samples").map((one) => `${one.project}/${one.name} ${one.state}`).sort(),
			["samples/training-after finished", "samples/training-before finished"],
			"results made of the traces",
		);
		const own = page.url();
		for (const one of made.results) must(one.kind === "result" || !own.includes(one.id), "the address still has a trace");
	},

	async import_from_the_list({ page, go }) {
		await go("/");
		await button(page, "Import").click();
		await button(page, `Import ${SAMPLES[0]}`).click();
		await page.getByRole("heading", { name: "Operators" }).first().waitFor();
		// The name is taken by the import before: the new one gets a number.
		must(await value(page, "training-after-2"), `no training-after-2 in ${await names(page)}`);
	},

	async project_narrows_the_list({ page, go }) {
		await go("/");
		await button(page, "New project").click();
		await page.getByRole("textbox", { name: "Name of the project" }).fill("nightly runs");
		await button(page, "Make").click();
		await page.getByText("The project nightly runs has no result yet.").waitFor();
		same(await page.locator("tr[data-result]").count(), 0, "results of a new project");
		await button(page, "New analysis").click();
		await page.getByRole("heading", { name: "New analysis" }).waitFor();
		same(await page.getByLabel("Project").inputValue(), "nightly runs", "the project of a new analysis");
		await go("/?project=samples");
		same(await page.getByLabel("Project").inputValue(), "samples", "the project in the address");
		const tops = await page.locator("main .toolbar button").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
		same(new Set(tops).size, 1, "lines of buttons");
		const { results: all } = await results(page);
		same(await page.locator("tr[data-result]").count(), all.filter((one) => one.project === "samples").length, "results of samples");
	},

	async log_of_the_collection({ page, go, context }) {
		await go(`/r/${context.hs}/diagnostics?tab=log`);
		const log = page.getByRole("region", { name: "Log of the collection" });
		await log.waitFor();
		same(await log.textContent(), context.log, "the log");
		same(await axe_problems(page), [], "axe on the log");
		await go(`/r/${context.hs}/diagnostics?tab=recording`);
		const sampled = page.getByRole("region", { name: "CPU samples" });
		await sampled.getByRole("cell", { name: context.sampler.rung, exact: true }).waitFor();
		same(await axe_problems(page), [], "axe on how it was recorded");
		// One that was imported says that it has none, or what it has.
		const trace = await value(page, SAMPLES[0]);
		await go(`/r/${trace.id}/diagnostics?tab=log`);
		await until(page, () => document.querySelector(".log") || /no log/.test(document.querySelector("main").innerText));
	},

	async search_finds_functions_lines_and_threads({ page, go, context }) {
		await go(`/r/${context.hs}/summary`);
		await find(page, context.function.toUpperCase());
		await option(page, "Function", context.function).click();
		await page.waitForURL(/\/grid\?.*g=function/);
		await page.locator(`.grid-row.selected[data-label="${context.function}"]`).waitFor();
		await find(page, context.thread);
		await option(page, "Thread", context.thread).click();
		await page.waitForURL(/\/threads/);
		await find(page, context.line);
		await option(page, "Source line", context.line).first().click();
		await page.waitForURL(new RegExp(`/source\\?.*line=${context.line.split(":")[1]}`));
		await page.getByRole("row", { selected: true }).first().waitFor();
	},

	async search_finds_operators_tasks_and_pages({ page, go }) {
		await go("/");
		const sample = await value(page, SAMPLES[1]);
		await go(`/r/${sample.id}/summary`);
		await button(page, "Find anything").click();
		await page.getByRole("combobox", { name: "Command" }).fill("ADDMM");
		await option(page, "Operator", "aten::addmm").waitFor();
		same(await axe_problems(page), [], "axe on the palette");
		await option(page, "Operator", "aten::addmm").click();
		await page.locator('.grid-row.selected[data-label="aten::addmm"]').waitFor();
		await find(page, "Optimizer.step#SGD");
		await option(page, "Task", "Optimizer.step#SGD.step").click();
		await page.waitForURL(/\/timeline\?.*q=Optimizer/);
		await find(page, "training-after.pt");
		await option(page, "Result", SAMPLES[0]).waitFor();
		await page.keyboard.press("Escape");
		await page.locator("dialog").waitFor({ state: "detached" }); // not only closed: it must be gone before the next
		await find(page, "go to memory");
		await page.keyboard.press("Enter");
		await page.waitForURL(/\/memory/);
	},

	async band_of_durations_lists_those_calls({ page, go, context }) {
		await go("/");
		const sample = await value(page, SAMPLES[1]);
		await go(`/r/${sample.id}/operators?tab=operators`);
		await page.locator('.grid-row[data-label="aten::mm"]').click();
		const bars = page.locator(".histogram-bars");
		await bars.waitFor();
		const count = Number(await page.locator("p[data-count]").getAttribute("data-count"));
		same(count, context.calls.length, "calls in the histogram");
		await drag(page, bars, 0.001, 0.999);
		const list = page.getByRole("region", { name: "Calls in the band" });
		await list.waitFor();
		const rows = () => list.locator("tr[data-row]").evaluateAll((all) => all.map((one) => Number(one.dataset.row)));
		same(await rows(), context.calls.map((one) => one.row), "all calls, the longest first");
		// Half of the bars: fewer calls, the very ones that are that long.
		await drag(page, bars, 0.5, 0.999);
		await until(page, (all) => document.querySelectorAll(".band-calls tr[data-row]").length < all, count);
		const upper = await rows();
		same(Number(await list.locator("[data-count]").getAttribute("data-count")), upper.length, "calls in half of the bars");
		same(upper, context.calls.slice(0, upper.length).map((one) => one.row), "the longer calls");
		await list.getByRole("link").first().click();
		await page.waitForURL(new RegExp(`/timeline\\?.*event=slice%3A${upper[0]}`));
		same(await page.locator(".tl-details").getAttribute("data-row"), String(upper[0]), "the event in the drawer");
	},

	async curve_over_steps_of_an_operator({ page, go, context }) {
		await go("/");
		const sample = await value(page, SAMPLES[1]);
		await go(`/r/${sample.id}/operators?tab=operators`);
		const curve = page.locator('.grid-row[data-label="aten::mm"] .sparkline');
		same((await curve.getAttribute("data-values")).split(",").map(Number), context.by_step, "self time of aten::mm by step");
		same(await axe_problems(page), [], "axe on the table");
	},

	async flame_graph_of_tasks_and_of_memory({ page, go, context }) {
		await go("/");
		const sample = await value(page, SAMPLES[1]);
		// No samples in a trace: the page says so, and what else the width can stand for.
		await go(`/r/${sample.id}/flame`);
		await page.getByText("No CPU samples in this result.").waitFor();
		await button(page, "Time in tasks").click();
		same(await page.locator("#fl-total").getAttribute("data-value"), String(context.task_ns), "time in tasks");
		const cell = (name, key) => page.locator(`tr[data-name="${name}"] td[data-key="${key}"]`).getAttribute("data-value");
		same(Number(await cell("aten::mm", "self")), context.mm_self_ns, "self time of aten::mm");
		same(await axe_problems(page), [], "axe on the flame graph of tasks");
		await page.getByLabel("Width of a frame").selectOption("memory");
		await until(page, (bytes) => document.querySelector("#fl-total")?.dataset.value === String(bytes), context.allocated_bytes);
		await page.goBack();
		await until(page, (ns) => document.querySelector("#fl-total")?.dataset.value === String(ns), context.task_ns);
		// And of samples the width is CPU time.
		await go(`/r/${context.hs}/flame`);
		await until(page, (ns) => document.querySelector("#fl-total")?.dataset.value === String(ns), context.cpu_ns);
	},

	async waits_by_kind_object_and_place({ page, go, context }) {
		const keys = ["wait_count", "wait_ns", "wall_max_ns"];
		const ask = (tab) => go(`/r/${context.tr}/threads?tab=${tab}`);
		await ask("waits");
		same(await table_rows(page, "What threads waited for", keys, 4), rows_of(context.waits, "sync_type", keys, 4), "waits by kind");
		// Below a kind are its objects, below these those who ended the wait.
		await grid(page, "What threads waited for").focus();
		await page.keyboard.press("ArrowRight");
		const object = context.waits.rows[0].children[0];
		await grid(page, "What threads waited for").locator(`.grid-row[aria-level="2"][data-label="${object.sync_object}"]`).waitFor();
		await page.getByLabel("Group by").selectOption({ label: "Class and kind" });
		same(await table_rows(page, "What threads waited for", keys, 2), rows_of(context.wait_classes, "wait_class", keys, 2), "waits by class");
		await ask("locks");
		same(await table_rows(page, "Locks and other objects", keys, 4), rows_of(context.objects, "sync_object", keys, 4), "objects");
		// Where nothing was recorded, a filter does not change what is said.
		for (const tab of ["waits", "locks"]) {
			await go(`/r/${context.hs}/threads?tab=${tab}&f=function%3Dhot_seventy`);
			await page.getByText("No waits were recorded.").waitFor();
			await page.getByText("strata -collect threading -- python3 train.py").waitFor();
		}
		await ask("where");
		same(await table_rows(page, "Where threads wait", ["wait_ns"], 3), rows_of(context.waiting_in, "function", ["wait_ns"], 3), "functions");
		same(await axe_problems(page), [], "axe on the waits");
		await go(`/r/${context.tr}/summary`);
		const parts = page.getByRole("figure", { name: "Where the time of the threads went" });
		for (const { name, wall_total_ns: ns } of context.thread_time)
			same(await exact_of(parts.getByRole("row", { name: new RegExp(`^\\s*${name}`) }).getByRole("cell").first()), ns, name);
	},

	async assembly_by_basic_blocks({ page, go, context }) {
		const { function: name, rows } = context.blocks;
		await go(`/r/${context.hs}/source?function=${name}`);
		const assembly = page.getByRole("grid", { name: "Assembly" });
		await assembly.waitFor();
		await page.getByLabel("Assembly by").selectOption("Basic blocks");
		await assembly.getByRole("row", { name: rows[0].instruction }).waitFor();
		for (const row of rows) {
			const shown = assembly.locator(`.code-row[data-line="${row.address}"]`);
			must((await shown.innerText()).includes(row.instruction), `the block at ${row.address}`);
			if (row.cpu_total_ns) same(await exact_of(shown.locator('[data-key="cpu_total_ns"]')), row.cpu_total_ns, "its CPU time");
		}
		same(await assembly.getAttribute("aria-rowcount"), String(context.blocks.count + 1), "blocks");
	},

	async rows_of_devices_and_their_kernels({ page, go, context }) {
		const { streams, kernel } = context.device;
		await go(`/r/${context.gpu}/timeline`);
		await page.getByRole("application", { name: /^Timeline of/ }).waitFor();
		for (const name of streams) await page.locator(".tl-name", { hasText: name }).waitFor();
		await page.keyboard.press("Slash");
		await page.keyboard.type(kernel.name.slice(0, 30)); // names of kernels can fill a page
		await page.keyboard.press("Enter");
		await page.getByRole("region", { name: kernel.name }).waitFor();
		same(await page.locator('.tl-details [data-key="begin_ns"]').getAttribute("data-value"), String(kernel.start_ns), "the first of them");
		// Back along the arrow, to the call that launched it.
		await page.getByRole("application", { name: /^Timeline of/ }).focus();
		await page.keyboard.press("BracketLeft");
		await page.getByRole("region", { name: /^cudaLaunchKernel/ }).waitFor();
	},

	async bars_of_steps_are_as_high_as_they_are_long({ page, go, context }) {
		const { steps } = context;
		await go(`/r/${context.stepped}/summary`);
		await page.locator(".step-bar").first().waitFor();
		// Without the invisible one to click at, and the mark below.
		const high = await page.locator(".step-bar").evaluateAll((bars) =>
			bars.map((bar) =>
				[...bar.querySelectorAll("rect[class^='fill-']")].reduce((sum, one) => sum + Number(one.getAttribute("height")), 0),
			),
		);
		same(high.length, steps.length, "bars");
		// In a narrow window they are narrower, and none is beyond the edge.
		const wide = await page.locator(".step-chart svg").evaluate((one) => one.clientWidth);
		await page.setViewportSize({ width: 320, height: 720 });
		await until(page, (before) => {
			const place = document.querySelector(".step-chart [role=slider]");
			const bars = place.querySelector("svg").clientWidth;
			return bars < before && place.scrollWidth <= place.clientWidth;
		}, wide);
		const longest = steps.indexOf(Math.max(...steps.filter((_, at) => high[at] < 119)));
		must(longest >= 0, "all bars are cut");
		high.forEach((height, at) => {
			const expected = (high[longest] * steps[at]) / steps[longest];
			must(height > 119 || Math.abs(height - expected) < 0.05, `step ${at}: ${height} instead of ${expected}`);
			must(height < 120.5, `step ${at} is ${height} high`);
		});
	},

	async names_of_a_deep_tree_stay_in_their_column({ page, go, context }) {
		await go(`/r/${context.py}/grid?mode=top-down`);
		const rows = page.locator(".tree-grid .grid-row[data-label]");
		await rows.first().waitFor();
		// The root only calls: that is said, and not that it has no samples.
		await rows.first().click();
		await page.locator(".pane").getByText("no CPU time of its own").waitFor();
		await page.locator(".tree-grid").focus();
		const cursor = page.locator('.grid-row[data-cursor="true"]');
		const level = async () => Number(await cursor.getAttribute("aria-level"));
		while ((await cursor.getAttribute("aria-expanded")) !== null) {
			const above = await level();
			await page.keyboard.press("ArrowRight");
			await until(page, () => document.querySelector('.grid-row[data-cursor="true"]').ariaExpanded === "true");
			await page.keyboard.press("ArrowRight");
			await until(page, (from) => Number(document.querySelector('.grid-row[data-cursor="true"]').ariaLevel) === from + 1 && document.querySelector('.grid-row[data-cursor="true"]').dataset.label, above);
		}
		must((await level()) > 10, `only ${await level()} levels`);
		const outside = await rows.evaluateAll((all) => all.filter((row) => {
			const [name, next] = [...row.children].map((cell) => cell.getBoundingClientRect());
			const label = row.querySelector(".tree-label").getBoundingClientRect();
			const all_of_it = row.querySelector(".tree-label").scrollWidth;
			return name.right > next.left + 1 || label.right > name.right || label.width < Math.min(60, all_of_it - 1);
		}).map((row) => row.dataset.label));
		same(outside, [], "names without room");
		// What is folded is not searched, and that is said.
		const deepest = await cursor.getAttribute("data-label");
		const count = page.locator("#search-count");
		await page.locator("#search").fill(deepest);
		await until(page, () => /^[1-9]/.test(document.getElementById("search-count").textContent));
		await go(`/r/${context.py}/grid?mode=top-down&q=${encodeURIComponent(deepest)}`);
		await until(page, () => !["", "…"].includes(document.getElementById("search-count").textContent));
		same(await count.textContent(), "0 in open rows", "found in a folded tree");
	},

	async lines_of_a_task({ page, go, context }) {
		await go(`/r/${context.py}/timeline?event=slice%3A${context.task.row}`);
		const lines = page.getByRole("region", { name: "Source lines" });
		await lines.getByRole("button", { name: context.task.place.replace(/^.*\//, "") }).first().click();
		await page.waitForURL((url) => url.pathname.endsWith("/source"));
		const [, file, line] = /^(.*):(\d+)$/.exec(context.task.place);
		const asked = new URL(page.url()).searchParams;
		same([asked.get("file"), asked.get("line")], [file, line], "the file and line that opened");
		await page.getByRole("row", { selected: true }).first().waitFor();
		same(await page.locator(".failed").count(), 0, "failures");
	},
};

run_cases(cases);
