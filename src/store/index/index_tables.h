/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables that the index holds behind its columns: ids, data, spans, sync objects, objects, callers. Built
 * in memory, or pointing into the sections of a mapped index.
 */
#ifndef ST_STORE_INDEX_INDEX_TABLES_H
#define ST_STORE_INDEX_INDEX_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "store/events.h"
#include "store/index/index_map.h"
#include "store/operators.h"
#include "store/traced_calls.h"

struct st_text_table;
struct st_index_meta;

struct st_index_tables {
	struct st_itt_id *ids; /* all of these are read-only when they are mapped */
	uint64_t *blob_ends;
	char *blob_bytes;
	struct st_span *spans;
	struct st_sync_object *sync_objects;
	struct st_object *objects;
	struct st_object_fact *facts;
	struct st_caller *callers;
	uint32_t *task_events;
	struct st_operator *operators;
	struct st_memory_moment *moments;
	struct st_traced_call *calls;
	uint32_t id_count, blob_count, span_count, sync_object_count, object_count, fact_count,
		caller_count, task_event_count, operator_count, moment_count, call_count;
	uint64_t blob_size_bytes;
	bool is_mapped;
};

void st_index_tables_fini(struct st_index_tables *tables);
/* The sections as they are to be written. */
void st_index_tables_blocks(const struct st_index_tables *tables,
			    struct st_index_block blocks[ST_SECTIONS]);
/* False: the sections cannot be these tables. */
bool st_index_tables_read(struct st_index_tables *tables,
			  const struct st_index_block sections[ST_SECTIONS]);
/* Takes the texts of a table as blobs; false: no memory. */
bool st_index_tables_take_blobs(struct st_index_tables *tables, const struct st_text_table *texts);
struct st_text st_index_tables_blob(const struct st_index_tables *tables, uint32_t blob);
/* All subscripts in events and tables are in range: a checksum only says that nobody damaged them. */
bool st_index_events_are_sound(const struct st_index *index, const struct st_index_meta *meta,
			       uint32_t text_count, uint32_t process_count);

#endif
