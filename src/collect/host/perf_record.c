// SPDX-License-Identifier: Apache-2.0
//
// The fields of a sample stand in the order of the kernel's documentation of PERF_RECORD_SAMPLE, whatever the order
// of the bits. Fields added by newer kernels come after those known here.
#include "collect/host/perf_record.h"

#include <string.h>

#include "format/definitions.h"

enum { BRANCH_BYTES = 24, ID_BYTES = 16 };

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

static void take_first(struct st_cursor *at, struct st_perf_sample *out)
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
	else if (!out->attr->freq)
		out->period = out->attr->sample_period;
	if (type & PERF_SAMPLE_READ)
		skip_read(at, out->attr->read_format);
}

static void take_stack(struct st_cursor *at, struct st_perf_sample *out)
{
	uint64_t size = st_cursor_u64(at), filled;

	if (!size)
		return;
	out->stack = take(at, size);
	filled = st_cursor_u64(at);
	out->stack_bytes = filled < size ? filled : size;
}

static void take_rest(struct st_cursor *at, struct st_perf_sample *out)
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
		out->registers = take_array(
			at, (uint64_t)__builtin_popcountll(out->attr->sample_regs_user), 8);
	if (type & PERF_SAMPLE_STACK_USER)
		take_stack(at, out);
}

bool st_perf_sample_parse(const struct perf_event_attr *attr, const uint8_t *record,
			  size_t size_bytes, struct st_perf_sample *out)
{
	struct st_cursor at = {.at = record, .end = record + size_bytes};

	*out = (struct st_perf_sample){.attr = attr};
	take(&at, sizeof(struct perf_event_header));
	take_first(&at, out);
	take_rest(&at, out);
	return !at.failed;
}

uint64_t st_perf_sample_register(const struct st_perf_sample *sample, unsigned int number)
{
	uint64_t mask = sample->attr->sample_regs_user;

	if (!sample->registers || !(mask >> number & 1))
		return 0;
	return st_perf_u64(sample->registers,
			   (uint64_t)__builtin_popcountll(mask & ((1ull << number) - 1)));
}

bool st_perf_switch_parse(const uint8_t *record, size_t size_bytes, struct st_perf_switch *out)
{
	struct perf_event_header header;
	uint32_t ids[2];

	if (size_bytes < sizeof(header) + ID_BYTES)
		return false;
	memcpy(&header, record, sizeof(header));
	memcpy(ids, record + size_bytes - ID_BYTES, sizeof(ids));
	memcpy(&out->time, record + size_bytes - 8, sizeof(out->time));
	out->pid = ids[0];
	out->tid = ids[1];
	out->out = header.misc & PERF_RECORD_MISC_SWITCH_OUT;
	out->preempted = header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	return true;
}
