// SPDX-License-Identifier: Apache-2.0
import { useRef } from "preact/hooks";
import { Dialog } from "../../components/Dialog";
import { ns } from "../../format";
import type { Timeline } from "./model";

/** Asks for the note of the mark that it is written to, if any is. */
export function Note({ model }: { model: Timeline }) {
	const field = useRef<HTMLInputElement>(null);
	const mark = model.noting.value;
	if (!mark) return null;
	const close = () => {
		model.noting.value = null;
	};
	const keep = (event: Event) => {
		event.preventDefault();
		const note = field.current?.value.trim() ?? "";
		model.setMarks(model.marks.value.map((one) => (one === mark ? { ...one, kept: true, note } : one)));
		close();
	};
	return (
		<Dialog title={`Note at ${ns(mark.ns)}`} close={close}>
			<form class="tl-note-form" onSubmit={keep}>
				<input ref={field} class="field wide" type="text" aria-label="Note" maxLength={200} value={mark.note} />
				<button type="submit" class="button primary">
					Keep
				</button>
			</form>
		</Dialog>
	);
}
