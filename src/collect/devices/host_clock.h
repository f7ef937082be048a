/* SPDX-License-Identifier: Apache-2.0
 *
 * From the clocks of libraries for devices to the collector's ticks, for interfaces that tell times in clocks of their
 * own (collect/opencl, collect/ze).
 */
#ifndef ST_COLLECT_DEVICES_HOST_CLOCK_H
#define ST_COLLECT_DEVICES_HOST_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* CLOCK_MONOTONIC_RAW and the collector's ticks, a line through two readings of both. */
struct st_host_clock {
	uint64_t first_ticks, first_ns; /* 0: not started */
	uint64_t ticks, ns;
	double ticks_per_ns;
};

/* The first reading, or a further one: the line is through the first and the last. */
void st_host_clock_read(struct st_host_clock *clock);
uint64_t st_host_clock_ticks(const struct st_host_clock *clock, int64_t raw_ns);
int64_t st_host_clock_ns(const struct st_host_clock *clock, uint64_t ticks);

enum { ST_HOST_CLOCKS = 3 }; /* CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC, CLOCK_REALTIME */

/* What is known of a clock that counts nanoseconds from wherever: it is ahead of CLOCK_MONOTONIC_RAW by low to high. */
struct st_clock_offset {
	int64_t low, high;
	bool known;
	uint32_t not_these; /* a bit for each host clock that it cannot be */
};

/* Its reading `ns` was taken between these two times. */
void st_clock_offset_add(struct st_clock_offset *offset, int64_t ns, int64_t begin_raw_ns,
			 int64_t end_raw_ns);
/* Now, in nanoseconds: that of the host's clock which it is, or else the middle of what is known. */
int64_t st_clock_offset_ns(const struct st_clock_offset *offset);

#pragma GCC visibility pop

#endif
