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
	size_t size;

	while (at < 2000000000) {
		long long before = at;

		/* No two alike: a sampler must not run in step with them. */
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		size = sizeof(bytes) / 4 + (seed >> 33) % (sizeof(bytes) * 3 / 4);
		if (read(zero, bytes, size) != (ssize_t)size)
			return 1;
		at = cpu_ns();
		kernel += at - before;
		/* However fast the kernel is here: a third of the time is its own. */
		while (user < 2 * kernel) {
			user_share();
			before = at;
			at = cpu_ns();
			user += at - before;
		}
	}
	slept = -clock_ns(CLOCK_MONOTONIC_RAW);
	nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
	slept += clock_ns(CLOCK_MONOTONIC_RAW);
	printf("%lld %lld %lld\n", user, kernel, slept);
	return 0;
}
