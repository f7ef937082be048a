// SPDX-License-Identifier: Apache-2.0
//
// Line icons of 16 by 16, drawn in the colour of the text around them.

const PATHS = {
	list: "M2 4h12M2 8h12M2 12h12",
	plus: "M8 3v10M3 8h10",
	summary: "M2 13V8h3v5zM6.5 13V3h3v10zM11 13V6h3v7z",
	timeline: "M2 4h6M5 8h9M2 12h4M9 12h4",
	operators: "M3 3h4v4H3zM9 3h4v4H9zM3 9h4v4H3zM9 9h4v4H9z",
	grid: "M2 4h12M5 8h9M8 12h6",
	flame: "M2 13h12M2 10h9M2 7h6M2 4h3",
	source: "M6 4 2 8l4 4M10 4l4 4-4 4",
	memory: "M2 13 6 6l3 4 2-7 3 10",
	threads: "M3 2v12M8 2v12M13 2v12",
	compare: "M5 2v12M11 2v12M2 5h3M11 11h3",
	diagnostics: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 5v4M8 11v.5",
	search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.5 10.5 14 14",
	find: "M2 3.5h12M2 7h5M2 10.5h4M10.5 6.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M12.8 11.8 15 14",
	close: "M4 4l8 8M12 4l-8 8",
	copy: "M5 5h8v9H5zM3 11V2h8",
	sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v2M8 13v2M1 8h2M13 8h2M3 3l1.4 1.4M11.6 11.6 13 13M3 13l1.4-1.4M11.6 4.4 13 3",
	moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5",
	right: "M6 3.5 10.5 8 6 12.5",
	down: "M3.5 6 8 10.5 12.5 6",
	more: "M3.5 8h.5M8 8h.5M12.5 8h.5",
	trash: "M3 4h10M6 4V2.5h4V4M4.5 4l.6 9.5h5.8l.6-9.5",
	edit: "M3 13l.7-3L11 2.7 13.3 5 6 12.3z",
	play: "M4 3l9 5-9 5z",
	pause: "M5 3v10M11 3v10",
	stop: "M4 4h8v8H4z",
	flag: "M4 14V2.5h8L10 6l2 3.5H4",
	download: "M8 2v8M4.5 7 8 10.5 11.5 7M3 13.5h10",
	check: "M3 8.5 6.5 12 13 4.5",
	warn: "M8 2 14.5 13.5h-13zM8 6v4M8 11.8v.3",
	filter: "M2 3h12l-4.5 5.5V13l-3-1.5v-3z",
	undo: "M3 6h7a3.5 3.5 0 0 1 0 7H6M6 3 3 6l3 3",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
	return (
		<svg
			class="icon"
			width={size}
			height={size}
			viewBox="0 0 16 16"
			fill="none"
			stroke="currentColor"
			stroke-width="1.5"
			stroke-linecap="round"
			stroke-linejoin="round"
			aria-hidden="true"
		>
			<path d={PATHS[name]} />
		</svg>
	);
}
