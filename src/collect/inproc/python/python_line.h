/* SPDX-License-Identifier: Apache-2.0
 *
 * The line of Python code that makes the call we are in, from the memory of a CPython 3.8 … 3.14: no
 * object is made, no lock taken, and the interpreter's own lock is not needed, because a thread's frames
 * stand still while it is in native code.
 */
#ifndef ST_COLLECT_INPROC_PYTHON_PYTHON_LINE_H
#define ST_COLLECT_INPROC_PYTHON_PYTHON_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Looks for CPython in the process; in the constructor. */
void st_python_line_init(void);

/* "path/file.py:LINE" of the calling thread's innermost Python frame that is not one of the packages that
 * only pass a task on (ittapi, torch.profiler.itt …). False: no Python here, or not one we know. */
bool st_python_line(char *text, size_t capacity, uint32_t *length);

/* There is a CPython in the process whose frames we cannot read. */
bool st_python_unknown(void);

#pragma GCC visibility pop

#endif
