/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock of every record: the time-stamp counter where the kernel itself trusts it, else
 * CLOCK_MONOTONIC_RAW in nanoseconds. Who decides is the strata process (st_clock_choose in
 * collect/launch); the collector is told through STRATA_CONFIG and never decides by itself.
 * Allocation-free and signal-safe.
 */
#ifndef ST_BASE_RT_CLOCK_H
#define ST_BASE_RT_CLOCK_H

#include <stdint.h>
#include <time.h>

enum st_clock {
	ST_CLOCK_TSC = 1,     /* rdtsc / cntvct_el0 */
	ST_CLOCK_MONO_RAW = 2 /* CLOCK_MONOTONIC_RAW, one tick = 1 ns */
};

/* The clock and CLOCK_MONOTONIC_RAW, read together. */
struct st_clock_pair {
	uint64_t ticks;
	uint64_t mono_raw_ns;
	uint64_t error_ticks; /* half of what passed around the reading */
};

static inline uint64_t st_clock_mono_raw_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Unordered on purpose: a fence would double the price of a record (facts: 9.6 against 19 ns). */
static inline uint64_t st_clock_tsc(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
#error "no cycle counter known for this processor"
#endif
}

#endif
