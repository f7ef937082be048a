/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of Python functions, counted: python_calls.c has CPython tell us of each one, python_calls_names.c knows which
 * function it is, python_calls_table.c adds up. Everything runs with the interpreter's lock held, which is what
 * keeps the table of functions whole, except where it is said.
 */
#ifndef ST_COLLECT_INPROC_PYTHON_PYTHON_CALLS_H
#define ST_COLLECT_INPROC_PYTHON_PYTHON_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { ST_CALL_FUNCTIONS_MAX = 64 << 10, ST_CALL_DEPTH_MAX = 32 << 10 };

/* "python_calls=": how often what was counted is told; 0: nothing is counted. */
extern uint64_t st_python_calls_interval_ticks;

/* Has CPython tell us of calls, when it is far enough for that. From the import system. */
void st_python_calls_look(void);

/* What a function needs besides being counted. */
enum st_call_flag {
	ST_CALL_ENDS_PROCESS = 1,  /* os._exit and the like: what was counted is told before */
	ST_CALL_STARTS_THREAD = 2, /* which is to be counted, too */
	ST_CALL_PROFILES = 4,	   /* cProfile's enable */
};

struct st_call_text {
	const char *file, *name;
	uint32_t file_bytes, name_bytes, line, flags;
};
/* What tells a code object from the next one at the same address; 0 for anything else. */
uint32_t st_call_check(const void *object);
/* Names of what a key is, borrowed. Not to be called with an exception set. */
void st_call_describe(void *object, struct st_call_text *out, char *scratch,
		      uint32_t scratch_bytes);

/* A call of the calling thread begins and ends; the flags of its function. An end that fits no open call is none of
 * ours. */
uint32_t st_call_begin(uintptr_t key, void *object);
uint32_t st_call_end(uintptr_t key);
/* Calls that are open on this thread end here: what comes next is not told. */
void st_call_end_all(void);
/* Tells strata what was counted on this thread. */
void st_call_tell(void);
/* And on all others. */
void st_call_tell_all(void);

/* Without the lock. The thread ends; the process does: then of all threads. */
void st_python_calls_end_thread(void);
void st_python_calls_end_process(void);

#pragma GCC visibility pop

#endif
