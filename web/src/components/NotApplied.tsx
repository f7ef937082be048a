// SPDX-License-Identifier: Apache-2.0
import { filterText } from "../shell/FilterChips";
import { Icon } from "./Icon";

/** What a report cannot be narrowed by: said beside it, so that nobody takes its figures for narrower ones. */
export function NotApplied({ left, what = "report" }: { left: string[]; what?: string }) {
	if (!left.length) return null;
	return (
		<p class="note" role="note">
			<Icon name="warn" size={13} /> Not narrowed by {left.map(filterText).join(", ")}: this {what} cannot be.
		</p>
	);
}
