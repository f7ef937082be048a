// SPDX-License-Identifier: Apache-2.0
//
// Makes the page: node build.mjs OUTDIR. Writes the bundle with hashed names, each file also as .gz, and
//   manifest.txt   lines "url path TAB file TAB media type", which is what the server embeds
//   bundle-id      hash over the sources, by which a check finds a bundle of other sources
// Fails when the bundle outgrows its budget, naming what is too large.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const KB = 1000;
const BUDGET = { first: 60 * KB, css: 15 * KB, page: 40 * KB, total: 250 * KB };
const MEDIA = {
	".html": "text/html; charset=utf-8",
	".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
	".json": "application/json",
};
const here = dirname(fileURLToPath(import.meta.url));

function files_below(folder) {
	return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
		entry.isDirectory() ? files_below(join(folder, entry.name)) : [join(folder, entry.name)],
	);
}

/** What the bundle is made of: the sources, without tests, and the pinned tools. */
function bundle_id() {
	const sources = [...files_below(join(here, "src")), join(here, "build.mjs"), join(here, "package-lock.json")];
	const hash = createHash("sha256");
	for (const file of sources.filter((name) => !name.endsWith(".test.ts")).sort())
		hash.update(`${relative(here, file)}\0`)
			.update(readFileSync(file))
			.update("\0");
	return hash.digest("hex").slice(0, 32);
}

async function bundle(outdir, id) {
	return esbuild.build({
		absWorkingDir: here,
		entryPoints: { app: "src/main.tsx", style: "src/theme/all.css" },
		entryNames: "[name]-[hash]",
		chunkNames: "[name]-[hash]",
		outdir,
		bundle: true,
		splitting: true,
		format: "esm",
		target: "es2021",
		minify: true,
		metafile: true,
		legalComments: "none",
		jsx: "automatic",
		jsxImportSource: "preact",
		define: { STRATA_BUNDLE: JSON.stringify(id) },
		logLevel: "warning",
	});
}

/** Output file of an entry, and the scripts that it needs before it can start. */
function entry_of(outputs, source) {
	const found = Object.entries(outputs).find(([, output]) => output.entryPoint === source);
	if (!found) throw new Error(`build: ${source} made no output`);
	const needed = new Set();
	const walk = (name) => {
		if (needed.has(name)) return;
		needed.add(name);
		for (const one of outputs[name].imports) if (one.kind === "import-statement") walk(one.path);
	};
	walk(found[0]);
	return { file: basename(found[0]), needed };
}

function write_page(outdir, script, style) {
	const page = readFileSync(join(here, "src/index.html"), "utf-8");
	writeFileSync(
		join(outdir, "index.html"),
		page.replace("{{script}}", `/${script}`).replace("{{style}}", `/${style}`),
	);
	writeFileSync(join(outdir, "icon.svg"), readFileSync(join(here, "src/icon.svg")));
}

function write_manifest(outdir) {
	const names = readdirSync(outdir)
		.filter((name) => MEDIA[extension(name)])
		.sort();
	const sizes = new Map();
	for (const name of names) {
		const packed = gzipSync(readFileSync(join(outdir, name)), { level: 9 });
		writeFileSync(join(outdir, `${name}.gz`), packed);
		sizes.set(name, packed.length);
	}
	const lines = names.map((name) => `/${name}\t${name}\t${MEDIA[extension(name)]}\n`);
	writeFileSync(join(outdir, "manifest.txt"), lines.join(""));
	return sizes;
}

function extension(name) {
	return name.slice(name.lastIndexOf("."));
}

function check_budget(sizes, outputs) {
	const size = (file) => sizes.get(basename(file)) ?? 0;
	const sum = (list) => list.reduce((total, file) => total + size(file), 0);
	const shell = entry_of(outputs, "src/main.tsx").needed;
	const pages = Object.keys(outputs).filter((name) => /^src\/pages\//.test(outputs[name].entryPoint ?? ""));
	const beyond_shell = (page) => [...entry_of(outputs, outputs[page].entryPoint).needed].filter((n) => !shell.has(n));
	const first = sum([...shell]) + sum(beyond_shell(pages.find((name) => /Results/.test(name)) ?? [...shell][0]));
	const found = [
		["shell and first page, script", first, BUDGET.first],
		["styles", sum([...sizes.keys()].filter((name) => name.endsWith(".css"))), BUDGET.css],
		["everything", sum([...sizes.keys()]), BUDGET.total],
		...pages.map((page) => [`page ${outputs[page].entryPoint}`, sum(beyond_shell(page)), BUDGET.page]),
	];
	const lines = found.map(([what, is, may]) => `${(is / KB).toFixed(1).padStart(7)} kB of ${may / KB}  ${what}`);
	console.log(`build: gzip sizes\n${lines.join("\n")}`);
	const over = found.filter(([, is, may]) => is > may);
	if (over.length) throw new Error(`build: over its budget: ${over.map(([what]) => what).join(", ")}`);
}

/** Only a folder that an earlier build made is emptied. */
function prepare(outdir) {
	if (existsSync(join(outdir, "bundle-id"))) rmSync(outdir, { recursive: true });
	mkdirSync(outdir, { recursive: true });
}

async function main() {
	if (process.argv.length !== 3) throw new Error("usage: node build.mjs OUTDIR");
	const outdir = resolve(process.argv[2]);
	const id = bundle_id();
	prepare(outdir);
	const { metafile } = await bundle(outdir, id);
	const style = entry_of(metafile.outputs, "src/theme/all.css").file;
	write_page(outdir, entry_of(metafile.outputs, "src/main.tsx").file, style);
	check_budget(write_manifest(outdir), metafile.outputs);
	writeFileSync(join(outdir, "bundle-id"), `${id}\n`);
}

main().catch((error) => {
	console.error(error.message);
	process.exit(1);
});
