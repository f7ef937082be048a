// SPDX-License-Identifier: Apache-2.0
//
// A collection while it runs: how long, its messages, and stop, pause, resume and mark; then the end of its program.
import { useEffect, useState } from "preact/hooks";
import { act, get } from "../../api/client";
import { problem_of } from "../../api/problem";
import { Failed } from "../../components/Empty";
import { Icon } from "../../components/Icon";
import { toast } from "../../components/Toast";
import { ns } from "../../format";
import { openResult } from "../../state/view";

interface Collection {
	id: string;
	state: "running" | "fetching" | "finished" | "failed";
	host: string;
	command: string;
	result: string;
	elapsed_ns: number;
	exit: number | null;
	signal: number | null;
	why?: string;
	log?: string;
	/** What strata command status said last. */
	live?: { state?: string; program_pid?: number };
	/** Collecting has ended, and the program goes on. */
	recorded_ns?: number;
	/** The program was started from here, on this machine. */
	can_end?: boolean;
}

const ASK_MS = 700;
const SAID: Record<string, string> = {
	pause: "Paused",
	resume: "Resumed",
	stop: "Stopping",
	mark: "Marked",
	end: "Asked to end",
};

export function Running({ id }: { id: string }) {
	const [now, setNow] = useState<Collection | null>(null);
	const [error, setError] = useState<unknown>(null);
	const [mark, setMark] = useState("");
	useEffect(() => {
		let timer = 0;
		let gone = false;
		const ask = async () => {
			try {
				const answer = await get<Collection>(`/collections/${encodeURIComponent(id)}`);
				if (gone) return;
				setNow(answer);
				if (answer.state === "finished" || answer.state === "failed") return;
			} catch (failure) {
				if (!gone) setError(failure);
				return;
			}
			timer = window.setTimeout(ask, ASK_MS);
		};
		void ask();
		return () => {
			gone = true;
			clearTimeout(timer);
		};
	}, [id]);
	const send = (verb: string, text?: string) =>
		void act("POST", `/collections/${encodeURIComponent(id)}/command`, text ? { verb, text } : { verb })
			.then(() => toast(SAID[verb] ?? verb))
			.catch((failure) => toast(problem_of(failure).detail || problem_of(failure).message));
	if (error) return <Failed error={error} />;
	if (!now) return <div class="skeleton" aria-busy="true" />;
	const stopped = now.state === "running" && (now.recorded_ns !== undefined || now.live?.state === "stopped");
	const running = now.state === "running" && !stopped;
	const doing = now.live?.state === "paused" ? "Paused" : "Collecting";
	const pid = now.live?.program_pid;
	const still = `the program is still running${pid ? ` (PID ${pid})` : ""}`;
	const ended =
		now.state === "finished"
			? `ended${now.exit === null ? "" : ` with exit ${now.exit}`}${now.signal ? ` by signal ${now.signal}` : ""}`
			: now.state;
	return (
		<section class="card running" aria-label="Collection" data-state={now.state}>
			<h2 aria-live="polite">
				{stopped
					? `Recorded${now.recorded_ns ? ` ${ns(now.recorded_ns)}` : ""}; ${still}`
					: `${running ? doing : `The collection has ${ended}`} · ${ns(now.elapsed_ns)}`}
			</h2>
			<p class="mono muted command-text">{now.command}</p>
			{stopped && !now.can_end && (
				<p class="muted">
					{now.host
						? `It runs on ${now.host}; the result is fetched when it ends. End it there, with kill${pid ? ` ${pid}` : ""}.`
						: "It was not started from here: end it where it was."}
				</p>
			)}
			{now.why && <p class="bad">{now.why}</p>}
			<div class="toolbar">
				<button type="button" class="button" disabled={!running} onClick={() => send("pause")}>
					<Icon name="pause" /> Pause
				</button>
				<button type="button" class="button" disabled={!running} onClick={() => send("resume")}>
					<Icon name="play" /> Resume
				</button>
				<button type="button" class="button" disabled={!running} onClick={() => send("stop")}>
					<Icon name="stop" /> Stop
				</button>
				<input
					class="field"
					type="text"
					aria-label="Text of the mark"
					placeholder="Text of the mark"
					value={mark}
					onInput={(event) => setMark(event.currentTarget.value)}
				/>
				<button type="button" class="button" disabled={!running} onClick={() => send("mark", mark || "mark")}>
					<Icon name="flag" /> Mark
				</button>
				{stopped && now.can_end && (
					<button
						type="button"
						class="button"
						data-tip="Sends SIGTERM, as kill does"
						onClick={() => send("end")}
					>
						<Icon name="close" /> End the program
					</button>
				)}
				<div class="spring" />
				<button
					type="button"
					class="button primary"
					disabled={!now.result || now.state === "failed"}
					onClick={() => openResult(now.result)}
				>
					Open the result
				</button>
			</div>
			{now.log && (
				<pre class="log" tabIndex={0} aria-label="Messages">
					{now.log}
				</pre>
			)}
		</section>
	);
}
