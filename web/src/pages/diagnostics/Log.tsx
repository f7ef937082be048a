// SPDX-License-Identifier: Apache-2.0
//
// What strata wrote down while it collected: starts and ends of processes, fall-backs, errors.
import { ask } from "../../api/client";
import { result_path } from "../../api/names";
import { currentResult, useAnswer } from "../../api/use";
import { CommandLine, CopyButton } from "../../components/Copy";
import { Empty, Failed } from "../../components/Empty";
import { bytes, shellQuote } from "../../format";
import { view } from "../../state/view";

interface LogText {
	exists: boolean;
	text: string;
	size_bytes: number;
	is_cut: boolean;
}

export function Log() {
	const { result } = view.value;
	const key = JSON.stringify(["log", result, currentResult()?.generation]);
	const { data, error } = useAnswer(key, (signal) => ask<LogText>(result, "log", {}, signal));
	if (error) return <Failed error={error} />;
	if (!data) return <div class="skeleton" aria-busy="true" />;
	if (!data.text)
		return (
			<Empty title="This result has no log.">
				Strata writes one while it collects; a result that was imported, or copied without its log.txt, has
				none.
			</Empty>
		);
	return (
		<>
			<div class="toolbar">
				<span class="muted">
					{data.is_cut ? `The last part of ${bytes(data.size_bytes)}` : bytes(data.size_bytes)}; times since
					the start of the collection
				</span>
				<CopyButton text={data.text} title="Copy the log" />
			</div>
			<pre class="log whole" tabIndex={0} role="region" aria-label="Log of the collection">
				{data.text}
			</pre>
			<CommandLine text={shellQuote(["less", `${result_path(result)}/log.txt`])} />
		</>
	);
}
