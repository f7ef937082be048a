/* SPDX-License-Identifier: Apache-2.0
 *
 * The sampler inside the target: a trigger interrupts each thread after so much CPU time, and the signal handler
 * writes one ST_EXT_SAMPLE into the handler ring of the thread's slot (format/sample_record.h). The trigger's
 * descriptor goes to strata (struct st_shm_arm); the target keeps none. Everything that runs in the
 * handler is made of system calls and memory that was mapped before.
 */
#ifndef ST_COLLECT_INPROC_SAMPLER_SAMPLER_H
#define ST_COLLECT_INPROC_SAMPLER_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/inproc/core/state.h"

#pragma GCC visibility push(hidden)

enum {
	/* For whoever has the handler right now (the copy of a stack, then Python's frames and texts). */
	ST_SAMPLER_SCRATCH_BYTES = 72 << 10,
	ST_SAMPLER_DEPTH = 512, /* frames of each kind, unless sample_depth says otherwise */
};

/* The sampling state of one thread; valid while its handler runs. */
struct st_inproc_sampler;

/* Inside the handler: appends one extended record to the thread's handler ring, with the time of the sample that
 * is being taken. The payload is made of pieces, each filled up with zeros to whole words. False:
 * no room; nothing was written, and nothing is counted. */
bool st_sampler_put(struct st_inproc_sampler *sampler, enum st_ring_ext subkind,
		    const struct st_part *parts, uint32_t part_count);
/* ST_SAMPLER_SCRATCH_BYTES of the thread's own, aligned to a page; contents are undefined. */
void *st_sampler_scratch(struct st_inproc_sampler *sampler);
/* Changes when another thread has adopted the slot: what a ring was told must be told again. */
uint32_t st_sampler_generation(const struct st_inproc_sampler *sampler);

/* Copies memory of this process; false where a load would fault, or when no system call is allowed. */
bool st_sampler_read(uint64_t address, void *out, size_t size_bytes);

/* segment.c: bytes of sampling state for each slot; 0: no sampler. */
size_t st_sampler_stride(void);
/* thread.c: the calling thread gives back its slot. */
void st_sampler_leave(struct st_inproc_sampler *sampler);

/* sandbox.c: the program is about to lock itself up: no more signals of ours. */
void st_sampler_drop_signal(void);
/* Opens the trigger, once in each process; not in a handler. */
void st_sampler_arm(void);
/* thread.c: the calling thread ends. */
void st_timer_end_thread(void);
/* exec.c, in front of the real call, and when it has come back: true means that the latter is wanted. */
bool st_sampler_before_exec(void);
void st_sampler_exec_failed(void);

/* state.c: one key of STRATA_CONFIG ("sample_…=…"). */
void st_sampler_configure(const char *text);
/* In the constructor, always. */
void st_sampler_resolve(void);
/* In the constructor, after everything else. */
void st_sampler_init(int argc, char **argv);

#pragma GCC visibility pop

#endif
