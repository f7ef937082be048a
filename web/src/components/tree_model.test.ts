// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import type { Page, Report, Row } from "../api/types";
import { PAGE_ROWS, TreeModel } from "./tree_model";

/** A tree of 450 rows, each with two children, of which the first has one. */
function server(asked: Page[]) {
	return async (page: Page): Promise<Report> => {
		asked.push(page);
		const depth = page.path?.length ?? 0;
		const count = depth === 0 ? 450 : depth === 1 ? 2 : 1;
		const offset = page.offset ?? 0;
		const rows: Row[] = [];
		for (let i = offset; i < Math.min(count, offset + (page.limit ?? count)); i++)
			rows.push({
				name: [...(page.path ?? []), i].join("/"),
				child_count: depth < 2 ? (depth === 0 ? 2 : 1 - i) : 0,
			});
		const rest = {
			schema: "",
			report: "",
			result: "",
			source: "",
			group_by: [],
			columns: [],
			totals: {},
			quality: {},
		};
		return { ...rest, rows, row_count: count };
	};
}

const settled = () => new Promise((done) => setTimeout(done, 0));

test("pages are fetched when they come into view, once", async () => {
	const asked: Page[] = [];
	const model = new TreeModel(server(asked));
	await settled();
	assert.equal(model.visible().length, 450);
	assert.equal(model.visible()[PAGE_ROWS]?.row, undefined);
	model.need(PAGE_ROWS - 5, PAGE_ROWS + 5);
	model.need(PAGE_ROWS - 5, PAGE_ROWS + 5);
	await settled();
	assert.equal(model.visible()[PAGE_ROWS]?.row?.name, String(PAGE_ROWS));
	assert.equal(asked.length, 2);
});

test("a row opens below itself and closes again", async () => {
	const model = new TreeModel(server([]));
	await settled();
	model.set_open([1], true);
	await settled();
	assert.deepEqual(
		model
			.visible()
			.slice(1, 4)
			.map((line) => line.row?.name),
		["1", "1/0", "1/1"],
	);
	model.set_open([1, 1], true);
	assert.equal(model.is_open([1, 1]), false, "a row without children does not open");
	model.set_open([1], false);
	assert.equal(model.visible().length, 450);
});

test("a failure is kept and asked again", async () => {
	let fails = true;
	const good = server([]);
	const model = new TreeModel(async (page) => {
		if (fails) throw new Error("no");
		return good(page);
	});
	await settled();
	assert.match(String(model.error), /no/);
	fails = false;
	model.retry();
	await settled();
	assert.equal(model.error, null);
	assert.equal(model.top_count, 450);
});
