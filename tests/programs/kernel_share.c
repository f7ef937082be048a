// SPDX-License-Identifier: Apache-2.0
//
// Spends its CPU time half in the kernel (reading zeros) and half in a function of its own, then sleeps for
// 300 ms; prints what getrusage makes of it: "user_ns system_ns".
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static char bytes[1 << 20];

static long long ns_of(struct timeval time)
{
	return (long long)time.tv_sec * 1000000000 + (long long)time.tv_usec * 1000;
}

__attribute__((noinline)) static void user_share(void)
{
	for (volatile int i = 0; i < 300000; i++)
		;
}

int main(void)
{
	int zero = open("/dev/zero", O_RDONLY);
	struct rusage usage;
	struct timespec now;

	do {
		if (read(zero, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes))
			return 1;
		user_share();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec < 2);
	nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
	getrusage(RUSAGE_SELF, &usage);
	printf("%lld %lld\n", ns_of(usage.ru_utime), ns_of(usage.ru_stime));
	return 0;
}
