// SPDX-License-Identifier: Apache-2.0
//
// Two threads on one processor that give way to each other at every multiple of half a millisecond: take_turns SECONDS.
// An event that fires every millisecond, and goes from one to the other with the processor, always finds the same one, as
// long as nobody else gets it: they run before ordinary programs where that is allowed.
// Prints the CPU time of each by its own clock, and its id.
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TURN_NS = 500000 };

static sem_t turns[2];
static int64_t end_ns;

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void burn(void)
{
	int64_t until = (clock_ns(CLOCK_MONOTONIC) / TURN_NS + 1) * TURN_NS;

	while (clock_ns(CLOCK_MONOTONIC) < until)
		;
}

static void *run(void *own)
{
	sem_t *mine = own, *other = mine == turns ? turns + 1 : turns;

	while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
		sem_wait(mine);
		burn();
		sem_post(other);
	}
	sem_post(other);
	printf("%d %lld\n", gettid(), (long long)clock_ns(CLOCK_THREAD_CPUTIME_ID));
	return NULL;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	const struct sched_param priority = {.sched_priority = 1};
	pthread_t threads[2];
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET((size_t)sched_getcpu(), &first);
	if (sched_setaffinity(0, sizeof(first), &first))
		return 1;
	sched_setscheduler(0, SCHED_FIFO, &priority);
	end_ns = clock_ns(CLOCK_MONOTONIC) + (int64_t)(seconds * 1e9);
	for (int i = 0; i < 2; i++)
		sem_init(&turns[i], 0, i == 0);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, run, &turns[i]))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
