// SPDX-License-Identifier: Apache-2.0
//
// The time of all threads, divided into running and what they waited for.
import type { Report } from "../../api/types";
import { StackedBar } from "../../components/StackedBar";
import { ns, whole } from "../../format";

const COLOURS: Record<string, number> = {
	Running: 2,
	Synchronization: 5,
	"Python GIL": 3,
	"I/O": 0,
	Sleep: 4,
	Preempted: 1,
	"Idle Worker": 6,
};
const OTHER = 7;

export function ThreadTime({ report }: { report: Report }) {
	const rows = report.rows.filter((row) => row.section === "thread_time");
	const all = rows.find((row) => row.name === "threads");
	const parts = rows
		.filter((row) => row !== all)
		.map((row) => ({
			name: String(row.name),
			value: Number(row.wall_total_ns),
			ratio: Number(row.share_ratio),
			colour: COLOURS[String(row.name)] ?? OTHER,
		}));
	if (!all || !parts.length) return null;
	return (
		<StackedBar
			parts={parts}
			unit="ns"
			label="Where the time of the threads went"
			total={`${ns(Number(all.wall_total_ns))} of ${whole(Number(all.count))} threads`}
		/>
	);
}
