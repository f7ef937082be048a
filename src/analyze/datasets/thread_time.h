/* SPDX-License-Identifier: Apache-2.0
 *
 * What each thread did with its life: every microsecond on a CPU, or in exactly one class of waiting. Where the kernel told of
 * context switches that is exact; elsewhere waits count as long as they took, as far as it did not run meanwhile, and the rest is
 * not explained.
 */
#ifndef ST_ANALYZE_DATASETS_THREAD_TIME_H
#define ST_ANALYZE_DATASETS_THREAD_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "format/wait_kind.h"

struct st_wait_sites;

struct st_thread_time {
	bool is_known; /* false: no thread, or nothing is known of its life */
	bool is_exact; /* by context switches */
	int64_t begin_ns, end_ns;
	uint64_t life_ns; /* between the two, without pauses */
	uint64_t running_ns;
	uint64_t class_ns[ST_WAIT_CLASSES]; /* on no CPU; with running_ns they add up to life_ns */
	uint64_t lost_ns; /* of the unexplained: the kernel's records are missing */
};

/* Of a wait in a function of the C library: on no CPU of its own accord, and because others had it. The rest it spun. */
struct st_wait_parts {
	uint64_t inactive_ns, preempted_ns;
};

/* A thread was ready, and had no CPU. Those of a thread add up to its ST_WAITS_PREEMPTED. */
struct st_preempted {
	uint32_t track;
	uint32_t span; /* of the wait that it is part of, or ST_NO_ROW */
	int64_t begin_ns;
	uint64_t ns;
};

struct st_thread_times {
	struct st_thread_time *threads; /* by track */
	uint32_t count;
	struct st_wait_parts *waits;	/* by span */
	struct st_preempted *preempted; /* thread by thread */
	uint32_t preempted_count, preempted_capacity;
	bool is_exact; /* at least one of them */
	bool failed;
};

/* range_ns: between these two times, where sums that lie across one count by their share; NULL: of all the time. False: no
 * memory. */
bool st_thread_times_make(struct st_thread_times *out, const struct st_wait_sites *sites,
			  const int64_t *range_ns);
void st_thread_times_fini(struct st_thread_times *times);

#endif
