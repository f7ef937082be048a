/* SPDX-License-Identifier: Apache-2.0
 *
 * How many CPUs did effective work at the same time, slot by slot of the run.
 */
#ifndef ST_ANALYZE_SAMPLES_UTILIZATION_H
#define ST_ANALYZE_SAMPLES_UTILIZATION_H

#include "analyze/samples/sample_set.h"

enum st_utilization_level { ST_USE_IDLE, ST_USE_POOR, ST_USE_OK, ST_USE_IDEAL, ST_USE_LEVELS };
extern const char *const st_utilization_names[ST_USE_LEVELS];

struct st_utilization {
	uint32_t cpu_count;   /* the target */
	uint64_t recorded_ns; /* pauses left out */
	uint64_t slot_ns;
	uint64_t *by_cpus; /* time with 0, 1 … cpu_count CPUs at work; owned */
	uint64_t by_level[ST_USE_LEVELS];
	/* Scaled to the CPU time that the kernel has counted, where samples miss much of it. */
	uint64_t effective_ns, cpu_ns;
	double scale; /* by how much; 1 where not */
	uint64_t
		watched_ns; /* of recorded_ns: for which is known how many threads were ready to run */
	uint64_t
		oversubscribed_ns; /* of that: more threads were ready to run than there are CPUs */
	uint64_t
		queued_ns; /* for which a thread that was always ready waited for a CPU meanwhile */
	/* By the kernel's count, all threads together: ready to run, and another thread had the CPU; of that, behind the
	 * program's own threads while more of them were ready than there are CPUs. The rest is behind other programs, or
	 * behind each other for moments that the count is too coarse for. */
	uint64_t delay_ns, own_delay_ns;
	uint64_t ran_ns;  /* meanwhile, on CPUs */
	uint32_t threads; /* that ran at all */
};

/* Of a number of CPUs at work. */
enum st_utilization_level st_utilization_level(uint32_t cpus, uint32_t cpu_count);
/* Over the time range of the question; filters do not matter: an idle CPU has no task. */
enum st_status st_utilization_make(struct st_utilization *out, const struct st_sample_set *set,
				   const struct st_question *question, struct st_error *err);
void st_utilization_fini(struct st_utilization *utilization);

#endif
