// SPDX-License-Identifier: Apache-2.0
//
// From a command that shows something ("strata report operators -group-by operator,input-types -r r000hs") to the page
// that shows the same: findings and next steps become links.
import { EMPTY, type View } from "./view";

const PAGE_OF: Record<string, string> = {
	summary: "summary",
	operators: "operators",
	"torch-averages": "operators",
	hotspots: "grid",
	callstacks: "grid",
	"top-down": "grid",
	tasks: "grid",
	"gprof-cc": "grid",
	source: "source",
	disassembly: "source",
	memory: "memory",
	"memory-timeline": "memory",
	utilization: "threads",
	sync: "threads",
	waits: "threads",
	"sync-objects": "threads",
	threading: "threads",
	recorded: "diagnostics",
	timeline: "timeline",
	steps: "summary",
	findings: "summary",
	quality: "diagnostics",
	info: "diagnostics",
};

/** The words of a command, quotes taken off. */
export function split_words(text: string): string[] {
	const words: string[] = [];
	for (const match of text.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)) words.push(match[1] ?? match[2] ?? match[3] ?? "");
	return words;
}

function mode_of(report: string): Record<string, string> {
	if (report === "top-down") return { mode: "top-down" };
	if (report === "gprof-cc") return { mode: "callers" };
	if (report === "tasks") return { data: "tasks" };
	if (report === "recorded") return { tab: "data" };
	if (report === "utilization") return { tab: "utilization" };
	const waits: Record<string, string> = {
		sync: "locks",
		"sync-objects": "locks",
		waits: "waits",
		threading: "where",
	};
	if (waits[report]) return { tab: waits[report] };
	return {};
}

/** null for commands that no page shows, such as exports. */
export function view_of_command(text: string, result: string): View | null {
	const [program, command, report, ...rest] = split_words(text);
	if (program !== "strata" || command !== "report" || !report) return null;
	const page = PAGE_OF[report];
	if (!page) return null;
	const view: View = { ...EMPTY, result, page, params: mode_of(report) };
	for (let i = 0; i + 1 < rest.length; i++) {
		const value = rest[i + 1] ?? "";
		if (rest[i] === "-group-by") view.groupBy = value.split(",");
		else if (rest[i] === "-filter") view.filters = [...view.filters, value];
		else if (rest[i] === "-source-object") {
			const match = /^(function|source-file|module)=(.*)$/.exec(value);
			if (match) view.params = { ...view.params, [match[1] === "source-file" ? "file" : match[1]!]: match[2]! };
		}
	}
	return view;
}
