/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the unwind table of an ELF file out of its .eh_frame, and out of the code of functions that have a
 * symbol but no call frame information. Thread-safe: no state outside the arguments. Large files are read by two threads.
 */
#ifndef ST_UNWIND_BUILD_H
#define ST_UNWIND_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "unwind/elf_view.h"
#include "unwind/rt/table.h"

/* A table file in memory (free by st_unwind_image_fini). */
struct st_unwind_image {
	const struct st_unwind_table *table; /* = data */
	void *data;
	size_t size_bytes;
};

enum st_unwind_build_flag {
	ST_BUILD_NO_CFI = 1,	 /* as if there were no .eh_frame (tests) */
	ST_BUILD_NO_DERIVED = 2, /* leave functions without CFI out */
	ST_BUILD_ONE_PART = 4,	 /* by this thread alone (tests) */
	ST_BUILD_MANY_PARTS = 8, /* however small the file is (tests) */
};

/* An ELF file without .eh_frame gives a table too: an empty one, or one of derived rules. */
enum st_status st_unwind_build_file(struct st_unwind_image *image, const char *path, uint32_t flags,
				    struct st_error *err);
enum st_status st_unwind_build_view(struct st_unwind_image *image, const struct st_elf_view *view,
				    uint32_t flags, struct st_error *err);
/* The vdso, copied out of a process. */
enum st_status st_unwind_build_memory(struct st_unwind_image *image, const void *memory,
				      size_t size_bytes, struct st_error *err);
void st_unwind_image_fini(struct st_unwind_image *image);

#endif
