/* SPDX-License-Identifier: Apache-2.0
 *
 * With -DLIBRARY a library that stands before libc's mutexes and counts, as those do that look for errors; else a program
 * that is linked to it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

int locks_counted(void);
int unlocks_counted(void);

#ifdef LIBRARY
typedef int function(pthread_mutex_t *);
static int locks, unlocks;

int locks_counted(void)
{
	return locks;
}

int unlocks_counted(void)
{
	return unlocks;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	locks++;
	return ((function *)dlsym(RTLD_NEXT, "pthread_mutex_lock"))(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	unlocks++;
	return ((function *)dlsym(RTLD_NEXT, "pthread_mutex_unlock"))(mutex);
}
#else
int main(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	int locks = locks_counted(), unlocks = unlocks_counted();

	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	printf("%d locks, %d unlocks\n", locks_counted() - locks, unlocks_counted() - unlocks);
	return 0;
}
#endif
