/* SPDX-License-Identifier: Apache-2.0
 *
 * A library with OpenMP in its constructor, which runs while the loader's lock is held: threads of the region, and a thread that
 * begins one itself, must not need it. And one in a function, for a program that loads and unloads it.
 */
#include <pthread.h>
#include <stdio.h>

int plug_count(void);

int plug_count(void)
{
	int count = 0;

#pragma omp parallel reduction(+ : count)
	{
		count++;
#pragma omp barrier
	}
	return count;
}

static void *begin_region(void *arg)
{
	int *count = arg;

#pragma omp parallel num_threads(3)
	{
#pragma omp critical
		++*count;
#pragma omp barrier
	}
	return NULL;
}

__attribute__((constructor)) static void start(void)
{
#ifdef IN_CONSTRUCTOR
	pthread_t thread;
	int own = 0, other = 0;

	begin_region(&own);
	if (!pthread_create(&thread, NULL, begin_region, &other))
		pthread_join(thread, NULL);
	printf("constructor: %d, thread: %d\n", own, other);
	fflush(stdout);
#endif
}
