/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of a device on the collector's clock. Whatever a call of the host has stamped lies between that call's begin and
 * end: each such stamp bounds how far the device's clock is ahead. Many clocks of devices turn out to be one of the
 * host's, which is then read for what it is.
 */
#include "collect/devices/host_clock.h"

#include <time.h>

#include "collect/inproc/device/device.h"

enum {
	READINGS = 5,
	SLACK_NS = 2000, /* the two clocks of the host, and rounding */
};

static const int host_clocks[ST_HOST_CLOCKS] = {CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC,
						CLOCK_REALTIME};

static int64_t now_ns(int clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void st_host_clock_read(struct st_host_clock *clock)
{
	uint64_t best = UINT64_MAX;

	for (unsigned int i = 0; i < READINGS; i++) {
		uint64_t before = strata_device_ticks();
		uint64_t ns = (uint64_t)now_ns(CLOCK_MONOTONIC_RAW);
		uint64_t took = strata_device_ticks() - before;

		if (took >= best)
			continue;
		best = took;
		clock->ticks = before + took / 2;
		clock->ns = ns;
	}
	if (!clock->first_ns) {
		clock->first_ticks = clock->ticks;
		clock->first_ns = clock->ns;
	}
	if (!strata_device_ticks_are_tsc() || clock->ns == clock->first_ns)
		clock->ticks_per_ns = 1;
	else
		clock->ticks_per_ns = (double)(clock->ticks - clock->first_ticks) /
				      (double)(clock->ns - clock->first_ns);
}

uint64_t st_host_clock_ticks(const struct st_host_clock *clock, int64_t raw_ns)
{
	double since = (double)(raw_ns - (int64_t)clock->ns);

	return clock->ticks + (uint64_t)(int64_t)(since * clock->ticks_per_ns);
}

int64_t st_host_clock_ns(const struct st_host_clock *clock, uint64_t ticks)
{
	double since = (double)(int64_t)(ticks - clock->ticks);

	return (int64_t)clock->ns + (int64_t)(since / clock->ticks_per_ns);
}

static int64_t ahead_ns(int clock)
{
	int64_t before = now_ns(CLOCK_MONOTONIC_RAW);
	int64_t there = now_ns(clock);
	int64_t after = now_ns(CLOCK_MONOTONIC_RAW);

	return there - before - (after - before) / 2;
}

void st_clock_offset_add(struct st_clock_offset *offset, int64_t ns, int64_t begin_raw_ns,
			 int64_t end_raw_ns)
{
	int64_t low = ns - end_raw_ns, high = ns - begin_raw_ns;

	for (unsigned int i = 0; i < ST_HOST_CLOCKS; i++) {
		int64_t ahead;

		if (offset->not_these >> i & 1)
			continue;
		ahead = i ? ahead_ns(host_clocks[i]) : 0;
		if (ahead < low - SLACK_NS || ahead > high + SLACK_NS)
			offset->not_these |= 1u << i;
	}
	/* One that runs away from ours leaves what was known of it: the newest counts. */
	if (!offset->known || low > offset->high || high < offset->low) {
		offset->low = low;
		offset->high = high;
		offset->known = true;
		return;
	}
	offset->low = low > offset->low ? low : offset->low;
	offset->high = high < offset->high ? high : offset->high;
}

int64_t st_clock_offset_ns(const struct st_clock_offset *offset)
{
	for (unsigned int i = 0; i < ST_HOST_CLOCKS; i++)
		if (!(offset->not_these >> i & 1))
			return i ? ahead_ns(host_clocks[i]) : 0;
	return offset->low + (offset->high - offset->low) / 2;
}
