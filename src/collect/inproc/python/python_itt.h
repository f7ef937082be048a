/* SPDX-License-Identifier: Apache-2.0
 *
 * A Python module `itt` for scripts written for NERSC's itt-python, offered where none is installed.
 */
#ifndef ST_COLLECT_INPROC_PYTHON_PYTHON_ITT_H
#define ST_COLLECT_INPROC_PYTHON_PYTHON_ITT_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

struct st_inproc_backend;

struct py_object;

extern const struct st_inproc_backend st_backend_python;

/* Of a name that is imported (struct st_inproc_backend). */
bool st_python_name_is(struct py_object *name, const char *text);

#pragma GCC visibility pop

#endif
