/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of the kernel's perf events as they stand in a ring, taken apart with every length checked.
 */
#ifndef ST_COLLECT_HOST_PERF_RECORD_H
#define ST_COLLECT_HOST_PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_event_attr;

/* A sample. What its event does not record is 0. Pointers lead into the record. */
struct st_perf_sample {
	uint64_t ip, time, period;
	uint32_t pid, tid;
	/* Call chain, with PERF_CONTEXT_* marks, innermost first. */
	const uint64_t *chain;
	uint64_t chain_count;
	/* User registers in the order of the bits of the event's mask; NULL: it has no user side. */
	const uint64_t *registers;
	uint32_t register_count;
	const uint8_t *stack; /* from the user's stack pointer upwards */
	uint64_t stack_bytes; /* of these, how many are real */
};

/* False: the record is shorter than what its event must have put in. */
bool st_perf_sample_parse(const struct perf_event_attr *attr, const uint8_t *record,
			  size_t size_bytes, struct st_perf_sample *out);

/* The value of a register of a sample, by its number in the kernel's list (PERF_REG_X86_*); 0 when the
 * event does not record it. */
uint64_t st_perf_sample_register(const struct perf_event_attr *attr,
				 const struct st_perf_sample *sample, unsigned int number);

/* A thread came onto a processor, or left it. */
struct st_perf_switch {
	uint64_t time;
	uint32_t pid, tid;
	bool out;
	bool preempted; /* it left, but could go on */
};

/* The id that stands behind every record but samples: pid, tid, time. */
bool st_perf_switch_parse(const uint8_t *record, size_t size_bytes, struct st_perf_switch *out);

#endif
