// SPDX-License-Identifier: Apache-2.0
//
// Ready-made and saved groupings of the grid. Saved ones stay in this browser.
import { signal } from "@preact/signals";

export interface NamedGrouping {
	name: string;
	levels: string[];
}

export const READY_CPU: NamedGrouping[] = [
	{ name: "Function / Call Stack", levels: ["function", "callstack"] },
	{
		name: "Task Domain / Task Type / Function / Call Stack",
		levels: ["task-domain", "task-type", "function", "callstack"],
	},
	{ name: "Task Type / Function / Call Stack", levels: ["task-type", "function", "callstack"] },
	{ name: "Module / Function / Call Stack", levels: ["module", "function", "callstack"] },
	{ name: "Thread / Function / Call Stack", levels: ["thread", "function", "callstack"] },
	{ name: "Python Function / Python Line", levels: ["python-function", "python-line"] },
	{ name: "Source File / Source Line", levels: ["source-file", "source-line"] },
	{ name: "Step / Task Type", levels: ["step", "task-type"] },
	{ name: "CPU Time Class / Function", levels: ["cpu-class", "function"] },
];

export const READY_TASKS: NamedGrouping[] = [
	{ name: "Task Type", levels: ["task-type"] },
	{ name: "Task Domain / Task Type", levels: ["task-domain", "task-type"] },
	{ name: "Task Domain / Task Family / Task", levels: ["task-domain", "task-family", "task"] },
	{ name: "Thread / Task Type", levels: ["thread", "task-type"] },
	{ name: "Step / Task Type", levels: ["step", "task-type"] },
];

const KEY = "strata.groupings";

function stored(): NamedGrouping[] {
	try {
		const list: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
		return Array.isArray(list)
			? list.filter((one) => typeof one?.name === "string" && Array.isArray(one?.levels))
			: [];
	} catch {
		return [];
	}
}

export const savedGroupings = signal<NamedGrouping[]>(stored());

function keep(list: NamedGrouping[]): void {
	savedGroupings.value = list;
	try {
		localStorage.setItem(KEY, JSON.stringify(list));
	} catch {
		// A browser without storage keeps them until it closes.
	}
}

export function saveGrouping(grouping: NamedGrouping): void {
	keep([...savedGroupings.value.filter((one) => one.name !== grouping.name), grouping]);
}

export function forgetGrouping(name: string): void {
	keep(savedGroupings.value.filter((one) => one.name !== name));
}
