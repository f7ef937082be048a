/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of Python functions and built-ins, recorded one by one as torch's profiler has them with with_stack=True:
 * python_calls.c has CPython tell us of each one, python_trace_names.c knows what torch calls it, python_trace.c writes
 * it into the ring. All of it runs with the interpreter's lock held, except where it is said.
 */
#ifndef ST_COLLECT_INPROC_PYTHON_PYTHON_TRACE_H
#define ST_COLLECT_INPROC_PYTHON_PYTHON_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/inproc/python/python_abi.h"

#pragma GCC visibility push(hidden)

/* Calls are being recorded. */
extern bool st_trace_on;
/* Another number whenever a call of this thread began or ended; 0: its calls are not recorded. */
uint64_t st_trace_clock(void);
/* python_calls.c: whether the thread of this state tells us of its calls now: it may tell others, or nobody. */
bool st_python_calls_follows(const void *thread_state);
/* The same: while CPython tells us of a call, it tells nobody of others. That is how the place of this is proven. */
void st_python_calls_look_at_tracing(void);

/* python_calls.c: has CPython tell us of calls, if it does not yet. False: it cannot be. And undoes it: nothing of ours is
 * called any more, unless calls are counted besides. */
bool st_python_calls_prepare(void);
void st_python_calls_release(void);
/* Between these two: records the calls of all threads there are now, beginning with those that this one is in. Folders
 * that names of files are shown without stand one a line; the first that fits counts. False: nothing is recorded. */
bool st_python_calls_trace(const char *prefixes);
void st_python_calls_untrace(void);

/* The rest is between these files. */

/* The threads of this interpreter are recorded from now on, if there is memory for that. */
void st_trace_start(void);
void st_trace_stop(void);
/* States of the threads of this interpreter, `max` at most; how many. */
uint32_t st_python_calls_threads(void **states, uint32_t max);

/* A Python function goes on in this frame; it leaves it. */
void st_trace_call(const void *frame, struct py_object *code);
void st_trace_return(const struct py_object *code);
/* A built-in function, bound to `self` (NULL: to nothing); flags of python_calls.h that it needs. */
uint32_t st_trace_builtin(const struct py_method *method, struct py_object *self);
void st_trace_builtin_return(const struct py_method *method);
/* Calls that are open on this thread end here. */
void st_trace_end_all(void);
/* Without the lock. */
void st_trace_end_thread(void);

/* The innermost frame of this thread, or of one that does not run now, and the one around a frame; NULL: none. */
const void *st_trace_frame(void);
const void *st_trace_frame_of(const void *thread_state);
const void *st_trace_frame_back(const void *frame);
struct py_object *st_trace_frame_code(const void *frame);

/* Id of a name, 0: there is no place for it. */
bool st_trace_names_start(const char *prefixes);
void st_trace_names_stop(void);
uint32_t st_trace_frame_name(const void *frame, struct py_object *code);
/* By thread: the object that a built-in is first met with is the thread's. */
uint32_t st_trace_builtin_name(uint32_t thread, const struct py_method *method,
			       struct py_object *self, uint32_t *flags);

#pragma GCC visibility pop

#endif
