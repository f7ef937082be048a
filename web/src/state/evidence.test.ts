// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { split_words, view_of_command } from "./evidence";

test("a finding's command opens the page that shows the same", () => {
	const view = view_of_command("strata report operators -group-by operator,input-types -r r000hs", "r000hs");
	assert.equal(view?.page, "operators");
	assert.deepEqual(view?.groupBy, ["operator", "input-types"]);
	const spin = view_of_command(
		"strata report hotspots -group-by cpu-class,function -filter 'thread=main (1)' -r x",
		"r1",
	);
	assert.equal(spin?.page, "grid");
	assert.deepEqual(spin?.filters, ["thread=main (1)"]);
	assert.equal(
		view_of_command("strata report source -source-object source-file=train.py", "r")?.params.file,
		"train.py",
	);
	assert.equal(view_of_command("strata export chrome -o x.json", "r"), null);
	assert.deepEqual(split_words(`a 'b c' "d e"`), ["a", "b c", "d e"]);
});
