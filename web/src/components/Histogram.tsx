// SPDX-License-Identifier: Apache-2.0
//
// Bars over bins, with the figures as texts for whoever cannot see them. A bar is chosen with a click, a band of them by
// dragging, or with Shift and a second bar.
import { useRef, useState } from "preact/hooks";
import { whole } from "../format";

export interface Bin {
	from: number;
	to: number;
	count: number;
}

const HEIGHT = 110;

/** All bins from one to the other, whichever comes first, as one. */
export function band_of(bins: Bin[], one: number, other: number): Bin {
	const inside = bins.slice(Math.min(one, other), Math.max(one, other) + 1);
	return {
		from: inside[0]?.from ?? 0,
		to: inside[inside.length - 1]?.to ?? 0,
		count: inside.reduce((sum, bin) => sum + bin.count, 0),
	};
}

export function Histogram({
	bins,
	text,
	label,
	chosen,
	choose,
}: {
	bins: Bin[];
	text: (value: number) => string;
	label: string;
	/** The band that is looked at. */
	chosen?: Bin | null;
	choose?: (band: Bin) => void;
}) {
	const top = Math.max(1, ...bins.map((bin) => bin.count));
	const tip = (bin: Bin) => `${text(bin.from)} to ${text(bin.to)}: ${whole(bin.count)}`;
	const anchor = useRef(-1);
	const [dragged, setDragged] = useState<Bin | null>(null);
	const index_at = (event: PointerEvent) => {
		const box = (event.currentTarget as Element).getBoundingClientRect();
		const share = (event.clientX - box.left) / Math.max(1, box.width);
		return Math.max(0, Math.min(bins.length - 1, Math.floor(share * bins.length)));
	};
	const begin = (event: PointerEvent) => {
		if (!choose || event.button !== 0) return;
		if (!event.shiftKey || anchor.current < 0) anchor.current = index_at(event);
		(event.currentTarget as Element).setPointerCapture(event.pointerId);
		setDragged(band_of(bins, anchor.current, index_at(event)));
	};
	const end = (event: PointerEvent) => {
		if (!dragged) return;
		const band = band_of(bins, anchor.current, index_at(event));
		setDragged(null);
		if (band.count) choose?.(band);
	};
	// A pointer is handled above; a click that comes without one is the keyboard's.
	const press = (event: MouseEvent, index: number) => {
		if (event.detail > 0 || !choose) return;
		if (!event.shiftKey || anchor.current < 0) anchor.current = index;
		const band = band_of(bins, anchor.current, index);
		if (band.count) choose(band);
	};
	const lit = dragged ?? chosen;
	return (
		<figure class="histogram" aria-label={label}>
			<div
				class={choose ? "histogram-bars choosable" : "histogram-bars"}
				style={{ height: `${HEIGHT}px` }}
				onPointerDown={begin}
				onPointerMove={(event) => dragged && setDragged(band_of(bins, anchor.current, index_at(event)))}
				onPointerUp={end}
				onPointerCancel={() => setDragged(null)}
			>
				{bins.map((bin, index) => (
					<button
						key={bin.from}
						type="button"
						class={lit && bin.from >= lit.from && bin.to <= lit.to ? "lit" : ""}
						aria-label={tip(bin)}
						data-tip={tip(bin)}
						disabled={!choose}
						onClick={(event) => press(event, index)}
					>
						<span style={{ height: bin.count ? `max(2px, ${(bin.count / top) * 100}%)` : "0" }} />
					</button>
				))}
			</div>
			<figcaption>
				<span>{bins[0] ? text(bins[0].from) : ""}</span>
				<span class="muted">most in a bin: {whole(top)}</span>
				<span>{bins.length ? text(bins[bins.length - 1]!.to) : ""}</span>
			</figcaption>
		</figure>
	);
}
