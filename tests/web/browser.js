// SPDX-License-Identifier: Apache-2.0
//
// A Chromium without a window: Debian's own, driven by playwright-core, which brings none.
"use strict";

const { chromium } = require("playwright-core");

const page_errors = [];

async function open_browser() {
	const browser = await chromium.launch({
		executablePath: process.env.STRATA_TEST_CHROMIUM || "/usr/bin/chromium",
		args: ["--no-sandbox", "--allow-file-access-from-files"],
	});
	const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
	page.on("pageerror", (error) => page_errors.push(String(error)));
	page.on("request", (request) => {
		if (!/^(file|data|blob):/.test(request.url()))
			page_errors.push("asks for " + request.url());
	});
	return { browser, page };
}

module.exports = { open_browser, page_errors };
