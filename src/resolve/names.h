/* SPDX-License-Identifier: Apache-2.0
 *
 * A struct st_named (resolve/named.h) while it is made: tables that grow, every text kept once. A failed
 * allocation sets `failed`; callers test once, at the end.
 */
#ifndef ST_RESOLVE_NAMES_H
#define ST_RESOLVE_NAMES_H

#include "base/map.h"
#include "resolve/named.h"
#include "store/text_table.h"

struct st_names {
	struct st_named named; /* what the caller sees; filled by st_names_finish */
	struct st_text_table texts;
	struct st_named_module *modules;
	struct st_named_function *functions;
	struct st_text *sources;
	struct st_named_frame *frames;
	uint32_t *frame_of_node;
	const char **notes;
	uint32_t module_count, module_capacity, function_count, function_capacity, source_count,
		source_capacity, frame_count, frame_capacity, node_count, note_count, note_capacity;
	struct st_id_map source_of_text;
	struct st_id_map module_of_path; /* by path and build id, as texts */
	bool failed;
};

/* With the empty module, function and source, and frame 0. NULL: no memory. */
struct st_names *st_names_create(uint32_t node_count);
void st_names_destroy(struct st_names *names);

struct st_text st_names_keep(struct st_names *names, const void *bytes, size_t size_bytes);
/* Index of a source by its path; 0 for no path. */
uint32_t st_names_source(struct st_names *names, const char *path, size_t size_bytes);
/* Index of the module of this path and build id; its name is the last part of the path. */
uint32_t st_names_module(struct st_names *names, struct st_text path, struct st_text build_id);
/* Appends; texts must be kept ones. 0: no memory. */
uint32_t st_names_function(struct st_names *names, const struct st_named_function *function);
uint32_t st_names_frame(struct st_names *names, const struct st_named_frame *frame);
void st_names_note(struct st_names *names, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Fills names->named and counts what has no name. */
void st_names_finish(struct st_names *names);

#endif
