/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the CPython of another process, shared by the files that read it: outside_python.c (frames),
 * outside_objects.c (objects) and outside_tids.c (numbers of threads). No other file includes this.
 */
#ifndef ST_COLLECT_HOST_OUTSIDE_PYTHON_STATE_H
#define ST_COLLECT_HOST_OUTSIDE_PYTHON_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/host/outside_python.h"
#include "unwind/rt/python_layout.h"

enum { ST_OUTSIDE_STATES_MAX = 4096, ST_OUTSIDE_STATE_BYTES = 320 };

/* What only a reader from outside needs, by minor version. */
struct st_outside_ways {
	uint16_t minor;
	uint16_t interpreters; /* _PyRuntime → first interpreter */
	uint16_t states;       /* interpreter → first thread state */
	uint16_t thread, native_thread;
	uint16_t modules; /* interpreter → sys.modules */
	uint16_t lock;	  /* the GIL: in _PyRuntime, from 3.12 on interpreter → GIL */
	uint16_t keys;	  /* class → keys of its instances' attributes */
};

struct st_outside_python {
	pid_t pid;
	const struct st_outside_options *told;
	struct st_python_layout layout;
	struct st_outside_ways ways;
	uint64_t runtime, code_type, eval_start, eval_end;
	struct st_outside_known_code *codes;
	uint32_t code_count;
	struct st_outside_state_of *states; /* by tid % ST_OUTSIDE_STATES_MAX */
	uint64_t active;		    /* threading._active; 0: not found yet */
	/* Of a program in another pid namespace: what its threads are called there and here. */
	bool other_namespace;
	struct st_outside_tid {
		uint32_t inner, outer;
	} * tids;
	uint32_t tid_count, tid_capacity, misses;
};

static inline uint64_t st_load64(const uint8_t *at)
{
	uint64_t value;

	__builtin_memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint32_t st_load32(const uint8_t *at)
{
	uint32_t value;

	__builtin_memcpy(&value, at, sizeof(value));
	return value;
}

/* The first interpreter; 0: none (yet). */
uint64_t st_outside_interpreter(const struct st_outside_python *python);
/* Calls each for every thread state until it returns false. */
void st_outside_each_state(const struct st_outside_python *python,
			   bool (*each)(void *arg, uint64_t at, const uint8_t *state), void *arg);
/* The kernel's number of a thread state's thread, as the caller knows threads. */
uint32_t st_outside_state_tid(struct st_outside_python *python, const uint8_t *state);
/* outside_tids.c: whether a process is in another pid namespace than we, and which number of ours a thread of it has that
 * it knows by `inner`; 0: none. */
bool st_outside_other_namespace(pid_t pid);
uint32_t st_outside_outer_tid(struct st_outside_python *python, uint32_t inner);
/* A string object as UTF-8, not terminated; its size, 0: it is none, or too long. */
uint32_t st_outside_text(const struct st_outside_python *python, uint64_t object, char *out,
			 uint32_t out_bytes);

#endif
