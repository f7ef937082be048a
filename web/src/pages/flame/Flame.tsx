// SPDX-License-Identifier: Apache-2.0
//
// The page "Flame graph": where CPU time was spent, by call stack, with the same range and filters as every page.
import { effect, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { applied_here } from "../../api/meta";
import { currentResult, useAnswer } from "../../api/use";
import { register } from "../../commands/commands";
import { Empty, Failed } from "../../components/Empty";
import { openMenu } from "../../components/Menu";
import { Narrowed, NoSamplesHere } from "../../components/NoRows";
import { NotApplied } from "../../components/NotApplied";
import { toast } from "../../components/Toast";
import { percent, whole } from "../../format";
import { addFilter, filterWord, go, update, updateParams, view } from "../../state/view";
import { scheme } from "../../theme/theme";
import { askFlame } from "./ask";
import { FlamePicture, kindHue, LANE } from "./picture";
import { FlameTable } from "./Table";
import { Toolbar } from "./Toolbar";
import {
	functionOf,
	layoutTree,
	MORE,
	matched,
	nodeAt,
	parseTransforms,
	pathOf,
	type Transform,
	type TransformKind,
	type Tree,
	transform,
	transformsText,
	treeOf,
	treeOfTime,
} from "./tree";
import { askWeight, WEIGHTS, weight_of } from "./weights";

/** A value as the chosen weight has it: time or bytes. */
function amount(value: number): string {
	return weight_of(view.value.params.weight).text(value);
}

function useTree() {
	const { result, params } = view.value;
	const weight = weight_of(params.weight);
	const words = [...applied_here("hotspots").words, ...(params.all === "1" ? ["-call-stack-mode", "all"] : [])];
	const generation = currentResult()?.generation ?? "";
	const reverse = params.invert === "1";
	const order = params.order === "time" ? "time" : "left-heavy";
	const key = result
		? JSON.stringify([result, generation, words, weight.id, reverse, order, params.other ?? ""])
		: "";
	const answer = useAnswer(key, (signal) =>
		weight.words
			? askWeight(result, weight, signal)
			: askFlame(result, { words, reverse, order, other: params.other ?? "" }, signal),
	);
	const text = params.tf ?? "";
	const made = useMemo(() => {
		if (!answer.data) return null;
		if ("boxes" in answer.data) return treeOfTime(answer.data);
		const tree = parseTransforms(text).reduce((before, how) => transform(before, how), treeOf(answer.data));
		return { tree, layout: layoutTree(tree) };
	}, [answer.data, text]);
	const timed = answer.data !== null && "boxes" in answer.data;
	return { answer, timed, tree: made?.tree ?? null, layout: made?.layout ?? null };
}

export function rootPath(): string[] {
	const text = view.value.params.root ?? "";
	return text ? text.split("~").map(decodeURIComponent) : [];
}

export function setRoot(path: string[]): void {
	updateParams({ root: path.map((name) => encodeURIComponent(name).replace(/~/g, "%7E")).join("~") });
}

export function addTransform(kind: TransformKind, name: string): void {
	const list: Transform[] = [...parseTransforms(view.value.params.tf), { kind, name }];
	updateParams({ tf: transformsText(list), root: "" });
}

function nameAt(tree: Tree, node: number): string {
	// A node that was picked before a transformation may be gone.
	return tree.names[tree.name[node] ?? MORE] ?? "";
}

function select(tree: Tree, node: number): void {
	const name = functionOf(nameAt(tree, node));
	update({ selection: name ? { kind: "function", value: name } : null }, "replace");
}

function frameMenu(tree: Tree, node: number, at: { x: number; y: number }): void {
	const name = nameAt(tree, node);
	if (!name) return;
	const weight = weight_of(view.value.params.weight);
	const sampled = weight.id === "cpu";
	const frame = weight.frame.toLowerCase();
	const func = sampled ? functionOf(name) : name;
	openMenu(
		at,
		[
			{ title: "Focus on this stack", hint: "Shift F", run: () => setRoot(pathOf(tree, node)) },
			{ title: `Focus on the ${frame}`, hint: "F", run: () => addTransform("focus", name) },
			{ title: `Merge the ${frame} into its callers`, hint: "M", run: () => addTransform("merge", name) },
			{ title: "Collapse what it calls", hint: "C", run: () => addTransform("collapse", name) },
			{ title: "Drop its samples", hint: "D", run: () => addTransform("drop", name) },
			{
				title: `Show only this ${frame}`,
				separated: true,
				run: () => addFilter(filterWord(weight.grouping, func, true)),
			},
			{ title: `Leave this ${frame} out`, run: () => addFilter(filterWord(weight.grouping, func, false)) },
			...(sampled
				? [
						{
							title: "Show in the grid",
							run: () => go("grid", { selection: { kind: "function", value: func } }),
						},
						{ title: "Open its source lines", run: () => go("source", { params: { function: func } }) },
					]
				: [{ title: "Show on the timeline", run: () => go("timeline", { search: name }) }]),
		],
		name,
	);
}

/** Where a function that was selected elsewhere has most of its time; -1: nowhere. */
function widestOf(tree: Tree, name: string): number {
	let best = -1;
	for (let i = 1; name && i < tree.parent.length; i++)
		if (functionOf(nameAt(tree, i)) === name && (best < 0 || tree.total[i]! > tree.total[best]!)) best = i;
	return best;
}

interface GraphProps {
	tree: Tree;
	layout: ReturnType<typeof layoutTree>;
}

/** The node that keys act on: the selected one, or the one under the pointer. */
function useFlameKeys(tree: Tree, current: () => number, move: (step: "up" | "down" | "left" | "right") => void): void {
	useEffect(() => {
		const on = (kind: TransformKind) => () => {
			const name = nameAt(tree, current());
			if (name) addTransform(kind, name);
			else toast("Select a function first, or point at one.");
		};
		const at = (id: string, title: string, keys: string[], run: () => void) => ({
			id: `flame.${id}`,
			title,
			keys,
			scope: "Flame graph",
			run,
		});
		const flip = (key: string) => () => updateParams({ [key]: view.value.params[key] ? "" : "1" });
		return register(
			at("focus", "Focus on the function", ["KeyF"], on("focus")),
			at("focus.stack", "Focus on this stack", ["Shift+KeyF"], () =>
				setRoot(pathOf(tree, Math.max(0, current()))),
			),
			at("merge", "Merge the function into its callers", ["KeyM"], on("merge")),
			at("collapse", "Collapse what the function calls", ["KeyC"], on("collapse")),
			at("drop", "Drop the samples of the function", ["KeyD"], on("drop")),
			at("undo", "Take the last transformation back", ["KeyU"], () => {
				const list = parseTransforms(view.value.params.tf);
				updateParams({ tf: transformsText(list.slice(0, -1)) });
			}),
			at("invert", "Callers instead of callees, and back", ["KeyI"], flip("invert")),
			at("flip", "Grow upwards or downwards", ["KeyV"], flip("flame")),
			at("all", "Show everything", ["Digit0"], () => updateParams({ root: "" })),
			at("up", "The frame above", ["ArrowUp"], () => move("up")),
			at("down", "The frame below", ["ArrowDown"], () => move("down")),
			at("left", "The frame to the left", ["ArrowLeft"], () => move("left")),
			at("right", "The frame to the right", ["ArrowRight"], () => move("right")),
			at("enter", "Focus on the selected stack", ["Enter"], () => setRoot(pathOf(tree, Math.max(0, current())))),
		);
	}, [tree, current, move]);
}

function neighbour(tree: Tree, layout: GraphProps["layout"], node: number, step: string, flame: boolean): number {
	if (node < 0) return 0;
	const inward = step === (flame ? "up" : "down");
	if ((step === "up" || step === "down") && !inward) return Math.max(0, tree.parent[node]!);
	const wanted = (i: number) =>
		inward ? tree.parent[i] === node : tree.parent[i] === tree.parent[node] && i !== node;
	let best = node;
	for (let i = 0; i < tree.parent.length; i++) {
		if (!wanted(i)) continue;
		const at = layout.start[i]!;
		const here = layout.start[node]!;
		if (inward && (best === node || at < layout.start[best]!)) best = i;
		if (step === "left" && at < here && (best === node || at > layout.start[best]!)) best = i;
		if (step === "right" && at > here && (best === node || at < layout.start[best]!)) best = i;
	}
	return best;
}

function Graph({ tree, layout }: GraphProps) {
	const host = useRef<HTMLDivElement>(null);
	const boxes = useRef<HTMLCanvasElement>(null);
	const texts = useRef<HTMLCanvasElement>(null);
	const picture = useRef<FlamePicture | null>(null);
	const [hovered, setHovered] = useState(-1);
	const [picked, setPicked] = useState(-1);
	const scroll = useSignal(0);
	const size = useSignal(0);
	const flame = view.value.params.flame === "1";
	const { search } = view.value;
	const root = nodeAt(tree, rootPath());
	const wanted = view.value.selection?.kind === "function" ? view.value.selection.value : "";
	const widest = useMemo(() => widestOf(tree, wanted), [tree, wanted]);
	const selected = picked >= 0 && functionOf(nameAt(tree, picked)) === wanted ? picked : widest;
	const found = useMemo(() => (search ? matched(tree, search) : null), [tree, search]);
	useEffect(() => {
		const element = host.current;
		if (!element || !boxes.current || !texts.current) return;
		const made = new FlamePicture(boxes.current, texts.current);
		picture.current = made;
		(window as unknown as { strataFlame?: unknown }).strataFlame = made;
		const sizes = new ResizeObserver(() => {
			made.resize(element.clientWidth, element.clientHeight);
			size.value = element.clientHeight;
		});
		sizes.observe(element);
		const off = effect(() => {
			void scheme.value;
			made.queue();
		});
		return () => {
			off();
			sizes.disconnect();
			made.close();
		};
	}, [size]);
	const height = (layout.maxDepth + 1) * LANE;
	const most = Math.max(0, height - size.value);
	const at = flame ? most - Math.min(scroll.value, most) : Math.min(scroll.value, most);
	const startNs = layout.start[root] ?? 0;
	picture.current?.show({
		tree,
		layout,
		flame,
		scroll: at,
		selected,
		hovered,
		found: found?.found ?? null,
		window: { startNs, endNs: startNs + Math.max(1, tree.total[root] ?? 1) },
	});
	// The first picture is made after the first drawing: this shows it.
	useEffect(() => {
		setHovered((now) => now);
		picture.current?.queue();
	}, []);
	const current = () => (selected >= 0 ? selected : hovered);
	const move = (step: "up" | "down" | "left" | "right") => {
		const next = neighbour(tree, layout, current(), step, flame);
		setPicked(next);
		select(tree, next);
	};
	useFlameKeys(tree, current, move);
	useEffect(() => {
		const count = document.getElementById("search-count");
		if (count) count.textContent = found ? percent(found.ns / Math.max(1, tree.totalNs)) : "";
	}, [found, tree]);
	const place = (event: MouseEvent) => {
		const box = host.current!.getBoundingClientRect();
		return picture.current?.hit(event.clientX - box.left, event.clientY - box.top) ?? -1;
	};
	const shown = hovered >= 0 ? hovered : selected;
	return (
		<div class="fl-graph">
			<div
				class="fl-picture"
				ref={host}
				role="application"
				tabIndex={0}
				aria-label={`Flame graph of ${amount(tree.totalNs)} ${weight_of(view.value.params.weight).of}, ${tree.parent.length} frames. Arrow keys move between frames; the table beside has the same times.`}
				onPointerMove={(event) => setHovered(place(event))}
				onPointerLeave={() => setHovered(-1)}
				onClick={(event) => {
					const node = place(event);
					setPicked(node);
					select(tree, node);
				}}
				onDblClick={(event) => {
					const node = place(event);
					if (node >= 0 && tree.name[node] !== MORE) setRoot(pathOf(tree, node));
				}}
				onContextMenu={(event) => {
					event.preventDefault();
					frameMenu(tree, place(event), { x: event.clientX, y: event.clientY });
				}}
				onWheel={(event) => {
					event.preventDefault();
					scroll.value = Math.max(0, Math.min(most, scroll.value + (flame ? -event.deltaY : event.deltaY)));
				}}
			>
				<canvas ref={boxes} />
				<canvas ref={texts} />
			</div>
			<p class="fl-details" aria-live="polite" id="fl-details">
				{shown >= 0 ? (
					<About tree={tree} node={shown} root={root} />
				) : found ? (
					<Matched found={found} tree={tree} />
				) : (
					"Point at a frame, or use the arrow keys."
				)}
			</p>
		</div>
	);
}

function Matched({ found, tree }: { found: { ns: number; count: number }; tree: Tree }) {
	return (
		<span id="fl-matched">
			matched {percent(found.ns / Math.max(1, tree.totalNs))} of {amount(tree.totalNs)} in {whole(found.count)}{" "}
			frames
		</span>
	);
}

function About({ tree, node, root }: { tree: Tree; node: number; root: number }) {
	if (tree.name[node] === MORE)
		return (
			<span>
				{whole(tree.folded[node]!)} more frames, each too narrow to draw: {amount(tree.total[node]!)}
			</span>
		);
	const change =
		tree.before && tree.after ? `, before ${amount(tree.before[node]!)}, after ${amount(tree.after[node]!)}` : "";
	return (
		<span>
			<strong>{nameAt(tree, node)}</strong> total {amount(tree.total[node]!)} (
			{percent(tree.total[node]! / Math.max(1, tree.totalNs))}
			{root ? `, ${percent(tree.total[node]! / Math.max(1, tree.total[root]!))} of the focus` : ""}), self{" "}
			{amount(tree.self[node]!)}
			{change}
		</span>
	);
}

function Legend({ tree }: { tree: Tree }) {
	if (tree.before)
		return (
			<ul class="tl-legend" aria-label="Colours">
				<li>
					<i class="fl-less" /> − less than before
				</li>
				<li>
					<i class="fl-more" /> + more than before
				</li>
				<li>
					<i class="hatch" /> several small frames
				</li>
			</ul>
		);
	const used = new Set(tree.kind);
	return (
		<ul class="tl-legend" aria-label="Colours">
			{tree.kinds.map((kind, i) =>
				used.has(i) && kind !== "all" ? (
					<li key={kind}>
						<i style={{ background: `var(--cat-${kindHue(kind)})` }} /> {kind}
					</li>
				) : null,
			)}
			<li>
				<i class="hatch" /> several small frames
			</li>
		</ul>
	);
}

/** No width for any frame: says why, and which other weights there are to try. */
function Nothing() {
	const { result, range, filters, params } = view.value;
	const weight = weight_of(params.weight);
	const narrowed = range !== null || filters.length > 0;
	const others = (
		<div class="toolbar">
			Other widths:
			{WEIGHTS.filter((one) => one !== weight).map((one) => (
				<button
					key={one.id}
					type="button"
					class="button"
					onClick={() => updateParams({ weight: one.id === "cpu" ? "" : one.id })}
				>
					{one.title}
				</button>
			))}
		</div>
	);
	const narrowed_away = <Narrowed more={others} />;
	if (weight.id === "cpu") return <NoSamplesHere otherwise={narrowed_away} more={others} />;
	if (narrowed) return narrowed_away;
	return (
		<Empty
			title={`Nothing ${weight.of} to show here.`}
			commands={["strata -collect operators -- python3 train.py"]}
		>
			{currentResult()?.name ?? result} has no such rows.
			{others}
		</Empty>
	);
}

export default function FlamePage() {
	const { answer, timed, tree, layout } = useTree();
	if (answer.error && !tree) return <Failed error={answer.error} retry={answer.retry} />;
	if (!tree || !layout) return <div class="skeleton" aria-busy="true" />;
	const left_out = answer.data && "boxes" in answer.data ? answer.data.left_out : 0;
	const { left } = applied_here(weight_of(view.value.params.weight).words?.[0] ?? "hotspots");
	if (!tree.totalNs && !answer.data?.total_ns && !view.value.params.tf) return <Nothing />;
	return (
		<div class="flame" aria-busy={answer.loading}>
			<Toolbar tree={tree} samples={answer.data?.samples ?? 0} leftOut={left_out} />
			<NotApplied left={left} />
			{tree.totalNs || !timed ? (
				<div class={timed ? "fl-body timed" : "fl-body"}>
					<Graph tree={tree} layout={layout} />
					{!timed && <FlameTable tree={tree} />}
				</div>
			) : (
				<Empty title="Every stack is too short to be drawn over so long a time.">
					Choose a range on the timeline, or the largest first instead of the order of time.
				</Empty>
			)}
			<Legend tree={tree} />
		</div>
	);
}
