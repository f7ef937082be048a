/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPython of this process: which one it is, and where it keeps what we read of it.
 */
#ifndef ST_COLLECT_INPROC_PYTHON_PYTHON_RUNTIME_H
#define ST_COLLECT_INPROC_PYTHON_PYTHON_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/rt/python_layout.h"

#pragma GCC visibility push(hidden)

/* The CPython of this process. */
struct st_python_runtime {
	bool present;
	bool free_threaded;
	uint32_t version; /* PY_VERSION_HEX */
	bool known;	  /* there is a layout */
	struct st_python_layout layout;
	void *(*this_thread_state)(void);
	void *(*running_state)(void); /* up to 3.11: who holds the interpreter's lock */
	/* The state that holds the interpreter's lock, up to 3.11 in any thread, then in this one; and whether
	 * the interpreter is ending. NULL: there is no such question. */
	void *(*holder_state)(void);
	int (*is_finalizing)(void);
	uint64_t code_type, string_type, bytes_type;
	uint64_t eval_start, eval_end;
};

/* Whether there was a CPython when our library was loaded. */
bool st_python_is_here(void);
/* Looks for CPython in the process; not in a signal handler. False: there is none. */
bool st_python_runtime_find(struct st_python_runtime *out);

#pragma GCC visibility pop

#endif
