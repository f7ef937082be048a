/* SPDX-License-Identifier: Apache-2.0
 *
 * User stacks of perf.data that were copied whole (perf record --call-graph dwarf): unwound here, by the same
 * tables and the same walker as live ones.
 */
#ifndef ST_COLLECT_IMPORT_PERF_STACK_H
#define ST_COLLECT_IMPORT_PERF_STACK_H

#include <stdint.h>

#include "base/error.h"
#include "collect/import/out.h"
#include "collect/import/perf_sample.h"

enum { ST_PERF_FRAMES_MAX = 1024 };

struct st_perf_unwinder;

struct st_perf_walked {
	uint64_t frames[ST_PERF_FRAMES_MAX]; /* words of format/sample_record.h, innermost first */
	uint32_t frame_count, flags;
};

enum st_status st_perf_unwinder_create(struct st_perf_unwinder **out, const char *cache,
				       struct st_error *err);
void st_perf_unwinder_destroy(struct st_perf_unwinder *unwinder);
void st_perf_unwind(struct st_perf_unwinder *unwinder, struct st_import_out *out, uint32_t process,
		    const struct st_perf_sample *fields, struct st_perf_walked *walked);

#endif
