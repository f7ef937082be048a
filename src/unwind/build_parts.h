/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside build.c: turns the functions of a file into rows. A large file is cut into ranges of addresses, which two threads
 * take one after the other.
 */
#ifndef ST_UNWIND_BUILD_PARTS_H
#define ST_UNWIND_BUILD_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/rows.h"
#include "unwind/symbols.h"

enum { ST_UNWIND_PARTS_MAX = 16 };

struct st_unwind_function {
	uint64_t start;
	uint64_t offset; /* of its FDE */
};

struct st_unwind_build {
	const struct st_elf_view *view;
	struct st_elf_part eh_frame;
	struct st_cfi *cfi;
	struct st_unwind_function *functions; /* by start */
	size_t function_count;
	struct st_unwind_symbols symbols;
	uint64_t base;
	struct st_unwind_rows rows[ST_UNWIND_PARTS_MAX];
	size_t part_count;
};

/* Makes rows, joined; `flags` as in build.h. False when memory is out. */
bool st_unwind_parts_make(struct st_unwind_build *build, uint32_t flags);
void st_unwind_parts_fini(struct st_unwind_build *build);

#endif
