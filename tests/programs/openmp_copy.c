/* SPDX-License-Identifier: Apache-2.0
 *
 * A library with a copy of OpenMP that nobody else has (openmp_copies.c loads it). Its functions give sums that are right only if
 * all that they call of OpenMP is of one copy. With -DFEW it calls nothing but what begins a region and meets in it.
 */
enum { THREADS = 3, N = 300 };

int copy_begin(void);
int copy_go_on(void);

int copy_begin(void)
{
	int count = 0;

#pragma omp parallel num_threads(THREADS)
	__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
	return count;
}

/* Everybody has come before anybody goes on. */
static int meet(void)
{
	int come = 0, seen = 0;

#pragma omp parallel num_threads(THREADS)
	{
		__atomic_fetch_add(&come, 1, __ATOMIC_RELAXED);
#pragma omp barrier
		__atomic_fetch_add(&seen, __atomic_load_n(&come, __ATOMIC_RELAXED),
				   __ATOMIC_RELAXED);
	}
	return seen;
}

int copy_go_on(void)
{
	int sum = meet();

#ifndef FEW
#pragma omp parallel num_threads(THREADS)
	{
#pragma omp for schedule(static)
		for (int i = 0; i < N; i++)
			__atomic_fetch_add(&sum, 1000, __ATOMIC_RELAXED);
#pragma omp for schedule(dynamic, 7)
		for (int i = 0; i < N; i++)
			__atomic_fetch_add(&sum, 1000000, __ATOMIC_RELAXED);
#pragma omp critical
		sum++;
#pragma omp critical(named)
		__atomic_fetch_add(&sum, 1, __ATOMIC_RELAXED);
	}
#endif
	return sum;
}
