// SPDX-License-Identifier: Apache-2.0
//
// Threads that compute, sleep and wait for each other, and how long they live: "life TID LEAST MOST" in ns, of which the one is what
// the thread measures itself, and the other what whoever starts it and waits for its end does. Its life lies in between.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6, ROUNDS = 40, PART_NS = 5000000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct life {
	int how;
	long tid;
	long long least, most;
} lives[THREADS];

static long long clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void compute(void)
{
	long long end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + PART_NS;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void rest(void)
{
	const struct timespec wanted = {0, PART_NS};

	nanosleep(&wanted, NULL);
}

static void *live(void *arg)
{
	struct life *life = arg;
	long long begin = clock_ns(CLOCK_MONOTONIC_RAW);

	life->tid = syscall(SYS_gettid);
	for (int i = 0; i < ROUNDS; i++) {
		if (life->how == 0) {
			compute();
		} else if (life->how == 1) {
			rest();
		} else {
			pthread_mutex_lock(&mutex);
			rest();
			pthread_mutex_unlock(&mutex);
			compute();
		}
	}
	life->least = clock_ns(CLOCK_MONOTONIC_RAW) - begin;
	return NULL;
}

static void *start(void *arg)
{
	struct life *life = arg;
	long long begin = clock_ns(CLOCK_MONOTONIC_RAW);
	pthread_t thread;

	if (pthread_create(&thread, NULL, live, life) || pthread_join(thread, NULL))
		exit(1);
	life->most = clock_ns(CLOCK_MONOTONIC_RAW) - begin;
	return NULL;
}

int main(void)
{
	pthread_t starters[THREADS];

	for (int i = 0; i < THREADS; i++) {
		lives[i].how = i % 3;
		if (pthread_create(&starters[i], NULL, start, &lives[i]))
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(starters[i], NULL);
	for (int i = 0; i < THREADS; i++)
		printf("life\t%ld\t%lld\t%lld\n", lives[i].tid, lives[i].least, lives[i].most);
	return 0;
}
