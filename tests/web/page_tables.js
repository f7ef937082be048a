// SPDX-License-Identifier: Apache-2.0
//
// The table pages of strata serve in a real browser: what a person does, and that every number is the command line's.
"use strict";

const { axe_problems, exact_of, grid, must, rows_of, run_cases, same, settled, table_rows, until } = require("./page_run.js");

const PAGES = ["summary", "operators", "operators?tab=operators", "operators?tab=modules", "grid", "grid?mode=top-down", "grid?mode=callers", "source", "memory", "threads", "threads?tab=locks", "threads?tab=utilization", "diagnostics", "diagnostics?tab=recording", "diagnostics?tab=log", "diagnostics?tab=run", "diagnostics?tab=exports", "diagnostics?tab=keys"];

async function every_page({ page, go, context }) {
	for (const path of ["/compare", ...PAGES.map((one) => `/r/${context.op}/${one}`)]) {
		await go(path);
		await settled(page);
		must((await page.locator("main").innerText()).trim().length > 20, `${path} is blank`);
		same(await page.locator(".failed").allInnerTexts(), [], `failures on ${path}`);
	}
}

/** Every page. In the dark only the colours differ: only they are looked at again. */
async function axe({ page, go, context }, scheme, rules) {
	await page.emulateMedia({ colorScheme: scheme });
	const problems = [];
	const look = async (where) => {
		for (const problem of await axe_problems(page, rules)) problems.push(`${where}: ${problem}`);
	};
	for (const path of ["/", "/new", `/compare?a=${context.hs}&b=${context.op}`, ...PAGES.map((one) => `/r/${context.hs}/${one}`)]) {
		await go(path);
		await settled(page);
		same(await page.locator(".failed").allInnerTexts(), [], `failures on ${path}`);
		await look(path);
	}
	await page.keyboard.press("Shift+Slash");
	await page.getByRole("dialog", { name: "Keys" }).waitFor();
	await look("help");
	await page.keyboard.press("Escape");
	await page.keyboard.press("Control+Shift+KeyP");
	await page.getByRole("combobox", { name: "Command" }).waitFor();
	await look("palette");
	must(!problems.length, problems.slice(0, 8).join("\n"));
}

const CSS_escape = (text) => text.replace(/["\\]/g, "\\$&");

const cases = {
	every_page_without_samples: every_page,
	axe_light: (given) => axe(given, "light"),
	axe_dark: (given) => axe(given, "dark", ["color-contrast"]),

	/** A filter that a page cannot use leaves the page whole, and is said. */
	async filters_on_every_page({ page, go, context }) {
		// Which waits there are, and what is known of them, only the result says.
		const places = [...PAGES.filter((path) => !/^diagnostics|tab=locks/.test(path)), "timeline", "flame", "flame?weight=tasks", "flame?weight=memory"];
		const filters = { [`function=${context.reports.hotspots.rows[0].function}`]: ["summary", "timeline", "operators"], "operator=aten::addmm": [], "input-shapes=*": ["summary", "flame", "grid"] };
		for (const [filter, left] of Object.entries(filters))
			for (const path of places) {
				await go(`/r/${context.hs}/${path}${path.includes("?") ? "&" : "?"}f=${encodeURIComponent(filter)}`);
				await settled(page);
				same(await page.locator(".failed, .tl-error").allInnerTexts(), [], `failures on ${path} with ${filter}`);
				if (left.includes(path)) await page.getByRole("note").filter({ hasText: "Not narrowed by" }).first().waitFor();
			}
	},

	/** With a range or filters no figure of the whole run is passed off as theirs, and nothing that is there is called missing. */
	async summary_of_a_part({ page, go, context }) {
		const { summary_half, summary_thread } = context.reports;
		const figure = (title) => page.locator(".figure", { has: page.locator(".figure-title", { hasText: title }) });
		await go(`/r/${context.hs}/summary?range=${context.half.join("-")}`);
		await settled(page);
		const operators = summary_half.rows.find((row) => row.section === "operators" && row.name === "source").count;
		must(operators > 0 && operators < context.reports.summary.rows.find((row) => row.name === "operators").value, "a part of them");
		same((await figure("Operators").locator(".figure-value").innerText()).replace(/,/g, ""), String(operators), "operators of the range");
		must((await figure("Elapsed time").innerText()).includes("of the whole run"), "what the elapsed time is of");
		await go(`/r/${context.hs}/summary?f=${encodeURIComponent("thread=main*")}`);
		await settled(page);
		const tasks = page.getByRole("region", { name: "Top tasks and operators" }).locator("tr");
		const wanted = summary_thread.rows.filter((row) => row.section === "task");
		same(await tasks.count(), wanted.length, "tasks");
		for (let i = 0; i < wanted.length; i++) {
			same(await exact_of(tasks.nth(i).locator("td.number").first()), wanted[i].wall_self_ns, `time of ${wanted[i].name}, whose share is beside it`);
		}
		must(!(await page.locator("main").innerText()).includes("No operators were recorded"), "operators were recorded");
		await go(`/r/${context.hs}/summary?range=1-2`);
		await settled(page);
		must(!/No (operators were recorded|CPU samples|tasks)\./.test(await page.locator("main").innerText()), "they are only not in the range");
	},

	/** Without the frames between functions a total is smaller: with all of them it is that of every other table. */
	async totals_of_the_flame_graph({ page, go, context }) {
		await go(`/r/${context.hs}/flame`);
		await page.locator('[data-switch="all"]').click();
		await until(page, () => location.search.includes("all=1") && !document.querySelector('.flame[aria-busy="true"]'));
		const once = context.reports.hotspots.rows.filter((row, i, all) => row.function && all.every((other) => other === row || other.function !== row.function));
		let seen = 0;
		for (const row of once.sort((a, b) => b.cpu_total_ns - a.cpu_total_ns)) {
			const cell = page.locator(`.fl-table tr[data-name="${CSS_escape(row.function)}"] [data-key="total"]`);
			if (seen === 3 || !(await cell.count())) continue;
			const shown = Number(await cell.getAttribute("data-value"));
			must(Math.abs(shown - row.cpu_total_ns) <= row.cpu_total_ns / 1000, `${row.function}: ${shown} instead of ${row.cpu_total_ns}`);
			seen++;
		}
		same(seen, 3, "functions in both");
	},

	async numbers_of_bottom_up({ page, go, context }) {
		const keys = ["cpu_self_ns", "spin_ns", "cpu_total_ns"];
		await go(`/r/${context.hs}/grid?g=function`);
		same(await table_rows(page, "Bottom-up", keys, 8), rows_of(context.reports.hotspots, "function", keys, 8), "hotspots");
	},

	async numbers_of_operators({ page, go, context }) {
		await go(`/r/${context.op}/operators`);
		await grid(page, "Operators as key_averages()").locator(".grid-row[data-label]").first().waitFor();
		const head = await grid(page, "Operators as key_averages()").locator('[role="columnheader"]').allInnerTexts();
		for (const word of ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "CPU Mem", "Self CPU Mem", "# of Calls"])
			must(head.some((title) => title.replace(/\s+/g, " ").trim() === word), `no column ${word} in ${head.join("|")}`);
		const first = context.torch_table;
		const row = grid(page, "Operators as key_averages()").locator(`.grid-row[data-label="${first.name}"]`);
		same((await row.locator('[data-key="self_cpu_time_total"]').innerText()).trim(), first.self_cpu, "Self CPU as torch prints it");
		same((await row.locator('[data-key="self_cpu_percent"]').innerText()).trim(), first.self_percent, "Self CPU %");
		await go(`/r/${context.op}/operators?tab=operators`);
		const keys = ["count", "wall_self_ns", "wall_total_ns"];
		same(await table_rows(page, "Operators", keys, 6), rows_of(context.reports.operators, "operator", keys, 6), "operators");
	},

	async durations_of_one_operator({ page, go, context }) {
		const { operator, count } = context.reports.operators.rows[0];
		await go(`/r/${context.op}/operators?tab=operators`);
		await grid(page, "Operators").locator(`.grid-row[data-label="${operator}"]`).click();
		same(await page.locator("[data-count]").getAttribute("data-count"), String(count), `calls of ${operator}`);
		const tips = await page.locator(".histogram-bars button").evaluateAll((bars) => bars.map((bar) => Number(bar.dataset.tip.replace(/^.*: |,/g, ""))));
		same(tips.reduce((sum, one) => sum + one, 0), count, "calls in all bins");
	},

	async numbers_of_summary({ page, go, context }) {
		await go(`/r/${context.hs}/summary`);
		await settled(page);
		const value = (section, name) => context.reports.summary.rows.find((row) => row.section === section && row.name === name).value;
		const figure = page.locator(".figure", { hasText: "Elapsed time" });
		same(await exact_of(figure), value("run", "elapsed_ns"), "elapsed time");
		const hotspots = context.reports.summary.rows.filter((row) => row.section === "hotspot");
		const card = page.getByLabel("Top hotspots", { exact: true });
		for (const [i, row] of hotspots.entries()) {
			must((await card.locator("tr").nth(i).innerText()).includes(row.name), `hotspot ${i} is ${row.name}`);
			same(await exact_of(card.locator("tr").nth(i).locator("td").nth(1)), row.cpu_self_ns, row.name);
		}
		const parts = context.reports.summary.rows.filter((row) => row.section === "step_part");
		same(await page.locator(".legend tbody tr").count(), parts.length, "parts of a step");
	},

	async numbers_of_source({ page, go, context }) {
		await go(`/r/${context.hs}/source?file=${encodeURIComponent(context.script)}`);
		await page.locator(".code-row").first().waitFor();
		const hot = context.reports.source.rows.filter((row) => row.cpu_total_ns > 0).sort((a, b) => b.cpu_total_ns - a.cpu_total_ns)[0];
		await go(`/r/${context.hs}/source?file=${encodeURIComponent(context.script)}&line=${hot.line}`);
		const row = page.locator(`.code-row[data-line="${hot.line}"]`);
		await row.waitFor();
		must((await row.locator(".code-text").innerText()).trim() === hot.source.trim(), "the line's text");
		same(await exact_of(row.locator('[data-key="cpu_total_ns"]')), hot.cpu_total_ns, `line ${hot.line}`);
		must(await row.locator('[class^="token-"]').count() || !/[#"0-9]/.test(hot.source), "no token is coloured");
		await page.locator(".code-scroller").first().focus();
		await page.keyboard.press("KeyN");
		must(await page.locator(".chosen-line").count(), "N chooses no line");
	},

	async numbers_of_top_down_and_callers({ page, go, context }) {
		const { top_down: tree, hotspots, callers } = context.reports;
		await go(`/r/${context.hs}/grid?mode=top-down`);
		const keys = ["cpu_self_ns", "cpu_total_ns"];
		same(await table_rows(page, "Top-down", keys, 1), rows_of(tree, "function_stack", keys, 1), "the root");
		await grid(page, "Top-down").focus();
		await page.keyboard.press("ArrowRight");
		const [child] = tree.rows[0].children;
		const row = grid(page, "Top-down").locator('.grid-row[aria-level="2"]').first();
		await row.waitFor();
		same(await exact_of(row.locator('[data-key="cpu_total_ns"]')), child.cpu_total_ns, `below it: ${child.function_stack}`);
		const [{ function: name }] = hotspots.rows;
		await go(`/r/${context.hs}/grid?mode=callers`);
		await grid(page, "Functions").locator(`.grid-row[data-label="${name}"]`).click();
		const pane = page.getByLabel("Callers and callees");
		await pane.getByText(`Callers of ${name}`).waitFor();
		const own = callers.rows.find((one) => one.role === "function" && one.name.trim() === name);
		const names = callers.rows.filter((one) => one.block === own.block && one.role === "caller").map((one) => one.name.trim());
		for (const caller of names.slice(0, 5)) must((await pane.innerText()).includes(caller), `caller ${caller}`);
	},

	async numbers_of_memory({ page, go, context }) {
		const { memory } = context.reports;
		await go(`/r/${context.op}/memory?by=operator`);
		const keys = memory.columns.filter((column) => column.unit === "bytes").map((column) => column.key).slice(0, 2);
		must(keys.length === 2, "columns with bytes");
		same(await table_rows(page, "What held memory at its peak", keys, 3), rows_of(memory, "operator", keys, 3), "memory");
		// The axis says the peak, in the unit of the line above.
		const [, peak, unit] = /peak ([\d.]+) (\w+)/.exec(await page.locator("main .toolbar").first().innerText());
		const [value, its_unit] = (await page.locator(".axis-top").innerText()).split(" ");
		same(its_unit, unit, "unit of the axis");
		must(Math.abs(Number(value) / Number(peak) - 1) < 0.01, `${value} at the axis, peak ${peak}`);
	},

	async numbers_of_threads({ page, go, context }) {
		const { threads, utilization } = context.reports;
		await go(`/r/${context.hs}/threads`);
		const keys = ["cpu_self_ns", "spin_ns"];
		const label = threads.group_by[0];
		same(await table_rows(page, "Threads by CPU time", keys, 1), rows_of(threads, label, keys, 1), "processes");
		await go(`/r/${context.hs}/threads?tab=utilization`);
		await page.locator(".utilization tbody tr").first().waitFor();
		same(await page.locator(".utilization tbody td:first-child").allInnerTexts(), utilization.rows.map((row) => String(row.cpus)), "CPUs at a time");
		const shares = await page.locator(".utilization .cell-value").allInnerTexts();
		same(shares, utilization.rows.map((row) => `${(row.share_ratio * 100).toFixed(1)} %`), "their shares");
	},

	async numbers_of_diagnostics({ page, go, context }) {
		const { quality, info } = context.reports;
		await go(`/r/${context.hs}/diagnostics`);
		await page.locator(".quality tbody tr").first().waitFor();
		const shown = await page.locator(".quality tbody tr").evaluateAll((rows) => rows.map((row) => [row.cells[0].innerText, row.cells[1].innerText.replace(/[^0-9]/g, "")]));
		same(shown, quality.rows.map((row) => [row.fact, String(row.count ?? "")]), "data quality");
		await go(`/r/${context.hs}/diagnostics?tab=run`);
		const run = page.getByLabel("run", { exact: true });
		await run.waitFor();
		for (const name of ["command", "type", "state"]) must((await run.innerText()).includes(info.rows.find((row) => row.name === name).value), name);
	},

	// From the list of results to a filtered table and back, without a pointer.
	async keyboard_only_from_results_to_a_filter({ page, go, context }) {
		await go("/");
		await page.getByRole("link", { name: context.names.hs }).waitFor();
		const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");
		await page.keyboard.press("Tab");
		same(await focused(), "Skip to the page", "the first Tab");
		await page.keyboard.press("Enter");
		for (let i = 0; i < 40 && (await focused()) !== context.names.hs; i++) await page.keyboard.press("Tab");
		same(await focused(), context.names.hs, "the result is reached by Tab");
		await page.keyboard.press("Enter");
		await page.waitForURL(/\/summary/);
		await page.keyboard.press("Alt+Digit7");
		await page.waitForURL(/\/grid/);
		await grid(page, "Bottom-up").locator(".grid-row[data-label]").first().waitFor();
		for (let i = 0; i < 40 && !(await page.evaluate(() => document.activeElement?.matches(".tree-grid"))); i++) await page.keyboard.press("Tab");
		must(await page.evaluate(() => document.activeElement?.matches(".tree-grid")), "the table is reached by Tab");
		await page.keyboard.press("ArrowDown");
		const name = await page.locator('[data-cursor="true"]').getAttribute("data-label");
		await page.keyboard.press("Shift+F10");
		await page.getByRole("menu").waitFor();
		for (let i = 0; i < 20 && !/^Leave out Function/.test(await focused()); i++) await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Enter");
		await grid(page, "Bottom-up").locator(`.grid-row[data-label="${name}"]`).waitFor({ state: "detached" });
		await page.keyboard.press("Alt+ArrowLeft");
		await grid(page, "Bottom-up").locator(`.grid-row[data-label="${name}"]`).waitFor();
	},

	async numbers_of_compare({ page, go, context }) {
		await go(`/compare?a=${context.hs}&b=${context.op}&tab=operators`);
		const keys = ["first_wall_self_ns", "second_wall_self_ns", "difference_wall_self_ns"];
		same(await table_rows(page, "Operators", keys, 5), rows_of(context.reports.compare, "operator", keys, 5), "compare operators");
		await go(`/compare?a=${context.hs}&b=${context.op}`);
		await page.getByText("elapsed time", { exact: true }).waitFor();
		await page.locator(".cell-value.more, .cell-value.less").first().waitFor();
		const changes = await page.locator(".cell-value.more, .cell-value.less").allInnerTexts();
		same(changes.filter((text) => !/^[+-].*[1-9]/.test(text)), [], "coloured although nothing changed");
		const units = await page.locator(".grid-row[data-label]").evaluateAll((rows) => rows.map((row) =>
			new Set([...row.querySelectorAll('[data-key$="_ns"] .cell-value')].map((cell) => cell.textContent.replace(/[^a-zµ]/g, ""))).size,
		));
		same(Math.max(...units), 1, "units in a row");
		const heads = await page.locator(".grid-head .head.number .head-unit").allInnerTexts();
		must(new Set(heads.map((unit) => unit.trim()).filter((unit) => unit !== "%")).size <= 1, `units of the columns: ${heads}`);
	},

	async keyboard_only_walk_through_a_tree({ page, go, context }) {
		await go(`/r/${context.hs}/grid?mode=top-down`);
		await grid(page, "Top-down").locator(".grid-row[data-label]").first().waitFor();
		await grid(page, "Top-down").focus();
		await page.keyboard.press("ArrowRight");
		await until(page, () => document.querySelectorAll('[aria-level="2"]').length > 0);
		await page.keyboard.press("ArrowDown");
		same(await page.locator('[data-cursor="true"]').getAttribute("aria-level"), "2", "level of the cursor");
		await page.keyboard.press("ArrowLeft");
		same(await page.locator('[data-cursor="true"]').getAttribute("aria-level"), "1", "Left goes to the parent");
		await page.keyboard.press("ArrowLeft");
		await until(page, () => document.querySelectorAll('[aria-level="2"]').length === 0);
		await page.keyboard.press("Shift+F10");
		await page.getByRole("menu").waitFor();
		await page.keyboard.press("Escape");
	},

	async empty_pages_say_what_would_collect_it({ page, go, context }) {
		await go(`/r/${context.op}/grid`);
		await page.getByText("No CPU samples in this result.").waitFor();
		await page.getByText(`${context.names.op} has no stacks to group`).waitFor();
		await page.locator(".command-line", { hasText: "strata -collect hotspots" }).waitFor();
		await go(`/r/${context.hs}/threads?tab=locks`);
		await page.getByText("No waits were recorded.").waitFor();
		await go("/r/nothing-of-this-name/summary");
		await page.getByText("There is no result “nothing-of-this-name”.").waitFor();
	},

	async new_analysis_from_the_form_to_its_result({ page, go }) {
		await go("/new");
		await page.getByLabel("Program", { exact: true }).fill("/bin/echo");
		await page.getByLabel(/^Arguments/).fill("one 'two three'");
		await page.locator(".type", { hasText: "tasks" }).first().click();
		await page.locator(".command-line", { hasText: "strata -collect tasks -- /bin/echo one 'two three'" }).waitFor();
		await page.getByRole("button", { name: "Start" }).click();
		await page.locator('.running[data-state="finished"]').waitFor({ timeout: 60_000 });
		await page.getByRole("button", { name: "Open the result" }).click();
		await page.getByText("/bin/echo one 'two three'").or(page.getByText("/bin/echo one two three")).first().waitFor();
		// The new result is in the list: rename it, delete it, take that back.
		await page.getByRole("link", { name: "Results" }).click();
		const row = page.locator("[data-result]", { hasText: "/bin/echo" });
		await row.getByRole("button", { name: /^More about/ }).click();
		await page.getByRole("menuitem", { name: "Rename" }).click();
		await page.getByLabel("New name").fill("r900ta");
		await page.keyboard.press("Enter");
		const renamed = page.getByRole("link", { name: "r900ta" });
		await renamed.waitFor();
		await page.getByRole("button", { name: "More about r900ta" }).click();
		await page.getByRole("menuitem", { name: "Delete" }).click();
		await page.getByRole("button", { name: "Undo" }).click();
		await renamed.waitFor();
		await page.getByRole("button", { name: "More about r900ta" }).click();
		await page.getByRole("menuitem", { name: "Delete" }).click();
		await renamed.waitFor({ state: "detached" });
	},

	async two_picked_results_are_compared({ page, go, context }) {
		await go("/");
		for (const name of Object.values(context.names)) await page.getByLabel(`Pick ${name} to compare`).check();
		await page.getByRole("button", { name: "Compare" }).click();
		await page.waitForURL(/\/compare\?/);
		await page.getByText("elapsed time", { exact: true }).waitFor();
	},

	async works_at_4k_and_small({ page, go, context }) {
		for (const size of [{ width: 1280, height: 720 }, { width: 3840, height: 2160 }]) {
			await page.setViewportSize(size);
			for (const path of ["summary", "grid", "operators", "source", "memory"]) {
				await go(`/r/${context.hs}/${path}`);
				await settled(page);
				const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
				must(!wide, `${path} at ${size.width} is wider than the window`);
			}
		}
	},
};

run_cases(cases);
