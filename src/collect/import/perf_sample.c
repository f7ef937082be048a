// SPDX-License-Identifier: Apache-2.0
//
// Which event a record of perf.data is of (collect/import/perf_sample.h).
#include "collect/import/perf_sample.h"

#include <linux/perf_event.h>
#include <string.h>

#include "format/definitions.h"

enum { ID_FIELD_BYTES = 8 };

static uint64_t ids_of(uint64_t sample_type)
{
	return sample_type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			      PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
}

/* Where the id of the event stands in a sample: fields before it are of 8 bytes each. */
static const struct st_perf_attr *attr_of_sample(const struct st_perf_file *file,
						 const struct st_perf_record_view *record)
{
	uint64_t type = file->attr_count ? file->attrs[0].event.sample_type : 0, before;
	size_t at = 0;

	if (file->attr_count < 2)
		return file->attr_count ? &file->attrs[0] : NULL;
	if (!(type & PERF_SAMPLE_IDENTIFIER)) {
		if (!(type & PERF_SAMPLE_ID))
			return NULL;
		before = type &
			 (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR);
		at = (size_t)__builtin_popcountll(before) * 8;
	}
	if (record->body_bytes < at + 8)
		return NULL;
	return st_perf_file_attr(file, st_perf_u64(record->body + at, 0));
}

bool st_perf_sample_fields(const struct st_perf_file *file,
			   const struct st_perf_record_view *record, struct st_perf_sample *out)
{
	const struct st_perf_attr *attr = attr_of_sample(file, record);

	memset(out, 0, sizeof(*out));
	return attr &&
	       st_perf_sample_parse(&attr->event, record->body - sizeof(struct perf_event_header),
				    sizeof(struct perf_event_header) + record->body_bytes, out);
}

/* All events of a file have the same fields there; perf sees to that. */
static uint64_t id_type(const struct st_perf_file *file)
{
	return file->attr_count && file->attrs[0].event.sample_id_all
		       ? ids_of(file->attrs[0].event.sample_type)
		       : 0;
}

size_t st_perf_record_bytes(const struct st_perf_file *file,
			    const struct st_perf_record_view *record)
{
	size_t id_bytes = (size_t)__builtin_popcountll(id_type(file)) * ID_FIELD_BYTES;

	return record->body_bytes > id_bytes ? record->body_bytes - id_bytes : 0;
}

void st_perf_record_id(const struct st_perf_file *file, const struct st_perf_record_view *record,
		       struct st_perf_sample *out)
{
	uint64_t type = id_type(file);
	struct st_cursor at = {.at = record->body + st_perf_record_bytes(file, record),
			       .end = record->body + record->body_bytes};

	memset(out, 0, sizeof(*out));
	if (type & PERF_SAMPLE_TID) {
		out->pid = st_cursor_u32(&at);
		out->tid = st_cursor_u32(&at);
	}
	if (type & PERF_SAMPLE_TIME)
		out->time = st_cursor_u64(&at);
}
