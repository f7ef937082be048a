/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows and rules of a table while it is built. Functions come in ascending order. A large table is built in parts,
 * each a range of addresses, and is the same as if it had been built in one.
 */
#ifndef ST_UNWIND_ROWS_H
#define ST_UNWIND_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "unwind/build.h"

struct st_unwind_rows {
	uint64_t base; /* no address below it */
	uint32_t *rows;
	uint16_t *rules_of_rows;
	uint32_t count, capacity;
	struct st_unwind_rule *rules;
	uint32_t rule_count, rule_capacity;
	struct st_map rule_of;
	uint64_t first_start;		       /* of the first function */
	uint64_t function_start, function_end; /* of the open function */
	uint64_t end;			       /* of the last function */
	uint32_t function_count, derived_count;
	bool open, failed;
	bool is_later; /* a part behind another one */
	bool is_full;  /* there was no room for a rule */
	uint16_t *map; /* by rule of a later part, when it is joined: the rule of the first one */
};

bool st_unwind_rows_init(struct st_unwind_rows *rows, uint64_t base, size_t expected_rows);
void st_unwind_rows_fini(struct st_unwind_rows *rows);
/* A function. False: nothing of it can be kept. One that begins inside the function before ends that one. */
bool st_unwind_rows_begin(struct st_unwind_rows *rows, uint64_t start, uint64_t end, bool derived);
void st_unwind_rows_add(struct st_unwind_rows *rows, uint64_t address,
			const struct st_unwind_rule *rule);
/* Makes one table of parts, for st_unwind_rows_finish; all but the first were later ones. False: they cannot be joined, or
 * memory is out. Nothing can be added afterwards. */
bool st_unwind_rows_join(struct st_unwind_rows *parts, size_t count);
/* Lays everything out as a file; `head` has machine, flags, build id and segments. Several parts have been joined. */
enum st_status st_unwind_rows_finish(struct st_unwind_rows *parts, size_t count,
				     const struct st_unwind_table *head,
				     struct st_unwind_image *image, struct st_error *err);

#endif
