/* SPDX-License-Identifier: Apache-2.0
 *
 * One stack out of a native and a Python one. A native frame of the evaluation function runs a group of
 * Python frames: from the one marked ST_PYTHON_FRAME_ENTRY inwards up to the next such frame. Groups and
 * evaluation frames are paired off, and each group is put right inside its evaluation frame.
 *
 * A group may be empty (ST_PYTHON_FRAME_EMPTY): its evaluation frame stays an ordinary native frame.
 *
 * As many of both: one to one. One evaluation frame more than groups: the innermost one has not linked its
 * Python frame yet, or no longer, and stays an ordinary native frame. Otherwise one of the two stacks is not
 * whole, and they are paired from the end that is known to be right:
 *   Python stack cut, or two or more evaluation frames too many (coroutines with a stack of their own):
 *     from the innermost frame; the outer evaluation frames stay native
 *   native stack cut: from the innermost frame; the groups left over stand outside of all native frames
 *   native stack recovered by a scan: from both ends up to the frame that was guessed, where the groups left
 *     over go
 *   else: from the outermost frame; the groups left over stand right inside the innermost pair, or outside
 *     of all native frames when there is no pair
 * The last two and coroutines set ST_SAMPLE_MISMATCH; a cut stack says so itself.
 */
#ifndef ST_COLLECT_LAUNCH_DRAIN_MERGE_H
#define ST_COLLECT_LAUNCH_DRAIN_MERGE_H

#include <stdint.h>

#include "format/samples.h"

struct st_merge_input {
	const uint64_t *native, *python; /* words of format/sample_record.h, innermost first */
	uint32_t native_count, python_count;
	uint32_t flags; /* enum st_sample_flag */
	/* Start and end of the evaluation function, then of its cold part; as ST_EXT_PYTHON_RUNTIME has them. */
	uint64_t eval[4];
};

struct st_merged_frame {
	uint64_t value;
	uint8_t kind; /* enum st_frame_kind | ST_FRAME_*, as in struct st_stack_node */
};

/* Fills `out`, which has room for native_count + python_count frames, from the outermost frame inwards and
 * returns how many there are. *flags: ST_SAMPLE_MISMATCH, or 0. */
uint32_t st_merge_frames(const struct st_merge_input *in, struct st_merged_frame *out,
			 uint32_t *flags);

#endif
