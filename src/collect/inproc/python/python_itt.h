/* SPDX-License-Identifier: Apache-2.0
 *
 * A Python module `itt` for scripts written for NERSC's itt-python, offered where none is installed.
 */
#ifndef ST_COLLECT_INPROC_PYTHON_PYTHON_ITT_H
#define ST_COLLECT_INPROC_PYTHON_PYTHON_ITT_H

#pragma GCC visibility push(hidden)

/* In the constructor: watches for the import of `itt`, if this process is going to be a CPython. */
void st_python_itt_init(void);

#pragma GCC visibility pop

#endif
