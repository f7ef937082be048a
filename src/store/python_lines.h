/* SPDX-License-Identifier: Apache-2.0
 *
 * From a position in a Python code object to its line, by the line table that was copied out of the
 * interpreter. Three formats: up to 3.9, 3.10, from 3.11 on.
 */
#ifndef ST_STORE_PYTHON_LINES_H
#define ST_STORE_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

struct st_python_line_table {
	uint32_t version; /* PY_VERSION_HEX */
	uint32_t flags;	  /* ST_PYTHON_CODE_* */
	uint32_t first_line;
	const uint8_t *bytes;
	size_t size_bytes;
};

/* `position` as in a Python frame (format/sample_record.h). A frame that has not begun is at the first line.
 * 0: the instruction has no line, the table does not reach so far, or is none. */
uint32_t st_python_line_of(const struct st_python_line_table *table, uint32_t position);

#endif
