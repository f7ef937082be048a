// SPDX-License-Identifier: Apache-2.0
//
// From the form to what the server is asked, and to the command line that does the same.
import { shellQuote } from "../../format";

export interface Plan {
	host: string;
	how: "launch" | "attach";
	program: string;
	arguments: string;
	workingDir: string;
	environment: string;
	pid: string;
	type: string;
	knobs: Record<string, string>;
	startPaused: boolean;
	duration: string;
	project: string;
}

export const EMPTY_PLAN: Plan = {
	host: "",
	how: "launch",
	program: "",
	arguments: "",
	workingDir: "",
	environment: "",
	pid: "",
	type: "hotspots",
	knobs: {},
	startPaused: false,
	duration: "",
	project: "",
};

/** Words as a shell would split them: quotes group, a backslash takes the next letter as it is. */
export function split_arguments(text: string): string[] {
	const words: string[] = [];
	let word = "";
	let begun = false;
	let quote = "";
	const end = () => {
		if (begun) words.push(word);
		word = "";
		begun = false;
	};
	for (let i = 0; i < text.length; i++) {
		const letter = text[i] ?? "";
		const next = text[i + 1] ?? "";
		if (!quote && /\s/.test(letter)) end();
		else if (!quote && (letter === "'" || letter === '"')) {
			quote = letter;
			begun = true;
		} else if (quote && letter === quote) quote = "";
		else if (letter === "\\" && next && (!quote || (quote === '"' && /["\\$`]/.test(next)))) {
			word += next;
			begun = true;
			i++;
		} else {
			word += letter;
			begun = true;
		}
	}
	end();
	return words;
}

/** "NAME=VALUE" lines; others are left out. */
export function environment_of(text: string): Record<string, string> {
	const found: Record<string, string> = {};
	for (const line of text.split("\n")) {
		const match = /^\s*([A-Za-z_]\w*)=(.*)$/.exec(line);
		if (match) found[match[1]!] = match[2]!;
	}
	return found;
}

export function options_of(plan: Plan): string[] {
	const options: string[] = [];
	if (plan.startPaused) options.push("-start-paused");
	if (plan.duration.trim()) options.push("-duration", plan.duration.trim());
	return options;
}

function set_knobs(plan: Plan): Record<string, string> {
	return Object.fromEntries(Object.entries(plan.knobs).filter(([, value]) => value !== ""));
}

export function body_of(plan: Plan): Record<string, unknown> {
	const attach = plan.how === "attach";
	return {
		type: plan.type,
		knobs: set_knobs(plan),
		options: options_of(plan),
		...(plan.host ? { host: plan.host } : {}),
		...(plan.project ? { project: plan.project } : {}),
		...(attach
			? { attach_pid: Number(plan.pid) }
			: {
					program: plan.program.trim(),
					arguments: split_arguments(plan.arguments),
					...(plan.workingDir ? { working_dir: plan.workingDir } : {}),
					...(plan.environment.trim() ? { environment: environment_of(plan.environment) } : {}),
				}),
	};
}

export function command_line(plan: Plan): string {
	const words = ["strata", "-collect", plan.type];
	for (const [name, value] of Object.entries(set_knobs(plan))) words.push("-knob", `${name}=${value}`);
	words.push(...options_of(plan));
	if (plan.how === "attach") words.push("-target-pid", plan.pid || "PID");
	else {
		if (plan.workingDir) words.push("-app-working-dir", plan.workingDir);
		words.push("--", plan.program.trim() || "PROGRAM", ...split_arguments(plan.arguments));
	}
	const environment = Object.entries(environment_of(plan.environment)).map(
		([name, value]) => `${name}=${shellQuote([value])}`,
	);
	const here = [...(plan.how === "launch" ? environment : []), shellQuote(words)].join(" ");
	return plan.host ? `ssh ${shellQuote([plan.host])} ${shellQuote([here])}` : here;
}

/** What is missing before it can start; empty when nothing is. */
export function missing(plan: Plan): string {
	if (plan.how === "attach") return /^\d+$/.test(plan.pid) ? "" : "the number of the process";
	return plan.program.trim() ? "" : "the program to run";
}
