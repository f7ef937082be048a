/* SPDX-License-Identifier: Apache-2.0
 *
 * What the library of waits adds to calls that do not wait: libc's own function and ours in turns, in one thread. CPU time of the
 * thread; the median of the differences.
 * usage: micro_waits [libstrata_waits.so]; prints one JSON object.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 401, PASSES = 2000 };

typedef int call(void *);
struct pair {
	call *take, *give;
};

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double burst(struct pair pair, void *object)
{
	double start = cpu_ns();

	for (int i = 0; i < PASSES; i++) {
		pair.take(object);
		pair.give(object);
	}
	return (cpu_ns() - start) / PASSES;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static call *find(void *library, const char *name)
{
	call *found;

	*(void **)&found = dlsym(library, name);
	if (!found) {
		fprintf(stderr, "no %s\n", name);
		exit(1);
	}
	return found;
}

/* "name": {"bare": ns, "added": ns} */
static void measure(void *libraries[2], const char *take, const char *give, void *object)
{
	static double bare[ROUNDS], added[ROUNDS];
	struct pair pairs[2];

	for (int i = 0; i < 2; i++)
		pairs[i] = (struct pair){find(libraries[i], take), find(libraries[i], give)};
	for (int i = -5; i < ROUNDS; i++) {
		double first = burst(pairs[0], object), second = burst(pairs[1], object);

		if (i < 0)
			continue;
		bare[i] = first;
		added[i] = second - first;
	}
	qsort(bare, ROUNDS, sizeof(*bare), by_value);
	qsort(added, ROUNDS, sizeof(*added), by_value);
	printf("\"%s\": {\"bare\": %.2f, \"added\": %.2f}", take, bare[ROUNDS / 2],
	       added[ROUNDS / 2]);
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : ST_BENCH_WAITS;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	sem_t semaphore;
	void *libraries[2] = {dlopen("libc.so.6", RTLD_NOW), dlopen(path, RTLD_NOW | RTLD_LOCAL)};

	if (!libraries[0] || !libraries[1] || sem_init(&semaphore, 0, 1)) {
		fprintf(stderr, "cannot load %s: %s\n", path, dlerror());
		return 1;
	}
	printf("{");
	measure(libraries, "pthread_mutex_lock", "pthread_mutex_unlock", &mutex);
	printf(", ");
	measure(libraries, "pthread_rwlock_rdlock", "pthread_rwlock_unlock", &lock);
	printf(", ");
	measure(libraries, "sem_wait", "sem_post", &semaphore);
	printf("}\n");
	return 0;
}
