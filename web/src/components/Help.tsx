// SPDX-License-Identifier: Apache-2.0
//
// The keys that work now, by scope, from the list of commands itself.
import { type Command, commands, setSingleKeys, singleKeys } from "../commands/commands";
import { chordText } from "../commands/keys";
import { Dialog } from "./Dialog";

/** Scopes in the order in which they appeared, each with the commands that have keys. */
export function keymap(list: Command[]): { scope: string; rows: Command[] }[] {
	const scopes = new Map<string, Map<string, Command>>();
	for (const command of list) {
		if (!command.keys?.length) continue;
		const rows = scopes.get(command.scope) ?? new Map<string, Command>();
		rows.set(command.id, command);
		scopes.set(command.scope, rows);
	}
	return [...scopes].map(([scope, rows]) => ({ scope, rows: [...rows.values()] }));
}

export function KeyTable() {
	return (
		<div class="keymap">
			{keymap(commands.value).map(({ scope, rows }) => (
				<section key={scope}>
					<h3>{scope}</h3>
					<dl>
						{rows.map((command) => (
							<div key={command.id}>
								<dt>
									{command.keys?.map((keys) => (
										<kbd key={keys}>{chordText(keys)}</kbd>
									))}
								</dt>
								<dd>{command.title}</dd>
							</div>
						))}
					</dl>
				</section>
			))}
		</div>
	);
}

export function Help({ close }: { close: () => void }) {
	return (
		<Dialog title="Keys" close={close}>
			<KeyTable />
			<label class="check">
				<input
					type="checkbox"
					checked={singleKeys.value}
					onChange={(event) => setSingleKeys(event.currentTarget.checked)}
				/>
				Single keys act (switch off for dictation)
			</label>
		</Dialog>
	);
}
