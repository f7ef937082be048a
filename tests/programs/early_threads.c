/* SPDX-License-Identifier: Apache-2.0
 *
 * A library (-DLIBRARY) whose constructor starts threads that call functions in which a thread may wait, without a pause: they
 * are there before whatever is preloaded has been initialised, and while it is. The program needs CPU time for a while and ends.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#ifdef LIBRARY

enum { THREADS = 3 };

static _Atomic int running;
int early_threads(void);

static void *wait_again_and_again(void *arg)
{
	char byte;

	for (;;) {
		if (read(-1, &byte, 1) > 0)
			return arg;
		atomic_store_explicit(&running, 1, memory_order_relaxed);
	}
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, wait_again_and_again, NULL);
	while (!atomic_load_explicit(&running, memory_order_relaxed))
		;
}

int early_threads(void)
{
	return THREADS;
}

#else

int early_threads(void);

int main(void)
{
	enum { BURN_NS = 200000000 };
	struct timespec now = {0};

	while (now.tv_sec == 0 && now.tv_nsec < BURN_NS)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	printf("%d threads were there first\n", early_threads());
	return 0;
}

#endif
