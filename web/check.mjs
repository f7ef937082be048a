// SPDX-License-Identifier: Apache-2.0
//
// Static checks of the page: types, lint rules, formatting. node check.mjs [--fix]
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const fix = process.argv.includes("--fix");
const steps = [
	["biome", ["check", "--error-on-warnings", ...(fix ? ["--write"] : []), "."]],
	["tsc", ["--noEmit", "-p", "."]],
];

let failed = 0;
for (const [tool, words] of steps) {
	const done = spawnSync(join(here, "node_modules/.bin", tool), words, { cwd: here, stdio: "inherit" });
	if (done.error) console.error(`${tool}: ${done.error.message}; npm ci in web/ installs it`);
	failed += done.status === 0 ? 0 : 1;
}
process.exit(failed ? 1 : 0);
