/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys of three numbers, each kept once and numbered from 0 in the order of appearance. A zeroed table is
 * a valid empty one; keys are never removed.
 */
#ifndef ST_STORE_KEY_TABLE_H
#define ST_STORE_KEY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct st_key {
	uint64_t d[3];
};

struct st_key_table {
	struct st_key *keys;
	uint32_t count, capacity;
	struct st_map map; /* to numbers of keys */
};

void st_key_table_fini(struct st_key_table *table);
/* The number of the key, added if need be; ST_ID_NONE: no memory. */
uint32_t st_key_table_add(struct st_key_table *table, uint64_t a, uint64_t b, uint64_t c);
/* ST_ID_NONE: not there. */
uint32_t st_key_table_find(const struct st_key_table *table, uint64_t a, uint64_t b, uint64_t c);

#endif
