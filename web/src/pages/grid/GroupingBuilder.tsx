// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import { metaInfo } from "../../api/meta";
import { Dialog } from "../../components/Dialog";
import { Icon } from "../../components/Icon";
import { forgetGrouping, savedGroupings, saveGrouping } from "./groupings";

/** Any chain of groupings, outermost first; kept under a name if one is given. */
export function GroupingBuilder(props: {
	levels: string[];
	allowed: string[];
	close: () => void;
	apply: (levels: string[]) => void;
}) {
	const [levels, setLevels] = useState(props.levels);
	const [name, setName] = useState("");
	const all = metaInfo.value?.groupings ?? [];
	const title = (level: string) => all.find((one) => one.name === level)?.title ?? level;
	const free = all.filter(
		(one) => (!props.allowed.length || props.allowed.includes(one.name)) && !levels.includes(one.name),
	);
	const move = (at: number, step: number) => {
		const next = [...levels];
		const [level] = next.splice(at, 1);
		if (level) next.splice(at + step, 0, level);
		setLevels(next);
	};
	const apply = () => {
		if (name.trim()) saveGrouping({ name: name.trim(), levels });
		props.apply(levels);
		props.close();
	};
	return (
		<Dialog title="Group by" close={props.close}>
			<ol class="levels">
				{levels.map((level, i) => (
					<li key={level}>
						<span>{title(level)}</span>
						<button
							type="button"
							class="icon-button"
							aria-label={`${title(level)}: outwards`}
							disabled={i === 0}
							onClick={() => move(i, -1)}
						>
							↑
						</button>
						<button
							type="button"
							class="icon-button"
							aria-label={`${title(level)}: inwards`}
							disabled={i === levels.length - 1}
							onClick={() => move(i, 1)}
						>
							↓
						</button>
						<button
							type="button"
							class="icon-button"
							aria-label={`Remove ${title(level)}`}
							onClick={() => setLevels(levels.filter((one) => one !== level))}
						>
							<Icon name="close" size={12} />
						</button>
					</li>
				))}
			</ol>
			<div class="toolbar">
				<select
					class="field"
					aria-label="Add a level"
					value=""
					onChange={(event) => event.currentTarget.value && setLevels([...levels, event.currentTarget.value])}
				>
					<option value="">Add a level …</option>
					{free.map((one) => (
						<option key={one.name} value={one.name}>
							{one.title}
						</option>
					))}
				</select>
				<input
					class="field"
					type="text"
					aria-label="Keep it under this name"
					placeholder="Keep it as … (optional)"
					value={name}
					onInput={(event) => setName(event.currentTarget.value)}
				/>
				<div class="spring" />
				<button type="button" class="button primary" disabled={!levels.length} onClick={apply}>
					Group
				</button>
			</div>
			{savedGroupings.value.length > 0 && <h3>Kept in this browser</h3>}
			<ul class="plain">
				{savedGroupings.value.map((one) => (
					<li key={one.name} class="toolbar">
						<button type="button" class="button" onClick={() => setLevels(one.levels)}>
							{one.name}
						</button>
						<span class="muted">{one.levels.map(title).join(" / ")}</span>
						<div class="spring" />
						<button
							type="button"
							class="icon-button"
							aria-label={`Forget ${one.name}`}
							onClick={() => forgetGrouping(one.name)}
						>
							<Icon name="trash" />
						</button>
					</li>
				))}
			</ul>
		</Dialog>
	);
}
