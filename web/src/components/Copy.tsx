// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import { Icon } from "./Icon";

/** The clipboard of the browser, or the old way where a page without TLS may not use it. */
export async function copyText(text: string): Promise<void> {
	if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
	const field = document.createElement("textarea");
	field.value = text;
	field.className = "off-screen";
	document.body.append(field);
	field.select();
	document.execCommand("copy");
	field.remove();
}

export function CopyButton({ text, title = "Copy" }: { text: string; title?: string }) {
	const [done, setDone] = useState(false);
	const copy = async () => {
		await copyText(text);
		setDone(true);
		setTimeout(() => setDone(false), 1500);
	};
	return (
		<button
			type="button"
			class="icon-button"
			aria-label={done ? "Copied" : title}
			data-tip={done ? "Copied" : title}
			onClick={copy}
		>
			<Icon name={done ? "check" : "copy"} />
		</button>
	);
}

/** A command that somebody is to run, with its copy button. */
export function CommandLine({ text }: { text: string }) {
	return (
		<div class="command-line">
			<code>{text}</code>
			<CopyButton text={text} title="Copy the command" />
		</div>
	);
}
