// SPDX-License-Identifier: Apache-2.0
//
// How far in the names of a tree stand: by their level, but never so far that no room is left for them.
const STEP_PX = 15;
const DEEP_STEP_PX = 2;

/** How far in a name stands in its column of that width, so that there is always room for it: deep levels are nearer to one
 * another, and the deepest below one another; those say their level. */
export function indent_of(depth: number, width: number): { px: number; deep: boolean } {
	const full = Math.max(1, Math.floor((width * 0.32) / STEP_PX));
	const deeper = Math.max(0, depth - full) * DEEP_STEP_PX;
	const px = 8 + Math.min(depth, full) * STEP_PX + Math.min(deeper, Math.round(width * 0.1));
	return { px, deep: depth > full };
}
