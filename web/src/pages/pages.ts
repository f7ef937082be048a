// SPDX-License-Identifier: Apache-2.0
//
// The pages, in the order of the rail. Each is loaded when it is first shown.
import type { ComponentType } from "preact";
import type { IconName } from "../components/Icon";

export interface PageEntry {
	id: string;
	title: string;
	/** What the page answers, for the palette and tooltips. */
	about: string;
	icon: IconName;
	/** Whether it shows a result, or lives beside them. */
	needsResult: boolean;
	load: () => Promise<{ default: ComponentType }>;
}

export const pages: PageEntry[] = [
	{
		id: "results",
		title: "Results",
		about: "All results, and how to get more",
		icon: "list",
		needsResult: false,
		load: () => import("./results/Results"),
	},
	{
		id: "new",
		title: "New analysis",
		about: "Run a program and record it",
		icon: "plus",
		needsResult: false,
		load: () => import("./new/NewAnalysis"),
	},
	{
		id: "compare",
		title: "Compare",
		about: "Two results: before, after, difference",
		icon: "compare",
		needsResult: false,
		load: () => import("./compare/Compare"),
	},
	{
		id: "summary",
		title: "Summary",
		about: "Where the time went, on one screen",
		icon: "summary",
		needsResult: true,
		load: () => import("./summary/Summary"),
	},
	{
		id: "timeline",
		title: "Timeline",
		about: "Processes and threads over time, with tasks, operators and CPU use",
		icon: "timeline",
		needsResult: true,
		load: () => import("./timeline/Timeline"),
	},
	{
		id: "operators",
		title: "Operators",
		about: "PyTorch's operators, in its own words",
		icon: "operators",
		needsResult: true,
		load: () => import("./operators/Operators"),
	},
	{
		id: "grid",
		title: "Bottom-up",
		about: "Bottom-up, top-down, callers and callees: CPU time and tasks, grouped as you like",
		icon: "grid",
		needsResult: true,
		load: () => import("./grid/Grid"),
	},
	{
		id: "flame",
		title: "Flame graph",
		about: "CPU time by call stack, as boxes inside boxes",
		icon: "flame",
		needsResult: true,
		load: () => import("./flame/Flame"),
	},
	{
		id: "source",
		title: "Source",
		about: "Lines and instructions with their time",
		icon: "source",
		needsResult: true,
		load: () => import("./source/Source"),
	},
	{
		id: "memory",
		title: "Memory",
		about: "PyTorch's memory over time and at its peak",
		icon: "memory",
		needsResult: true,
		load: () => import("./memory/Memory"),
	},
	{
		id: "threads",
		title: "Threads and locks",
		about: "CPU time of threads, what they wait for and who lets them go on, utilization",
		icon: "threads",
		needsResult: true,
		load: () => import("./threads/Threads"),
	},
	{
		id: "diagnostics",
		title: "Diagnostics",
		about: "Data quality, the run, exports, keys",
		icon: "diagnostics",
		needsResult: true,
		load: () => import("./diagnostics/Diagnostics"),
	},
];

export function page_of(id: string): PageEntry | undefined {
	return pages.find((page) => page.id === id);
}
