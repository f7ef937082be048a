// SPDX-License-Identifier: Apache-2.0
//
// Runs the unit tests, src/**/*.test.ts, with Node's own test runner: node test.mjs [PATTERN].
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const pattern = process.argv[2] ?? "";

function tests_below(folder) {
	return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
		const path = join(folder, entry.name);
		if (entry.isDirectory()) return tests_below(path);
		return /\.test\.tsx?$/.test(entry.name) && path.includes(pattern) ? [path] : [];
	});
}

const sources = tests_below(join(here, "src"));
const outdir = mkdtempSync(join(tmpdir(), "strata-web-"));
let status = 1;
try {
	await esbuild.build({
		entryPoints: sources,
		outbase: here,
		outdir,
		outExtension: { ".js": ".mjs" },
		bundle: true,
		format: "esm",
		platform: "node",
		target: "node18",
		sourcemap: "inline",
		jsx: "automatic",
		jsxImportSource: "preact",
		define: { STRATA_BUNDLE: '"test"' },
		logLevel: "warning",
	});
	const built = sources.map((file) => join(outdir, relative(here, file).replace(/\.tsx?$/, ".mjs")));
	status =
		spawnSync(process.execPath, ["--enable-source-maps", "--test", ...built], {
			stdio: "inherit",
			env: { ...process.env, STRATA_WEB: here },
		}).status ?? 1;
} finally {
	rmSync(outdir, { recursive: true });
}
process.exit(status);
