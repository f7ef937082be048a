/* SPDX-License-Identifier: Apache-2.0
 *
 * For programs that measure their own waits: what strata says is compared with what they print.
 * One line for each call that may wait: "wait KIND TID BEGIN NS WAKER LATE", where WAKER is the thread that ended it, or 0, and
 * LATE is how often the thread lost its processor against its will meanwhile: then its clock has counted more than the wait.
 */
#ifndef TESTS_PROGRAMS_WAIT_TOLD_H
#define TESTS_PROGRAMS_WAIT_TOLD_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LINES_MAX = 4096 };

static struct line {
	const char *kind;
	int tid;
	const int *waker; /* read in the end */
	long long begin, ns;
	long late;
} lines[LINES_MAX];
static atomic_int line_count;
__attribute__((unused)) static const int nobody;

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static int tid(void)
{
	return (int)syscall(SYS_gettid);
}

static long preempted(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

static _Thread_local long before;

/* The time at which a call begins. */
static long long begin_ns(void)
{
	before = preempted();
	return now_ns();
}

static void tell_of(const char *kind, long long begin, const int *waker)
{
	long long ns = now_ns() - begin;
	int at = atomic_fetch_add(&line_count, 1);

	if (at < LINES_MAX)
		lines[at] = (struct line){kind, tid(), waker, begin, ns, preempted() - before};
}

/* The waker is who it is now. */
static void tell(const char *kind, long long begin, int waker)
{
	static int wakers[LINES_MAX];
	static atomic_int count;
	int at = atomic_fetch_add(&count, 1);

	if (at >= LINES_MAX)
		exit(1);
	wakers[at] = waker;
	tell_of(kind, begin, &wakers[at]);
}

static void rest(long ms)
{
	const struct timespec wanted = {0, ms * 1000000};
	long long begin = begin_ns();

	nanosleep(&wanted, NULL);
	tell("Sleep", begin, 0);
}

static void tell_all(void)
{
	for (int i = 0; i < atomic_load(&line_count) && i < LINES_MAX; i++)
		printf("wait\t%s\t%d\t%lld\t%lld\t%d\t%ld\n", lines[i].kind, lines[i].tid,
		       lines[i].begin, lines[i].ns, *lines[i].waker, lines[i].late);
}

#endif
