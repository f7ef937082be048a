/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of CUPTI's activity interface that is used, without its headers: functions found by name, and the numbers
 * that its versions from CUDA 11.6 to 13 have in common.
 */
#ifndef ST_COLLECT_CUDA_CUPTI_H
#define ST_COLLECT_CUDA_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum {
	CUPTI_SUCCESS = 0,
	CUPTI_END_OF_BUFFER = 12,
	CUPTI_TAKEN = 39, /* more than one subscriber: ncu, nsys, a debugger */
};

enum cupti_kind {
	CUPTI_MEMCPY = 1,
	CUPTI_MEMSET = 2,
	CUPTI_DRIVER = 4,
	CUPTI_RUNTIME = 5,
	CUPTI_KERNEL = 10, /* concurrent; the other one would run them one after the other */
	CUPTI_OVERHEAD = 17,
	CUPTI_MEMCPY_PEER = 22,
	CUPTI_WAIT = 38,
	CUPTI_MEMORY = 49,
	CUPTI_MEMORY_POOL = 50,
	CUPTI_GRAPH = 51, /* only before a graph is made: later ones crash at its next launch */
	CUPTI_KINDS = 64,
};

enum cupti_domain { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RUNTIME = 2 };

typedef void (*cupti_request)(uint8_t **buffer, size_t *size_bytes, size_t *records_max);
typedef void (*cupti_done)(void *context, uint32_t stream, uint8_t *buffer, size_t size_bytes,
			   size_t valid_bytes);
typedef uint64_t (*cupti_clock)(void);

/* Every function answers 0 when it has worked. */
struct cupti {
	void *library;
	int (*register_callbacks)(cupti_request request, cupti_done done);
	int (*register_clock)(cupti_clock clock);
	int (*enable)(int kind);
	int (*disable)(int kind);
	int (*flush)(uint32_t forced);
	int (*next)(uint8_t *buffer, size_t valid_bytes, uint8_t **record);
	int (*thread_ids)(int type);
	int (*call_name)(int domain, uint32_t call, const char **name);
	int (*dropped)(void *context, uint32_t stream, size_t *count);
	/* Since CUDA 12.5; NULL before. */
	int (*enable_runtime_call)(uint32_t call, uint8_t on);
	int (*enable_driver_call)(uint32_t call, uint8_t on);
};

/* Finds the library that the process has, or another; false: there is none that would do. */
bool cupti_find(struct cupti *out);

/* cupti_records.c: what one buffer holds. */
enum cupti_calls {
	CUPTI_CALLS_WAITING, /* those that return when the device is done */
	CUPTI_CALLS_USEFUL,  /* and those that launch, copy, fill, allocate */
	CUPTI_CALLS_ALL,
};
struct cupti_reader {
	const struct cupti *cupti;
	enum cupti_calls calls;
	_Atomic uint64_t *devices; /* a bit each: those that something ran on */
};
/* Calls that are worth a record; of a runtime that tells them all, the others are left out. */
bool cupti_call_is_wanted(const struct cupti_reader *reader, int domain, uint32_t call);
/* All records of a buffer, into the ring of the calling thread. */
void cupti_read(const struct cupti_reader *reader, uint8_t *buffer, size_t valid_bytes);

/* cuda_about.c: tells what a device is; false: the driver does not say. */
bool cuda_tell_about(unsigned int device);

/* cupti_share.c: a profiler of the program's own, which calls CUPTI by the pointers of its library. */
struct cupti_sharer {
	const struct cupti *cupti;
	/* It wants these kinds (a bit each) from now on; 0 when it has worked. */
	int (*wants)(uint64_t kinds);
};
/* Changes the pointers of libraries that have come since. */
void cupti_share(const struct cupti_sharer *sharer);
/* Gives it what it wants of a buffer that is done. */
void cupti_share_buffer(uint8_t *buffer, size_t valid_bytes);
/* In a forked child: nobody has the lock. */
void cupti_share_forget(void);

#pragma GCC visibility pop

#endif
