// SPDX-License-Identifier: Apache-2.0
import { Icon } from "../components/Icon";
import { type PageEntry, pages } from "../pages/pages";
import { address, go, type View, view } from "../state/view";

function target(page: PageEntry): View {
	return { ...view.value, page: page.id, params: {}, search: "" };
}

function Entry({ page }: { page: PageEntry }) {
	const { result, page: current } = view.value;
	const usable = !page.needsResult || result !== "";
	if (!usable)
		return (
			<span class="rail-entry off" data-tip="Open a result first">
				<Icon name={page.icon} />
				<span class="rail-text">{page.title}</span>
			</span>
		);
	const follow = (event: MouseEvent) => {
		if (event.ctrlKey || event.metaKey || event.shiftKey) return;
		event.preventDefault();
		go(page.id);
	};
	return (
		<a
			class="rail-entry"
			href={address(target(page))}
			aria-current={page.id === current ? "page" : undefined}
			aria-label={page.title}
			data-tip={page.about}
			onClick={follow}
		>
			<Icon name={page.icon} />
			<span class="rail-text">{page.title}</span>
		</a>
	);
}

export function Rail() {
	return (
		<nav class="rail" aria-label="Pages">
			<div class="brand">
				<img src="/icon.svg" alt="" width={22} height={22} />
				<span class="rail-text">Strata</span>
			</div>
			{pages.map((page, index) => (
				<div key={page.id} class={page.needsResult && !pages[index - 1]?.needsResult ? "rail-group" : ""}>
					<Entry page={page} />
				</div>
			))}
		</nav>
	);
}
