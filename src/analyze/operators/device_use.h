/* SPDX-License-Identifier: Apache-2.0
 *
 * How busy the devices of a result were, and how well their clocks fit ours.
 */
#ifndef ST_ANALYZE_OPERATORS_DEVICE_USE_H
#define ST_ANALYZE_OPERATORS_DEVICE_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/datasets/device_gaps.h"

struct st_arena;
struct st_result;

/* A device as a process numbers it. */
struct st_device_use {
	struct st_device_place place;
	int64_t begin_ns, end_ns; /* from the first thing on it to the last */
	uint64_t busy_ns;	  /* anything ran: what ran at once counts once */
	uint64_t kernels, copies; /* communication is among the kernels, fills among the copies */
	uint64_t kernel_ns, copy_ns; /* added up */
	uint64_t unlinked;	     /* nobody knows what launched them */
	/* What is known of the error of its times: nothing began before the call that launched it (they are late by so
	 * much at most), nothing ended after a wait for it (early by so much at most). INT64_MAX: not known. Below 0: that
	 * is what they are off. */
	int64_t late_ns, early_ns;
	uint64_t too_early, too_late; /* so many broke the one rule and the other */
	uint32_t streams;
	uint64_t gap_ns[ST_GAP_REASONS]; /* when no kernel ran */
	uint64_t waited_ns;		 /* that threads of the process waited for its devices */
	/* Where device memory was recorded: of what was seen being allocated. */
	uint64_t allocations, memory_bytes, memory_peak_bytes;
};

/* In the arena, by process and device; NULL when there are none, or memory is out. */
struct st_device_use *st_device_uses(const struct st_result *result, struct st_arena *arena,
				     uint32_t *count);

#endif
