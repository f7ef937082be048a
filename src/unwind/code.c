// SPDX-License-Identifier: Apache-2.0
#include "unwind/code.h"

#include <elf.h>

#include "unwind/derive.h"
#include "unwind/rows.h"

enum { SPAN_MAX_BYTES = 1 << 30 };

static void add_row(void *arg, uint64_t address, const struct st_unwind_rule *rule)
{
	st_unwind_rows_add(arg, address, rule);
}

enum st_status st_unwind_build_code(struct st_unwind_image *image,
				    const struct st_unwind_code *codes, size_t count,
				    struct st_error *err)
{
	const struct st_unwind_table head = {.machine = EM_X86_64, .flags = ST_TABLE_ANONYMOUS};
	struct st_derive *derive = st_derive_create(head.machine);
	struct st_unwind_rows rows = {0};
	enum st_status status = ST_OK;

	*image = (struct st_unwind_image){0};
	if (!derive || !count || !st_unwind_rows_init(&rows, codes[0].address, 0))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for an unwind table");
	for (size_t i = 0; !status && i < count; i++) {
		uint64_t end = codes[i].address + codes[i].size_bytes;

		if (end - rows.base <= SPAN_MAX_BYTES &&
		    st_unwind_rows_begin(&rows, codes[i].address, end, true))
			st_derive_run(derive, codes[i].bytes, codes[i].size_bytes, codes[i].address,
				      add_row, &rows);
	}
	if (!status)
		status = st_unwind_rows_finish(&rows, 1, &head, image, err);
	st_unwind_rows_fini(&rows);
	st_derive_destroy(derive);
	return status;
}
