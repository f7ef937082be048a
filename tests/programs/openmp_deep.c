/* SPDX-License-Identifier: Apache-2.0
 *
 * Regions of OpenMP within each other, as deep as a recursion goes, on a stack of a given size.
 * Usage: openmp_deep DEPTH STACK_BYTES. What this many of them take goes to standard error, for whoever wants to know how large
 * a stack must be.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uintptr_t first, last;
static long sum;

static __attribute__((noinline)) void descend(int depth)
{
	char here;

	last = (uintptr_t)&here;
	if (!first)
		first = last;
	if (!depth)
		return;
#pragma omp parallel sections num_threads(1)
	{
#pragma omp section
		descend(depth - 1);
#pragma omp section
		sum++;
	}
}

static void *start(void *depth)
{
	descend(*(int *)depth);
	return NULL;
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	if (argc < 3 || pthread_attr_setstacksize(&attributes, strtoul(argv[2], NULL, 10)) ||
	    pthread_create(&thread, &attributes, start, &depth))
		return 1;
	pthread_join(thread, NULL);
	printf("%ld\n", sum);
	fprintf(stderr, "%lu\n", (unsigned long)(first - last));
	return 0;
}
