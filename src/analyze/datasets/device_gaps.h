/* SPDX-License-Identifier: Apache-2.0
 *
 * When devices computed nothing, and why: from the first thing on a device to the last, every moment in which no kernel
 * ran belongs to one gap. So does every moment in which nobody looked.
 */
#ifndef ST_ANALYZE_DATASETS_DEVICE_GAPS_H
#define ST_ANALYZE_DATASETS_DEVICE_GAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/definitions.h"

struct st_arena;
struct st_result;

/* A device as a process numbers those of a maker. */
struct st_device_place {
	uint32_t process, device;
	uint32_t maker;	     /* ST_DEVICE_MAKERS: whose interface tells of it; 0: CUDA's */
	struct st_text name; /* empty: not known; borrowed */
};

static inline bool st_device_place_is(const struct st_device_place *a,
				      const struct st_device_place *b)
{
	return a->process == b->process && a->device == b->device && a->maker == b->maker;
}

enum st_gap_reason {
	ST_GAP_COPY,	   /* only copies or fills ran */
	ST_GAP_WAIT,	   /* the host was still in a call that waits for the device */
	ST_GAP_AFTER_WAIT, /* it had waited until nothing was left to do, and had not launched yet */
	ST_GAP_HOST,	   /* the host had not launched what came next, and had not waited */
	ST_GAP_LAUNCHED,   /* that was launched, and had not begun */
	ST_GAP_UNKNOWN,	   /* launches were not recorded */
	ST_GAP_SILENT,	   /* nothing was: in a pause, or to measure what recording costs */
	ST_GAP_REASONS
};
extern const char *const st_gap_reason_words[ST_GAP_REASONS];

struct st_device_gap {
	struct st_device_place place;
	enum st_gap_reason reason;
	uint32_t
		next; /* slice that ended it: a kernel, a copy; of a copy itself that; ST_NO_ROW: none */
	int64_t begin_ns, end_ns;
};

struct st_device_gaps {
	struct st_device_gap *gaps; /* by process, device and time */
	uint32_t count, capacity;
	uint32_t *
		launch_of; /* by slice: the call that launched it, or ST_NO_ROW; NULL: no devices */
};

/* False when memory is out. */
bool st_device_gaps_make(struct st_device_gaps *out, const struct st_result *result);
void st_device_gaps_fini(struct st_device_gaps *gaps);

/* The call that launched each slice, or ST_NO_ROW; the caller frees it. NULL when memory is out. */
uint32_t *st_launches_make(const struct st_result *result);
/* The device that a track of a stream or queue belongs to. */
struct st_device_place st_track_device(const struct st_result *result, uint32_t track);
/* "device 0 (NVIDIA H200)" */
struct st_text st_device_text(const struct st_device_place *place, struct st_arena *arena);
bool st_track_is_stream(const struct st_result *result, uint32_t track);

#endif
