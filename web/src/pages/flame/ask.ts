// SPDX-License-Identifier: Apache-2.0
import { act, ask } from "../../api/client";
import type { FlameAnswer, TimeAnswer } from "./tree";

export interface FlameAsk {
	words: string[];
	reverse: boolean;
	order: "left-heavy" | "time";
	other: string; // a result to compare with, or nothing
}

/** Frames below half a pixel of a wide screen are folded by the server. */
const MIN_RATIO = 0.0002;

export async function askFlame(result: string, what: FlameAsk, signal: AbortSignal): Promise<FlameAnswer | TimeAnswer> {
	const body = { words: what.words, reverse: what.reverse, min_ratio: MIN_RATIO, order: what.order };
	if (!what.other) return ask<FlameAnswer | TimeAnswer>(result, "flame", body, signal);
	const sides = { a: [result], b: [what.other], command: "flame", ...body };
	const answer = await act<FlameAnswer>("POST", "/compare", sides, signal);
	if (!answer) throw new Error("the server sent no flame graph");
	return answer;
}
