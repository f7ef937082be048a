// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { body_of, command_line, EMPTY_PLAN, environment_of, missing, split_arguments } from "./command";

test("arguments are split as a shell does, without running one", () => {
	assert.deepEqual(split_arguments(`train.py --name 'a b' "c \\"d\\"" e\\ f ''`), [
		"train.py",
		"--name",
		"a b",
		'c "d"',
		"e f",
		"",
	]);
	assert.deepEqual(split_arguments("$(rm -rf /) `x` ;"), ["$(rm", "-rf", "/)", "`x`", ";"]);
	assert.deepEqual(split_arguments("  "), []);
});

test("the form, the request and the command line say the same", () => {
	const plan = {
		...EMPTY_PLAN,
		program: "python3",
		arguments: "train.py -x 'a b'",
		knobs: { "task-lines": "true", other: "" },
		startPaused: true,
		environment: "OMP_NUM_THREADS=2\nnonsense",
	};
	assert.equal(
		command_line(plan),
		"OMP_NUM_THREADS=2 strata -collect hotspots -knob task-lines=true -start-paused -- python3 train.py -x 'a b'",
	);
	assert.deepEqual(body_of(plan), {
		type: "hotspots",
		knobs: { "task-lines": "true" },
		options: ["-start-paused"],
		program: "python3",
		arguments: ["train.py", "-x", "a b"],
		environment: { OMP_NUM_THREADS: "2" },
	});
	assert.match(command_line({ ...plan, host: "gpu1" }), /^ssh gpu1 '/);
	assert.deepEqual(environment_of("A=b=c\n=x\n B=1"), { A: "b=c", B: "1" });
});

test("it says what is missing", () => {
	assert.equal(missing(EMPTY_PLAN), "the program to run");
	assert.equal(missing({ ...EMPTY_PLAN, how: "attach", pid: "x" }), "the number of the process");
	assert.equal(missing({ ...EMPTY_PLAN, how: "attach", pid: "12" }), "");
});
