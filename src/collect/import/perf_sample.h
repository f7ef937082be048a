/* SPDX-License-Identifier: Apache-2.0
 *
 * The fields of a sample, and the id behind every other record, by what their event says it records.
 */
#ifndef ST_COLLECT_IMPORT_PERF_SAMPLE_H
#define ST_COLLECT_IMPORT_PERF_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/import/perf_file.h"

struct st_perf_fields { /* what is not recorded is 0; pointers lead into the record, unaligned */
	const struct st_perf_attr *attr;
	uint64_t ip, time, period;
	uint32_t pid, tid;
	const uint8_t *chain; /* u64 each, innermost first, with PERF_CONTEXT_* marks */
	uint64_t chain_count;
	const uint8_t *registers; /* u64 each, by the bits of attr->regs_user; NULL: none */
	const uint8_t *stack;
	uint64_t stack_bytes;
};

/* False: the record is shorter than its event says, or of no event. */
bool st_perf_sample_fields(const struct st_perf_file *file,
			   const struct st_perf_record_view *record, struct st_perf_fields *out);
/* Pid, tid and time of a record that is no sample; zeros where the file has none. */
void st_perf_record_id(const struct st_perf_file *file, const struct st_perf_record_view *record,
		       struct st_perf_fields *out);
/* Bytes of a record before that id. */
size_t st_perf_record_bytes(const struct st_perf_file *file,
			    const struct st_perf_record_view *record);
uint64_t st_perf_register(const struct st_perf_fields *fields, unsigned int number);

static inline uint64_t st_perf_u64(const uint8_t *at)
{
	uint64_t value;

	__builtin_memcpy(&value, at, sizeof(value));
	return value;
}

#endif
