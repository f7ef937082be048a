/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows and rules of a table while it is built. Functions come in ascending order.
 */
#ifndef ST_UNWIND_ROWS_H
#define ST_UNWIND_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "unwind/build.h"

struct st_unwind_rows {
	uint64_t base; /* no address below it */
	uint32_t *rows;
	uint16_t *rules_of_rows;
	size_t count, capacity;
	struct st_unwind_rule *rules;
	uint32_t rule_count, rule_capacity;
	uint16_t *buckets;		       /* hash of a rule -> its index */
	uint64_t function_start, function_end; /* of the open function */
	uint64_t end;			       /* of the last function */
	uint32_t function_count, derived_count;
	bool open, failed;
};

bool st_unwind_rows_init(struct st_unwind_rows *rows, uint64_t base, size_t expected_rows);
void st_unwind_rows_fini(struct st_unwind_rows *rows);
/* A function. False: nothing of it can be kept. One that begins inside the function before ends that one. */
bool st_unwind_rows_begin(struct st_unwind_rows *rows, uint64_t start, uint64_t end, bool derived);
void st_unwind_rows_add(struct st_unwind_rows *rows, uint64_t address,
			const struct st_unwind_rule *rule);
/* Lays everything out as a file; `head` has machine, flags, build id and segments. */
enum st_status st_unwind_rows_finish(struct st_unwind_rows *rows,
				     const struct st_unwind_table *head,
				     struct st_unwind_image *image, struct st_error *err);

#endif
