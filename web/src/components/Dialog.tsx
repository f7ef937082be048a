// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./Icon";

/** The browser's own modal dialog: it keeps the focus inside and closes with Escape. */
export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
	const box = useRef<HTMLDialogElement>(null);
	useEffect(() => {
		box.current?.showModal();
		// The browser would focus the button that closes it: whoever opens a dialog with a field wants to type.
		box.current?.querySelector<HTMLElement>("input")?.focus();
	}, []);
	return (
		<dialog
			ref={box}
			aria-label={title}
			onClose={close}
			onKeyDown={(event) => event.stopPropagation()}
			onClick={(event) => event.target === box.current && close()}
		>
			<header>
				<h2>{title}</h2>
				<button type="button" class="icon-button" aria-label="Close" onClick={close}>
					<Icon name="close" />
				</button>
			</header>
			{children}
		</dialog>
	);
}
