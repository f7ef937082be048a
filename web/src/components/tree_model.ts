// SPDX-License-Identifier: Apache-2.0
//
// The rows of a table that the server holds: levels of a tree, each fetched in pages when it comes into view. Knows what
// is open and in which order rows are shown; draws nothing.
import { signal } from "@preact/signals";
import { is_abort } from "../api/problem";
import type { Page, Report, Row } from "../api/types";

export const PAGE_ROWS = 200;

/** One page of one level; the path leads from the top to the row whose children they are. */
export type Loader = (page: Page, signal: AbortSignal) => Promise<Report>;

interface Level {
	rows: (Row | undefined)[];
	asked: Set<number>;
}

export interface Line {
	path: number[];
	/** undefined while its page is on its way. */
	row: Row | undefined;
}

const key_of = (path: number[]): string => path.join(".");

export function child_count(row: Row | undefined): number {
	return row?.child_count ?? row?.children?.length ?? 0;
}

export class TreeModel {
	/** Changes whenever what is shown would. */
	readonly version = signal(0);
	report: Report | null = null;
	error: unknown = null;
	private levels = new Map<string, Level>();
	private open = new Set<string>();
	private lines: Line[] | null = null;
	private abort = new AbortController();

	constructor(private load: Loader) {
		void this.fetch([], 0);
	}

	dispose(): void {
		this.abort.abort();
	}

	retry(): void {
		this.error = null;
		for (const level of this.levels.values()) level.asked.clear();
		void this.fetch([], 0);
	}

	private changed(): void {
		this.lines = null;
		this.version.value++;
	}

	private level(path: number[], count: number): Level {
		const key = key_of(path);
		let level = this.levels.get(key);
		if (!level) {
			level = { rows: new Array(count).fill(undefined), asked: new Set() };
			this.levels.set(key, level);
		}
		return level;
	}

	/** Fetches the page that holds a row, once. */
	private async fetch(path: number[], index: number): Promise<void> {
		const chunk = Math.floor(index / PAGE_ROWS);
		const known = this.levels.get(key_of(path));
		if (known?.asked.has(chunk)) return;
		known?.asked.add(chunk);
		try {
			const page = { path, offset: chunk * PAGE_ROWS, limit: PAGE_ROWS, depth: 1 };
			this.take(path, page.offset, await this.load(page, this.abort.signal));
		} catch (error) {
			if (is_abort(error) || this.abort.signal.aborted) return;
			this.error = error;
			this.changed();
		}
	}

	private take(path: number[], offset: number, report: Report): void {
		const count = report.row_count ?? report.rows.length;
		const level = this.level(path, count);
		level.asked.add(Math.floor(offset / PAGE_ROWS));
		if (level.rows.length !== count) level.rows.length = count;
		report.rows.forEach((row, i) => {
			level.rows[offset + i] = row;
		});
		this.report ??= report;
		this.changed();
	}

	is_open(path: number[]): boolean {
		return this.open.has(key_of(path));
	}

	set_open(path: number[], open: boolean): void {
		const line = this.row_at(path);
		if (!child_count(line) || this.is_open(path) === open) return;
		if (open) {
			this.open.add(key_of(path));
			this.level(path, child_count(line));
			void this.fetch(path, 0);
		} else this.open.delete(key_of(path));
		this.changed();
	}

	row_at(path: number[]): Row | undefined {
		return this.levels.get(key_of(path.slice(0, -1)))?.rows[path[path.length - 1] ?? -1];
	}

	/** Opens the only child again and again: a chain of single callers is one step. */
	async open_chain(path: number[]): Promise<void> {
		let at = path;
		for (let depth = 0; depth < 64; depth++) {
			this.set_open(at, true);
			await this.fetch(at, 0);
			const level = this.levels.get(key_of(at));
			if (level?.rows.length !== 1 || !child_count(level.rows[0])) return;
			at = [...at, 0];
		}
	}

	/** Rows in the order in which they stand. */
	visible(): Line[] {
		if (this.lines) return this.lines;
		const lines: Line[] = [];
		const walk = (path: number[]) => {
			const level = this.levels.get(key_of(path));
			if (!level) return;
			for (let i = 0; i < level.rows.length; i++) {
				const at = [...path, i];
				lines.push({ path: at, row: level.rows[i] });
				if (this.open.has(key_of(at))) walk(at);
			}
		};
		walk([]);
		this.lines = lines;
		return lines;
	}

	/** Makes sure that the rows of these lines are here or on their way. */
	need(from: number, to: number): void {
		const lines = this.visible();
		for (let i = Math.max(0, from); i < Math.min(to, lines.length); i++) {
			const line = lines[i]!;
			if (!line.row) void this.fetch(line.path.slice(0, -1), line.path[line.path.length - 1]!);
		}
	}

	/** All rows of the top level, up to a limit; a search looks through them. */
	need_top(limit: number): void {
		const level = this.levels.get("");
		for (let i = 0; i < Math.min(limit, level?.rows.length ?? 0); i += PAGE_ROWS) void this.fetch([], i);
	}

	get top_count(): number {
		return this.levels.get("")?.rows.length ?? 0;
	}
}
