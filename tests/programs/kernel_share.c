// SPDX-License-Identifier: Apache-2.0
//
// Spends its CPU time partly in the kernel (reading zeros) and partly in a function of its own, then sleeps for
// 300 ms; prints what its own clock makes of the two: "user_ns kernel_ns". getrusage counts ticks of 4 ms, which
// keep step with a sampler's.
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static char bytes[1 << 20];

static long long cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

__attribute__((noinline)) static void user_share(void)
{
	for (volatile int i = 0; i < 300000; i++)
		;
}

int main(void)
{
	int zero = open("/dev/zero", O_RDONLY);
	long long user = 0, kernel = 0, at = cpu_ns();

	while (at < 2000000000) {
		long long before = at;

		if (read(zero, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes))
			return 1;
		at = cpu_ns();
		kernel += at - before;
		user_share();
		before = at;
		at = cpu_ns();
		user += at - before;
	}
	nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
	printf("%lld %lld\n", user, kernel);
	return 0;
}
