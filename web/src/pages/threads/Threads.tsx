// SPDX-License-Identifier: Apache-2.0
//
// What the threads did: CPU time of each, what they waited for and who let them go on, and how many CPUs worked at the
// same time.
import { NoSamples, NoTasks } from "../../components/NoRows";
import { open_tab, PageTabs } from "../../components/PageTabs";
import { ReportTable } from "../../components/ReportTable";
import { Utilization } from "./Utilization";
import { Waits } from "./Waits";

const TABS = [
	{ id: "cpu", title: "CPU time" },
	{ id: "tasks", title: "Tasks" },
	{ id: "waits", title: "Waits" },
	{ id: "locks", title: "Locks and other objects" },
	{ id: "where", title: "Where threads wait" },
	{ id: "utilization", title: "Utilization" },
];

export default function Threads() {
	const tab = open_tab(TABS);
	return (
		<div class="page filled">
			<PageTabs tabs={TABS} label="Threads" />
			<div class="column grid-page">
				{tab === "cpu" && (
					<ReportTable
						words={["hotspots", "-group-by", "process,thread,cpu-class,function"]}
						label="Threads by CPU time"
						keys
						empty={(report) => <NoSamples said={report.empty} />}
					/>
				)}
				{tab === "tasks" && (
					<ReportTable
						words={["tasks", "-group-by", "thread,task-type"]}
						label="Threads by tasks"
						keys
						empty={(report) => <NoTasks report={report} />}
					/>
				)}
				{(tab === "waits" || tab === "locks" || tab === "where") && <Waits tab={tab} />}
				{tab === "utilization" && (
					<section class="grid-page">
						<Utilization />
					</section>
				)}
			</div>
		</div>
	);
}
