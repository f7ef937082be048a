// SPDX-License-Identifier: Apache-2.0
//
// Who gets in: log-in by token and by passphrase as the page asks for it, and what a browser can try from outside:
// paths that lead elsewhere, pages of other origins, other names. See page_run.js for how it is called; the context has
// the addresses of several servers, none of which is logged in to.
"use strict";

const http = require("http");
const { axe_problems, must, run_cases, same } = require("./page_run.js");

const origin_of = (address) => new URL(address).origin;
const token_of = (address) => address.split("#token=")[1];
const alert_of = (page) => page.locator('[role="alert"]');
const results = (page) => page.getByRole("link", { name: "r000hs" });

async function submit(page, fields) {
	for (const [label, text] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(text);
	await page.getByRole("button", { name: "Open", exact: true }).click();
}

/** Browsers write refusals to the console; a case names those that it provokes. */
const refused = (pattern, run, options = {}) => Object.assign(run, { expects: pattern, options });
const TLS = { ignoreHTTPSErrors: true };
const TOKEN = "Token, or the whole address that was printed";

/** A page of a stranger's server on this machine: another port, so another origin, but the same site. */
async function stranger(page) {
	const server = http.createServer((_, answer) => answer.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>stranger</title>"));
	await new Promise((done) => server.listen(0, "127.0.0.1", done));
	await page.goto(`http://127.0.0.1:${server.address().port}/`);
	return server;
}

const cases = {
	async token_in_the_address_opens_and_leaves_it({ page, context }) {
		const address = context.token;
		await page.goto(address);
		await results(page).waitFor();
		must(!page.url().includes("token"), "the token leaves the address");
		same(await page.evaluate(() => document.cookie), "", "cookies that a script sees");
		const [cookie] = await page.context().cookies();
		must(cookie.httpOnly && cookie.sameSite === "Strict", JSON.stringify(cookie));
		await page.reload();
		await results(page).waitFor();
	},

	// The token of the case before.
	used_token_is_refused_with_what_to_do: refused(/401/, async ({ page, context }) => {
		await page.goto(context.token);
		await alert_of(page).getByText("used already").waitFor();
		await alert_of(page).getByText("Press Enter where strata serve runs").waitFor();
		must(!(await results(page).count()), "results without a session");
	}),

	expired_token_is_refused: refused(/401/, async ({ page, context }) => {
		await page.goto(context.expired);
		await alert_of(page).getByText("too old").waitFor();
	}),

	wrong_token_then_the_right_one_in_the_form: refused(/401/, async ({ page, context }) => {
		const address = context.form;
		const url = origin_of(address) + "/new?again=x";
		await page.goto(url);
		const problems = await axe_problems(page);
		must(!problems.length, problems.join("\n"));
		await submit(page, { [TOKEN]: "0".repeat(32) });
		await alert_of(page).getByText("That is not it.").waitFor();
		await submit(page, { [TOKEN]: address }); // the whole address, as it is copied from the terminal
		await page.getByRole("heading", { name: "New analysis" }).waitFor();
		same(page.url(), url, "the page that was asked for");
	}),

	many_wrong_tokens_have_to_wait: refused(/401|429/, async ({ page, context }) => {
		await page.goto(origin_of(context.guessed));
		for (let i = 0; i < 5; i++) {
			const answer = page.waitForResponse(/\/session/);
			await submit(page, { [TOKEN]: `${i}`.repeat(32) });
			same((await answer).status(), 401, `attempt ${i}`);
		}
		await submit(page, { [TOKEN]: "f".repeat(32) });
		await alert_of(page).getByText(/Too many wrong attempts; wait \d+ s/).waitFor();
	}),

	first_visit_sets_the_passphrase: refused(/400/, async ({ page, context }) => {
		await page.goto(context.remote);
		await page.getByText("This is the first visit").waitFor();
		const problems = await axe_problems(page);
		must(!problems.length, problems.join("\n"));
		await submit(page, { Passphrase: "correct horse", "The same again": "correct house" });
		await alert_of(page).getByText("The two passphrases differ.").waitFor();
		await submit(page, { Passphrase: "short", "The same again": "short" });
		await alert_of(page).getByText(/A passphrase has \d+ to \d+ bytes/).waitFor();
		await submit(page, { Passphrase: "correct horse", "The same again": "correct horse" });
		await results(page).waitFor();
		const [cookie] = await page.context().cookies();
		must(cookie.secure && cookie.httpOnly, JSON.stringify(cookie));
	}, TLS),

	passphrase_wrong_then_right: refused(/401/, async ({ page, context }) => {
		await page.goto(origin_of(context.remote));
		await submit(page, { Passphrase: "wrong horse" });
		await alert_of(page).getByText("That is not it.").waitFor();
		await submit(page, { Passphrase: "correct horse" });
		await results(page).waitFor();
	}, TLS),

	first_visit_without_the_token_asks_for_it: refused(/401/, async ({ page, context }) => {
		const address = context.unset;
		await page.goto(origin_of(address));
		const both = { Passphrase: "correct horse", "The same again": "correct horse" };
		await submit(page, { [TOKEN]: "0".repeat(32), ...both });
		await alert_of(page).getByText("That is not it.").waitFor();
		await submit(page, { [TOKEN]: token_of(address), ...both });
		await results(page).waitFor();
	}, TLS),

	paths_that_lead_elsewhere_show_nothing: refused(/40\d/, async ({ page, context }) => {
		await page.goto(context.inside);
		await results(page).waitFor();
		const { secret } = context;
		const attempts = ["/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/%2e%2e/secret.txt", "/assets/..%5c..%5csecret.txt", "/r/..%2f..%2f/summary", "/%2fetc/passwd", "/api/v1/results/..%2fsecret.txt", "/api/v1/results/%2e%2e", "/api/v1/jobs/..%2f..%2fsecret.txt"];
		for (const path of attempts) {
			const text = await page.evaluate(async (to) => (await fetch(to)).text(), path);
			must(!text.includes(secret.text) && !text.includes("root:x:"), `${path} shows a file`);
		}
		const { id } = (await page.evaluate(async () => (await fetch("/api/v1/results")).json())).results[0];
		const ask = (verb, body) => page.evaluate(async ([path, what]) => {
			const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(what) });
			return { status: answer.status, text: await answer.text() };
		}, [`/api/v1/results/${id}/${verb}`, body]);
		for (const words of [["info", "-r", secret.folder], ["source", "-source-search-dir", secret.folder], ["info", "-search-dir", "/"], ["info", "-o", `${secret.folder}/harm`]])
			same((await ask("ask", { words })).status, 400, words.join(" "));
		for (const words of [["source", "-source-object", `source-file=${secret.file}`], ["source", "-source-object", "source-file=/etc/passwd"], ["source", "-source-object", "source-file=../secret.txt"]]) {
			const { text } = await ask("ask", { words });
			must(!text.includes(secret.text) && !text.includes("root:x:"), `${words.join(" ")} shows a file`);
		}
		same((await ask("export", { words: ["csv", "-o", `${secret.folder}/harm`] })).status, 400, "an export elsewhere");
		// The page itself: a source file that is none of the result's, and a name that leads out of the folder.
		await page.goto(`${origin_of(context.inside)}/r/${id}/source?file=${encodeURIComponent(secret.file)}`);
		await page.locator("main .empty, main .code-row").first().waitFor();
		must(!(await page.locator("main").innerText()).includes(secret.text), "the source page shows a file of the machine");
		await page.getByRole("link", { name: "Results" }).click();
		await page.getByRole("button", { name: "More about r000hs" }).click();
		await page.getByRole("menuitem", { name: "Rename" }).click();
		await page.getByLabel("New name").fill("../outside");
		await page.keyboard.press("Enter");
		await page.locator(".toast").first().waitFor();
		await results(page).waitFor();
	}),

	other_origins_get_nothing_and_start_nothing: refused(/./, async ({ page, context }) => {
		// A person is logged in, and visits a page of somebody else: the browser sends the cookie along, for both are
		// the same site.
		const home = origin_of(context.strangers);
		const own = await page.context().newPage();
		await page.goto(context.strangers);
		await results(page).waitFor();
		const server = await stranger(own);
		const tried = await own.evaluate(async (to) => {
			const seen = {};
			const attempt = async (name, path, options) => {
				try {
					const answer = await fetch(to + path, { credentials: "include", ...options });
					seen[name] = `${answer.type} ${answer.status} ${(await answer.text()).slice(0, 80)}`;
				} catch {
					seen[name] = "refused";
				}
			};
			const start = JSON.stringify({ type: "tasks", program: "/bin/touch", arguments: ["harm"] });
			await attempt("read", "/api/v1/results", {});
			await attempt("read blindly", "/api/v1/results", { mode: "no-cors" });
			await attempt("act", "/api/v1/collections", { method: "POST", headers: { "Content-Type": "application/json" }, body: start });
			await attempt("act as a form would", "/api/v1/collections", { method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" }, body: start });
			await attempt("delete", "/api/v1/session", { method: "DELETE" });
			seen.events = await new Promise((done) => {
				const source = new EventSource(`${to}/api/v1/events`, { withCredentials: true });
				source.onopen = () => done("open");
				source.onerror = () => done("refused");
			});
			return seen;
		}, home);
		same(tried, { read: "refused", "read blindly": "refused", act: "refused", "act as a form would": "refused", delete: "refused", events: "refused" }, "what a stranger's page gets");
		// A frame of ours in it stays empty, and a form of it is refused.
		await own.evaluate(async (to) => {
			const element = document.body.appendChild(document.createElement("iframe"));
			element.src = to;
			await new Promise((done) => {
				element.onload = done;
			});
		}, home);
		same(own.frames().slice(1).map((one) => one.url()), ["chrome-error://chromewebdata/"], "what the frame shows");
		const sent = own.waitForResponse(/collections/);
		await own.evaluate((to) => {
			const form = document.body.appendChild(document.createElement("form"));
			Object.assign(form, { method: "post", enctype: "text/plain", action: `${to}/api/v1/collections` });
			const field = form.appendChild(document.createElement("input"));
			Object.assign(field, { name: '{"type":"tasks","program":"/bin/touch","arguments":["harm"],"x":"', value: '"}' });
			form.submit();
		}, home);
		must([403, 415].includes((await sent).status()), "a form of another origin starts something");
		server.close();
		same(await page.evaluate(async () => (await (await fetch("/api/v1/collections")).json()).collections), [], "collections that were started");
		same(await page.evaluate(async () => (await fetch("/api/v1/session")).json()), { state: "open" }, "the session of the person");
	}),

	other_names_of_the_machine_are_refused: refused(/421|Opener-Policy/, async ({ page, context }) => {
		// The browser believes that this name is this machine, as after a rebinding of names.
		const { port } = new URL(context.inside);
		const answer = await page.goto(`http://rebound.example:${port}/api/v1/results`);
		same(answer.status(), 421, "a foreign name");
		same((await page.goto(`http://rebound.example:${port}/`)).status(), 421, "and for the page itself");
	}),
};

run_cases(cases, { switches: ["--host-resolver-rules=MAP rebound.example 127.0.0.1"] });
