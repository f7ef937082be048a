// SPDX-License-Identifier: Apache-2.0
//
// Samples of perf.data (collect/import/perf_sample.h), field by field in the order of the kernel's
// documentation of PERF_RECORD_SAMPLE.
#include "collect/import/perf_sample.h"

#include <linux/perf_event.h>
#include <string.h>

#include "format/definitions.h"

enum { BRANCH_BYTES = 24, ID_FIELD_BYTES = 8 };

static uint64_t ids_of(uint64_t sample_type)
{
	return sample_type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			      PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
}

/* Where the id of the event stands in a sample: fields before it are of 8 bytes each. */
static const struct st_perf_attr *attr_of_sample(const struct st_perf_file *file,
						 const struct st_perf_record_view *record)
{
	uint64_t type = file->attr_count ? file->attrs[0].sample_type : 0, before;
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
	return st_perf_file_attr(file, st_perf_u64(record->body + at));
}

static const uint8_t *take(struct st_cursor *at, uint64_t size_bytes)
{
	const uint8_t *taken = at->at;

	if (at->failed || size_bytes > (uint64_t)(at->end - at->at)) {
		at->failed = true;
		return NULL;
	}
	at->at += size_bytes;
	return taken;
}

static void skip_read(struct st_cursor *at, uint64_t format)
{
	uint64_t times = 0, each = 1;
	uint64_t count;

	times += format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 1 : 0;
	times += format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 1 : 0;
	each += format & PERF_FORMAT_ID ? 1 : 0;
	each += format & PERF_FORMAT_LOST ? 1 : 0;
	if (!(format & PERF_FORMAT_GROUP)) {
		take(at, (times + each) * 8);
		return;
	}
	count = st_cursor_u64(at);
	take(at, times * 8);
	if (count > (uint64_t)(at->end - at->at) / (each * 8))
		at->failed = true;
	else
		take(at, count * each * 8);
}

static const uint8_t *take_array(struct st_cursor *at, uint64_t count, size_t item_bytes)
{
	if (count > (uint64_t)(at->end - at->at) / item_bytes) {
		at->failed = true;
		return NULL;
	}
	return take(at, count * item_bytes);
}

static void take_first(struct st_cursor *at, struct st_perf_fields *out)
{
	uint64_t type = out->attr->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		st_cursor_u64(at);
	if (type & PERF_SAMPLE_IP)
		out->ip = st_cursor_u64(at);
	if (type & PERF_SAMPLE_TID) {
		out->pid = st_cursor_u32(at);
		out->tid = st_cursor_u32(at);
	}
	if (type & PERF_SAMPLE_TIME)
		out->time = st_cursor_u64(at);
	if (type & PERF_SAMPLE_ADDR)
		st_cursor_u64(at);
	if (type & PERF_SAMPLE_ID)
		st_cursor_u64(at);
	if (type & PERF_SAMPLE_STREAM_ID)
		st_cursor_u64(at);
	if (type & PERF_SAMPLE_CPU)
		st_cursor_u64(at);
	if (type & PERF_SAMPLE_PERIOD)
		out->period = st_cursor_u64(at);
	else if (!out->attr->is_freq)
		out->period = out->attr->period_or_freq;
	if (type & PERF_SAMPLE_READ)
		skip_read(at, out->attr->read_format);
}

static void take_stack(struct st_cursor *at, struct st_perf_fields *out)
{
	uint64_t size = st_cursor_u64(at), filled;

	if (!size)
		return;
	out->stack = take(at, size);
	filled = st_cursor_u64(at);
	out->stack_bytes = filled < size ? filled : size;
}

static void take_rest(struct st_cursor *at, struct st_perf_fields *out)
{
	uint64_t type = out->attr->sample_type;

	if (type & PERF_SAMPLE_CALLCHAIN) {
		out->chain_count = st_cursor_u64(at);
		out->chain = take_array(at, out->chain_count, 8);
	}
	if (type & PERF_SAMPLE_RAW)
		take(at, st_cursor_u32(at));
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		uint64_t count = st_cursor_u64(at);

		if (out->attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
			st_cursor_u64(at);
		take_array(at, count, BRANCH_BYTES);
	}
	if (type & PERF_SAMPLE_REGS_USER && st_cursor_u64(at) != PERF_SAMPLE_REGS_ABI_NONE)
		out->registers =
			take_array(at, (uint64_t)__builtin_popcountll(out->attr->regs_user), 8);
	if (type & PERF_SAMPLE_STACK_USER)
		take_stack(at, out);
}

bool st_perf_sample_fields(const struct st_perf_file *file,
			   const struct st_perf_record_view *record, struct st_perf_fields *out)
{
	struct st_cursor at = {.at = record->body, .end = record->body + record->body_bytes};

	memset(out, 0, sizeof(*out));
	out->attr = attr_of_sample(file, record);
	if (!out->attr)
		return false;
	take_first(&at, out);
	take_rest(&at, out);
	return !at.failed;
}

/* All events of a file have the same fields there; perf sees to that. */
static uint64_t id_type(const struct st_perf_file *file)
{
	return file->attr_count && file->attrs[0].sample_id_all ? ids_of(file->attrs[0].sample_type)
								: 0;
}

size_t st_perf_record_bytes(const struct st_perf_file *file,
			    const struct st_perf_record_view *record)
{
	size_t id_bytes = (size_t)__builtin_popcountll(id_type(file)) * ID_FIELD_BYTES;

	return record->body_bytes > id_bytes ? record->body_bytes - id_bytes : 0;
}

void st_perf_record_id(const struct st_perf_file *file, const struct st_perf_record_view *record,
		       struct st_perf_fields *out)
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

uint64_t st_perf_register(const struct st_perf_fields *fields, unsigned int number)
{
	uint64_t mask = fields->attr->regs_user;
	unsigned int before;

	if (!fields->registers || !(mask >> number & 1))
		return 0;
	before = (unsigned int)__builtin_popcountll(mask & ((1ull << number) - 1));
	return st_perf_u64(fields->registers + 8 * (size_t)before);
}
