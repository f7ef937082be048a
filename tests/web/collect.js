// SPDX-License-Identifier: Apache-2.0
//
// New analysis, by what a person does with it: attaching to what runs, commands to what is being collected, another host.
"use strict";

const { must, run_cases, same, until } = require("./page_run.js");

const running = (page, state) => page.locator(`.running[data-state="${state}"]`);
const heading = (page, text) => page.locator(".running h2", { hasText: text });
const toast = (page, text) => page.locator(".toast", { hasText: text });

async function begin(page, { type, fields }) {
	for (const [label, text] of Object.entries(fields)) await page.locator(".form-field", { has: page.locator("span", { hasText: new RegExp(`^${label}`) }) }).locator("input").first().fill(text);
	await page.locator(".type", { has: page.getByText(type, { exact: true }) }).click();
	await page.getByRole("button", { name: "Start" }).click();
}

/** What the server knows about the collection that the address names. */
const collection = (page) =>
	page.evaluate(async () => (await fetch(`/api/v1/collections/${new URLSearchParams(location.search).get("run")}`)).json());

async function report(page, result, words) {
	return page.evaluate(async ([id, what]) => {
		const body = JSON.stringify({ words: what });
		let answer = await fetch(`/api/v1/results/${id}/ask`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
		while (answer.status === 202) answer = await fetch(`/api/v1/jobs/${(await answer.json()).job}?wait_ms=20000`);
		return answer.json();
	}, [result, words]);
}

const cases = {
	async attach_to_a_running_process({ page, go, context }) {
		await go("/new");
		await page.getByLabel("Look at a running process").check();
		must(await page.getByRole("button", { name: "Start" }).isDisabled(), "nothing can be started without a process");
		await begin(page, { type: "hotspots", fields: { Process: String(context.pid), "Stop after": "2" } });
		await running(page, "finished").waitFor();
		const { result, command } = await collection(page);
		must(command.includes(`-target-pid ${context.pid}`), command);
		await page.getByRole("button", { name: "Open the result" }).click();
		await page.getByLabel("Top hotspots", { exact: true }).locator("tr").first().waitFor();
		const { rows } = await report(page, result, ["hotspots", "-group-by", "python-function"]);
		must(rows.some((row) => String(row.python_function).includes("mostly")), "the functions of the process");
	},

	async pause_resume_mark_and_stop({ page, go, context }) {
		await go("/new");
		await begin(page, { type: "tasks", fields: { Program: context.program, Arguments: context.arguments } });
		await running(page, "running").waitFor();
		await heading(page, "Collecting").waitFor();
		await page.getByRole("button", { name: "Pause" }).click();
		await toast(page, "Paused").waitFor();
		await heading(page, "Paused").waitFor();
		await page.getByRole("button", { name: "Resume" }).click();
		await toast(page, "Resumed").waitFor();
		await heading(page, "Collecting").waitFor();
		await page.getByLabel("Text of the mark").fill("here & there");
		await page.getByRole("button", { name: "Mark", exact: true }).click();
		await toast(page, "Marked").waitFor();
		const { live, result } = await collection(page);
		await page.getByRole("button", { name: "Stop" }).click();
		await toast(page, "Stopping").waitFor();
		process.kill(live.program_pid, 0); // it goes on: only the collection ends
		await heading(page, /^Recorded [\d.]+ m?s; the program is still running \(PID \d+\)$/).waitFor();
		must((await heading(page, "Recorded").textContent()).includes(`(PID ${live.program_pid})`), "which program");
		for (const name of ["Pause", "Resume", "Stop", "Mark"])
			must(await page.getByRole("button", { name, exact: true }).isDisabled(), `${name} after the end of collecting`);
		await page.getByRole("button", { name: "End the program" }).click();
		await toast(page, "Asked to end").waitFor();
		await running(page, "finished").waitFor();
		must(await page.getByRole("button", { name: "Pause" }).isDisabled(), "what has ended can be paused");
		const { rows } = await report(page, result, ["markers"]);
		must(rows.some((row) => JSON.stringify(row).includes("here & there")), "the mark is in the result");
		await page.getByRole("button", { name: "Open the result" }).click();
		await page.waitForURL(new RegExp(`/r/${result}/`));
	},

	async types_say_what_they_record({ page, go }) {
		await go("/new");
		await page.locator(".type").first().waitFor();
		for (const type of await page.locator(".type").all())
			must((await type.locator(".muted").textContent()).length > 10, `${await type.textContent()}: no description`);
	},

	async program_that_does_not_exist_says_so({ page, go }) {
		await go("/new");
		await begin(page, { type: "tasks", fields: { Program: "/no/such/program" } });
		await running(page, "failed").waitFor();
		await page.locator(".running .bad", { hasText: "/no/such/program" }).waitFor();
		must(await page.getByRole("button", { name: "Open the result" }).isDisabled(), "there is no result to open");
	},

	async another_host_by_ssh({ page, go, context }) {
		await go("/new");
		await begin(page, { type: "tasks", fields: { Host: context.host, Program: "/bin/echo", Arguments: "one 'two three'" } });
		await running(page, "finished").waitFor();
		const { result, host } = await collection(page);
		same(host, context.host, "the host");
		await page.getByRole("button", { name: "Open the result" }).click();
		await page.getByText("/bin/echo one 'two three'").or(page.getByText("/bin/echo one two three")).first().waitFor();
		await page.getByRole("link", { name: "Results" }).click();
		await page.locator(`[data-result="${result}"]`).waitFor();
	},
};

run_cases(cases);
