// SPDX-License-Identifier: Apache-2.0
//
// The command palette: every command and every page by a few letters of its name, and whatever the result in view has
// with that name.
import { useEffect, useMemo, useState } from "preact/hooks";
import { type Command, commands } from "../commands/commands";
import { chordText } from "../commands/keys";
import { type Found, findEverything, findResults } from "../shell/find";
import { view } from "../state/view";
import { Dialog } from "./Dialog";

/** Letters in order, the closer together the better; null when they are not all there. */
export function match(text: string, wanted: string): number | null {
	const where = text.toLowerCase();
	const letters = wanted.toLowerCase().replace(/\s+/g, "");
	const direct = where.indexOf(wanted.toLowerCase());
	if (direct >= 0) return direct;
	let at = -1;
	let first = -1;
	for (const letter of letters) {
		at = where.indexOf(letter, at + 1);
		if (at < 0) return null;
		if (first < 0) first = at;
	}
	return 100 + at - first;
}

interface Choice {
	id: string;
	title: string;
	kind: string;
	hint: string;
	key: string;
	run: () => void;
}

/** Commands by rank; those of pages that need a result only where there is one. */
function matching(list: Command[], wanted: string): Choice[] {
	const newest = new Map(list.map((one) => [one.id, one]));
	return [...newest.values()]
		.map((command) => ({ command, rank: match(`${command.title} ${command.scope}`, wanted) }))
		.filter((one): one is { command: Command; rank: number } => one.rank !== null)
		.sort((a, b) => a.rank - b.rank)
		.slice(0, 50)
		.map(({ command }) => ({
			id: command.id,
			title: command.title,
			kind: command.scope,
			hint: "",
			key: command.keys?.[0] ? chordText(command.keys[0]) : "",
			run: command.run,
		}));
}

const FEWEST = 2;
const PAUSE_MS = 120;

/** What the result has with these letters, asked when the typing pauses. Empty while nothing is known. */
function useFound(wanted: string): { found: Found[]; busy: boolean } {
	const [state, setState] = useState<{ found: Found[]; of: string }>({ found: [], of: "" });
	const { result } = view.value;
	const text = wanted.trim();
	useEffect(() => {
		if (!result || text.length < FEWEST) return;
		const abort = new AbortController();
		const timer = setTimeout(() => {
			findEverything(result, text, abort.signal).then(
				(found) => !abort.signal.aborted && setState({ found, of: text }),
				() => undefined,
			);
		}, PAUSE_MS);
		return () => {
			clearTimeout(timer);
			abort.abort();
		};
	}, [result, text]);
	const known = state.of === text;
	return { found: known ? state.found : [], busy: Boolean(result) && text.length >= FEWEST && !known };
}

export function Palette({ close }: { close: () => void }) {
	const [wanted, setWanted] = useState("");
	const [at, setAt] = useState(0);
	const ranked = useMemo(() => matching(commands.value, wanted), [wanted, commands.value]);
	const { found, busy } = useFound(wanted);
	const things = [...findResults(wanted), ...found].map((one) => ({ ...one, key: "" }));
	// A command whose title has the letters in one piece is meant; of the others, things of the result come first.
	const direct = wanted
		? ranked.filter((one) => one.title.toLowerCase().includes(wanted.trim().toLowerCase()))
		: ranked;
	const all: Choice[] = [...direct, ...things, ...ranked.filter((one) => !direct.includes(one))];
	const run = (choice?: Choice) => {
		if (!choice) return;
		close();
		choice.run();
	};
	const keys = (event: KeyboardEvent) => {
		const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
		if (step) setAt((at + step + all.length) % Math.max(1, all.length));
		else if (event.key === "Enter") run(all[at]);
		else return;
		event.preventDefault();
	};
	return (
		<Dialog title="Find anything" close={close}>
			<input
				class="field wide"
				type="text"
				role="combobox"
				aria-label="Command"
				aria-expanded="true"
				aria-controls="palette-list"
				aria-activedescendant={all.length ? `palette-${at}` : undefined}
				placeholder={
					view.value.result
						? "A command, page, function, operator, task, source line or thread"
						: "A command, page or result"
				}
				value={wanted}
				onInput={(event) => {
					setWanted(event.currentTarget.value);
					setAt(0);
				}}
				onKeyDown={keys}
			/>
			<div class="palette" id="palette-list" role="listbox" aria-label="Found" aria-busy={busy}>
				{all.map((choice, index) => (
					<div
						key={choice.id}
						id={`palette-${index}`}
						role="option"
						aria-selected={index === at}
						tabIndex={-1}
						data-kind={choice.kind}
						onClick={() => run(choice)}
						ref={(element) => {
							if (index === at) element?.scrollIntoView({ block: "nearest" });
						}}
					>
						<span class="palette-title">{choice.title}</span>
						<span class="muted">{choice.kind}</span>
						{choice.key ? <kbd>{choice.key}</kbd> : <span class="muted palette-hint">{choice.hint}</span>}
					</div>
				))}
			</div>
			{!all.length && !busy && <p class="empty-why">Nothing has these letters.</p>}
			{busy && <p class="empty-why">Searching the result</p>}
		</Dialog>
	);
}
