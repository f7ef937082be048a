// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { address, update, type View } from "../state/view";

/** A link to another view: opens in place, or in a new tab as the browser's own links do. */
export function ViewLink({ to, children, className }: { to: View; children: ComponentChildren; className?: string }) {
	const follow = (event: MouseEvent) => {
		if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
		event.preventDefault();
		update(to);
	};
	return (
		<a href={address(to)} class={className} onClick={follow}>
			{children}
		</a>
	);
}
