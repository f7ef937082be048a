/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks with a name in the program: global, static, a member, an element; and one on the heap, which has none. Two threads wait for each.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

pthread_mutex_t global_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t static_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char bytes[64];
	pthread_mutex_t lock;
} pool;
static pthread_mutex_t locks[4];

static void *hold(void *lock)
{
	const struct timespec time = {0, 10000000};

	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(lock);
		nanosleep(&time, NULL);
		pthread_mutex_unlock(lock);
	}
	return NULL;
}

int main(void)
{
	pthread_mutex_t *heap = calloc(1, sizeof(*heap));
	pthread_mutex_t *all[] = {&global_lock, &static_lock, &pool.lock, &locks[2], heap};
	enum { COUNT = sizeof(all) / sizeof(all[0]) };
	pthread_t threads[2 * COUNT];

	for (int i = 0; i < 2 * COUNT; i++)
		pthread_create(&threads[i], NULL, hold, all[i / 2]);
	for (int i = 0; i < 2 * COUNT; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	return 0;
}
