/* SPDX-License-Identifier: Apache-2.0
 *
 * What CPython keeps in memory, read without CPython: line tables of code objects, and text. All reads go
 * through st_python_read, which fails instead of faulting as long as the layouts are on trial.
 */
#ifndef ST_COLLECT_INPROC_PYTHON_PYTHON_TABLE_H
#define ST_COLLECT_INPROC_PYTHON_PYTHON_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rt/python_layout.h"

#pragma GCC visibility push(hidden)

/* Copies memory of this process. `careful`: by a system call that refuses what is not mapped. */
bool st_python_read(void *to, uint64_t from, size_t size_bytes, bool careful);

struct st_python_span {
	uint64_t address;
	uint64_t size_bytes;
	bool careful;
};

/* The line of the instruction at byte `offset` of a code whose first line is `first_line`; 0 when it has
 * none, or the table is not one. */
uint32_t st_python_line_at(enum st_python_lines format, const struct st_python_span *table,
			   int32_t first_line, int64_t offset);

/* A string object as UTF-8. Bytes of a file name that Python could not decode come back as they were.
 * False: not a compact string, or longer than `capacity`. */
bool st_python_text(const struct st_python_strings *layout, const struct st_python_span *object,
		    char *text, size_t capacity, uint32_t *length);

#pragma GCC visibility pop

#endif
