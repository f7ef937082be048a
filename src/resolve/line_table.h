/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a file of this machine says that it was built from a source file.
 */
#ifndef ST_RESOLVE_LINE_TABLE_H
#define ST_RESOLVE_LINE_TABLE_H

#include "resolve/elf_file.h"

struct st_line_search {
	const char *path;	   /* whole, as names of frames have it */
	const uint64_t *addresses; /* where it is expected: all that is looked at in large files */
	size_t count;
};

/* False also: the file has no line table. */
bool st_line_table_names(const struct st_elf_file *file, const struct st_line_search *search);

#endif
