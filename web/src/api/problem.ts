// SPDX-License-Identifier: Apache-2.0
//
// What the server says when it cannot answer (RFC 9457), and what stands in for it when there is no server.

export class Problem extends Error {
	constructor(
		readonly status: number,
		readonly code: string,
		title: string,
		readonly detail: string,
		readonly hint: string,
	) {
		super(title);
		this.name = "Problem";
	}
}

export function is_abort(error: unknown): boolean {
	return error instanceof DOMException && error.name === "AbortError";
}

export function problem_of(error: unknown): Problem {
	if (error instanceof Problem) return error;
	return new Problem(0, "page", "The page failed", error instanceof Error ? error.message : String(error), "");
}

export async function problem_from(response: Response): Promise<Problem> {
	let said: Record<string, unknown> = {};
	try {
		said = (await response.json()) as Record<string, unknown>;
	} catch {
		// Not from our server: a proxy's own page says nothing that helps here.
	}
	const text = (key: string) => (typeof said[key] === "string" ? (said[key] as string) : "");
	return new Problem(
		response.status,
		text("code") || `http-${response.status}`,
		text("title") || `The server answered ${response.status}`,
		text("detail"),
		text("hint"),
	);
}
