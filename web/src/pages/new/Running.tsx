// SPDX-License-Identifier: Apache-2.0
//
// A collection while it runs: how long, its messages, and stop, pause, resume and mark.
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
	command: string;
	result: string;
	elapsed_ns: number;
	exit: number | null;
	signal: number | null;
	why?: string;
	log?: string;
	/** What strata command status said last. */
	live?: { state?: string };
}

const ASK_MS = 700;

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
			.then(() => toast({ pause: "Paused", resume: "Resumed", stop: "Stopping", mark: "Marked" }[verb] ?? verb))
			.catch((failure) => toast(problem_of(failure).detail || problem_of(failure).message));
	if (error) return <Failed error={error} />;
	if (!now) return <div class="skeleton" aria-busy="true" />;
	const running = now.state === "running";
	const doing = now.live?.state === "paused" ? "Paused" : "Collecting";
	const ended =
		now.state === "finished"
			? `ended${now.exit === null ? "" : ` with exit ${now.exit}`}${now.signal ? ` by signal ${now.signal}` : ""}`
			: now.state;
	return (
		<section class="card running" aria-label="Collection" data-state={now.state}>
			<h2 aria-live="polite">
				{running ? doing : `The collection has ${ended}`} · {ns(now.elapsed_ns)}
			</h2>
			<p class="mono muted command-text">{now.command}</p>
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
