/* SPDX-License-Identifier: Apache-2.0
 *
 * Regions of OpenMP with one slow thread, barriers, loops, a single and a critical section, measured by the program itself
 * (wait_told.h): how long each thread waits at the end of each region, at the barriers, for the section.
 */
#include <omp.h>
#include <stdbool.h>

#include "wait_told.h"

enum { THREADS = 3, ROUNDS = 12 };

static struct {
	int tid;
	long long done;
	long late;
} of[THREADS];

static void done(int me)
{
	of[me].tid = tid();
	of[me].late = preempted();
	of[me].done = now_ns();
}

/* By the first thread, which is the last to know: if it lost its processor, it knows too late. */
static void tell_ends(void)
{
	long long end = now_ns();
	long late = preempted() - of[0].late;

	for (int i = 0; i < THREADS; i++)
		lines[atomic_fetch_add(&line_count, 1)] =
			(struct line){"OpenMP Region End", of[i].tid,	     &nobody,
				      of[i].done,	   end - of[i].done, late};
}

static void unequal(void)
{
#pragma omp parallel num_threads(THREADS)
	{
		rest(1 + 3 * omp_get_thread_num());
		done(omp_get_thread_num());
	}
	tell_ends();
}

static void meet(void)
{
#pragma omp parallel num_threads(THREADS)
	{
		long long begin;

		rest(omp_get_thread_num() == 1 ? 4 : 1);
		begin = begin_ns();
#pragma omp barrier
		tell("OpenMP Barrier", begin, 0);
		begin = begin_ns();
#pragma omp critical
		{
			tell("OpenMP Lock", begin, 0);
			rest(1);
		}
		done(omp_get_thread_num());
	}
	tell_ends();
}

/* The program does not see the barriers of these, so it counts from the end of its part. */
static void share(void)
{
#pragma omp parallel num_threads(THREADS)
	{
		long long begin = 0;

#pragma omp for schedule(static, 1)
		for (int i = 0; i < THREADS; i++) {
			rest(3);
			begin = begin_ns();
		}
		tell("OpenMP Barrier", begin, 0);
#pragma omp for schedule(static, 1)
		for (int i = 0; i < THREADS; i++) {
			rest(i == 2 ? 4 : 1);
			begin = begin_ns();
		}
		tell("OpenMP Barrier", begin, 0);
#pragma omp for schedule(static, 1)
		for (int i = 0; i < THREADS; i++) {
			rest(3);
			begin = begin_ns();
		}
		tell("OpenMP Barrier", begin, 0);
		done(omp_get_thread_num());
	}
	tell_ends();
}

static void once(void)
{
#pragma omp parallel num_threads(THREADS)
	{
		long long begin = begin_ns();

#pragma omp single
		{
			rest(3);
			begin = begin_ns();
		}
		tell("OpenMP Barrier", begin, 0);
		begin = begin_ns();
#pragma omp critical
		{
			tell("OpenMP Lock", begin, 0);
			rest(1);
		}
		done(omp_get_thread_num());
	}
	tell_ends();
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		unequal();
		meet();
		share();
		once();
		rest(2);
	}
	tell_all();
	return 0;
}
