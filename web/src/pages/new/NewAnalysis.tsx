// SPDX-License-Identifier: Apache-2.0
//
// A new analysis: where, what and how, with what this machine can measure, and the command line that does the same.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { act, get } from "../../api/client";
import { metaInfo } from "../../api/meta";
import type { Knob } from "../../api/types";
import { projectList, resultList, useAnswer } from "../../api/use";
import { CommandLine } from "../../components/Copy";
import { Empty, Failed } from "../../components/Empty";
import { Icon } from "../../components/Icon";
import { updateParams, view } from "../../state/view";
import { body_of, command_line, EMPTY_PLAN, missing, type Plan, split_arguments } from "./command";
import { Running } from "./Running";

interface Check {
	name: string;
	status: string;
	fact: string;
	remedy: string | null;
}

function Field({ label, hint, children }: { label: string; hint?: string; children: ComponentChildren }) {
	return (
		// biome-ignore lint/a11y/noLabelWithoutControl: the control is the child
		<label class="form-field">
			<span>{label}</span>
			{children}
			{hint && <small class="muted">{hint}</small>}
		</label>
	);
}

function Capabilities() {
	const { data, error } = useAnswer("capabilities", (signal) => get<{ checks: Check[] }>("/capabilities", signal));
	if (error) return <Failed error={error} />;
	if (!data) return <div class="skeleton" aria-busy="true" />;
	const lacking = data.checks.filter((check) => check.status !== "ok");
	return (
		<details open={lacking.length > 0}>
			<summary>
				This machine: {data.checks.length - lacking.length} of {data.checks.length} checks are fine
			</summary>
			<ul class="notes">
				{lacking.map((check) => (
					<li key={check.name}>
						<strong>{check.name}</strong>: {check.fact}
						{check.remedy && <span class="muted"> — {check.remedy}</span>}
					</li>
				))}
			</ul>
			<details>
				<summary>What is fine</summary>
				<ul class="notes">
					{data.checks
						.filter((check) => check.status === "ok")
						.map((check) => (
							<li key={check.name}>
								{check.name}: {check.fact}
							</li>
						))}
				</ul>
			</details>
		</details>
	);
}

function Knobs({ plan, knobs, set }: { plan: Plan; knobs: Knob[]; set: (knobs: Record<string, string>) => void }) {
	const mine = knobs.filter((knob) => !knob.types?.length || knob.types.includes(plan.type));
	return (
		<details>
			<summary>Knobs ({mine.length})</summary>
			<div class="knobs">
				{mine.map((knob) => {
					const choices = /^[\w-]+(\|[\w-]+)+$/.test(knob.values ?? "") ? knob.values.split("|") : null;
					const change = (value: string) => set({ ...plan.knobs, [knob.name]: value });
					const value = plan.knobs[knob.name] ?? "";
					return (
						<Field key={knob.name} label={knob.name} hint={knob.help}>
							{choices ? (
								<select
									class="field"
									value={value}
									onChange={(event) => change(event.currentTarget.value)}
								>
									<option value="">as usual{knob.initial ? ` (${knob.initial})` : ""}</option>
									{choices.map((one) => (
										<option key={one} value={one}>
											{one}
										</option>
									))}
								</select>
							) : (
								<input
									class="field"
									type="text"
									placeholder={knob.initial || knob.values}
									value={value}
									onInput={(event) => change(event.currentTarget.value)}
								/>
							)}
						</Field>
					);
				})}
			</div>
		</details>
	);
}

/** The plan of an earlier result: the same program and type. */
function plan_of(result: string): Plan {
	const earlier = resultList.value?.find((one) => one.id === result);
	if (!earlier) return EMPTY_PLAN;
	const [program = "", ...rest] = split_arguments(earlier.command);
	return { ...EMPTY_PLAN, program, arguments: rest.join(" "), type: earlier.type || "hotspots" };
}

function Form({
	plan,
	set,
	start,
	error,
}: {
	plan: Plan;
	set: (patch: Partial<Plan>) => void;
	start: () => void;
	error: unknown;
}) {
	const meta = metaInfo.value;
	const may = meta?.can_collect !== false;
	const lacks = missing(plan);
	const text = (
		key: "program" | "arguments" | "workingDir" | "pid" | "host" | "duration",
		label: string,
		hint?: string,
		placeholder?: string,
	) => (
		<Field label={label} {...(hint ? { hint } : {})}>
			<input
				class="field wide"
				type="text"
				value={plan[key]}
				placeholder={placeholder}
				onInput={(event) => set({ [key]: event.currentTarget.value })}
			/>
		</Field>
	);
	return (
		<form
			class="new-form"
			onSubmit={(event) => {
				event.preventDefault();
				start();
			}}
		>
			<fieldset class="card">
				<legend>Where</legend>
				{text(
					"host",
					"Host",
					"Empty: this one. Another is reached with ssh, without a password, and needs strata.",
					"this host",
				)}
				{projectList.value.length > 0 && (
					<Field label="Project" hint="The folder that the result is written to.">
						<select
							class="field wide"
							value={plan.project}
							onChange={(event) => set({ project: event.currentTarget.value })}
						>
							<option value="">none: the data directory itself</option>
							{projectList.value.map((name) => (
								<option key={name} value={name}>
									{name}
								</option>
							))}
						</select>
					</Field>
				)}
				<Capabilities />
			</fieldset>
			<fieldset class="card">
				<legend>What</legend>
				<div class="toolbar" role="radiogroup" aria-label="What is measured">
					{(["launch", "attach"] as const).map((how) => (
						<label key={how} class="check">
							<input type="radio" name="how" checked={plan.how === how} onChange={() => set({ how })} />
							{how === "launch" ? "Run a program" : "Look at a running process"}
						</label>
					))}
				</div>
				{plan.how === "launch" ? (
					<>
						{text("program", "Program", undefined, "python3")}
						{text(
							"arguments",
							"Arguments",
							"As in a shell: quotes group words. No shell runs.",
							"train.py --epochs 1",
						)}
						{text("workingDir", "Folder", "Empty: the data directory of the server.")}
						<Field label="Environment" hint="NAME=VALUE, one on a line">
							<textarea
								class="field wide"
								rows={2}
								value={plan.environment}
								onInput={(event) => set({ environment: event.currentTarget.value })}
							/>
						</Field>
					</>
				) : (
					text("pid", "Process", "Sampled from outside: CPU time only, no tasks.", "12345")
				)}
			</fieldset>
			<fieldset class="card">
				<legend>How</legend>
				<div class="types" role="radiogroup" aria-label="Type of analysis">
					{(meta?.types ?? []).map((type) => (
						<label key={type.name} class={plan.type === type.name ? "type chosen-type" : "type"}>
							<input
								type="radio"
								name="type"
								checked={plan.type === type.name}
								onChange={() => set({ type: type.name })}
							/>
							<strong>{type.name}</strong>
							<span class="muted">{type.summary}</span>
						</label>
					))}
				</div>
				<div class="toolbar">
					<label class="check">
						<input
							type="checkbox"
							checked={plan.startPaused}
							onChange={() => set({ startPaused: !plan.startPaused })}
						/>
						Start paused
					</label>
					{text("duration", "Stop after (s)", undefined, "never")}
				</div>
				<Knobs plan={plan} knobs={meta?.knobs ?? []} set={(knobs) => set({ knobs })} />
			</fieldset>
			<section class="card" aria-label="Command line">
				<h2>The same on the command line</h2>
				<CommandLine text={command_line(plan)} />
				{!may && (
					<Empty small title="This server does not start programs.">
						{meta?.can_collect_why}
					</Empty>
				)}
				{error ? <Failed error={error} /> : null}
				<div class="toolbar">
					<button type="submit" class="button primary" disabled={!may || lacks !== ""}>
						<Icon name="play" /> Start
					</button>
					{lacks && <span class="muted">Missing: {lacks}</span>}
				</div>
			</section>
		</form>
	);
}

export default function NewAnalysis() {
	const { params } = view.value;
	const [plan, setPlan] = useState<Plan>(() => ({
		...plan_of(params.again ?? ""),
		project: params.project ?? "",
	}));
	const [error, setError] = useState<unknown>(null);
	// The list may come after the page.
	useEffect(() => {
		if (params.again && !plan.program) setPlan(plan_of(params.again));
	}, [resultList.value]);
	const start = async () => {
		setError(null);
		try {
			const answer = await act<{ id: string }>("POST", "/collections", body_of(plan));
			if (answer) updateParams({ run: answer.id });
		} catch (failure) {
			setError(failure);
		}
	};
	return (
		<div class="page">
			<h1>New analysis</h1>
			{params.run && <Running key={params.run} id={params.run} />}
			<Form
				plan={plan}
				set={(patch) => setPlan((before) => ({ ...before, ...patch }))}
				start={() => void start()}
				error={error}
			/>
		</div>
	);
}
