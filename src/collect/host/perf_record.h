/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of the kernel's perf events as they stand in a ring or in perf.data, taken apart with every length checked.
 */
#ifndef ST_COLLECT_HOST_PERF_RECORD_H
#define ST_COLLECT_HOST_PERF_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sample. What its event does not record is 0. Pointers lead into the record, unaligned. */
struct st_perf_sample {
	const struct perf_event_attr *attr;
	uint64_t ip, time, period;
	uint32_t pid, tid;
	const uint8_t *chain; /* u64 each, innermost first, with PERF_CONTEXT_* marks */
	uint64_t chain_count;
	const uint8_t *
		registers; /* u64 each, by the bits of the event's mask; NULL: it has no user side */
	const uint8_t *stack; /* from the user's stack pointer upwards */
	uint64_t stack_bytes; /* of these, how many are real */
};

/* False: the record is shorter than what its event must have put in. */
bool st_perf_sample_parse(const struct perf_event_attr *attr, const uint8_t *record,
			  size_t size_bytes, struct st_perf_sample *out);

/* The value of a register of a sample, by its number in the kernel's list (PERF_REG_X86_*); 0 when the
 * event does not record it. */
uint64_t st_perf_sample_register(const struct st_perf_sample *sample, unsigned int number);

static inline uint64_t st_perf_u64(const uint8_t *at, uint64_t index)
{
	uint64_t value;

	__builtin_memcpy(&value, at + 8 * index, sizeof(value));
	return value;
}

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
