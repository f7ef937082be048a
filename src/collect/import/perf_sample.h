/* SPDX-License-Identifier: Apache-2.0
 *
 * The fields of a sample, and the id behind every other record, by what their event says it records.
 */
#ifndef ST_COLLECT_IMPORT_PERF_SAMPLE_H
#define ST_COLLECT_IMPORT_PERF_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/host/perf_record.h"
#include "collect/import/perf_file.h"

/* False: the record is shorter than its event says, or of no event. */
bool st_perf_sample_fields(const struct st_perf_file *file,
			   const struct st_perf_record_view *record, struct st_perf_sample *out);
/* Pid, tid and time of a record that is no sample; zeros where the file has none. */
void st_perf_record_id(const struct st_perf_file *file, const struct st_perf_record_view *record,
		       struct st_perf_sample *out);
/* Bytes of a record before that id. */
size_t st_perf_record_bytes(const struct st_perf_file *file,
			    const struct st_perf_record_view *record);

#endif
