// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import {
	choicesFrom,
	choicesTo,
	layoutRows,
	moveTrack,
	NO_CHOICES,
	rowsBetween,
	type Track,
	tileKinds,
} from "./tracks";

const track = (id: number, kind: string, title: string, more: Partial<Track> = {}): Track => ({
	id,
	kind,
	title,
	parent: null,
	lanes: 2,
	items: 9,
	samples: 0,
	first_ns: 0,
	last_ns: 9,
	has_boxes: true,
	has_values: false,
	event_kind: "slice",
	...more,
});
const ALL = [
	track(1, "steps", "Steps", { lanes: 1 }),
	track(2, "process", "python3 (7)", { lanes: 0, has_boxes: false }),
	track(3, "thread", "main", { parent: 2, has_values: true }),
	track(4, "thread", "worker 1", { parent: 2 }),
	track(5, "counter", "queue", { lanes: 0, has_boxes: false, has_values: true }),
];
const titles = (choices = NO_CHOICES) => layoutRows(ALL, choices).rows.map((row) => row.track.title);

test("threads lie below their process, rows below one another", () => {
	const { rows } = layoutRows(ALL, NO_CHOICES);
	assert.deepEqual(
		rows.map((row) => row.depth),
		[0, 0, 1, 1, 0],
	);
	for (let i = 1; i < rows.length; i++) assert.equal(rows[i]!.y, rows[i - 1]!.y + rows[i - 1]!.height);
	const main = rows[2]!;
	assert.ok(main.laneTop >= main.cpuTop + main.cpuHeight);
	assert.ok(main.height >= main.laneTop + main.lanes * main.laneStep);
	assert.deepEqual(ALL.map(tileKinds), [["boxes"], [], ["boxes", "values"], ["boxes"], ["values"]]);
});

test("rows are folded, hidden, found and pinned", () => {
	assert.deepEqual(titles({ ...NO_CHOICES, folded: [2] }), ["Steps", "python3 (7)", "queue"]);
	assert.deepEqual(titles({ ...NO_CHOICES, hidden: [1, 4] }), ["python3 (7)", "main", "queue"]);
	assert.deepEqual(titles({ ...NO_CHOICES, find: "WORK" }), ["python3 (7)", "worker 1"]);
	assert.deepEqual(titles({ ...NO_CHOICES, find: "python" }), ["python3 (7)", "main", "worker 1"]);
	const { pinned } = layoutRows(ALL, { ...NO_CHOICES, pinned: [4, 99] });
	assert.deepEqual(
		pinned.map((row) => [row.track.title, row.y, row.pinned]),
		[["worker 1", 0, true]],
	);
	const low = layoutRows(ALL, { ...NO_CHOICES, folded: [3] }).rows[2]!;
	assert.ok(low.laneHeight < 8 && low.lanes === 2);
});

test("a row moves among its siblings only", () => {
	const order = moveTrack(ALL, NO_CHOICES, 4, -1);
	assert.deepEqual(titles({ ...NO_CHOICES, order }), ["Steps", "python3 (7)", "worker 1", "main", "queue"]);
	const again = moveTrack(ALL, { ...NO_CHOICES, order }, 5, -9);
	assert.deepEqual(titles({ ...NO_CHOICES, order: again }), ["queue", "Steps", "python3 (7)", "worker 1", "main"]);
});

test("only rows in sight are found", () => {
	const many = Array.from({ length: 5000 }, (_, i) => track(i, "thread", `t${i}`));
	const { rows } = layoutRows(many, NO_CHOICES);
	const top = rows[3000]!.y;
	const seen = rowsBetween(rows, top, top + 100).map((row) => row.track.id);
	assert.equal(seen[0], 3000);
	assert.ok(seen.length >= 2 && seen.length <= 5);
});

test("the address holds what was chosen", () => {
	const choices = { pinned: [3], hidden: [1, 2], folded: [4], order: [5, 1], find: "a b", dense: true };
	assert.deepEqual(choicesFrom(choicesTo(choices)), choices);
	assert.deepEqual(choicesFrom({ pin: "x,1,-2" }).pinned, [1]);
});
