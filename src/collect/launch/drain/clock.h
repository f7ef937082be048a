/* SPDX-License-Identifier: Apache-2.0
 *
 * Which clock a collection uses, and how its ticks map to CLOCK_MONOTONIC_RAW.
 */
#ifndef ST_COLLECT_LAUNCH_DRAIN_CLOCK_H
#define ST_COLLECT_LAUNCH_DRAIN_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rt/clock.h"

/* Whom to trust, and why not the counter: it is not steady, or the kernel has another source. */
struct st_clock_trust {
	enum st_clock clock;
	bool steady;
	char source[64]; /* the kernel's own */
};

/* root stands before /proc and /sys: "" but in tests. */
struct st_clock_trust st_launch_clock_trust(const char *root);
/* The cycle counter only where the kernel itself keeps time by it. */
enum st_clock st_launch_clock_choose(void);
const char *st_launch_clock_name(enum st_clock clock);
/* Now, never earlier than what was loaded from memory before the call. */
uint64_t st_launch_clock_now(enum st_clock clock);
/* The tightest of `tries` pairs. */
struct st_clock_pair st_launch_clock_pair(enum st_clock clock, unsigned int tries);
/* CLOCK_REALTIME at a moment of CLOCK_MONOTONIC_RAW, by the tightest of `tries`: between two reads the processor may
 * be lost. */
uint64_t st_launch_clock_wall_ns(uint64_t mono_raw_ns, unsigned int tries);
/* Ticks per second between two pairs; 1e9 when they are too close to say. */
uint64_t st_launch_clock_rate(const struct st_clock_pair *a, const struct st_clock_pair *b);
/* Ticks at a moment of CLOCK_MONOTONIC_RAW, counted from a pair near it. */
uint64_t st_launch_clock_ticks_at(const struct st_clock_pair *near, uint64_t ticks_per_second,
				  uint64_t mono_raw_ns);
/* The other way round. */
uint64_t st_launch_clock_ns_at(const struct st_clock_pair *near, uint64_t ticks_per_second,
			       uint64_t ticks);
/* Estimate of what a recorded begin+end pair costs: two clock reads and two published words. */
double st_launch_clock_pair_cost_ns(enum st_clock clock);
/* What a MiB of fresh memory costs until all of it was written to, and given back. 0: could not be measured. */
double st_launch_fresh_mib_ns(void);

#endif
