/* SPDX-License-Identifier: Apache-2.0
 *
 * What runs on devices, and the calls that drive them, whichever maker's they are: one record, in memory and in a ring.
 *
 * Header only: the collector links no code of format/.
 */
#ifndef ST_FORMAT_DEVICE_RECORD_H
#define ST_FORMAT_DEVICE_RECORD_H

#include <stdint.h>

/* Domains of their slices. */
#define ST_KERNEL_DOMAIN "device.kernel"
#define ST_COPY_DOMAIN "device.copy" /* copies and fills */
#define ST_COMMUNICATION_DOMAIN "device.communication"
#define ST_RUNTIME_DOMAIN "device.runtime" /* calls of the host: runtime, driver, waits */
#define ST_OVERHEAD_DOMAIN "device.overhead"
#define ST_DEVICE_MEMORY_DOMAIN "device.memory"

enum st_device_kind {
	ST_DEVICE_CALL = 1, /* of the host: its track is a thread's */
	ST_DEVICE_KERNEL = 2,
	ST_DEVICE_COPY = 3,
	ST_DEVICE_FILL = 4,
	ST_DEVICE_WAIT =
		5, /* what the call of the same correlation waits for; no slice of its own */
	ST_DEVICE_OVERHEAD = 6, /* time that the driver or its profiling took for itself */
	ST_DEVICE_MEMORY = 7,	/* was allocated or released, at its begin */
	ST_DEVICE_ABOUT = 8,	/* what the device is; no slice */
	ST_DEVICE_KINDS
};

enum {
	ST_DEVICE_UNFINISHED = 1, /* nobody waited for its end */
	ST_DEVICE_DRIVER = 2,	  /* a call of the driver's interface, not of the runtime's */
	/* Whose interface it came by; neither: CUDA's. */
	ST_DEVICE_ZE = 4, /* Level Zero */
	ST_DEVICE_OPENCL = 8,
	ST_DEVICE_MAKERS = ST_DEVICE_ZE | ST_DEVICE_OPENCL,
	ST_DEVICE_FLAGS_ALL = 15,
};

/* What a call waits for: the low half of a wait's value; the high half is the event's number. */
enum st_device_wait {
	ST_WAIT_EVENT = 1,
	ST_WAIT_STREAM_EVENT = 2, /* a stream waits for an event; the host does not */
	ST_WAIT_STREAM = 3,
	ST_WAIT_CONTEXT = 4,
	ST_WAITS,
};

enum { ST_DEVICE_NO_STREAM = UINT32_MAX };

/* Of memory, in its field graph; graph_node is the address. */
enum st_device_memory {
	ST_MEMORY_ALLOCATED = 1,
	ST_MEMORY_RELEASED = 2,
	ST_MEMORY_POOL = 3, /* a pool was made, trimmed or destroyed; its size is the value */
};

struct st_device_record {
	uint8_t kind;  /* enum st_device_kind */
	uint8_t flags; /* ST_DEVICE_* */
	uint16_t device;
	uint32_t where; /* stream or queue; of a call the thread id */
	uint32_t context;
	uint32_t domain, name;
	uint32_t correlation; /* of a call and of all that it launched; 0: none */
	uint64_t begin, end;  /* ticks */
	uint64_t
		value; /* bytes of a copy, fill or memory; of a call its number and (<< 32) what it returned; of a wait what for */
	uint64_t graph_node; /* of a graph that was launched whole; 0: none */
	uint32_t graph;
	/* Of a kernel. */
	uint32_t grid[3];
	uint16_t block[3];
	uint16_t registers; /* per thread */
	uint32_t shared_static, shared_dynamic;
};

/* What a device is, in the fields of a kernel: its name is the record's, its memory the value. */
enum {
	ST_ABOUT_PROCESSORS,
	ST_ABOUT_THREADS,
	ST_ABOUT_REGISTERS
}; /* grid: how many, and of each */
enum {
	ST_ABOUT_BLOCKS,
	ST_ABOUT_WARP,
	ST_ABOUT_VERSION
}; /* block: of each processor; size; 256 * major + minor */
/* registers: bytes of shared memory that each block has beside its own; shared_static: bytes of each processor,
 * shared_dynamic: of a block at most. graph: registers of a block. */

static inline int st_device_has_launch(uint8_t kind)
{
	return kind == ST_DEVICE_KERNEL || kind == ST_DEVICE_ABOUT;
}

/* Words of ST_EXT_DEVICE (format/ring_record.h) behind its header; kernels, and what belongs to a graph, have them all. */
enum { ST_DEVICE_WORDS_SHORT = 6, ST_DEVICE_WORDS = 12 };

static inline uint32_t st_device_to_words(const struct st_device_record *record,
					  uint64_t words[ST_DEVICE_WORDS])
{
	words[0] = record->kind | (uint64_t)record->flags << 8 | (uint64_t)record->device << 16 |
		   (uint64_t)record->where << 32;
	words[1] = record->begin;
	words[2] = record->end;
	words[3] = record->domain | (uint64_t)record->name << 32;
	words[4] = record->context | (uint64_t)record->correlation << 32;
	words[5] = record->value;
	if (!st_device_has_launch(record->kind) && !record->graph_node)
		return ST_DEVICE_WORDS_SHORT;
	words[6] = record->graph_node;
	words[7] = record->graph | (uint64_t)record->registers << 32;
	words[8] = record->grid[0] | (uint64_t)record->grid[1] << 32;
	words[9] = record->grid[2];
	words[10] = record->block[0] | (uint64_t)record->block[1] << 16 |
		    (uint64_t)record->block[2] << 32;
	words[11] = record->shared_static | (uint64_t)record->shared_dynamic << 32;
	return ST_DEVICE_WORDS;
}

static inline void st_device_from_words(struct st_device_record *record, const uint64_t *words,
					uint32_t count)
{
	*record = (struct st_device_record){.kind = (uint8_t)words[0],
					    .flags = (uint8_t)(words[0] >> 8),
					    .device = (uint16_t)(words[0] >> 16),
					    .where = (uint32_t)(words[0] >> 32),
					    .begin = words[1],
					    .end = words[2],
					    .domain = (uint32_t)words[3],
					    .name = (uint32_t)(words[3] >> 32),
					    .context = (uint32_t)words[4],
					    .correlation = (uint32_t)(words[4] >> 32),
					    .value = words[5]};
	if (count < ST_DEVICE_WORDS)
		return;
	record->graph_node = words[6];
	record->graph = (uint32_t)words[7];
	record->registers = (uint16_t)(words[7] >> 32);
	record->grid[0] = (uint32_t)words[8];
	record->grid[1] = (uint32_t)(words[8] >> 32);
	record->grid[2] = (uint32_t)words[9];
	record->block[0] = (uint16_t)words[10];
	record->block[1] = (uint16_t)(words[10] >> 16);
	record->block[2] = (uint16_t)(words[10] >> 32);
	record->shared_static = (uint32_t)words[11];
	record->shared_dynamic = (uint32_t)(words[11] >> 32);
}

#endif
