/* SPDX-License-Identifier: Apache-2.0
 *
 * Every text of an open result, each kept once: equal bytes have equal ids. Id 0 is the empty text.
 * Texts may hold any bytes and are terminated as well; pointers stay valid until fini.
 */
#ifndef ST_STORE_TEXT_TABLE_H
#define ST_STORE_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "format/definitions.h"
#include "store/result.h"

struct st_text_block;

struct st_text_table {
	struct st_text *texts;
	uint32_t count, capacity;
	struct st_map map; /* to numbers of texts */
	struct st_text_block *blocks;
	uint64_t size_bytes; /* of all texts */
};

bool st_text_table_init(struct st_text_table *table);
void st_text_table_fini(struct st_text_table *table);
/* False without memory or over the limit of the table; *out is 0 then. */
bool st_text_table_add(struct st_text_table *table, const void *bytes, size_t size_bytes,
		       st_string_id *out);
struct st_text st_text_table_get(const struct st_text_table *table, st_string_id id);

#endif
