// SPDX-License-Identifier: Apache-2.0
//
// The tabs of a page: which one is open is in the address.
import { update, view } from "../state/view";
import { type Tab, Tabs } from "./Tabs";

/** The first tab is open unless the address names another one that there is. */
export function open_tab(tabs: Tab[]): string {
	const { tab } = view.value.params;
	return (tabs.find((one) => one.id === tab) ?? tabs[0]!).id;
}

export interface PageTabsProps {
	tabs: Tab[];
	label: string;
	/** What other tabs of the page know too; everything else stays behind. */
	keep?: Record<string, string>;
}

export function PageTabs({ tabs, label, keep = {} }: PageTabsProps) {
	return (
		<Tabs
			tabs={tabs}
			chosen={open_tab(tabs)}
			choose={(id) => update({ params: { ...keep, tab: id === tabs[0]!.id ? "" : id } })}
			label={label}
		/>
	);
}
