// SPDX-License-Identifier: Apache-2.0
//
// The page "Timeline": overview, axis, rows with their names, legend, and below what the chosen range is made of.
import { effect, untracked, useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Applied, applied, report_kind } from "../../api/meta";
import { problem_of } from "../../api/problem";
import { currentResult } from "../../api/use";
import { hideDrawer, showDrawer } from "../../components/Drawer";
import { Empty, Failed } from "../../components/Empty";
import { NotApplied } from "../../components/NotApplied";
import { view } from "../../state/view";
import { scheme } from "../../theme/theme";
import { Aggregate } from "./Aggregate";
import { AsTable } from "./AsTable";
import { Axis } from "./Axis";
import { Details } from "./Details";
import { HoverCard } from "./HoverCard";
import { timelineKeys } from "./keys";
import { Legend } from "./Legend";
import { Timeline as Model } from "./model";
import { findNearest, jumpToNearest, type Nearest, revealRow, stepHit } from "./moves";
import { Names } from "./Names";
import { Note } from "./Note";
import { Overview } from "./Overview";
import { Picture } from "./picture";
import { PointerControl } from "./pointer";
import { Toolbar } from "./Toolbar";

/** Filters reach the tiles, if tasks can be filtered by them; the range only shades, so that what lies around it stays in
 * sight. */
function tileFilters(): Applied {
	return applied(report_kind("tasks"), { range: null, filters: view.value.filters });
}

function tileWords(): string[] {
	return tileFilters().words;
}

function useModel(): Model | null {
	const { result } = view.value;
	const generation = currentResult()?.generation ?? "";
	const [model, setModel] = useState<Model | null>(null);
	useEffect(() => {
		if (!result) return;
		const stop = new AbortController();
		const made = new Model(result, tileWords);
		setModel(made);
		made.open(stop.signal).catch((error) => {
			if (!stop.signal.aborted) made.error.value = error;
		});
		return () => {
			stop.abort();
			made.close();
		};
	}, [result, String(generation)]);
	return model;
}

/** Follows the address: search, filters, Back. */
function useAddress(model: Model | null): void {
	const { search, params, range } = view.value;
	const words = tileWords().join("\0");
	useEffect(() => {
		if (!model) return;
		const stop = new AbortController();
		model.labels.setSearch(search);
		model.foundAt.value = -1;
		model.changed();
		if (!search) model.found.value = null;
		else
			model.data.search(search, stop.signal).then(
				(answer) => {
					model.found.value = answer;
					model.foundFor = search;
					model.changed();
					if (model.stepWhenFound) void stepHit(model, model.stepWhenFound);
				},
				() => undefined,
			);
		return () => stop.abort();
	}, [model, search]);
	useEffect(() => {
		model?.loader.reset();
		model?.changed();
	}, [model, words]);
	useEffect(() => {
		if (model?.ready.value) model.readAddress();
	}, [
		model,
		params.event,
		params.marks,
		params.pin,
		params.hide,
		params.fold,
		params.order,
		params.rows,
		params.dense,
		String(range),
	]);
	useEffect(() => {
		const next = (event: Event) => {
			if (model) void stepHit(model, (event as CustomEvent<number>).detail);
		};
		window.addEventListener("strata:search-next", next);
		return () => window.removeEventListener("strata:search-next", next);
	}, [model]);
}

function useDetails(model: Model | null, picture: Picture | null): void {
	useEffect(() => {
		if (!model || !picture) return;
		const off = effect(() => {
			const event = model.selected.value;
			if (event) showDrawer({ title: event.name || "Event", body: <Details timeline={model} event={event} /> });
		});
		return () => {
			off();
			hideDrawer();
		};
	}, [model, picture]);
}

function SearchCount({ model }: { model: Model }) {
	const found = model.found.value;
	const at = model.foundAt.value;
	useEffect(() => {
		const count = document.getElementById("search-count");
		if (!count) return;
		count.textContent = found ? (at >= 0 ? `${at + 1} / ${found.total}` : `${found.total}`) : "";
		return () => {
			count.textContent = "";
		};
	}, [found, at]);
	return null;
}

function Nothing({ near, jump }: { near: Nearest | null; jump: () => void }) {
	if (!near) return null;
	return (
		<button type="button" class="tl-nothing" onClick={jump}>
			No events here; {near.text} <kbd>J</kbd>
		</button>
	);
}

function Rows({ model }: { model: Model }) {
	const host = useRef<HTMLDivElement>(null);
	const scroller = useRef<HTMLDivElement>(null);
	const boxes = useRef<HTMLCanvasElement>(null);
	const texts = useRef<HTMLCanvasElement>(null);
	const [picture, setPicture] = useState<Picture | null>(null);
	const near = useSignal<Nearest | null>(null);
	const table = useSignal(false);
	const height = useSignal(0);
	useEffect(() => {
		if (!host.current || !boxes.current || !texts.current || !scroller.current) return;
		let asked = "";
		const made: Picture = new Picture(model, boxes.current, texts.current, () => {
			height.value = model.height;
			const empty = !model.loader.waiting && made.placed.every((one) => one.lanes.pieces.every((p) => !p.tile.n));
			const { startNs, endNs } = model.window.value;
			const key = `${startNs} ${endNs} ${model.scrollTop.value} ${model.laidOut.value}`;
			if (!empty || model.error.value) {
				near.value = null;
				asked = "";
			} else if (key !== asked) {
				asked = key;
				findNearest(model, made).then(
					(found) => {
						if (asked === key) near.value = found;
					},
					() => undefined,
				);
			}
		});
		setPicture(made);
		const element = host.current;
		const sizes = new ResizeObserver(() => made.resize(element.clientWidth, element.clientHeight));
		sizes.observe(element);
		const scroll = scroller.current;
		const pointer = new PointerControl(model, made, element, (by) => {
			scroll.scrollTop += by;
		});
		const offKeys = timelineKeys(model, made, {
			findRows: () => document.querySelector<HTMLInputElement>("#tl-find")?.focus(),
			asTable: () => {
				table.value = !table.value;
			},
			fold: () => undefined,
		});
		const offTheme = effect(() => {
			void scheme.value;
			made.queue();
		});
		const offScroll = effect(() => {
			const to = model.scrollTop.value;
			if (Math.abs(scroll.scrollTop - to) > 1) scroll.scrollTop = to;
			made.queue();
		});
		// What is selected stays in sight: when the address brought it, and when its details take place from the rows.
		const offReveal = effect(() => {
			const event = model.selected.value;
			if (event && height.value) untracked(() => revealRow(model, event));
		});
		// The measurements and tests of the page read the times of frames here.
		(window as unknown as { strataTimeline?: unknown }).strataTimeline = { model, picture: made };
		return () => {
			sizes.disconnect();
			pointer.close();
			offKeys();
			offTheme();
			offScroll();
			offReveal();
			made.close();
		};
	}, [model, height, near, table]);
	useDetails(model, picture);
	void model.laidOut.value;
	const onScroll = () => {
		if (scroller.current) model.scrollTop.value = scroller.current.scrollTop;
	};
	return (
		<div class="tl-body">
			<div class="tl-scroll" ref={scroller} onScroll={onScroll} tabIndex={-1}>
				<div class="tl-space" style={{ height: `${model.rowsHeight + model.pinnedHeight}px` }} />
			</div>
			<Names model={model} height={height} />
			<div class="tl-picture" ref={host} role="application" tabIndex={0} aria-label={summary(model)}>
				<canvas ref={boxes} />
				<canvas ref={texts} />
				<HoverCard model={model} />
			</div>
			<Nothing near={near.value} jump={() => picture && void jumpToNearest(model, picture)} />
			{table.value && picture && <AsTable model={model} picture={picture} close={() => (table.value = false)} />}
		</div>
	);
}

function summary(model: Model): string {
	const events = model.tracks.reduce((sum, track) => sum + track.items, 0);
	return (
		`Timeline of ${model.tracks.length} rows with ${events.toLocaleString("en-US")} events. ` +
		"Arrow keys move between events, T shows them as a table."
	);
}

export default function TimelinePage() {
	const model = useModel();
	useAddress(model);
	if (!model) return null;
	if (!model.ready.value)
		return model.error.value ? (
			<Failed error={model.error.value} retry={() => location.reload()} />
		) : (
			<div class="skeleton" aria-busy="true" />
		);
	if (!model.tracks.length)
		return (
			<Empty
				title="This result has nothing over time."
				commands={["strata -collect hotspots -- python3 train.py"]}
			>
				Neither tasks, operators, samples nor counters were recorded.
			</Empty>
		);
	return (
		<div class="timeline">
			<SearchCount model={model} />
			<Toolbar model={model} />
			<NotApplied left={tileFilters().left} />
			{model.error.value !== null && (
				<p class="tl-error" role="alert">
					{problem_of(model.error.value).message} {problem_of(model.error.value).detail}
				</p>
			)}
			<Overview model={model} />
			<Axis model={model} />
			<Rows model={model} />
			<Legend model={model} />
			<Aggregate model={model} />
			<Note model={model} />
			<div class="hidden-text" aria-live="polite" id="tl-said">
				{model.said.value}
			</div>
		</div>
	);
}
