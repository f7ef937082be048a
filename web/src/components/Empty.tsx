// SPDX-License-Identifier: Apache-2.0
//
// Says what is missing, why, and the command that would collect it. No page is ever blank.
import type { ComponentChildren } from "preact";
import { type Problem, problem_of } from "../api/problem";
import { CommandLine } from "./Copy";
import { Icon } from "./Icon";

export interface EmptyProps {
	title: string;
	children?: ComponentChildren;
	/** Commands that would help, the best first. */
	commands?: string[];
	small?: boolean;
}

export function Empty({ title, children, commands = [], small }: EmptyProps) {
	return (
		<div class={small ? "empty small" : "empty"} role="status">
			<p class="empty-title">{title}</p>
			{children && <div class="empty-why">{children}</div>}
			{commands.map((text) => (
				<CommandLine key={text} text={text} />
			))}
		</div>
	);
}

/** A refusal of the server, with its own advice. */
export function Failed({ error, retry }: { error: unknown; retry?: () => void }) {
	const problem: Problem = problem_of(error);
	const is_command = /^strata /.test(problem.hint);
	return (
		<div class="empty failed" role="alert">
			<p class="empty-title">
				<Icon name="warn" /> {problem.message}
			</p>
			{problem.detail && <p class="empty-why">{problem.detail}</p>}
			{problem.hint &&
				(is_command ? <CommandLine text={problem.hint} /> : <p class="empty-why">{problem.hint}</p>)}
			{retry && (
				<button type="button" class="button" onClick={retry}>
					Try again
				</button>
			)}
		</div>
	);
}
