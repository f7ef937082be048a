// SPDX-License-Identifier: Apache-2.0
//
// The result in view, the range with its breadcrumbs, the filters, search, data quality and switches.
import { useRef } from "preact/hooks";
import { currentResult, resultList } from "../api/use";
import { Icon } from "../components/Icon";
import { openMenu } from "../components/Menu";
import { ns } from "../format";
import { openResult, popRange, type Range, update, view } from "../state/view";
import { scheme, setTheme } from "../theme/theme";
import { FilterChips } from "./FilterChips";
import { QualityBadge } from "./QualityBadge";
import { showHelp, showPalette } from "./Shell";

export function focusSearch(): void {
	const field = document.querySelector<HTMLInputElement>("#search");
	field?.focus();
	field?.select();
}

function ResultMenu() {
	const { result } = view.value;
	const list = resultList.value ?? [];
	const show = (event: MouseEvent) =>
		openMenu(
			event.currentTarget as Element,
			list.map((one) => ({
				title: one.name || one.id,
				hint: one.type,
				checked: one.id === result,
				run: () => openResult(one.id),
			})),
			"Results",
		);
	return (
		<button
			type="button"
			class="result-name"
			aria-haspopup="menu"
			onClick={show}
			data-tip={currentResult()?.command}
		>
			<strong>{currentResult()?.name || result}</strong>
			<Icon name="down" size={12} />
		</button>
	);
}

export function rangeText(range: Range): string {
	return `${ns(range[0])} + ${ns(range[1] - range[0])}`;
}

function Breadcrumbs() {
	const { range, outer } = view.value;
	if (!range) return null;
	const steps = [...outer, range];
	return (
		<ol class="breadcrumbs" aria-label="Range of time">
			<li>
				<button type="button" onClick={() => popRange(-1)}>
					whole run
				</button>
			</li>
			{steps.map((step, index) => (
				<li key={`${step[0]}-${step[1]}`}>
					<button
						type="button"
						aria-current={index === steps.length - 1 ? "true" : undefined}
						onClick={() => index < outer.length && popRange(index)}
					>
						{rangeText(step)}
					</button>
				</li>
			))}
			<li class="bare">
				<button type="button" class="icon-button" aria-label="Show the whole run" onClick={() => popRange(-1)}>
					<Icon name="close" size={12} />
				</button>
			</li>
		</ol>
	);
}

/** Typing replaces the address; Enter makes a step of its own, and the page decides what it jumps to. */
function Search() {
	const field = useRef<HTMLInputElement>(null);
	const type = () => update({ search: field.current?.value ?? "" }, "replace");
	const keys = (event: KeyboardEvent) => {
		if (event.key === "Enter") {
			event.preventDefault();
			window.dispatchEvent(new CustomEvent("strata:search-next", { detail: event.shiftKey ? -1 : 1 }));
		} else if (event.key === "Escape") {
			if (view.value.search) update({ search: "" }, "replace");
			else field.current?.blur();
		}
	};
	return (
		<div class="search" role="search">
			<Icon name="search" />
			<input
				id="search"
				ref={field}
				type="search"
				aria-label="Search in this result"
				placeholder="Search  /"
				value={view.value.search}
				onInput={type}
				onKeyDown={keys}
			/>
			<span class="search-count" id="search-count" aria-live="polite" />
		</div>
	);
}

export function TopBar() {
	const with_result = view.value.result !== "" && !["results", "new", "compare"].includes(view.value.page);
	const dark = scheme.value === "dark";
	return (
		<header class="top-bar">
			{with_result && <ResultMenu />}
			{with_result && <Breadcrumbs />}
			{with_result && <FilterChips />}
			<div class="spring" />
			{with_result && <Search />}
			{with_result && <QualityBadge />}
			<button
				type="button"
				class="icon-button"
				aria-label="Find anything"
				data-tip="Find anything: Ctrl K"
				onClick={showPalette}
			>
				<Icon name="find" />
			</button>
			<button
				type="button"
				class="icon-button"
				aria-label={dark ? "Switch to light" : "Switch to dark"}
				data-tip={dark ? "Switch to light" : "Switch to dark"}
				onClick={() => setTheme(dark ? "light" : "dark")}
			>
				<Icon name={dark ? "sun" : "moon"} />
			</button>
			<button
				type="button"
				class="icon-button"
				aria-label="Keys"
				data-tip="Keys and commands: ?"
				onClick={showHelp}
			>
				<b aria-hidden="true">?</b>
			</button>
		</header>
	);
}
