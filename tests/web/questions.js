// SPDX-License-Identifier: Apache-2.0
//
// Seven questions that somebody who has never seen the page answers from it: each is walked by what can be read on the
// page and by keys, beginning with the list of results, and its answer is the command line's. A walk of more than
// ACTIONS clicks and keys is too long for a minute. Each answer is kept as a picture, light and dark.
"use strict";

const { exact_of, must, run_cases, same, settled, until } = require("./page_run.js");

const ACTIONS = 6;

/** What a person does; counted. */
class Person {
	constructor({ page, go, context }) {
		Object.assign(this, { page, go, context, actions: 0 });
	}

	async click(what) {
		this.actions++;
		await what.click();
		await settled(this.page);
	}

	async press(keys) {
		this.actions++;
		for (const key of keys.split(" ")) await this.page.keyboard.press(key);
		await settled(this.page);
	}

	async type(text) {
		this.actions++;
		await this.page.keyboard.type(text);
	}

	async open(name) {
		await this.go("/");
		await this.click(this.page.getByRole("link", { name, exact: true }));
		await this.page.getByRole("heading", { level: 1 }).waitFor();
		await settled(this.page);
	}

	rail(name) {
		return this.click(this.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }));
	}

	region(name) {
		return this.page.getByRole("region", { name, exact: true });
	}

	/** The answer is on the screen: keeps what it looks like. */
	async answered(name, where) {
		must(this.actions <= ACTIONS, `${this.actions} actions are too many for a minute`);
		await where.scrollIntoViewIfNeeded();
		const inside = await where.evaluate((element) => {
			const box = element.getBoundingClientRect();
			return box.top >= 0 && box.left >= 0 && box.top < window.innerHeight && box.left < window.innerWidth;
		});
		must(inside, "the answer is not on the screen");
		for (const colorScheme of ["light", "dark"]) {
			await this.page.emulateMedia({ colorScheme });
			const shown = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))));
			await until(this.page, shown);
			const path = `${process.env.STRATA_TEST_SHOTS}/question-${name}-${colorScheme}.png`;
			if (process.env.STRATA_TEST_SHOTS) await this.page.screenshot({ path, animations: "disabled" });
		}
	}
}

const cells = (row) => row.locator("td, th").allInnerTexts();
const plain = (text) => text.replace(/\s+/g, " ").trim();

const cases = {
	async question_1_which_line_of_my_script_costs_most(all) {
		const person = new Person(all);
		const { line } = all.context;
		await person.open("before");
		const first = person.region("Lines of the program").getByRole("row").first();
		const link = first.getByRole("link");
		same(await link.innerText(), `${line.file}:${line.line}`, "the first line");
		same(await exact_of(first.getByRole("cell").nth(1)), line.cpu_total_ns, "its CPU time");
		await person.click(link);
		const row = all.page.getByRole("grid", { name: "Source" }).getByRole("row", { selected: true });
		await row.waitFor();
		must(plain(await row.innerText()).includes(plain(line.source)), `its text: ${line.source}`);
		same(await exact_of(row.getByRole("gridcell").last()), line.cpu_total_ns, "its CPU time beside the source");
		await person.answered("line", row);
	},

	async question_2_which_operator_with_which_shapes(all) {
		const person = new Person(all);
		const { operator } = all.context;
		await person.open("before");
		const link = person.region("Top operators").getByRole("link").first();
		same(await link.innerText(), operator.name, "the heaviest operator");
		await person.click(link);
		const shapes = person.region(operator.name).getByRole("table", { name: `Shapes of ${operator.name}` });
		const first = shapes.getByRole("row").nth(1);
		await first.waitFor();
		const [shape, calls] = await cells(first);
		must(shape.startsWith(operator.shapes), `${shape} instead of ${operator.shapes}`);
		same(calls, operator.count.toLocaleString("en-US"), "its calls");
		await person.answered("operator", first);
	},

	async question_3_what_one_iteration_is_made_of(all) {
		const person = new Person(all);
		const { step } = all.context;
		await person.open("before");
		await all.page.getByRole("slider", { name: /^Steps/ }).focus();
		await person.press([...Array(step.index).fill("ArrowRight"), "Enter"].join(" "));
		const parts = all.page.getByRole("figure", { name: `What ${step.name} is made of` });
		await parts.waitFor();
		for (const [name, ns] of Object.entries(step.parts)) {
			const row = parts.getByRole("row", { name: new RegExp(`^\\s*${name}`, "i") });
			same(await exact_of(row.getByRole("cell").first()), ns, name);
		}
		await person.answered("iteration", parts);
		await person.click(all.page.getByRole("link", { name: "Its events on the timeline" }));
		const table = person.region("What the range is made of");
		const rows = table.getByRole("table").locator("tbody").getByRole("row");
		await rows.first().waitFor();
		same((await rows.getByRole("rowheader").allInnerTexts()).slice(0, 4), step.operators.slice(0, 4), "its operators");
		await person.answered("iteration-timeline", table);
	},

	async question_4_what_thread_2_does_while_thread_1_is_in_backward(all) {
		const person = new Person(all);
		const { backward } = all.context;
		await person.open("before");
		await person.rail("Timeline");
		await all.page.getByRole("application", { name: /^Timeline of/ }).waitFor();
		await person.press("Slash");
		await person.type("backward");
		await person.press("Enter");
		await person.region("backward").waitFor();
		await person.click(all.page.getByRole("button", { name: "What happens meanwhile" }));
		const table = person.region("What the range is made of");
		const rows = table.getByRole("table").locator("tbody").getByRole("row");
		await table.getByRole("rowheader", { name: backward.threads[0] }).waitFor();
		same(await rows.getByRole("rowheader").allInnerTexts(), backward.rows, "threads and what they are in");
		await person.answered("threads", rows.first());
	},

	async question_5_which_native_function_is_behind_addmm(all) {
		const person = new Person(all);
		const [first] = all.context.behind;
		await person.open("before");
		await person.rail("Operators");
		await person.click(all.page.getByRole("row", { name: /^aten::addmm/ }));
		const table = person.region("Functions behind it, by CPU time");
		const row = table.getByRole("row").first();
		await row.waitFor();
		same(await row.getByRole("button").innerText(), first.function, "the function");
		same(await exact_of(row.getByRole("cell").first()), first.cpu_self_ns, "its CPU time");
		await person.answered("native", row);
	},

	async question_6_what_changed_between_two_results(all) {
		const person = new Person(all);
		await all.go("/");
		await person.click(all.page.getByLabel("Pick before to compare"));
		await person.click(all.page.getByLabel("Pick after to compare"));
		await person.click(all.page.getByRole("button", { name: "Compare", exact: true }));
		const table = all.page.getByRole("treegrid", { name: "What changed" });
		await table.getByText("elapsed time", { exact: true }).waitFor();
		for (const { name, ...wanted } of all.context.changes) {
			const row = table.getByRole("row").filter({ has: all.page.getByText(name, { exact: true }) }).first();
			const found = {};
			for (const key of Object.keys(wanted)) found[key] = await exact_of(row.locator(`[data-key="${key}"]`));
			same(found, wanted, name);
		}
		await person.answered("changes", table);
	},

	async question_7_which_data_is_missing_and_how_to_get_it(all) {
		const person = new Person(all);
		const { missing } = all.context;
		await person.open("plain");
		const card = person.region("Data quality and cost");
		const link = card.getByRole("link", { name: "What is missing, and how to get it" });
		await link.waitFor();
		for (const one of missing) must((await card.innerText()).includes(one.data), `${one.data} is not named`);
		await person.click(link);
		const table = all.page.getByRole("table", { name: "Recorded and missing data" });
		await table.waitFor();
		const rows = table.getByRole("row", { name: /missing/ });
		same(await rows.getByRole("rowheader").allInnerTexts(), missing.map((one) => one.data), "what is missing");
		for (const [i, one] of missing.entries()) {
			const text = plain(await rows.nth(i).getByRole("code").innerText());
			same(text, one.command, `how to get ${one.data}`);
		}
		await person.answered("missing", rows.first());
	},
};

run_cases(cases);
