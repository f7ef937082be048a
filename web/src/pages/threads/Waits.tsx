// SPDX-License-Identifier: Apache-2.0
//
// What threads waited for: by kind, thread, task or who let them go on; the objects; and where in the code.
import type { Report } from "../../api/types";
import { Empty } from "../../components/Empty";
import { GroupingSelect, type NamedLevels } from "../../components/GroupingSelect";
import { ReportTable } from "../../components/ReportTable";
import { view } from "../../state/view";

interface Table {
	report: string;
	label: string;
	about: string;
	groupings: NamedLevels[];
	/** At first; the others can be added. */
	columns: string[];
}

const OF_WAITS = ["wait_ns", "wait_count", "wait_avg_ns", "wall_p95_ns", "wall_max_ns", "short_waits"];

const TABLES: Record<string, Table> = {
	waits: {
		report: "waits",
		label: "What threads waited for",
		about: "Each thread's waits are added up: several threads can wait at the same time.",
		groupings: [
			{ title: "Kind, object, who ended it", levels: ["sync-type", "sync-object", "waker"] },
			{ title: "Class and kind", levels: ["wait-class", "sync-type"] },
			{ title: "Thread and kind", levels: ["thread", "sync-type"] },
			{ title: "Who ended it", levels: ["waker", "sync-type"] },
			{ title: "Task or operator", levels: ["task-type", "sync-type"] },
		],
		columns: OF_WAITS,
	},
	locks: {
		report: "sync-objects",
		label: "Locks and other objects",
		about: "Locks, queues, descriptors, threads … by how long threads waited for them.",
		groupings: [
			{ title: "Object, who ended it", levels: ["sync-object", "waker"] },
			{ title: "Object and thread", levels: ["sync-object", "thread"] },
			{ title: "Object and task", levels: ["sync-object", "task-type"] },
			{ title: "Where it was created", levels: ["created-at", "sync-object"] },
		],
		columns: [...OF_WAITS, "acquisitions", "hold_total_ns"],
	},
	where: {
		report: "threading",
		label: "Where threads wait",
		about: "Functions by how long threads waited in them, beside the CPU time that they used.",
		groupings: [
			{ title: "Function and call stack", levels: ["function", "callstack"] },
			{ title: "Python line", levels: ["python-line"] },
			{ title: "Thread and function", levels: ["thread", "function"] },
			{ title: "Operator", levels: ["operator"] },
		],
		columns: ["wait_ns", "wait_total_ns", "wait_count", "cpu_self_ns", "cpu_total_ns", "module"],
	},
};

function nothing(report: Report) {
	const none_at_all = report.empty?.startsWith("This result has no ");
	if (!none_at_all && (view.value.filters.length || view.value.range))
		return <Empty title="No wait in this range with these filters.">Remove a chip, or show the whole run.</Empty>;
	return (
		<Empty title="No waits were recorded." commands={["strata -collect threading -- python3 train.py"]}>
			The collection type threading records what threads wait for and who lets them go on. Other types know only
			of objects that a program reports through ITT. Time in which threads spin is CPU time: see the first tab.
		</Empty>
	);
}

export function Waits({ tab }: { tab: string }) {
	const { groupBy } = view.value;
	const table = TABLES[tab]!;
	const levels = (table.groupings.find((one) => one.levels.join() === groupBy.join()) ?? table.groupings[0]!).levels;
	const tools = (
		<>
			<GroupingSelect groupings={table.groupings} levels={levels} />
			<span class="muted">{table.about}</span>
		</>
	);
	return (
		<ReportTable
			key={tab}
			words={[table.report, "-group-by", levels.join(",")]}
			label={table.label}
			tools={tools}
			columns={table.columns}
			keys
			empty={nothing}
		/>
	);
}
