// SPDX-License-Identifier: Apache-2.0
//
// The fields of a sample stand in the order of the kernel's documentation, whatever the order of the bits;
// only those that we ask for are known here, and an event with others is refused.
#include "collect/host/perf_record.h"

#include <linux/perf_event.h>
#include <string.h>

enum { ID_BYTES = 16 };

static const uint64_t known = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			      PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			      PERF_SAMPLE_STACK_USER;

struct reader {
	const uint8_t *at, *end;
	bool failed;
};

static uint64_t take(struct reader *reader)
{
	uint64_t value = 0;

	if (reader->failed || reader->end - reader->at < (ptrdiff_t)sizeof(value)) {
		reader->failed = true;
		return 0;
	}
	memcpy(&value, reader->at, sizeof(value));
	reader->at += sizeof(value);
	return value;
}

static const uint8_t *take_bytes(struct reader *reader, uint64_t bytes)
{
	const uint8_t *at = reader->at;

	if (reader->failed || bytes > (uint64_t)(reader->end - reader->at)) {
		reader->failed = true;
		return NULL;
	}
	reader->at += bytes;
	return at;
}

static void take_registers(struct reader *reader, uint64_t mask, struct st_perf_sample *out)
{
	uint32_t count = (uint32_t)__builtin_popcountll(mask);

	if (take(reader) == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	out->registers = (const uint64_t *)take_bytes(reader, (uint64_t)count * 8);
	out->register_count = out->registers ? count : 0;
}

static void take_stack(struct reader *reader, struct st_perf_sample *out)
{
	uint64_t size = take(reader);

	if (!size)
		return;
	out->stack = take_bytes(reader, size);
	out->stack_bytes = take(reader);
	if (out->stack_bytes > size)
		reader->failed = true;
}

bool st_perf_sample_parse(const struct perf_event_attr *attr, const uint8_t *record,
			  size_t size_bytes, struct st_perf_sample *out)
{
	struct reader reader = {record, record + size_bytes, false};
	uint64_t type = attr->sample_type, ids;

	memset(out, 0, sizeof(*out));
	if (type & ~known)
		return false;
	take_bytes(&reader, sizeof(struct perf_event_header));
	if (type & PERF_SAMPLE_IP)
		out->ip = take(&reader);
	if (type & PERF_SAMPLE_TID) {
		ids = take(&reader);
		out->pid = (uint32_t)ids;
		out->tid = (uint32_t)(ids >> 32);
	}
	if (type & PERF_SAMPLE_TIME)
		out->time = take(&reader);
	if (type & PERF_SAMPLE_PERIOD)
		out->period = take(&reader);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		out->chain_count = take(&reader);
		if (out->chain_count > size_bytes / 8)
			return false;
		out->chain = (const uint64_t *)take_bytes(&reader, out->chain_count * 8);
	}
	if (type & PERF_SAMPLE_REGS_USER)
		take_registers(&reader, attr->sample_regs_user, out);
	if (type & PERF_SAMPLE_STACK_USER)
		take_stack(&reader, out);
	return !reader.failed;
}

uint64_t st_perf_sample_register(const struct perf_event_attr *attr,
				 const struct st_perf_sample *sample, unsigned int number)
{
	uint64_t bit = UINT64_C(1) << number;
	uint32_t index = (uint32_t)__builtin_popcountll(attr->sample_regs_user & (bit - 1));

	if (!(attr->sample_regs_user & bit) || index >= sample->register_count)
		return 0;
	return sample->registers[index];
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
