/* SPDX-License-Identifier: Apache-2.0
 *
 * Code that was loaded besides files, with the time each piece was there: from what the definitions tell, put
 * together when a result is opened.
 */
#ifndef ST_STORE_CODE_H
#define ST_STORE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/events.h"

struct st_clock_map;
struct st_model;

struct st_code_table {
	struct st_code *items;
	uint32_t count, capacity;
	struct st_code_map *maps;
	uint32_t map_count;
};

/* Processes must have their times. False: no memory. */
bool st_code_table_build(struct st_code_table *table, const struct st_model *model,
			 const struct st_clock_map *clock);
void st_code_table_fini(struct st_code_table *table);

#endif
