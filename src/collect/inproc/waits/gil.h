/* SPDX-License-Identifier: Apache-2.0
 *
 * Python's interpreter lock, as seen from its condition variables.
 */
#ifndef ST_COLLECT_INPROC_WAITS_GIL_H
#define ST_COLLECT_INPROC_WAITS_GIL_H

#include <stdbool.h>
#include <stdint.h>

struct st_open_wait;
struct st_thread;

#pragma GCC visibility push(hidden)

/* In `beside` of a wait: it lasts until the thread has the lock, however often it wakes up in between. */
enum { ST_GIL_TAKES = 1 };

/* Looks for CPython, where the loader already has it; in the constructor. */
void st_gil_find(void);
/* At the hello: tells the user why the lock is not looked at, where it is not. */
void st_gil_hello(void);
/* A wait for a condition variable of the lock, with its mutex, becomes one for the lock. */
void st_gil_recognize(struct st_open_wait *wait);
/* The thread ends. */
void st_gil_retire(struct st_thread *thread);

#pragma GCC visibility pop

#endif
