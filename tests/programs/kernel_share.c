// SPDX-License-Identifier: Apache-2.0
//
// Spends its CPU time partly in the kernel (reading zeros) and partly in a function of its own, then sleeps for
// 300 ms; prints what its own clocks make of the three: "user_ns kernel_ns slept_ns". getrusage counts ticks of
// 4 ms, which keep step with a sampler's.
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static char bytes[1 << 20];

static long long clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

static long long cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

__attribute__((noinline)) static void user_share(void)
{
	for (volatile int i = 0; i < 30000; i++)
		;
}

int main(void)
{
	int zero = open("/dev/zero", O_RDONLY);
	long long user = 0, kernel = 0, at = cpu_ns(), slept;
	unsigned long long seed = 1;

	while (at < 2000000000) {
		long long began = at, until;

		/* Turns of many samples each, no two alike: a sampler must not run in step with them. */
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		until = at + 10000000 + (long long)((seed >> 33) % 20000000);
		for (; at < until; at = cpu_ns())
			if (read(zero, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes))
				return 1;
		kernel += at - began;
		began = at;
		/* However fast the kernel is here: a third of the time is its own. */
		for (until = at + 2 * kernel - user; at < until; at = cpu_ns())
			user_share();
		user += at - began;
	}
	slept = -clock_ns(CLOCK_MONOTONIC_RAW);
	nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
	slept += clock_ns(CLOCK_MONOTONIC_RAW);
	printf("%lld %lld %lld\n", user, kernel, slept);
	return 0;
}
