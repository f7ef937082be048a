// SPDX-License-Identifier: Apache-2.0
//
// Locks at the places of others, which were made by a call and destroyed: waited for before that, or not. Those that come after
// them need no call to be made. Prints the addresses.
#include <pthread.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>

enum { HELD_NS = 20000000 };

static pthread_barrier_t both;

static void *hold(void *mutex)
{
	const struct timespec held = {.tv_nsec = HELD_NS};

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

static void make_another(pthread_mutex_t *mutex)
{
	*mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	wait_for(mutex);
}

int main(void)
{
	static pthread_mutex_t known, unknown, again;
	static union {
		mtx_t c11;
		pthread_mutex_t mutex;
	} other;

	pthread_barrier_init(&both, NULL, 2);
	pthread_mutex_init(&known, NULL); /* waited for, and then destroyed */
	wait_for(&known);
	pthread_mutex_destroy(&known);
	make_another(&known);
	pthread_mutex_init(&unknown, NULL);
	pthread_mutex_destroy(&unknown);
	make_another(&unknown);
	mtx_init(&other.c11, mtx_plain);
	mtx_destroy(&other.c11);
	make_another(&other.mutex);
	pthread_mutex_init(&again, NULL);
	pthread_mutex_destroy(&again);
	pthread_mutex_init(&again, NULL); /* made twice */
	wait_for(&again);
	printf("{\"known\": %lu, \"unknown\": %lu, \"other\": %lu, \"again\": %lu}\n",
	       (unsigned long)&known, (unsigned long)&unknown, (unsigned long)&other,
	       (unsigned long)&again);
	return 0;
}
