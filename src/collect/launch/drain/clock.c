// SPDX-License-Identifier: Apache-2.0
//
// Trust test and calibration of the record clock. Flags of the processor alone are not enough: a guest
// may claim a steady counter without any guarantee, so the kernel's own choice must agree.
#include "collect/launch/drain/clock.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { COST_PAIRS = 512, COST_ROUNDS = 8, FRESH_BYTES = 512 << 10, FRESH_ROUNDS = 3 };

static bool read_text(const char *path, char *text, size_t size_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, size_bytes - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

#if defined(__x86_64__)
/* Both words stand in the flags line of the first processor. */
static bool counter_is_steady(const char *root)
{
	char path[PATH_MAX], text[8192];

	if (snprintf(path, sizeof(path), "%s/proc/cpuinfo", root) >= (int)sizeof(path) ||
	    !read_text(path, text, sizeof(text)))
		return false;
	return strstr(text, " constant_tsc") && strstr(text, " nonstop_tsc");
}

static const char kernel_source[] = "tsc";
#else
static bool counter_is_steady(const char *root)
{
	(void)root;
	return true; /* the architecture promises it */
}

static const char kernel_source[] = "arch_sys_counter";
#endif

struct st_clock_trust st_launch_clock_trust(const char *root)
{
	struct st_clock_trust trust = {.clock = ST_CLOCK_MONO_RAW,
				       .steady = counter_is_steady(root)};
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path),
		     "%s/sys/devices/system/clocksource/clocksource0/current_clocksource",
		     root) >= (int)sizeof(path) ||
	    !read_text(path, trust.source, sizeof(trust.source)))
		snprintf(trust.source, sizeof(trust.source), "an unknown source");
	trust.source[strcspn(trust.source, "\n")] = '\0';
	if (strcmp(trust.source, kernel_source) == 0 && trust.steady)
		trust.clock = ST_CLOCK_TSC;
	return trust;
}

enum st_clock st_launch_clock_choose(void)
{
	return st_launch_clock_trust("").clock;
}

const char *st_launch_clock_name(enum st_clock clock)
{
	return clock == ST_CLOCK_TSC ? "tsc" : "mono_raw";
}

static inline uint64_t fenced_ticks(void)
{
	uint64_t ticks;

#if defined(__x86_64__)
	__builtin_ia32_lfence();
	ticks = st_clock_tsc();
	__builtin_ia32_lfence();
#else
	__asm__ volatile("isb" ::: "memory");
	ticks = st_clock_tsc();
	__asm__ volatile("isb" ::: "memory");
#endif
	return ticks;
}

uint64_t st_launch_clock_now(enum st_clock clock)
{
	return clock == ST_CLOCK_TSC ? fenced_ticks() : st_clock_mono_raw_ns();
}

struct st_clock_pair st_launch_clock_pair(enum st_clock clock, unsigned int tries)
{
	struct st_clock_pair best = {.error_ticks = UINT64_MAX};

	if (clock == ST_CLOCK_MONO_RAW) {
		best.ticks = best.mono_raw_ns = st_clock_mono_raw_ns();
		best.error_ticks = 0;
		return best;
	}
	for (unsigned int i = 0; i < tries; i++) {
		uint64_t before = fenced_ticks();
		uint64_t ns = st_clock_mono_raw_ns();
		uint64_t width = fenced_ticks() - before;

		if (width / 2 < best.error_ticks) {
			best.ticks = before + width / 2;
			best.mono_raw_ns = ns;
			best.error_ticks = width / 2;
		}
	}
	return best;
}

uint64_t st_launch_clock_wall_ns(uint64_t mono_raw_ns, unsigned int tries)
{
	uint64_t best_ns = UINT64_MAX, wall_ns = 0;

	for (unsigned int i = 0; i < tries; i++) {
		uint64_t before = st_clock_mono_raw_ns(), width;
		struct timespec wall;

		clock_gettime(CLOCK_REALTIME, &wall);
		width = st_clock_mono_raw_ns() - before;
		if (width >= best_ns)
			continue;
		best_ns = width;
		wall_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec -
			  (before + width / 2 - mono_raw_ns);
	}
	return wall_ns;
}

uint64_t st_launch_clock_rate(const struct st_clock_pair *a, const struct st_clock_pair *b)
{
	double ns = (double)(int64_t)(b->mono_raw_ns - a->mono_raw_ns);

	if (ns < 1000.0)
		return 1000000000u;
	return (uint64_t)((double)(b->ticks - a->ticks) / ns * 1e9 + 0.5);
}

uint64_t st_launch_clock_ticks_at(const struct st_clock_pair *near, uint64_t ticks_per_second,
				  uint64_t mono_raw_ns)
{
	double ns = (double)(int64_t)(mono_raw_ns - near->mono_raw_ns);

	return near->ticks + (uint64_t)(int64_t)(ns * ((double)ticks_per_second / 1e9));
}

uint64_t st_launch_clock_ns_at(const struct st_clock_pair *near, uint64_t ticks_per_second,
			       uint64_t ticks)
{
	double distance = (double)(int64_t)(ticks - near->ticks);

	return near->mono_raw_ns + (uint64_t)(int64_t)(distance * (1e9 / (double)ticks_per_second));
}

double st_launch_clock_pair_cost_ns(enum st_clock clock)
{
	static _Atomic uint64_t words[2 * COST_PAIRS];
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < COST_ROUNDS; round++) {
		uint64_t begin = st_clock_mono_raw_ns(), took;

		for (int i = 0; i < 2 * COST_PAIRS; i++) {
			uint64_t ticks =
				clock == ST_CLOCK_TSC ? st_clock_tsc() : st_clock_mono_raw_ns();

			atomic_store_explicit(&words[i], ticks, memory_order_release);
		}
		took = st_clock_mono_raw_ns() - begin;
		if (took < best)
			best = took;
	}
	return (double)best / COST_PAIRS;
}

double st_launch_fresh_mib_ns(void)
{
	long page = sysconf(_SC_PAGESIZE);
	const size_t size = FRESH_BYTES;
	uint64_t best = UINT64_MAX;

	for (int round = 0; page > 0 && round < FRESH_ROUNDS; round++) {
		uint64_t begin = st_clock_mono_raw_ns(), took;
		volatile uint8_t *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (bytes == MAP_FAILED)
			return 0.0;
		for (size_t at = 0; at < size; at += (size_t)page)
			bytes[at] = 1;
		munmap((void *)bytes, size);
		took = st_clock_mono_raw_ns() - begin;
		if (took < best)
			best = took;
	}
	return page > 0 ? (double)best * (1 << 20) / FRESH_BYTES : 0.0;
}
