/* SPDX-License-Identifier: Apache-2.0
 *
 * Regions of OpenMP whose threads have equally much to do, and not. The program measures each of them itself: "NAME LINE THREADS
 * ELAPSED IMBALANCE", times in ns; imbalance is how long a thread waits for the end on the average. With -DEVEN all are even.
 */
#include <omp.h>
#include <stdio.h>
#include <time.h>

enum { THREADS = 3, ROUNDS = 15 };

static struct told {
	const char *name;
	int line;
	long long elapsed, imbalance;
} told[3 * ROUNDS];
static int count;

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void rest(long ms)
{
	const struct timespec wanted = {0, ms * 1000000};

	nanosleep(&wanted, NULL);
}

static long long done[THREADS];

static void add(const char *name, int line, long long begin)
{
	long long end = now_ns(), waited = 0;

	for (int i = 0; i < THREADS; i++)
		waited += end - done[i];
	told[count++] = (struct told){name, line, end - begin, waited / THREADS};
}

static __attribute__((noinline)) void uneven(void)
{
	int line = __LINE__ + 3;
	long long begin = now_ns();

#pragma omp parallel num_threads(THREADS)
	{
#ifdef EVEN
		rest(4);
#else
		rest(omp_get_thread_num() == 2 ? 10 : 2);
#endif
		done[omp_get_thread_num()] = now_ns();
	}
	add("uneven", line, begin);
}

static __attribute__((noinline)) void even(void)
{
	int line = __LINE__ + 3;
	long long begin = now_ns();

#pragma omp parallel num_threads(THREADS)
	{
		rest(4);
		done[omp_get_thread_num()] = now_ns();
	}
	add("even", line, begin);
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		long long begin;

		uneven();
		even();
		begin = now_ns();
		rest(3);
		told[count++] = (struct told){"serial", 0, now_ns() - begin, 0};
	}
	for (int i = 0; i < count; i++)
		printf("%s\t%d\t%d\t%lld\t%lld\n", told[i].name, told[i].line, THREADS,
		       told[i].elapsed, told[i].imbalance);
	return 0;
}
