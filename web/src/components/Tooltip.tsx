// SPDX-License-Identifier: Apache-2.0
//
// One tooltip for everything with a data-tip, under the pointer or the focus. It never holds the only copy of a fact.
import { useEffect, useRef } from "preact/hooks";

const DELAY_MS = 350;

export function TooltipLayer() {
	const box = useRef<HTMLDivElement>(null);
	useEffect(() => {
		let timer = 0;
		let shown_for: Element | null = null;
		const hide = () => {
			clearTimeout(timer);
			shown_for = null;
			if (box.current) box.current.hidden = true;
		};
		const show = (target: Element) => {
			const tip = box.current;
			const text = target.getAttribute("data-tip");
			if (!tip || !text || !target.isConnected) return;
			tip.textContent = text;
			tip.hidden = false;
			const at = target.getBoundingClientRect();
			const size = tip.getBoundingClientRect();
			const below = at.bottom + 6 + size.height < window.innerHeight;
			tip.style.top = `${below ? at.bottom + 6 : Math.max(4, at.top - size.height - 6)}px`;
			tip.style.left = `${Math.max(4, Math.min(at.left, window.innerWidth - size.width - 4))}px`;
		};
		const over = (event: Event) => {
			const target = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
			if (target === shown_for) return;
			hide();
			shown_for = target;
			if (target) timer = window.setTimeout(() => show(target), DELAY_MS);
		};
		document.addEventListener("pointerover", over);
		document.addEventListener("focusin", over);
		document.addEventListener("pointerdown", hide);
		document.addEventListener("keydown", hide);
		document.addEventListener("scroll", hide, true);
		return () => {
			hide();
			document.removeEventListener("pointerover", over);
			document.removeEventListener("focusin", over);
			document.removeEventListener("pointerdown", hide);
			document.removeEventListener("keydown", hide);
			document.removeEventListener("scroll", hide, true);
		};
	}, []);
	return <div class="tooltip" role="tooltip" hidden ref={box} />;
}
