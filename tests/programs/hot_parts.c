/* SPDX-License-Identifier: Apache-2.0
 *
 * Burns CPU in known functions for known shares, for tests of sampling. Every function measures its own thread
 * CPU time; at the end each prints "name ns" on standard output.
 *
 *   hot_parts SECONDS              one thread
 *   hot_parts SECONDS threads      two
 *   hot_parts SECONDS fork         two processes, each of which prints
 *   hot_parts SECONDS exec PROG…   then another program
 *   hot_parts SECONDS region       only hot_seventy; ITT resume; only hot_twenty; ITT pause; only hot_ten
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "itt_static_part.h"

enum { PARTS = 3 };

static _Atomic uint64_t spent[PARTS];
static volatile uint64_t sink;
/* Rounds of 1 to 3 ms, no two alike: a sampler must not run in step with them. */
static _Thread_local uint64_t round_ns = 2000000;

static void next_round(void)
{
	static _Thread_local uint64_t seed = 1;

	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	round_ns = 1000000 + (seed >> 33) % 2000000;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Inlined into each part, so that the time is the part's own. */
static inline __attribute__((always_inline)) void burn(unsigned int part, uint64_t ns)
{
	uint64_t begin = cpu_ns(), now;

	do {
		for (unsigned int i = 0; i < 20000; i++)
			sink += i ^ part;
		now = cpu_ns();
	} while (now - begin < ns);
	atomic_fetch_add(&spent[part], now - begin);
}

static __attribute__((noinline)) void hot_seventy(void)
{
	burn(0, round_ns / 100 * 70);
}

static __attribute__((noinline)) void hot_twenty(void)
{
	burn(1, round_ns / 100 * 20);
}

static __attribute__((noinline)) void hot_ten(void)
{
	burn(2, round_ns / 100 * 10);
}

/* The last thing it does is this call, which becomes a jump: stacks do not hold it. */
static __attribute__((noinline)) void enter_ten(void)
{
	hot_ten();
}

static double seconds;

static void *work(void *arg)
{
	uint64_t begin = cpu_ns();

	(void)arg;
	while ((double)(cpu_ns() - begin) < seconds * 1e9) {
		next_round();
		hot_seventy();
		hot_twenty();
		enter_ten();
	}
	return NULL;
}

static void print(void)
{
	static const char *const names[PARTS] = {"hot_seventy", "hot_twenty", "hot_ten"};

	for (int i = 0; i < PARTS; i++)
		printf("%s %llu\n", names[i], (unsigned long long)atomic_load(&spent[i]));
	fflush(stdout);
}

static void run_for(void (*part)(void))
{
	uint64_t begin = cpu_ns();

	while ((double)(cpu_ns() - begin) < seconds * 1e9) {
		next_round();
		part();
	}
}

static int with_threads(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, NULL) != 0)
		return 1;
	work(NULL);
	pthread_join(thread, NULL);
	print();
	return 0;
}

static int with_fork(void)
{
	pid_t pid = fork();
	int status = 0;

	work(NULL);
	print();
	if (pid == 0)
		_exit(0);
	return waitpid(pid, &status, 0) != pid || status;
}

static int with_region(void)
{
	itt_part_load();
	run_for(hot_seventy);
	itt_resume();
	run_for(hot_twenty);
	itt_pause();
	run_for(hot_ten);
	print();
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";

	seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	if (strcmp(how, "threads") == 0)
		return with_threads();
	if (strcmp(how, "fork") == 0)
		return with_fork();
	if (strcmp(how, "region") == 0)
		return with_region();
	work(NULL);
	print();
	if (strcmp(how, "exec") == 0 && argc > 3) {
		execv(argv[3], argv + 3);
		return 127;
	}
	return 0;
}
