// SPDX-License-Identifier: Apache-2.0
//
// usage: node speedscope.js FILE PICTURE
// Opens a profile in speedscope itself, from its npm package; prints what the page shows as JSON.
"use strict";

const fs = require("fs");
const os = require("os");
const path = require("path");
const { open_browser, page_errors } = require("./browser.js");

async function main(file, picture) {
	const { browser, page } = await open_browser();
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), "speedscope-"));
	const release = path.join(path.dirname(require.resolve("speedscope/package.json")), "dist", "release");
	// The way its own command line hands a file over: a script beside the page that calls it.
	const script = path.join(folder, "profile.js");
	const data = fs.readFileSync(file).toString("base64");
	fs.writeFileSync(script, "speedscope.loadFileFromBase64(" + JSON.stringify(path.basename(file)) + ', "' + data + '")');
	await page.goto("file://" + path.join(release, "index.html") + "#localProfilePath=" + script);
	await page.waitForFunction(() => document.body.innerText.includes("Sandwich"));
	await page.keyboard.press("3"); // the table of functions
	await page.waitForFunction(() => document.querySelectorAll("table tr").length > 1);
	const seen = {
		text: await page.evaluate(() => document.body.innerText),
		title: await page.title(),
		rows: await page.$$eval("table tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText))),
	};
	await page.screenshot({ path: picture + ".png" });
	await browser.close();
	fs.rmSync(folder, { recursive: true });
	seen.errors = page_errors;
	process.stdout.write(JSON.stringify(seen));
}

main(...process.argv.slice(2)).catch((error) => {
	process.stderr.write(String(error.stack) + "\n");
	process.exit(1);
});
