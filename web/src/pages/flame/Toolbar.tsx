// SPDX-License-Identifier: Apache-2.0
import { resultList } from "../../api/use";
import { Icon } from "../../components/Icon";
import { openMenu } from "../../components/Menu";
import { ns, whole } from "../../format";
import { updateParams, view } from "../../state/view";
import { rootPath, setRoot } from "./Flame";
import { parseTransforms, type TransformKind, type Tree, transformsText } from "./tree";
import { WEIGHTS, weight_of } from "./weights";

const WORDS: Record<TransformKind, string> = { focus: "only", merge: "merged", collapse: "collapsed", drop: "without" };

function Switch({ name, title, tip }: { name: string; title: string; tip: string }) {
	const on = view.value.params[name] === "1";
	return (
		<button
			type="button"
			class="button"
			aria-pressed={on}
			data-tip={tip}
			data-switch={name}
			onClick={() => updateParams({ [name]: on ? "" : "1" })}
		>
			{title}
		</button>
	);
}

function Compare() {
	const { result, params } = view.value;
	const others = (resultList.value ?? []).filter((one) => one.id !== result);
	if (!others.length && !params.other) return null;
	const other = others.find((one) => one.id === params.other)?.name ?? params.other;
	const show = (event: MouseEvent) =>
		openMenu(
			event.currentTarget as Element,
			[
				{ title: "With nothing", checked: !params.other, run: () => updateParams({ other: "" }) },
				...others.map((one) => ({
					title: one.name || one.id,
					checked: params.other === one.id,
					run: () => updateParams({ other: one.id }),
				})),
			],
			"Compare with",
		);
	return (
		<button type="button" class="button" aria-haspopup="menu" onClick={show}>
			{params.other ? `Compared with ${other}` : "Compare"}
		</button>
	);
}

/** Where the picture is: what was done to the tree, then the stack that it is focused on. */
function Path() {
	const list = parseTransforms(view.value.params.tf);
	const path = rootPath();
	if (!list.length && !path.length) return null;
	return (
		<ol class="fl-path" aria-label="Focus">
			<li>
				<button type="button" onClick={() => updateParams({ tf: "", root: "" })}>
					all
				</button>
			</li>
			{list.map((one, i) => (
				<li key={`${one.kind}${one.name}`}>
					<button
						type="button"
						data-tip="Back to here"
						onClick={() => updateParams({ tf: transformsText(list.slice(0, i + 1)), root: "" })}
					>
						{WORDS[one.kind]} {one.name}
					</button>
					<button
						type="button"
						class="icon-button"
						aria-label={`Take back: ${WORDS[one.kind]} ${one.name}`}
						onClick={() => updateParams({ tf: transformsText(list.filter((_, at) => at !== i)) })}
					>
						<Icon name="close" size={10} />
					</button>
				</li>
			))}
			{path.map((name, i) => (
				<li key={i}>
					<button type="button" onClick={() => setRoot(path.slice(0, i + 1))}>
						{name}
					</button>
				</li>
			))}
		</ol>
	);
}

/** All of the picture; the sides of a comparison each for itself. */
function Total({ tree, samples, leftOut }: { tree: Tree; samples: number; leftOut: number }) {
	const weight = weight_of(view.value.params.weight);
	if (tree.before && tree.after) {
		const [before, after] = [tree.before[0] ?? 0, tree.after[0] ?? 0];
		return (
			<span class="muted" id="fl-total" data-value={before} data-value-b={after}>
				CPU time: {ns(before)} before, {ns(after)} after
			</span>
		);
	}
	return (
		<span class="muted" id="fl-total" data-value={tree.totalNs}>
			{weight.text(tree.totalNs)} {weight.of}
			{samples ? `, ${whole(samples)} samples` : ""}
			{leftOut ? `, ${whole(leftOut)} boxes too narrow to draw` : ""}
		</span>
	);
}

/** What the width of a frame stands for. What the old weight was narrowed to is let go: its frames have other names. */
function WeightChoice() {
	return (
		<select
			class="field"
			aria-label="Width of a frame"
			value={weight_of(view.value.params.weight).id}
			onChange={(event) => {
				const weight = event.currentTarget.value === "cpu" ? "" : event.currentTarget.value;
				updateParams({ weight, root: "", tf: "", order: "", invert: "", all: "", other: "" });
			}}
		>
			{WEIGHTS.map((one) => (
				<option key={one.id} value={one.id}>
					{one.title}
				</option>
			))}
		</select>
	);
}

export function Toolbar({ tree, samples, leftOut }: { tree: Tree; samples: number; leftOut: number }) {
	const time = view.value.params.order === "time";
	// Turning around, time order and comparing are about stacks of samples.
	const sampled = weight_of(view.value.params.weight).id === "cpu";
	return (
		<>
			<div class="tl-tools">
				<WeightChoice />
				<Switch name="flame" title="Upwards" tip="The outermost frame at the bottom: V" />
				{sampled && (
					<Switch
						name="invert"
						title="Invert"
						tip="From the functions in which time was spent to their callers: I"
					/>
				)}
				{sampled && (
					<button
						type="button"
						class="button"
						aria-pressed={time}
						data-switch="order"
						data-tip="Stacks in the order of time instead of the largest first"
						onClick={() => updateParams({ order: time ? "" : "time" })}
					>
						Time order
					</button>
				)}
				{sampled && (
					<Switch
						name="all"
						title="All frames"
						tip="Also all functions of the C library, as -call-stack-mode all, and the frames between functions, such as the interpreter's: without them a total is of the places where the function is shown"
					/>
				)}
				{sampled && <Compare />}
				<div class="spring" />
				<Total tree={tree} samples={samples} leftOut={leftOut} />
			</div>
			<Path />
		</>
	);
}
