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

struct st_inproc_backend;
struct st_thread;

enum {
	/* For whoever has the handler right now (the copy of a stack, then Python's frames and texts). */
	ST_SAMPLER_SCRATCH_BYTES = 72 << 10,
	ST_SAMPLER_DEPTH = 512, /* frames of each kind, unless sample_depth says otherwise */
};

/* The sampling state of one thread; valid while its handler runs. */
struct st_inproc_sampler;

/* ST_SAMPLER_SCRATCH_BYTES of the thread's own, aligned to a page; contents are undefined. */
void *st_sampler_scratch(struct st_inproc_sampler *sampler);

/* Copies memory of this process; false where a load would fault, or when no system call is allowed. */
bool st_sampler_read(uint64_t address, void *out, size_t size_bytes);

extern const struct st_inproc_backend st_backend_sampler;

/* The slots of its row, by file. sampler_thread.c: the calling thread gives back its slot. */
void st_sampler_leave(struct st_thread *thread);
/* One key of STRATA_CONFIG ("sample_…=…"); others are not ours. */
void st_sampler_configure(const char *text);
/* sampler_signal.c: no more signals of ours, not even a return from a handler. */
void st_sampler_drop_signal(void);
/* sampler_phase.c: the calling thread ends. */
void st_phase_end(void);
/* sampler_timer.c. In front of the real call, and when it has come back: true means that the latter is wanted. */
bool st_sampler_before_exec(void);
void st_sampler_exec_failed(void);

/* sampler.c. The calling thread's stack as a sample of a wait that has just ended (ticks) and took so long; from `caller` on,
 * a return address in it. Not in handlers that interrupt the collector. */
void st_sampler_wait(uint64_t end, uint64_t took, const void *caller);

/* Bytes of sampling state for each slot. */
size_t st_sampler_stride(void);

#pragma GCC visibility pop

#endif
