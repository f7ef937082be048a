/* SPDX-License-Identifier: Apache-2.0
 *
 * The Python frames of the interrupted thread, read in the sampler's signal handler. Nothing of CPython's is
 * read but by process_vm_readv on the own process, which fails where a load would fault: frames are
 * taken from under the feet of an interpreter that was stopped anywhere. Not allowed to (a sandbox): no
 * frames, and the sample says so.
 *
 * A walk costs one or two system calls as a rule: the thread state together with the frames and code objects
 * that the previous sample of the thread leads one to expect; then the code objects that are new.
 */
#ifndef ST_COLLECT_INPROC_PYTHON_PYTHON_FRAMES_H
#define ST_COLLECT_INPROC_PYTHON_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct st_handler_ring;

/* Looks for CPython and maps what is needed; not in a handler. May be called again (a program that loads
 * libpython later). False: there is no CPython in the process. */
bool st_python_frames_init(void);

enum st_python_refusal {
	ST_PYTHON_READ = 0,
	ST_PYTHON_UNKNOWN_VERSION = 1,
	ST_PYTHON_REFUSED_FREE_THREADED = 2,
	ST_PYTHON_NO_SAFE_READ = 3, /* process_vm_readv is forbidden */
	ST_PYTHON_NO_MEMORY = 4,
};
/* Why there are no Python frames. */
enum st_python_refusal st_python_frames_refusal(void);

/* Memory of a thread that lasts from sample to sample: zeroed in the beginning and in a forked child; another
 * owner of the slot may go on with it. Its size: */
size_t st_python_thread_bytes(void);

enum { ST_PYTHON_SCRATCH_BYTES = 72 << 10 };

struct st_python_walk {
	/* in */
	struct st_handler_ring *ring; /* definitions go there */
	uint32_t generation; /* of the ring: another one, and everything must be told again */
	void *thread;	     /* st_python_thread_bytes() */
	void *scratch;	     /* ST_PYTHON_SCRATCH_BYTES, contents undefined */
	uint64_t pc;	     /* where the thread was interrupted */
	bool first_thread;   /* of the process */
	uint64_t stack_low, stack_high; /* its stack, where loads cannot fault; 0: not known */
	uint64_t *frames;		/* out: words of format/sample_record.h, innermost first */
	uint32_t frames_max;
	/* out */
	uint32_t frame_count;
	uint32_t flags; /* enum st_sample_flag: PYTHON_CUT, PYTHON_TOP_UNKNOWN, HOLDS_GIL */
};

void st_python_frames_walk(struct st_python_walk *walk);

/* Has the processor fetch what the next walk of the thread will probably read, while the caller does something
 * else: at a thousand samples a second hardly anything is in its caches any more. Cannot fault. `memory` is the
 * walk's `thread`. */
void st_python_frames_foresee(const void *memory);

#pragma GCC visibility pop

#endif
