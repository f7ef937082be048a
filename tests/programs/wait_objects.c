// SPDX-License-Identifier: Apache-2.0
//
// Makes mutexes that nobody waits for: wait_objects same|new COUNT, at one address or at as many. Then the last one is waited for once,
// and so is one that was made before all others. Prints what making one took, and the addresses of these two.
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HELD_NS = 20000000 };

static pthread_barrier_t both;

static double clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void *hold(void *mutex)
{
	struct timespec held = {.tv_nsec = HELD_NS};

	pthread_mutex_lock(mutex);
	pthread_barrier_wait(&both);
	nanosleep(&held, NULL);
	pthread_mutex_unlock(mutex);
	return NULL;
}

static void wait_for(pthread_mutex_t *mutex)
{
	pthread_t holder;

	pthread_create(&holder, NULL, hold, mutex);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
	pthread_join(holder, NULL);
}

int main(int argc, char **argv)
{
	static pthread_mutex_t first;
	bool same = argc > 1 && !strcmp(argv[1], "same");
	long count = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
	pthread_mutex_t *mutexes = calloc(same ? 1 : (size_t)count, sizeof(*mutexes)), *last;
	double begin;

	if (!mutexes)
		return 1;
	last = &mutexes[same ? 0 : count - 1];
	pthread_barrier_init(&both, NULL, 2);
	pthread_mutex_init(&first, NULL);
	begin = clock_ns();
	for (long i = 0; i < count; i++)
		pthread_mutex_init(&mutexes[same ? 0 : i], NULL);
	begin = clock_ns() - begin;
	wait_for(last);
	wait_for(&first);
	printf("{\"made_ns\": %.1f, \"last\": %lu, \"first\": %lu}\n", begin / (double)count,
	       (unsigned long)last, (unsigned long)&first);
	free(mutexes);
	return 0;
}
