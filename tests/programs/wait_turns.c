// SPDX-License-Identifier: Apache-2.0
//
// Two threads on one processor that take turns: wait_turns condition|pipe|timeout|alone ROUNDS [timed]. Each round is at least two
// waits, of some microseconds; timeout: for a condition that nobody signals; alone: each thread reads what it has just written, on
// all processors, so that nobody waits in more than a million calls a second. Prints what a round took, on the wall and of the CPU,
// how often a call that may wait was made, and how many of them timed out; timed: how long these calls took together, and the
// longest of them: a thread that loses its processor beside a call counts that as one.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turns[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static long whose;
static int pipes[2][2];
static long rounds;
static bool by_pipe, alone, timed, by_time;
enum { TIMEOUT_NS = 5000, SECOND_NS = 1000000000, LONGEST = 8 };

static struct told {
	long waits, timed_out;
	double ns, longest_ns[LONGEST]; /* from the longest on */
} told[2];

static double clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void wait_in_vain(long me)
{
	static pthread_mutex_t own[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += TIMEOUT_NS;
	until.tv_sec += until.tv_nsec / SECOND_NS;
	until.tv_nsec %= SECOND_NS;
	pthread_mutex_lock(&own[me]);
	told[me].timed_out += pthread_cond_timedwait(&turns[me], &own[me], &until) == ETIMEDOUT;
	pthread_mutex_unlock(&own[me]);
}

static void note_longest(struct told *of, double ns)
{
	int at = LONGEST - 1;

	if (ns <= of->longest_ns[at])
		return;
	for (; at && ns > of->longest_ns[at - 1]; at--)
		of->longest_ns[at] = of->longest_ns[at - 1];
	of->longest_ns[at] = ns;
}

static void await(long me)
{
	double begin = timed ? clock_ns(CLOCK_MONOTONIC_RAW) : 0, ns;
	char byte;

	if (by_time) {
		wait_in_vain(me);
	} else if (by_pipe) {
		if (read(pipes[me][0], &byte, 1) != 1)
			abort();
	} else {
		pthread_cond_wait(&turns[me], &guard);
	}
	told[me].waits++;
	if (!timed)
		return;
	ns = clock_ns(CLOCK_MONOTONIC_RAW) - begin;
	told[me].ns += ns;
	note_longest(&told[me], ns);
}

static void take_turn_by_condition(long me)
{
	pthread_mutex_lock(&guard);
	while (whose != me)
		await(me);
	whose = !me;
	pthread_cond_signal(&turns[!me]);
	pthread_mutex_unlock(&guard);
}

static void take_turn_by_pipe(long me)
{
	await(me);
	if (write(pipes[!me][1], "x", 1) != 1)
		abort();
}

static void take_no_turn(long me)
{
	if (write(pipes[me][1], "x", 1) != 1)
		abort();
	await(me);
	told[me].waits++; /* the other call */
}

static void *run(void *arg)
{
	long me = (long)arg;

	prctl(PR_SET_TIMERSLACK, 1);
	for (long i = 0; i < rounds; i++)
		if (by_time)
			await(me);
		else if (alone)
			take_no_turn(me);
		else if (by_pipe)
			take_turn_by_pipe(me);
		else
			take_turn_by_condition(me);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	cpu_set_t first;
	double wall, cpu;

	if (argc < 3 || pipe(pipes[0]) || pipe(pipes[1]))
		return 2;
	by_time = !strcmp(argv[1], "timeout");
	by_pipe = !by_time && strcmp(argv[1], "condition") != 0;
	alone = !strcmp(argv[1], "alone");
	rounds = strtol(argv[2], NULL, 10);
	timed = argc > 3;
	CPU_ZERO(&first);
	CPU_SET((size_t)sched_getcpu(), &first);
	if (!alone)
		sched_setaffinity(0, sizeof(first), &first);
	wall = clock_ns(CLOCK_MONOTONIC_RAW);
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (long i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)i))
			return 1;
	if (by_pipe && !alone && write(pipes[0][1], "x", 1) != 1)
		return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	wall = clock_ns(CLOCK_MONOTONIC_RAW) - wall;
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("{\"wall_us\": %.3f, \"cpu_us\": %.3f, \"waits\": %ld, \"timed_out\": %ld, "
	       "\"wait_ns\": %.0f, \"longest_ns\": [",
	       wall / 1e3 / (double)rounds, cpu / 1e3 / (double)rounds,
	       told[0].waits + told[1].waits, told[0].timed_out + told[1].timed_out,
	       told[0].ns + told[1].ns);
	for (int i = 0; i < 2 * LONGEST; i++)
		printf("%s%.0f", i ? ", " : "", told[i / LONGEST].longest_ns[i % LONGEST]);
	printf("]}\n");
	return 0;
}
