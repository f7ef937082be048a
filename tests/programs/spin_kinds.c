// SPDX-License-Identifier: Apache-2.0
//
// Threads that wait without sleeping while another one works: spin_kinds yield|lock|barrier SECONDS. Prints the CPU
// time of the worker and of those that waited, by their own clocks.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* In a line of its own: who waits must not wait for what the worker writes. */
static _Alignas(64) struct {
	volatile double sink;
	char rest[64 - sizeof(double)];
} worker;
static atomic_bool ready, stop;
static pthread_spinlock_t lock;
static double waited;

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((noinline)) static void work(double seconds)
{
	double end = cpu_seconds() + seconds;

	while (cpu_seconds() < end)
		for (int i = 0; i < 20000; i++)
			worker.sink = worker.sink * 1.0001 + i;
}

static void *wait_yielding(void *unused)
{
	(void)unused;
	atomic_store(&ready, true);
	while (!atomic_load(&stop))
		sched_yield();
	waited = cpu_seconds();
	return NULL;
}

static void *wait_for_lock(void *unused)
{
	(void)unused;
	atomic_store(&ready, true);
	pthread_spin_lock(&lock);
	pthread_spin_unlock(&lock);
	waited = cpu_seconds();
	return NULL;
}

static double run_thread(void *(*waiter)(void *), double seconds)
{
	pthread_t thread;
	double worked;

	pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_lock(&lock);
	if (pthread_create(&thread, NULL, waiter, NULL))
		exit(1);
	while (!atomic_load(&ready))
		sched_yield();
	work(seconds);
	worked = cpu_seconds();
	atomic_store(&stop, true);
	pthread_spin_unlock(&lock);
	pthread_join(thread, NULL);
	return worked;
}

static double run_barriers(double seconds)
{
	double worked = 0, idle = 0;

#pragma omp parallel num_threads(2)
	{
		double before = cpu_seconds(), spent;

		for (int i = 0; i < 20; i++) {
#pragma omp master
			work(seconds / 20);
#pragma omp barrier
		}
		spent = cpu_seconds() - before;
#pragma omp master
		worked = spent;
#pragma omp critical
		idle += spent;
	}
	waited = idle - worked;
	return worked;
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 0.5, worked;

	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "yield") == 0)
		worked = run_thread(wait_yielding, seconds);
	else if (strcmp(argv[1], "lock") == 0)
		worked = run_thread(wait_for_lock, seconds);
	else
		worked = run_barriers(seconds);
	printf("worked %.6f\nwaited %.6f\n", worked, waited);
	return 0;
}
