// SPDX-License-Identifier: Apache-2.0
//
// The fifteen interactions that matter most in a profiler, each under its number, as a person does them. What they
// must show comes from the command line (tests/e2e/test_page_interactions.py).
"use strict";

const flame = require("./flame.js");
const { grid, must, rows_of, same, table_rows, until } = require("./page_run.js");
const timeline = require("./timeline.js");

const { drawer, select, selected, show, span } = timeline;
const clipboard = (page) => page.evaluate(() => navigator.clipboard.readText());
const with_clipboard = (run) => Object.assign(run, { options: { permissions: ["clipboard-read", "clipboard-write"] } });
const row_of = (page, label, name) => grid(page, label).locator(`.grid-row[data-label="${name}"]`);

/** A key by its place, with the letter that a French keyboard has there. */
async function press_place(page, code, letter) {
	const devtools = await page.context().newCDPSession(page);
	const key = { code, key: letter, text: letter, windowsVirtualKeyCode: letter.toUpperCase().charCodeAt(0) };
	await devtools.send("Input.dispatchKeyEvent", { type: "keyDown", ...key });
	await devtools.send("Input.dispatchKeyEvent", { type: "keyUp", ...key });
	await devtools.detach();
}

/** Drags over the rows of the timeline, from one share of its width to another; the button stays down. */
async function begin_drag(page, from, to) {
	const host = await page.locator(".tl-picture").boundingBox();
	const y = host.y + host.height - 30;
	await page.mouse.move(host.x + host.width * from, y);
	await page.mouse.down();
	await page.mouse.move(host.x + host.width * to, y, { steps: 4 });
}

const next_frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))));

/** In the page: keeps the pixels of the boxes. */
function keep_picture() {
	const canvas = document.querySelector(".tl-picture canvas");
	window.kept = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
}

/** In the page: names of the boxes of which a pixel changed since. */
function changed_boxes() {
	const { model, picture } = window.strataTimeline;
	const canvas = document.querySelector(".tl-picture canvas");
	const now = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
	const ratio = canvas.width / canvas.getBoundingClientRect().width;
	const { startNs, endNs } = model.window.value;
	const x_of = (ns) => Math.min(canvas.width, Math.max(0, Math.round(((ns - startNs) / (endNs - startNs)) * canvas.width)));
	const changed = (box) => {
		const y = Math.round((picture.laneTop(box.track, box.lane) + 8) * ratio);
		for (let x = x_of(box.startNs); x < x_of(box.endNs); x++)
			for (let i = (y * canvas.width + x) * 4; i % 4 < 3; i++) if (now[i] !== window.kept[i]) return true;
		return false;
	};
	return picture.boxesInSight(100000).filter(changed).map((box) => model.labels.name(box.label));
}

const cases = {
	async interaction_01_wasd_and_wheel_zoom_by_physical_key(all) {
		const { page } = all;
		await timeline.open(all);
		const whole = await span(page);
		await page.keyboard.press("KeyW");
		const closer = await span(page);
		must(closer.endNs - closer.startNs < whole.endNs - whole.startNs, "W zooms in");
		await page.keyboard.press("KeyD");
		const right = await span(page);
		must(right.startNs > closer.startNs, "D moves right");
		await page.keyboard.press("KeyA");
		must((await span(page)).startNs < right.startNs, "A moves left");
		await page.keyboard.press("KeyS");
		const wider = await span(page);
		must(wider.endNs - wider.startNs > closer.endNs - closer.startNs, "S zooms out");
		await page.keyboard.press("Digit0");
		await press_place(page, "KeyW", "z");
		const french = await span(page);
		must(french.endNs - french.startNs < whole.endNs - whole.startNs, "the key at the place of W zooms in, whatever its letter");
		await page.keyboard.press("Digit0");
		const host = await page.locator(".tl-picture").boundingBox();
		await page.mouse.move(host.x + host.width / 4, host.y + 40);
		await page.mouse.wheel(0, -400);
		await until(page, (before) => window.strataTimeline.model.window.value.endNs < before, whole.endNs);
		const zoomed = await span(page);
		const at = zoomed.startNs + (zoomed.endNs - zoomed.startNs) / 4;
		must(Math.abs(at - whole.endNs / 4) < whole.endNs * 0.002, "the wheel keeps what is under the pointer");
		await page.keyboard.down("Shift");
		await page.mouse.down();
		await page.mouse.move(host.x + host.width / 4 - 60, host.y + 40);
		await page.mouse.up();
		await page.keyboard.up("Shift");
		must((await span(page)).startNs > zoomed.startNs, "Shift and drag moves");
	},

	async interaction_02_drag_a_range_and_every_view_recomputes(all) {
		const { page, context, go } = all;
		await timeline.open(all);
		await begin_drag(page, 0.3, 0.9);
		await page.locator(".tl-aggregate tbody tr").first().waitFor(); // live, before the button is let go
		await page.mouse.up();
		await page.locator("#tl-commit").click();
		await page.locator(".breadcrumbs [aria-current]").waitFor();
		must(/range=\d+-\d+/.test(page.url()), "the address has the range");
		await begin_drag(page, 0.4, 0.6);
		await page.mouse.up();
		await page.keyboard.press("KeyR");
		await until(page, () => document.querySelectorAll(".breadcrumbs li").length >= 4); // whole run, outer, inner, close
		await page.locator(".breadcrumbs button").nth(1).click();
		await until(page, () => !location.search.includes("outer="));
		await page.goBack();
		await page.goBack();
		await page.goBack();
		await until(page, () => !location.search.includes("range="));
		// Table, grid, flame graph and summary: each as the command line with the same -time-filter.
		const query = `range=${context.range.join("-")}`;
		await go(`/r/${context.hs}/timeline?${query}`);
		await page.locator(".tl-aggregate tbody tr").first().waitFor();
		for (const row of context.in_range.slice(0, 3)) {
			const cell = page.locator(`.tl-aggregate tr[data-name="${row.name}"] [data-key="wall_total_ns"]`);
			same(Number(await cell.getAttribute("data-value")), row.wall_total_ns, row.name);
		}
		await flame.open(all, `?${query}`);
		same(await flame.total(page), context.reports.hotspots_in_range.totals.cpu_self_ns, "the flame graph in the range");
		await go(`/r/${context.hs}/grid?g=function&${query}`);
		const keys = ["cpu_self_ns"];
		same(await table_rows(page, "Bottom-up", keys, 3), rows_of(context.reports.hotspots_in_range, "function", keys, 3), "the grid in the range");
		await page.getByRole("link", { name: "Summary" }).click();
		must(page.url().includes(query), "the range is lost on the way to another page");
		await page.getByRole("button", { name: "whole run", exact: true }).click();
		must(!page.url().includes("range="), "the breadcrumb does not lead back");
	},

	async interaction_03_click_opens_details_and_brackets_follow_arrows(all) {
		const { page, context } = all;
		await timeline.open(all);
		await select(page, context.event.name);
		const shown = await drawer(page);
		for (const key of ["begin_ns", "end_ns", "wall_ns", "self_ns"]) same(shown[key], context.event[key], key);
		await page.keyboard.press("ArrowDown");
		await until(page, (name) => window.strataTimeline.model.selected.value.name !== name, context.event.name);
		await page.keyboard.press("ArrowUp");
		await until(page, (name) => window.strataTimeline.model.selected.value.name === name, context.event.name);
		must((await page.locator("#tl-said").textContent()).includes(context.event.name), "the live line names the event");
		const { launch, kernel, shaped } = context.trace;
		await timeline.open(all, `?event=slice:${launch.row}`, context.gpu);
		await page.locator(".drawer h2", { hasText: launch.name }).waitFor();
		await page.keyboard.press("BracketRight");
		await until(page, (row) => window.strataTimeline.model.selected.value.row === row, kernel.row);
		same((await selected(page)).name, kernel.name, "] goes to the kernel");
		await page.keyboard.press("BracketLeft");
		await until(page, (row) => window.strataTimeline.model.selected.value.row === row, launch.row);
		// An operator: its shapes, its Python stack, and to the backward call with the same sequence number and back.
		await timeline.open(all, `?event=slice:${shaped.row}`, context.gpu);
		await page.locator(".drawer h2", { hasText: shaped.name }).waitFor();
		same(await page.locator('.tl-details [data-key="input_shapes"]').innerText(), shaped.shapes, "shapes");
		must((await page.locator(".tl-stack").allInnerTexts()).some((text) => text.includes(shaped.frame)), `no ${shaped.frame} in the Python stack`);
		await page.keyboard.press("BracketRight");
		await until(page, (row) => window.strataTimeline.model.selected.value.row === row, shaped.backward.row);
		await page.locator(".drawer h2", { hasText: shaped.backward.name }).waitFor();
		await page.keyboard.press("BracketLeft");
		await until(page, (row) => window.strataTimeline.model.selected.value.row === row, shaped.row);
		await page.getByRole("button", { name: `⇄ Same sequence: ${shaped.backward.name}` }).click();
		await until(page, (row) => window.strataTimeline.model.selected.value.row === row, shaped.backward.row);
	},

	async interaction_04_grouping_menu_with_saved_groupings({ page, go, context }) {
		await go(`/r/${context.hs}/grid`);
		await page.getByRole("button", { name: /^Grouping/ }).click();
		await page.getByRole("menuitemcheckbox", { name: "Task Domain / Task Type / Function / Call Stack" }).click();
		const keys = ["cpu_self_ns"];
		same(await table_rows(page, "Bottom-up", keys, 2), rows_of(context.reports.by_task, "task_domain", keys, 2), "by task domain");
		await grid(page, "Bottom-up").focus();
		await page.keyboard.press("ArrowRight");
		const child = context.reports.by_task.rows[0].children[0];
		await row_of(page, "Bottom-up", child.task_type).first().waitFor();
		await page.getByRole("button", { name: /^Grouping/ }).click();
		await page.getByRole("menuitem", { name: "Build a grouping …" }).click();
		await page.getByLabel("Remove Call Stack").click();
		await page.getByLabel("Add a level").selectOption("thread");
		await page.getByLabel("Keep it under this name").fill("mine");
		await page.getByRole("button", { name: "Group", exact: true }).click();
		must(page.url().includes("g=task-domain%2Ctask-type%2Cfunction%2Cthread"), page.url());
		await page.getByRole("button", { name: /^Grouping mine/ }).waitFor();
		// It is there the next time.
		await go(`/r/${context.hs}/grid`);
		await page.getByRole("button", { name: /^Grouping/ }).click();
		await page.getByRole("menuitemcheckbox", { name: "mine" }).click();
		await page.getByRole("button", { name: /^Grouping mine/ }).waitFor();
	},

	async interaction_05_filter_in_and_out_as_chips_with_their_share(all) {
		const { page, go, context } = all;
		const [first, second] = context.reports.hotspots.rows;
		const { cpu_self_ns: sum } = context.reports.hotspots.totals;
		const share = (ns) => page.getByLabel("Filters").locator(".chip-note", { hasText: `${((ns / sum) * 100).toFixed(1)} %` }).waitFor();
		await go(`/r/${context.hs}/grid?g=function`);
		await row_of(page, "Bottom-up", first.function).click({ button: "right" });
		await page.getByRole("menuitem", { name: /^Leave out Function/ }).click();
		await row_of(page, "Bottom-up", first.function).waitFor({ state: "detached" });
		const [row] = await table_rows(page, "Bottom-up", ["cpu_self_ns"], 1);
		same(row.label, second.function, "the first row without the filtered function");
		await share(sum - first.cpu_self_ns);
		await page.getByRole("button", { name: /^Remove function/ }).click();
		await row_of(page, "Bottom-up", first.function).click({ button: "right" });
		await page.getByRole("menuitem", { name: /^Keep only Function/ }).click();
		await row_of(page, "Bottom-up", second.function).waitFor({ state: "detached" });
		await row_of(page, "Bottom-up", first.function).waitFor();
		await share(first.cpu_self_ns);
		// From a box of the timeline, and that page follows.
		await timeline.open(all);
		const at = await show(page, context.event.name);
		await page.mouse.click(at.x, at.y, { button: "right" });
		await page.getByRole("menuitem", { name: `Show only “${context.event.name}”` }).click();
		await until(page, (name) => {
			const { model, picture } = window.strataTimeline;
			const boxes = picture.boxesInSight(1000).filter((box) => model.trackOf(box.track).kind === "thread");
			return location.search.includes("f=") && !model.loader.waiting && boxes.length > 0 && boxes.every((box) => model.labels.name(box.label) === name);
		}, context.event.name);
	},

	async interaction_06_search_counts_walks_and_highlights_hits(all) {
		const { page, go, context } = all;
		const counted = (text) => until(page, (wanted) => document.getElementById("search-count").textContent === wanted, String(text));
		await go(`/r/${context.hs}/operators?tab=operators`);
		await table_rows(page, "Operators", [], 1);
		await page.locator("main").click({ position: { x: 5, y: 5 } });
		await page.keyboard.press("Slash");
		await page.keyboard.type("aten::");
		await counted(context.reports.operators.rows.filter((row) => row.operator.includes("aten::")).length);
		must(await page.locator("mark").count(), "no hit is marked");
		const cursor = () => page.locator('[data-cursor="true"]').getAttribute("data-label");
		await page.keyboard.press("Enter");
		const first = await cursor();
		must(first.includes("aten::"), "Enter goes to no hit");
		await page.keyboard.press("Enter");
		must((await cursor()) !== first && (await cursor()).includes("aten::"), "and on to the next");
		await page.keyboard.press("Shift+Enter");
		same(await cursor(), first, "Shift and Enter go back");
		must(page.url().includes("q=aten"), "the search is not in the address");

		await timeline.open(all);
		await page.keyboard.press("Slash");
		await page.keyboard.type(context.search.text);
		await counted(context.search.total);
		await page.keyboard.press("Enter");
		await until(page, () => window.strataTimeline.model.selected.value !== null);
		const one = await selected(page);
		await page.keyboard.press("Enter");
		await until(page, (row) => window.strataTimeline.model.selected.value.row !== row, one.row);
		must((await selected(page)).begin_ns > one.begin_ns, "hits are in the order of time");
		await page.keyboard.press("Shift+Enter");
		await until(page, (row) => window.strataTimeline.model.selected.value.row === row, one.row);
		// From close by, the boxes of the hits are marked and no others.
		await timeline.open(all, `?w=${context.search.window.join("-")}&q=${context.search.text}`);
		const marked = () => page.evaluate(() => {
			const { labels } = window.strataTimeline.model;
			return [...labels.known.values()].filter((label) => labels.found[label.id]).map((label) => label.name);
		});
		await until(page, () => [...window.strataTimeline.model.labels.found].includes(1));
		for (const name of await marked()) must(name.includes(context.search.text), `${name} is marked`);

		await flame.open(all);
		await page.keyboard.press("Slash");
		await page.keyboard.type(context.python);
		await page.locator("#fl-matched").waitFor();
		must(/matched \d/.test(await page.locator("#fl-matched").textContent()), "a share of the total");
		must(/%/.test(await page.locator("#search-count").textContent()), "and in the search field");
	},

	async interaction_07_f_centres_then_fits_and_0_shows_all(all) {
		const { page, context } = all;
		await timeline.open(all);
		const whole = await span(page);
		await select(page, context.event.name);
		for (let i = 0; i < 8; i++) await page.keyboard.press("KeyW");
		await page.keyboard.press("KeyA");
		const before = await span(page);
		await page.keyboard.press("KeyF");
		const centred = await span(page);
		const event = await selected(page);
		const middle = (event.begin_ns + event.end_ns) / 2;
		same(Math.round(centred.endNs - centred.startNs), Math.round(before.endNs - before.startNs), "the first F keeps the scale");
		must(Math.abs((centred.startNs + centred.endNs) / 2 - middle) < (centred.endNs - centred.startNs) * 0.02, "and centres the event");
		await page.keyboard.press("KeyF");
		const fitted = await span(page);
		must(fitted.startNs <= event.begin_ns && fitted.endNs >= event.end_ns, "F shows all of the event");
		must(fitted.endNs - fitted.startNs < (event.end_ns - event.begin_ns) * 1.6 + 100, "and little else");
		await page.keyboard.press("Digit0");
		same(await span(page), whole, "0 shows everything");
	},

	async interaction_08_selected_once_selected_everywhere(all) {
		const { page, go, context } = all;
		const name = context.reports.operators.rows[0].operator;
		await go(`/r/${context.hs}/operators?tab=operators`);
		await row_of(page, "Operators", name).click();
		await page.getByRole("link", { name: "Threads and locks" }).click();
		await page.getByRole("tab", { name: "Tasks" }).click();
		await grid(page, "Threads by tasks").locator(".grid-row[data-label]").first().waitFor();
		await grid(page, "Threads by tasks").focus();
		await page.keyboard.press("ArrowRight");
		// Only rows in sight are in the document: it may be one of those further down.
		await until(page, (wanted) => {
			const table = document.querySelector('.tree-grid[aria-label="Threads by tasks"]');
			if ([...table.querySelectorAll(".grid-row.selected")].some((row) => row.dataset.label === wanted)) return true;
			const end = table.scrollHeight - table.clientHeight;
			table.scrollTop = table.scrollTop >= end ? 0 : table.scrollTop + table.clientHeight;
			return false;
		}, name);
		// A box of the timeline is the row of the table.
		await timeline.open(all);
		await select(page, context.event.name);
		await page.getByRole("link", { name: "Bottom-up" }).click();
		await page.getByRole("button", { name: /^Grouping/ }).click();
		await page.getByRole("menuitemcheckbox", { name: "Task Type / Function / Call Stack", exact: true }).click();
		await grid(page, "Bottom-up").locator(`.grid-row.selected[data-label="${context.event.name}"]`).waitFor();
		// A function of the grid is the function of the flame graph.
		await go(`/r/${context.hs}/grid?g=function`);
		const [hot] = context.reports.hotspots.rows;
		await row_of(page, "Bottom-up", hot.function).click();
		await page.getByRole("link", { name: "Flame graph" }).click();
		await page.locator(`.fl-table tr[aria-selected="true"][data-name^="${hot.function}"]`).first().waitFor();
		await until(page, (name) => {
			const { tree, selected: node } = window.strataFlame?.shown ?? { selected: 0 };
			return node > 0 && tree.names[tree.name[node]].startsWith(name);
		}, hot.function);
	},

	async interaction_09_flame_graph_order_direction_invert_focus(all) {
		const { page, context } = all;
		await flame.open(all);
		const before = await flame.total(page);
		const top_of_root = () => page.evaluate(() => window.strataFlame.rectOf(0).y);
		const at_top = await top_of_root();
		await page.keyboard.press("KeyV");
		await page.locator('[data-switch="flame"][aria-pressed="true"]').waitFor();
		await until(page, (top) => window.strataFlame.rectOf(0).y > top + 50, at_top);
		// Inverted, the first row is what functions took themselves.
		const own = await page.evaluate(() => {
			const { tree } = window.strataFlame.shown;
			const sums = {};
			tree.self.forEach((self, i) => {
				if (tree.name[i] >= 0) sums[tree.names[tree.name[i]]] = (sums[tree.names[tree.name[i]]] || 0) + self;
			});
			return Object.entries(sums).sort((a, b) => b[1] - a[1]).slice(0, 5);
		});
		await page.keyboard.press("KeyI");
		await page.locator('[data-switch="invert"][aria-pressed="true"]').waitFor();
		await until(page, (wanted) => {
			const { tree } = window.strataFlame.shown;
			const firsts = [...tree.parent.keys()].filter((i) => tree.parent[i] === 0 && tree.name[i] >= 0);
			const totals = new Map(firsts.map((i) => [tree.names[tree.name[i]], tree.total[i]]));
			// But for frames that are folded as too narrow.
			return wanted.every(([name, self]) => Math.abs((totals.get(name) ?? 0) - self) < tree.totalNs * 0.01);
		}, own);
		same(await flame.total(page), before, "inverted, the time is the same");
		// In the order of time there is a lane of boxes for each thread; a short range, so that boxes are wide enough.
		await flame.open(all, `?range=${context.range.join("-")}`);
		await page.locator('[data-switch="order"]').click();
		await until(page, () => window.strataFlame.shown.tree.kinds.includes("group") && window.strataFlame.shown.tree.kinds.length === 2);
		await flame.open(all);
		const at = await flame.place_of(page, context.python);
		await page.mouse.dblclick(at.x, at.y);
		await page.locator(".fl-path").waitFor();
		must(page.url().includes("root="), "the address has the focus");
		await page.locator(".fl-path button", { hasText: "all" }).first().click();
		await page.locator(".fl-path").waitFor({ state: "detached" });
		await page.goBack();
		await page.locator(".fl-path").waitFor();
	},

	async interaction_10_transforms_on_single_keys(all) {
		const { page, go, context } = all;
		const [first] = context.reports.hotspots.rows;
		await go(`/r/${context.hs}/grid?g=function`);
		await row_of(page, "Bottom-up", first.function).click();
		await page.keyboard.press("KeyD");
		await row_of(page, "Bottom-up", first.function).waitFor({ state: "detached" });
		must(new URL(page.url()).searchParams.getAll("f").some((word) => word.startsWith("function!=")), page.url());
		await page.goBack();
		await row_of(page, "Bottom-up", first.function).click();
		await page.keyboard.press("KeyF");
		await until(page, () => document.querySelectorAll(".grid-row[data-label]").length >= 1 && location.search.includes("function%3D"));
		await page.keyboard.press("KeyI");
		await page.getByRole("tab", { name: "Top-down", selected: true }).waitFor();
		await flame.open(all);
		const before = await flame.total(page);
		const at = await flame.place_of(page, context.python);
		const frames = () => page.evaluate((name) => {
			const { tree } = window.strataFlame.shown;
			return [...tree.name.keys()].filter((i) => tree.name[i] >= 0 && tree.names[tree.name[i]] === name).length;
		}, chosen);
		await page.mouse.move(at.x, at.y);
		const chosen = await page.locator("#fl-details strong").innerText();
		must(chosen.startsWith(context.python) && (await frames()) > 0, `the frame of ${context.python}, not ${chosen}`);
		const transform = async (key, words) => {
			await page.mouse.click(at.x, at.y);
			await until(page, (name) => location.search.includes(encodeURIComponent(name)), context.python);
			await page.keyboard.press(key);
			await page.locator(".fl-path", { hasText: `${words} ${chosen}` }).waitFor();
		};
		const take_back = async () => {
			await page.keyboard.press("KeyU");
			await page.locator(".fl-path").waitFor({ state: "detached" });
			same(await flame.total(page), before, "U takes it back");
		};
		await transform("KeyF", "only");
		must((await flame.total(page)) < before, "focus keeps a part");
		await take_back();
		await transform("KeyM", "merged");
		same(await frames(), 0, "frames of a function that is merged into its callers");
		same(await flame.total(page), before, "whose time stays");
		await take_back();
		await transform("KeyC", "collapsed");
		same(await flame.total(page), before, "collapsed, the time stays");
		await take_back();
		await transform("KeyD", "without");
		must((await flame.total(page)) < before, "dropped samples are gone");
	},

	async interaction_11_address_holds_the_view_and_back_undoes(all) {
		const { page, go, context, origin } = all;
		await go(`/r/${context.hs}/grid?g=module,function`);
		await grid(page, "Bottom-up").locator(".grid-row[data-label]").first().waitFor();
		await page.getByRole("columnheader", { name: /Spin Time/ }).getByRole("button").click();
		await page.getByRole("menuitemcheckbox", { name: "Largest first" }).click();
		must(page.url().includes("sort=-spin_ns"), page.url());
		const address = page.url();
		await page.getByRole("tab", { name: "Top-down" }).click();
		await page.goBack();
		same(page.url(), address, "Back");
		await page.reload();
		const rows = await table_rows(page, "Bottom-up", ["spin_ns"], 2);
		must(rows[0].spin_ns >= rows[1].spin_ns, "not sorted after a reload");
		await page.goBack();
		must(!page.url().includes("sort="), "Back does not undo the sort");
		must(page.url().startsWith(origin), page.url());
		// A window of time, an event and a pinned row of the timeline, in the page of somebody else.
		await timeline.open(all);
		await select(page, context.event.name);
		await page.keyboard.press("KeyF");
		await page.keyboard.press("KeyF");
		await until(page, () => /[?&]w=\d+-\d+/.test(location.search) && location.search.includes("event="));
		const seen = await span(page);
		const other = await page.context().newPage();
		await other.goto(page.url());
		await other.locator(".drawer h2", { hasText: context.event.name }).waitFor();
		await until(other, (name) => {
			const { model, picture } = window.strataTimeline;
			return picture.boxesInSight(100000).some((box) => model.labels.name(box.label) === name);
		}, context.event.name);
		const there = await span(other);
		must(Math.abs(there.startNs - seen.startNs) <= 1 && Math.abs(there.endNs - seen.endNs) <= 1, "the same window of time");
		await other.close();
	},

	async interaction_12_marks_with_notes_and_the_time_between_them(all) {
		const { page } = all;
		// What is written on the canvas, to be read.
		await page.addInitScript(() => {
			const write = CanvasRenderingContext2D.prototype.fillText;
			window.written = [];
			CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
				window.written.push(text);
				return write.call(this, text, ...at);
			};
		});
		await timeline.open(all);
		const host = await page.locator(".tl-picture").boundingBox();
		const mark = async (x, keys) => {
			await page.mouse.move(host.x + x, host.y + 60);
			await page.keyboard.press(keys);
		};
		await mark(200, "Shift+KeyM");
		await mark(500, "KeyM");
		await mark(600, "KeyM");
		const marks = await page.evaluate(() => window.strataTimeline.model.marks.value);
		same(marks.map((one) => one.kept), [true, false], "one mark stays, the other moves");
		same(await page.locator(".tl-mark").count(), 2, "marks above the rows");
		const whole = await span(page);
		const between = ((whole.endNs - whole.startNs) * 400) / host.width;
		must(Math.abs(marks[1].ns - marks[0].ns - between) < between * 0.02, "they are where the pointer was");
		await until(page, () => {
			const [a, b] = window.strataTimeline.model.marks.value;
			const said = window.written.map((text) => /^([\d.]+) (ns|µs|ms|s)$/.exec(text)).filter(Boolean);
			const unit = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };
			return said.some((match) => Math.abs(Number(match[1]) * unit[match[2]] - (b.ns - a.ns)) < (b.ns - a.ns) * 0.01);
		});
		must(/, [\d.]+ (ns|µs|ms|s) from the last/.test(await page.locator("#tl-said").textContent()), "and it is said");
		// A note, which the address keeps; Back takes it away.
		await page.locator(".tl-mark").first().click();
		await page.getByRole("menuitem", { name: "Write a note …" }).click();
		await page.getByLabel("Note", { exact: true }).fill("slow ~ 50 % here");
		await page.keyboard.press("Enter");
		await page.locator(".tl-mark-note", { hasText: "slow ~ 50 % here" }).waitFor();
		await page.reload();
		await page.locator(".tl-mark-note", { hasText: "slow ~ 50 % here" }).waitFor();
		same(await page.locator(".tl-mark").count(), 2, "marks after a reload");
		await page.goBack();
		await page.locator(".tl-mark-note").waitFor({ state: "detached" });
		await page.locator(".tl-mark").first().click();
		await page.getByRole("menuitem", { name: "Take this mark away" }).click();
		await until(page, () => document.querySelectorAll(".tl-mark").length === 1);
		await page.keyboard.press("Alt+KeyM");
		await until(page, () => document.querySelectorAll(".tl-mark").length === 0);
	},

	async interaction_13_pin_hide_move_find_rows_and_light_up_namesakes(all) {
		const { page, context } = all;
		await timeline.open(all);
		const rows = page.locator(".tl-names-rows .tl-name");
		const before = await rows.count();
		await page.fill("#tl-find", context.thread);
		await until(page, (count) => document.querySelectorAll(".tl-names-rows .tl-name").length < count, before);
		await page.fill("#tl-find", "");
		await until(page, (count) => document.querySelectorAll(".tl-names-rows .tl-name").length === count, before);
		const menu = async (item) => {
			await rows.filter({ hasText: context.thread }).first().click({ button: "right", position: { x: 90, y: 10 } });
			await page.getByRole("menuitem", { name: item, exact: true }).click();
		};
		await menu("Pin to the top");
		await page.locator(".tl-name.pinned", { hasText: context.thread }).waitFor();
		await menu("Hide");
		await until(page, () => /hide=\d/.test(location.search));
		await page.goBack();
		await until(page, () => !/hide=\d/.test(location.search));
		await until(page, (count) => document.querySelectorAll(".tl-names-rows .tl-name").length >= count - 1, before);
		const places = () => rows.evaluateAll((all) => all.sort((a, b) => a.offsetTop - b.offsetTop).map((one) => one.dataset.track));
		const order = await places();
		await menu("Move up");
		await until(page, () => /order=/.test(location.search));
		must(JSON.stringify(await places()) !== JSON.stringify(order), "the row moves");
		// Pointing at one box outlines all of its name, and no other.
		const { name, window } = context.namesakes;
		await timeline.open(all, `?w=${window.join("-")}`);
		const at = await show(page, name);
		await page.mouse.move(2, 2);
		// Tiles may still come: the picture is the one that nothing changes any more.
		for (let same_frames = 0; same_frames < 10; same_frames++) {
			await page.evaluate(keep_picture);
			await until(page, next_frame);
			if ((await page.evaluate(changed_boxes)).length) same_frames = -1;
		}
		await page.mouse.move(at.x, at.y);
		await page.locator(".tl-hover", { hasText: name }).waitFor();
		await until(page, next_frame);
		const changed = await page.evaluate(changed_boxes);
		must(changed.length > 1 && changed.every((one) => one === name), `lit up: ${changed}`);
	},

	interaction_14_copy_as_text_csv_json_and_command: with_clipboard(async ({ page, go, context }) => {
		await go(`/r/${context.hs}/grid?g=function`);
		await table_rows(page, "Bottom-up", [], 1);
		for (const [item, expected] of [
			["Copy as CSV", context.texts.csv],
			["Copy as text", context.texts.text],
			["Copy as JSON", context.texts.json],
		]) {
			await page.getByRole("button", { name: "Copy", exact: true }).click();
			await page.getByRole("menuitem", { name: item }).click();
			await page.locator(".toast", { hasText: item.replace("Copy", "Copied") }).waitFor();
			const copied = (await clipboard(page)).replace(/\r\n/g, "\n");
			must(copied.trim() === expected.replace(/\r\n/g, "\n").trim(), `${item}: ${copied.slice(0, 200)} is not ${expected.slice(0, 200)}`);
		}
		await page.getByRole("button", { name: "Copy", exact: true }).click();
		await page.getByRole("menuitem", { name: "Copy as command" }).click();
		await page.locator(".toast", { hasText: "Copied the command" }).waitFor();
		const command = await clipboard(page);
		must(/^strata report hotspots -group-by function -r \S+$/.test(command), command);
	}),

	async interaction_15_help_from_the_keymap_and_palette({ page, go, context }) {
		await go(`/r/${context.hs}/grid`);
		await table_rows(page, "Bottom-up", [], 1);
		await page.locator("main").click({ position: { x: 5, y: 5 } });
		await page.keyboard.press("Shift+Slash");
		const help = page.getByRole("dialog", { name: "Keys" });
		await help.getByText("Leave out the row's function or task").waitFor();
		await page.keyboard.press("Escape");
		await help.waitFor({ state: "detached" });
		await page.keyboard.press("Control+Shift+KeyP");
		await page.getByRole("combobox", { name: "Command" }).fill("go to memory");
		await page.keyboard.press("Enter");
		await page.waitForURL(/\/memory/);
	},
};

module.exports = { cases };
