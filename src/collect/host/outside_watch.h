/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads Python frames at the moment of a sample. A thread of strata for each processor waits for the samples taken there and
 * is bound to that processor: as it wakes, it takes the place of the sampled thread, which does not go on until the
 * frames are read. Whether that really was so, the scheduler's records tell afterwards (st_outside_captured_in_time).
 */
#ifndef ST_COLLECT_HOST_OUTSIDE_WATCH_H
#define ST_COLLECT_HOST_OUTSIDE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/host/perf_rings.h"

struct st_outside_watch;

struct st_outside_capture {
	uint32_t tid;
	uint64_t time;	  /* of the sample */
	uint64_t read_ns; /* when everything was read */
	uint32_t flags;	  /* enum st_sample_flag */
	uint32_t count;
	uint64_t *frames; /* words of format/sample_record.h, innermost first */
	struct st_outside_capture *next;
};

/* Reads the frames of a thread, from any thread of strata. */
typedef uint32_t (*st_outside_walk)(void *arg, uint32_t tid, uint64_t *frames, uint32_t frames_max,
				    uint32_t *flags);

/* NULL when no thread can be started: then nothing is captured. */
struct st_outside_watch *st_outside_watch_create(struct st_perf_rings *rings, st_outside_walk walk,
						 void *arg);
void st_outside_watch_destroy(struct st_outside_watch *watch);
/* What was read for a sample, to be freed; NULL: nobody came in time. */
struct st_outside_capture *st_outside_watch_take(struct st_outside_watch *watch, uint32_t tid,
						 uint64_t time);

/* The scheduler's records of one round, for the question below. */
struct st_outside_switches {
	struct st_outside_switch {
		uint64_t time;
		uint32_t tid;
		bool out;
	} * entries; /* in order of time */
	uint32_t count, capacity;
	uint64_t until_ns; /* older ones are all here */
};

/* Whether a thread left its processor right after the sample and did not come back before its frames were read. */
bool st_outside_captured_in_time(const struct st_outside_switches *switches,
				 const struct st_outside_capture *capture, bool in_kernel);

#endif
