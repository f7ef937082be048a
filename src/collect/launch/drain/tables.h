/* SPDX-License-Identifier: Apache-2.0
 *
 * Unwind tables for sampled processes: a helper thread of strata finds or builds them (unwind/cache.h), so that
 * the drain never waits. What was found once is known at once for the next process that maps the same file.
 */
#ifndef ST_COLLECT_LAUNCH_DRAIN_TABLES_H
#define ST_COLLECT_LAUNCH_DRAIN_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct st_unwind_tables;
struct st_unwind_code; /* unwind/code.h */

/* What is mapped: a part of a file, told apart from all others. */
struct st_table_key {
	uint64_t device, inode, size_bytes, changed_ns;
	uint64_t file_offset;
};

struct st_table_want {
	uint32_t process, request; /* the asker's: come back with the answer */
	struct st_table_key key;
	int fd; /* of the file, taken over; -1: memory */
	const uint8_t *build_id;
	size_t build_id_bytes;
	const void *memory; /* vdso; stays */
	size_t memory_bytes;
	uint64_t start; /* of the mapping */
	/* Code that a JIT compiler made, instead of a file: one block, taken over, the bytes behind the array. */
	struct st_unwind_code *codes;
	size_t code_count;
};

struct st_table_known {
	bool ok;	  /* false: there is nothing to unwind it with */
	const char *path; /* lives as long as the service */
	uint64_t bias;	  /* for a mapping at start 0: add the start */
};

struct st_table_answer {
	uint32_t process, request; /* of codes no request: start and end tell */
	uint64_t code_start, code_end;
	struct st_table_known known;
	bool built;
	uint64_t build_ns;
};

/* The thread starts with the first question. */
enum st_status st_tables_create(struct st_unwind_tables **out, struct st_error *err);
/* Waits for the table that is being built, at most. Accepts NULL. */
void st_tables_destroy(struct st_unwind_tables *tables);
bool st_tables_find(const struct st_unwind_tables *tables, const struct st_table_key *key,
		    struct st_table_known *out);
/* False when it cannot be asked now; the descriptor is closed and the codes are freed then. */
bool st_tables_ask(struct st_unwind_tables *tables, const struct st_table_want *want);
/* The next answer, if there is one; never waits. */
bool st_tables_next(struct st_unwind_tables *tables, struct st_table_answer *out);
/* Tables that are asked for and not answered yet. */
uint32_t st_tables_waiting(const struct st_unwind_tables *tables);

#endif
