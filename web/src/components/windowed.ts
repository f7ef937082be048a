// SPDX-License-Identifier: Apache-2.0
//
// Of a long list only the rows in sight are in the document, and some on either side of them.
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

export interface InSight {
	first: number;
	count: number;
	/** After scrolling. */
	measure: () => void;
}

const AT_FIRST = 60;

/** The rows in sight of a scroller whose rows have one height; `of` is what the list shows, measured again when it changes. */
export function useInSight(
	scroller: RefObject<HTMLElement | null>,
	rowHeight: () => number,
	overscan: number,
	of: unknown,
): InSight {
	const [seen, setSeen] = useState({ first: 0, count: AT_FIRST });
	const measure = () => {
		const box = scroller.current;
		if (!box) return;
		const height = rowHeight();
		setSeen({
			first: Math.max(0, Math.floor(box.scrollTop / height) - overscan),
			count: Math.ceil(box.clientHeight / height) + 2 * overscan,
		});
	};
	useLayoutEffect(() => {
		measure();
		const watch = new ResizeObserver(measure);
		if (scroller.current) watch.observe(scroller.current);
		return () => watch.disconnect();
	}, [of]);
	return { ...seen, measure };
}
