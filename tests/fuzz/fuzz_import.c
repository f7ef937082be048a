// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target on the importers of other profilers' files. The first byte chooses what the rest is:
//
//	0  a whole file, of whatever kind it looks like
//	1  records of a perf.data file: u8 which fields samples have (below), then the records. They get a sound
//	   header and one event, so that the fuzzer gets at what lies inside
//	2  the same, in a file that was written to a pipe
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

enum { FILE_MAX_BYTES = 1 << 20, HEADER_BYTES = 104, ATTR_BYTES = 128, PIPE_HEADER_BYTES = 16 };

static void import(const uint8_t *bytes, size_t size_bytes)
{
	const struct st_import_options options = {
		.path = "fuzz", .version = "0", .cache = "/dev/null/strata-fuzz"};
	struct st_import_counts counts;
	struct st_error err = {0};

	if (st_import_bytes(&options, bytes, size_bytes, NULL, &counts, &err) && !err.text[0])
		abort(); /* refused without a word */
}

static struct perf_event_attr attr_of(uint8_t fields)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = ATTR_BYTES,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = 1000000,
				       .sample_id_all = 1};

	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	if (fields & 1)
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (fields & 2)
		attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	if (fields & 4)
		attr.sample_type |= PERF_SAMPLE_PERIOD | PERF_SAMPLE_CPU;
	if (fields & 8)
		attr.sample_type |= PERF_SAMPLE_IDENTIFIER;
	if (fields & 16)
		attr.sample_type |= PERF_SAMPLE_READ | PERF_SAMPLE_RAW;
	if (fields & 32)
		attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	attr.sample_regs_user = 0xff01ff;
	return attr;
}

static void import_file(uint8_t fields, const uint8_t *records, size_t size_bytes)
{
	struct perf_event_attr attr = attr_of(fields);
	uint64_t head[13] = {0,
			     HEADER_BYTES,
			     ATTR_BYTES + 16,
			     HEADER_BYTES,
			     ATTR_BYTES + 16,
			     HEADER_BYTES + ATTR_BYTES + 16};
	size_t total = HEADER_BYTES + ATTR_BYTES + 16 + size_bytes;
	uint8_t *file = calloc(1, total);

	if (!file)
		return;
	memcpy(head, "PERFILE2", 8);
	head[6] = size_bytes;
	memcpy(file, head, sizeof(head));
	memcpy(file + HEADER_BYTES, &attr, ATTR_BYTES);
	memcpy(file + total - size_bytes, records, size_bytes);
	import(file, total);
	free(file);
}

static void import_pipe(uint8_t fields, const uint8_t *records, size_t size_bytes)
{
	struct perf_event_attr attr = attr_of(fields);
	struct perf_event_header header = {.type = 64, .size = sizeof(header) + ATTR_BYTES};
	uint64_t head[2] = {0, PIPE_HEADER_BYTES};
	size_t total = sizeof(head) + header.size + size_bytes;
	uint8_t *file = calloc(1, total);

	if (!file)
		return;
	memcpy(head, "PERFILE2", 8);
	memcpy(file, head, sizeof(head));
	memcpy(file + sizeof(head), &header, sizeof(header));
	memcpy(file + sizeof(head) + sizeof(header), &attr, ATTR_BYTES);
	memcpy(file + total - size_bytes, records, size_bytes);
	import(file, total);
	free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	if (size_bytes < 2 || size_bytes > FILE_MAX_BYTES)
		return 0;
	switch (data[0] % 3) {
	case 0:
		import(data + 1, size_bytes - 1);
		break;
	case 1:
		import_file(data[1], data + 2, size_bytes - 2);
		break;
	default:
		import_pipe(data[1], data + 2, size_bytes - 2);
	}
	return 0;
}
