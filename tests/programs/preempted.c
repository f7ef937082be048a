/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that all want one CPU, and never wait for anything: what they did not have it is what the kernel has counted of each: "TID NS".
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3 };

static long long cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static long long delay_ns(void)
{
	unsigned long long ran, delayed = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "r");

	if (file && fscanf(file, "%llu %llu", &ran, &delayed) != 2)
		delayed = 0;
	if (file)
		fclose(file);
	return (long long)delayed;
}

static long long delays[THREADS];
static int tids[THREADS];
static pthread_barrier_t all;

static void *spin(void *arg)
{
	int me = (int)(long)arg;
	long long before;

	tids[me] = (int)syscall(SYS_gettid);
	pthread_barrier_wait(&all);
	before = delay_ns();
	while (cpu_ns() < 200000000)
		;
	delays[me] = delay_ns() - before;
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	cpu_set_t allowed, one;
	int cpu = 0;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	pthread_barrier_init(&all, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, spin, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		printf("%d %lld\n", tids[i], delays[i]);
	return 0;
}
