// SPDX-License-Identifier: Apache-2.0
//
// The only way to the server. Jobs (answers that take longer), lost sessions and a server that is gone are handled
// here, so that a page sees an answer, a Problem or an abort.
import { signal } from "@preact/signals";
import { Problem, problem_from } from "./problem";
import type { Meta, Page, Report, ResultInfo } from "./types";

const BASE = "/api/v1";
const JOB_WAIT_MS = 10_000;

/** "unknown" until the first answer; "closed" wants the token or the passphrase. */
export const session = signal<"unknown" | "open" | "token" | "passphrase" | "new-passphrase">("unknown");
/** False while the server does not answer: the last view stays, with a banner. */
export const online = signal(true);
/** What is being computed now, for the progress line; by job. */
export const progress = signal<Map<string, { ratio: number; what: string; cancel: () => void }>>(new Map());

function set_progress(job: string, state: { ratio: number; what: string; cancel: () => void } | null): void {
	const next = new Map(progress.value);
	if (state) next.set(job, state);
	else next.delete(job);
	progress.value = next;
}

async function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
	let response: Response;
	try {
		response = await fetch(BASE + path, {
			method,
			signal: signal ?? null,
			credentials: "same-origin",
			cache: "no-store",
			headers: body === undefined ? {} : { "Content-Type": "application/json" },
			body: body === undefined ? null : JSON.stringify(body),
		});
	} catch (error) {
		if (signal?.aborted) throw error;
		online.value = false;
		throw new Problem(
			0,
			"gone",
			"The server does not answer",
			"strata serve has ended or cannot be reached.",
			"strata serve",
		);
	}
	online.value = true;
	if (response.status === 401) await refresh_session();
	if (!response.ok) throw await problem_from(response);
	return response;
}

/** A 202 names a job; the answer is fetched when it is there, and given up with the caller's signal. */
async function settle(response: Response, signal?: AbortSignal): Promise<Response> {
	if (response.status !== 202) return response;
	const { job } = (await response.json()) as { job: string };
	const give_up = new AbortController();
	const cancel = () => give_up.abort();
	signal?.addEventListener("abort", cancel);
	set_progress(job, { ratio: 0, what: "", cancel });
	try {
		for (;;) {
			const answer = await send("GET", `/jobs/${job}?wait_ms=${JOB_WAIT_MS}`, undefined, give_up.signal);
			if (answer.status !== 202) return answer;
			const state = (await answer.json()) as { progress?: number; what?: string };
			set_progress(job, { ratio: state.progress ?? 0, what: state.what ?? "", cancel });
		}
	} catch (error) {
		if (give_up.signal.aborted) void send("DELETE", `/jobs/${job}`).catch(() => undefined);
		throw error;
	} finally {
		signal?.removeEventListener("abort", cancel);
		set_progress(job, null);
	}
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
	return (await (await send("GET", path, undefined, signal)).json()) as T;
}

export async function act<T>(
	method: "POST" | "PATCH" | "DELETE",
	path: string,
	body?: unknown,
	signal?: AbortSignal,
): Promise<T | null> {
	const response = await settle(await send(method, path, body, signal), signal);
	const text = await response.text();
	return text ? (JSON.parse(text) as T) : null;
}

/** Sends a verb to a result; see docs/http-api.md for the verbs. */
export async function ask<T>(result: string, verb: string, body: unknown, signal?: AbortSignal): Promise<T> {
	const path = `/results/${encodeURIComponent(result)}/${verb}`;
	return (await (await settle(await send("POST", path, body, signal), signal)).json()) as T;
}

export async function askBinary(
	result: string,
	verb: string,
	body: unknown,
	signal?: AbortSignal,
): Promise<ArrayBuffer> {
	const path = `/results/${encodeURIComponent(result)}/${verb}`;
	return await (await settle(await send("POST", path, body, signal), signal)).arrayBuffer();
}

/** The report that `strata report WORDS... -format json` prints, or a page of one level of it. */
export function report(result: string, words: string[], page?: Page, signal?: AbortSignal): Promise<Report> {
	return ask<Report>(result, "ask", page ? { command: "report", words, page } : { command: "report", words }, signal);
}

/** Rows of `strata query`: the tables of docs/query-schema.md. */
export function query(result: string, sql: string, signal?: AbortSignal): Promise<Report> {
	return ask<Report>(result, "ask", { command: "query", words: [sql] }, signal);
}

/** A text inside a statement of SQL. */
export function sqlText(text: string): string {
	return `'${text.replace(/'/g, "''")}'`;
}

/** What LIKE takes for a text that may be anywhere; its own signs are taken letter by letter. */
export function sqlAnywhere(text: string): string {
	return `${sqlText(`%${text.replace(/[\\%_]/g, "\\$&")}%`)} ESCAPE '\\'`;
}

/** The very text that the command line prints, to be copied. */
export async function askText(result: string, words: string[], format: "text" | "csv" | "json"): Promise<string> {
	const path = `/results/${encodeURIComponent(result)}/ask`;
	return await (await settle(await send("POST", path, { command: "report", words, format }))).text();
}

/** The same report of two sides, with differences; each side may be several results. */
export async function compare(
	a: string[],
	b: string[],
	words: string[],
	page?: Page,
	signal?: AbortSignal,
): Promise<Report> {
	const body = page ? { a, b, words, page } : { a, b, words };
	return (await (await settle(await send("POST", "/compare", body, signal), signal)).json()) as Report;
}

/** A file made by `strata export`, with the name that the server gives it. */
export async function exportFile(result: string, words: string[]): Promise<{ blob: Blob; name: string }> {
	const path = `/results/${encodeURIComponent(result)}/export`;
	const response = await settle(await send("POST", path, { words }));
	const name = /filename="?([^";]+)/.exec(response.headers.get("Content-Disposition") ?? "")?.[1];
	return { blob: await response.blob(), name: name ?? `${result}.${words[0] ?? "out"}` };
}

export interface ResultList {
	results: ResultInfo[];
	/** Folders of the data directory that results are in, or may be. */
	projects: string[];
}

export const results = (signal?: AbortSignal): Promise<ResultList> => get<ResultList>("/results", signal);

let meta_answer: Promise<Meta> | null = null;

/** Asked once; a failure is asked again. */
export function meta(): Promise<Meta> {
	meta_answer ??= get<Meta>("/meta").catch((error) => {
		meta_answer = null;
		throw error;
	});
	return meta_answer;
}

async function session_state(): Promise<typeof session.value> {
	const response = await fetch(`${BASE}/session`, { credentials: "same-origin", cache: "no-store" });
	return response.ok ? ((await response.json()) as { state: typeof session.value }).state : session.value;
}

export async function refresh_session(): Promise<void> {
	session.value = await session_state();
}

/** What the address brought along: the token of a first visit, which the new passphrase goes with, or why it is no good. */
export const arrival = signal<{ token: string; problem: Problem | null }>({ token: "", problem: null });

/** Throws a Problem when the token or passphrase is wrong. */
export async function log_in(secret: { token?: string; passphrase?: string }): Promise<void> {
	const response = await fetch(`${BASE}/session`, {
		method: "POST",
		credentials: "same-origin",
		headers: { "Content-Type": "application/json" },
		body: JSON.stringify(secret),
	});
	if (!response.ok) throw await problem_from(response);
	meta_answer = null;
	await refresh_session();
}

/** The token travels in the address's fragment, which no server and no log sees; it leaves the address at once. */
export async function start_session(): Promise<void> {
	const token = /[#&]token=([^&]+)/.exec(location.hash)?.[1] ?? "";
	if (token) history.replaceState(null, "", location.pathname + location.search);
	try {
		const state = await session_state();
		if (token && state === "token") await log_in({ token });
		else {
			arrival.value = { token, problem: null };
			session.value = state;
		}
	} catch (error) {
		if (!(error instanceof Problem)) online.value = false;
		else {
			arrival.value = { token: "", problem: error };
			session.value = "token";
		}
	}
}

export type ServerEvent = "results" | "job" | "collection";

/** Listens to what the server announces; returns how to stop. The browser connects again by itself. */
export function events(on: (kind: ServerEvent, data: unknown) => void): () => void {
	const source = new EventSource(`${BASE}/events`);
	for (const kind of ["results", "job", "collection"] as const)
		source.addEventListener(kind, (event) => {
			const text = (event as MessageEvent<string>).data;
			on(kind, text ? JSON.parse(text) : null);
		});
	source.addEventListener("open", () => {
		online.value = true;
	});
	source.addEventListener("error", () => {
		if (source.readyState === EventSource.CONNECTING) online.value = false;
	});
	return () => source.close();
}
