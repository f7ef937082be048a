// SPDX-License-Identifier: Apache-2.0
//
// What a person does with the flame graph beyond the fifteen interactions (interactions.js), and the hands for both.
"use strict";

const { axe_problems, must, same, until } = require("./page_run.js");

async function open({ go, page, context }, query = "") {
	await go(`/r/${context.hs}/flame${query}`);
	await page.locator("#fl-total").waitFor();
	await until(page, () => window.strataFlame && window.strataFlame.shown && window.strataFlame.shown.tree.totalNs > 0);
}

const total = async (page) => Number(await page.locator("#fl-total").getAttribute("data-value"));

/** The middle of the widest box of a function, in the window of the browser. */
async function place_of(page, name) {
	return page.evaluate((wanted) => {
		const { tree } = window.strataFlame.shown;
		const host = document.querySelector(".fl-picture").getBoundingClientRect();
		let best = null;
		for (let i = 1; i < tree.parent.length; i++) {
			if (tree.name[i] < 0 || !tree.names[tree.name[i]].startsWith(wanted)) continue;
			const at = window.strataFlame.rectOf(i);
			if (at && (!best || at.width > best.width)) best = at;
		}
		return best && { x: host.left + best.x + best.width / 2, y: host.top + best.y + best.height / 2 };
	}, name);
}

const cases = {
	async times_are_those_of_the_command_line(all) {
		const { page, context } = all;
		await open(all);
		same(await total(page), context.total_ns, "CPU time of all");
		const self_times = await page.locator('.fl-table [data-key="self"]').evaluateAll((all) => all.map((one) => Number(one.dataset.value)));
		must(self_times.length > 5 && self_times.every((self, i) => !i || self <= self_times[i - 1]), "the table is sorted by self time");
		must(self_times.reduce((sum, self) => sum + self, 0) <= context.total_ns, "and has no more than all");
	},

	async compared_with_another_result(all) {
		const { page, context } = all;
		await open(all);
		await page.getByRole("button", { name: "Compare", exact: true }).click();
		await page.getByRole("menuitemcheckbox", { name: context.other.name }).click();
		await page.locator("#fl-total[data-value-b]").waitFor();
		same(await total(page), context.total_ns, "CPU time before");
		same(Number(await page.locator("#fl-total").getAttribute("data-value-b")), context.other.total_ns, "CPU time after");
		must(await page.getByRole("button", { name: `Compared with ${context.other.name}` }).count(), "the button names the other");
		const sides = await page.evaluate((name) => {
			const { tree } = window.strataFlame.shown;
			// Not compute_code_flags, which the interpreter of both programs calls.
			const is_it = new RegExp(`^${name}(?![\\w:<])`);
			const only = [...tree.name.keys()].filter((i) => tree.name[i] >= 0 && is_it.test(tree.names[tree.name[i]]));
			return only.map((i) => [tree.names[tree.name[i]], tree.before[i], tree.after[i]]);
		}, context.python);
		const is_one_sided = sides.length && sides.every(([, before, after]) => before > 0 && after === 0);
		must(is_one_sided, `what only one program calls is on its side only: ${JSON.stringify(sides)}`);
	},

	async flame_graph_passes_axe(all) {
		const problems = [];
		for (const colorScheme of ["light", "dark"]) {
			await all.page.emulateMedia({ colorScheme });
			await open(all);
			problems.push(...(await axe_problems(all.page)));
		}
		must(!problems.length, problems.join("\n"));
	},

	async arrow_keys_move_and_say_the_frame(all) {
		const { page } = all;
		await open(all);
		await page.locator(".fl-picture").focus();
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("ArrowDown");
		await until(page, () => /total .* self /.test(document.querySelector("#fl-details").textContent));
	},
};

module.exports = { cases, open, place_of, total };
