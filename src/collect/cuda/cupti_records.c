/* SPDX-License-Identifier: Apache-2.0
 *
 * Activity records as they lie in a buffer. New versions append fields and keep those that are here where they are;
 * what a record is comes first, and where the next one begins only CUPTI knows.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collect/cuda/cupti.h"
#include "collect/inproc/device/device.h"

enum {
	NAME_MAX_BYTES = 8192,
	CALLS_MAX = 1024,
	WAITS_MAX = 200, /* for room in the ring, each of WAIT_NS: CUPTI's thread, or ours */
	WAIT_NS = 500000,
};

/* In bytes. */
enum {
	KERNEL_REGISTERS = 6,
	KERNEL_START = 16,
	KERNEL_END = 24,
	KERNEL_DEVICE = 40,
	KERNEL_CONTEXT = 44,
	KERNEL_STREAM = 48,
	KERNEL_GRID = 52,
	KERNEL_BLOCK = 64,
	KERNEL_SHARED_STATIC = 76,
	KERNEL_SHARED_DYNAMIC = 80,
	KERNEL_CORRELATION = 92,
	KERNEL_NAME = 104,
	KERNEL_GRAPH_NODE = 144,
	KERNEL_GRAPH = 156,
	COPY_KIND = 4,
	COPY_FROM = 5,
	COPY_TO = 6,
	COPY_BYTES = 8,
	COPY_START = 16,
	COPY_END = 24,
	COPY_DEVICE = 32,
	COPY_CONTEXT = 36,
	COPY_STREAM = 40,
	COPY_CORRELATION = 44,
	COPY_GRAPH_NODE = 64,
	COPY_GRAPH = 72,
	FILL_MEMORY = 50,
	PEER_CORRELATION = 60,
	GRAPH_CORRELATION = 4,
	GRAPH_START = 8,
	GRAPH_END = 16,
	GRAPH_DEVICE = 24,
	GRAPH_ID = 28,
	GRAPH_CONTEXT = 32,
	GRAPH_STREAM = 36,
	WAIT_TYPE = 4,
	WAIT_START = 8,
	WAIT_END = 16,
	WAIT_CORRELATION = 24,
	WAIT_CONTEXT = 28,
	WAIT_STREAM = 32,
	WAIT_EVENT = 36,
	OVERHEAD_KIND = 4,
	OVERHEAD_OBJECT = 8,
	OVERHEAD_THREAD = 16,
	OVERHEAD_START = 24,
	OVERHEAD_END = 32,
	MEMORY_OPERATION = 4,
	MEMORY_KIND = 8,
	MEMORY_CORRELATION = 12,
	MEMORY_ADDRESS = 16,
	MEMORY_BYTES = 24,
	MEMORY_TIME = 32,
	MEMORY_DEVICE = 52,
	MEMORY_CONTEXT = 56,
	MEMORY_STREAM = 60,
	POOL_DEVICE = 20,
	POOL_ADDRESS = 32,
	POOL_BYTES = 40,
	POOL_TIME = 56,
	CALL_NUMBER = 4,
	CALL_START = 8,
	CALL_END = 16,
	CALL_THREAD = 28,
	CALL_CORRELATION = 32,
	CALL_RETURNED = 36,
};

static uint16_t u16_at(const uint8_t *record, size_t offset)
{
	uint16_t value;

	memcpy(&value, record + offset, sizeof(value));
	return value;
}

static uint32_t u32_at(const uint8_t *record, size_t offset)
{
	uint32_t value;

	memcpy(&value, record + offset, sizeof(value));
	return value;
}

static uint64_t u64_at(const uint8_t *record, size_t offset)
{
	uint64_t value;

	memcpy(&value, record + offset, sizeof(value));
	return value;
}

/* What launches, copies, fills, waits, allocates: a call that does none of it tells nothing that its time would be
 * worth. Names of calls carry a version behind them, and some a stream's rule. */
static bool name_is_wanted(const char *name)
{
	static const char *const parts[] = {
		"Launch",    "Memcpy",	      "Memset",		  "Synchronize",
		"WaitEvent", "Malloc",	      "MemAlloc",	  "MemFree",
		"cudaFree",  "cudaHostAlloc", "cudaHostRegister", "MemPrefetch",
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

/* "cudaLaunchKernel_v7000" is cudaLaunchKernel to everybody. */
static size_t shown_length(const char *name)
{
	const char *version = strstr(name, "_v");

	while (version && (version[2] < '0' || version[2] > '9'))
		version = strstr(version + 2, "_v");
	return version ? (size_t)(version - name) : strlen(name);
}

/* Bits. */
enum { IS_KNOWN = 1, IS_USEFUL = 2, IS_WAITING = 4 };

static uint8_t look_at_call(const struct cupti *cupti, int domain, uint32_t call)
{
	const char *name = NULL;

	if (cupti->call_name(domain, call, &name) || !name || !name_is_wanted(name))
		return IS_KNOWN;
	return strstr(name, "Synchronize") ? IS_KNOWN | IS_USEFUL | IS_WAITING
					   : IS_KNOWN | IS_USEFUL;
}

bool cupti_call_is_wanted(const struct cupti_reader *reader, int domain, uint32_t call)
{
	static _Atomic uint8_t known[2][CALLS_MAX]; /* the same, whoever finds it out */
	bool is_driver = domain == CUPTI_DOMAIN_DRIVER;
	uint8_t is = call < CALLS_MAX ? known[is_driver][call] : 0;

	if (reader->calls == CUPTI_CALLS_ALL)
		return true;
	if (!is)
		is = look_at_call(reader->cupti, domain, call);
	if (call < CALLS_MAX)
		known[is_driver][call] = is;
	return is & (reader->calls == CUPTI_CALLS_WAITING ? IS_WAITING : IS_USEFUL);
}

static uint32_t name_of_call(const struct cupti *cupti, int domain, uint32_t call)
{
	bool is_driver = domain == CUPTI_DOMAIN_DRIVER;
	const char *name = NULL;

	if (cupti->call_name(domain, call, &name) || !name)
		name = is_driver ? "[unknown driver call]" : "[unknown runtime call]";
	return strata_device_name(name, shown_length(name));
}

static bool read_call(const struct cupti_reader *reader, const uint8_t *record, bool is_driver,
		      struct st_device_record *out)
{
	int domain = is_driver ? CUPTI_DOMAIN_DRIVER : CUPTI_DOMAIN_RUNTIME;
	uint32_t call = u32_at(record, CALL_NUMBER);

	if (!cupti_call_is_wanted(reader, domain, call))
		return false;
	*out = (struct st_device_record){
		.kind = ST_DEVICE_CALL,
		.flags = is_driver ? ST_DEVICE_DRIVER : 0,
		.where = u32_at(record, CALL_THREAD),
		.begin = u64_at(record, CALL_START),
		.end = u64_at(record, CALL_END),
		.correlation = u32_at(record, CALL_CORRELATION),
		.value = call | (uint64_t)u32_at(record, CALL_RETURNED) << 32,
		.name = name_of_call(reader->cupti, domain, call),
	};
	return true;
}

static void read_kernel(const uint8_t *record, struct st_device_record *out, bool *communicates)
{
	const char *name = (const char *)(uintptr_t)u64_at(record, KERNEL_NAME);

	*out = (struct st_device_record){
		.kind = ST_DEVICE_KERNEL,
		.device = (uint16_t)u32_at(record, KERNEL_DEVICE),
		.where = u32_at(record, KERNEL_STREAM),
		.context = u32_at(record, KERNEL_CONTEXT),
		.begin = u64_at(record, KERNEL_START),
		.end = u64_at(record, KERNEL_END),
		.correlation = u32_at(record, KERNEL_CORRELATION),
		.graph_node = u64_at(record, KERNEL_GRAPH_NODE),
		.graph = u32_at(record, KERNEL_GRAPH),
		.registers = u16_at(record, KERNEL_REGISTERS),
		.shared_static = u32_at(record, KERNEL_SHARED_STATIC),
		.shared_dynamic = u32_at(record, KERNEL_SHARED_DYNAMIC),
	};
	for (unsigned int i = 0; i < 3; i++) {
		out->grid[i] = u32_at(record, KERNEL_GRID + 4 * i);
		out->block[i] = (uint16_t)u32_at(record, KERNEL_BLOCK + 4 * i);
	}
	*communicates = name && (!strncmp(name, "nccl", 4) || !strncmp(name, "rccl", 4));
	/* It belongs to a module that may be gone soon. */
	out->name = name ? strata_device_name(name, strnlen(name, NAME_MAX_BYTES)) : 0;
}

static const char *memory_word(uint32_t kind)
{
	static const char *const words[] = {"Unknown",	     "Pageable",      "Pinned",
					    "Device",	     "Array",	      "Managed",
					    "Device Static", "Managed Static"};

	return words[kind < sizeof(words) / sizeof(words[0]) ? kind : 0];
}

static const char *copy_word(uint32_t kind)
{
	static const char *const words[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
					    "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};

	return words[kind < sizeof(words) / sizeof(words[0]) ? kind : 0];
}

/* Copies and fills begin alike. */
static void read_transfer(const uint8_t *record, struct st_device_record *out)
{
	*out = (struct st_device_record){
		.device = (uint16_t)u32_at(record, COPY_DEVICE),
		.where = u32_at(record, COPY_STREAM),
		.context = u32_at(record, COPY_CONTEXT),
		.begin = u64_at(record, COPY_START),
		.end = u64_at(record, COPY_END),
		.value = u64_at(record, COPY_BYTES),
	};
}

/* Named as torch's profiler names them. */
static void read_copy(const uint8_t *record, bool is_peer, struct st_device_record *out)
{
	char name[96];
	int length =
		snprintf(name, sizeof(name), "Memcpy %s (%s -> %s)", copy_word(record[COPY_KIND]),
			 memory_word(record[COPY_FROM]), memory_word(record[COPY_TO]));

	read_transfer(record, out);
	out->kind = ST_DEVICE_COPY;
	out->correlation = u32_at(record, is_peer ? PEER_CORRELATION : COPY_CORRELATION);
	out->name = strata_device_name(name, (size_t)length);
	if (is_peer)
		return;
	out->graph_node = u64_at(record, COPY_GRAPH_NODE);
	out->graph = u32_at(record, COPY_GRAPH);
}

static void read_fill(const uint8_t *record, struct st_device_record *out)
{
	char name[64];
	int length = snprintf(name, sizeof(name), "Memset (%s)",
			      memory_word(u16_at(record, FILL_MEMORY)));

	read_transfer(record, out);
	out->kind = ST_DEVICE_FILL;
	out->correlation = u32_at(record, COPY_CORRELATION);
	out->graph_node = u64_at(record, COPY_GRAPH_NODE);
	out->graph = u32_at(record, COPY_GRAPH);
	out->name = strata_device_name(name, (size_t)length);
}

/* A launch of all its nodes, in place of them. */
static void read_graph(const uint8_t *record, struct st_device_record *out)
{
	char name[64];
	int length = snprintf(name, sizeof(name), "CUDA graph %u", u32_at(record, GRAPH_ID));

	*out = (struct st_device_record){
		.kind = ST_DEVICE_KERNEL,
		.device = (uint16_t)u32_at(record, GRAPH_DEVICE),
		.where = u32_at(record, GRAPH_STREAM),
		.context = u32_at(record, GRAPH_CONTEXT),
		.begin = u64_at(record, GRAPH_START),
		.end = u64_at(record, GRAPH_END),
		.correlation = u32_at(record, GRAPH_CORRELATION),
		.graph = u32_at(record, GRAPH_ID),
		.name = strata_device_name(name, (size_t)length),
	};
}

/* Its times are those of the call. */
static void read_wait(const uint8_t *record, struct st_device_record *out)
{
	*out = (struct st_device_record){
		.kind = ST_DEVICE_WAIT,
		.where = u32_at(record, WAIT_STREAM),
		.context = u32_at(record, WAIT_CONTEXT),
		.begin = u64_at(record, WAIT_START),
		.end = u64_at(record, WAIT_END),
		.correlation = u32_at(record, WAIT_CORRELATION),
		.value = u32_at(record, WAIT_TYPE) | (uint64_t)u32_at(record, WAIT_EVENT) << 32,
	};
}

/* Words of torch's profiler, where it has one. */
static const char *overhead_word(uint32_t kind)
{
	static const char *const words[] = {
		"Unknown",
		"Activity Buffer Flush",
		"Instrumentation",
		"Resource",
		"Runtime Triggered Module Loading",
		"Lazy Function Loading",
		"Command Buffer Full",
		"Activity Buffer Request",
	};

	if (kind == 1)
		return "Driver Compiler";
	kind >>= 16;
	return words[kind < sizeof(words) / sizeof(words[0]) ? kind : 0];
}

static void read_overhead(const uint8_t *record, struct st_device_record *out)
{
	enum { A_THREAD = 2 };
	uint32_t kind = u32_at(record, OVERHEAD_KIND);
	const char *name = overhead_word(kind);

	*out = (struct st_device_record){
		.kind = ST_DEVICE_OVERHEAD,
		.where = u32_at(record, OVERHEAD_OBJECT) == A_THREAD
				 ? u32_at(record, OVERHEAD_THREAD)
				 : 0,
		.begin = u64_at(record, OVERHEAD_START),
		.end = u64_at(record, OVERHEAD_END),
		.value = kind,
		.name = strata_device_name(name, strlen(name)),
	};
}

static void read_memory(const uint8_t *record, struct st_device_record *out)
{
	bool is_allocation = u32_at(record, MEMORY_OPERATION) == ST_MEMORY_ALLOCATED;
	char name[64];
	int length =
		snprintf(name, sizeof(name), "%s (%s)", is_allocation ? "Allocated" : "Released",
			 memory_word(u32_at(record, MEMORY_KIND)));

	*out = (struct st_device_record){
		.kind = ST_DEVICE_MEMORY,
		.device = (uint16_t)u32_at(record, MEMORY_DEVICE),
		.where = u32_at(record, MEMORY_STREAM),
		.context = u32_at(record, MEMORY_CONTEXT),
		.begin = u64_at(record, MEMORY_TIME),
		.end = u64_at(record, MEMORY_TIME),
		.correlation = u32_at(record, MEMORY_CORRELATION),
		.value = u64_at(record, MEMORY_BYTES),
		.graph_node = u64_at(record, MEMORY_ADDRESS),
		.graph = is_allocation ? ST_MEMORY_ALLOCATED : ST_MEMORY_RELEASED,
		.name = strata_device_name(name, (size_t)length),
	};
}

static void read_pool(const uint8_t *record, struct st_device_record *out)
{
	static const char *const words[] = {"Pool changed", "Pool created", "Pool destroyed",
					    "Pool trimmed"};
	uint32_t operation = u32_at(record, MEMORY_OPERATION);
	const char *name = words[operation < sizeof(words) / sizeof(words[0]) ? operation : 0];

	*out = (struct st_device_record){
		.kind = ST_DEVICE_MEMORY,
		.device = (uint16_t)u32_at(record, POOL_DEVICE),
		.begin = u64_at(record, POOL_TIME),
		.end = u64_at(record, POOL_TIME),
		.correlation = u32_at(record, MEMORY_CORRELATION),
		.value = u64_at(record, POOL_BYTES),
		.graph_node = u64_at(record, POOL_ADDRESS),
		.graph = ST_MEMORY_POOL,
		.name = strata_device_name(name, strlen(name)),
	};
}

/* False: it is none of ours. */
static bool read_record(const struct cupti_reader *reader, const uint8_t *record,
			struct st_device_record *out, bool *communicates)
{
	*communicates = false;
	switch (u32_at(record, 0)) {
	case CUPTI_KERNEL:
		read_kernel(record, out, communicates);
		return true;
	case CUPTI_MEMCPY:
		read_copy(record, false, out);
		return true;
	case CUPTI_MEMCPY_PEER:
		read_copy(record, true, out);
		return true;
	case CUPTI_MEMSET:
		read_fill(record, out);
		return true;
	case CUPTI_GRAPH:
		read_graph(record, out);
		return true;
	case CUPTI_WAIT:
		read_wait(record, out);
		return true;
	case CUPTI_OVERHEAD:
		read_overhead(record, out);
		return true;
	case CUPTI_MEMORY:
		read_memory(record, out);
		return true;
	case CUPTI_MEMORY_POOL:
		read_pool(record, out);
		return true;
	case CUPTI_RUNTIME:
		return read_call(reader, record, false, out);
	case CUPTI_DRIVER:
		return read_call(reader, record, true, out);
	default:
		return false;
	}
}

/* Forced out before it was over: it has no end. And what has no begin never ran. */
static bool has_times(struct st_device_record *out)
{
	if (!out->begin)
		return false;
	if (out->end < out->begin) {
		out->end = out->begin;
		out->flags |= ST_DEVICE_UNFINISHED;
	}
	return true;
}

void cupti_read(const struct cupti_reader *reader, uint8_t *buffer, size_t valid_bytes)
{
	const struct timespec a_while = {.tv_nsec = WAIT_NS};
	struct st_device_record record;
	uint8_t *at = NULL;
	uint64_t lost = 0;
	unsigned int waits = 0, done;
	bool communicates;

	while (valid_bytes && !reader->cupti->next(buffer, valid_bytes, &at)) {
		if (!read_record(reader, at, &record, &communicates) || !has_times(&record))
			continue;
		if (record.kind == ST_DEVICE_KERNEL && record.device < 64)
			*reader->devices |= UINT64_C(1) << record.device;
		/* Nobody of the program's waits here: it is CUPTI's thread, or ours, or one that ends. */
		while ((done = strata_device_put(&record, communicates)) == ST_DEVICE_FULL &&
		       waits++ < WAITS_MAX)
			nanosleep(&a_while, NULL);
		lost += done == ST_DEVICE_FULL;
	}
	if (lost)
		strata_device_lost(lost);
}
