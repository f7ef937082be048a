// SPDX-License-Identifier: Apache-2.0
//
// Loads the page of the view; an error of one page leaves the rest of the window whole.
import { Component, type ComponentChildren, type ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { metaAsked } from "../api/meta";
import { resultList } from "../api/use";
import { Empty, Failed } from "../components/Empty";
import { page_of } from "../pages/pages";
import { view } from "../state/view";

const loaded = new Map<string, ComponentType>();

class Guard extends Component<{ children: ComponentChildren }, { error: unknown }> {
	override state = { error: null as unknown };

	static override getDerivedStateFromError(error: unknown) {
		return { error };
	}

	override render() {
		if (!this.state.error) return this.props.children;
		return <Failed error={this.state.error} retry={() => this.setState({ error: null })} />;
	}
}

export function PageHost() {
	const { page: id, result } = view.value;
	const entry = page_of(id);
	const [, redraw] = useState(0);
	const [error, setError] = useState<unknown>(null);
	useEffect(() => {
		document.title = entry
			? `${entry.title}${result && entry.needsResult ? ` · ${result}` : ""} · Strata`
			: "Strata";
		if (!entry || loaded.has(id)) return;
		entry.load().then(
			(module) => {
				loaded.set(id, module.default);
				redraw((count) => count + 1);
			},
			(failure) => setError(failure),
		);
	}, [entry, id, result]);
	if (!entry) return <Empty title={`There is no page “${id}”.`}>The rail on the left has the pages.</Empty>;
	if (error) return <Failed error={error} retry={() => location.reload()} />;
	const gone = entry.needsResult && resultList.value && !resultList.value.some((one) => one.id === result);
	if (gone)
		return (
			<Empty title={`There is no result “${result}”.`}>
				It was deleted or renamed, or the server shows another folder.
			</Empty>
		);
	// Asked before the list is known, every question would be asked twice: the answer depends on the generation. And
	// which filters a report takes must be known before it is asked.
	const known = resultList.value && metaAsked.value;
	const Page = entry.needsResult && !known ? undefined : loaded.get(id);
	if (!Page) return <div class="skeleton" aria-busy="true" />;
	return (
		<Guard key={`${id} ${result}`}>
			<Page />
		</Guard>
	);
}
