// SPDX-License-Identifier: Apache-2.0
//
// Short news at the lower edge, with an action such as Undo. Stays while the pointer or the focus is on it.
import { signal } from "@preact/signals";
import { Icon } from "./Icon";

interface News {
	id: number;
	text: string;
	action?: { title: string; run: () => void };
}

const news = signal<News[]>([]);
const SHOWN_MS = 8000;
let next_id = 1;

function drop(id: number): void {
	if (document.querySelector(`[data-toast="${id}"]:is(:hover, :focus-within)`)) {
		setTimeout(() => drop(id), SHOWN_MS);
		return;
	}
	news.value = news.value.filter((one) => one.id !== id);
}

export function toast(text: string, action?: News["action"]): void {
	const id = next_id++;
	news.value = [...news.value.slice(-2), action ? { id, text, action } : { id, text }];
	setTimeout(() => drop(id), SHOWN_MS);
}

export function ToastLayer() {
	const close = (id: number) => {
		news.value = news.value.filter((one) => one.id !== id);
	};
	return (
		<div class="toasts" role="status" aria-live="polite">
			{news.value.map((one) => (
				<div key={one.id} class="toast" data-toast={one.id}>
					<span>{one.text}</span>
					{one.action && (
						<button
							type="button"
							class="button"
							onClick={() => {
								close(one.id);
								one.action?.run();
							}}
						>
							{one.action.title}
						</button>
					)}
					<button type="button" class="icon-button" aria-label="Close" onClick={() => close(one.id)}>
						<Icon name="close" size={12} />
					</button>
				</div>
			))}
		</div>
	);
}
