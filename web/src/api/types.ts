// SPDX-License-Identifier: Apache-2.0
//
// What the server sends; docs/http-api.md describes it.

export interface Column {
	key: string;
	title: string;
	/** "ns", "bytes", "ratio" or nothing. */
	unit: string;
}

export type Cell = string | number | boolean | null | undefined;

export interface Row {
	children?: Row[];
	/** Instead of children, for a page of one level. */
	child_count?: number;
	[key: string]: Cell | Row[];
}

export interface Quality {
	state?: string;
	lost?: number;
	losses?: unknown[];
	notes?: string[];
	[key: string]: unknown;
}

export interface Report {
	schema: string;
	report: string;
	result: string;
	source: string;
	subject?: string;
	/** Without rows: why there are none. */
	empty?: string;
	group_by: string[];
	columns: Column[];
	rows: Row[];
	totals: Row;
	quality: Quality;
	/** Rows of the level that a page was taken from. */
	row_count?: number;
	[key: string]: unknown;
}

/** Which rows of a tree: those below the row at `path` (indices from the top), some at a time. */
export interface Page {
	path?: number[];
	offset?: number;
	limit?: number;
	depth?: number;
}

export interface ResultInfo {
	id: string;
	name: string;
	/** The folder in the data directory that it lies in; empty: at the top. */
	project?: string;
	kind: "result" | "trace";
	state: string;
	type: string;
	command: string;
	started_at: string;
	elapsed_ns: number;
	size_bytes: number;
	exit: string | number | null;
	generation: string | number;
}

export interface Grouping {
	name: string;
	key: string;
	title: string;
}

export interface ReportKind {
	name: string;
	summary: string;
	accepts: string[];
	groupings: string[];
	/** Groupings that its filters can be about. */
	filters: string[];
	metrics: string[];
	defaults: string[];
}

export interface Knob {
	name: string;
	values: string;
	initial: string;
	help: string;
	types: string[];
}

export interface CollectionType {
	name: string;
	summary: string;
}

export interface Meta {
	version: string;
	api: number;
	bundle: string;
	data_directory?: string;
	can_collect: boolean;
	can_collect_why?: string;
	reports: ReportKind[];
	groupings: Grouping[];
	exports: { name: string; summary: string }[];
	types: CollectionType[];
	knobs: Knob[];
	/** Traces that are part of the program. */
	samples?: { name: string; summary: string; size_bytes: number }[];
	limits?: Record<string, number>;
}

export interface Job {
	job: string;
	state?: string;
	progress?: number;
	what?: string;
}
