// SPDX-License-Identifier: Apache-2.0
//
// Bodies of the definitions of sampling (store/model/forest.h), read with the bounded cursor.
#include "store/model/forest.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "store/model/model.h"

enum {
	LIST_MAX = 1 << 22,
	NODES_MAX = 1 << 25, /* half a gigabyte of them; far beyond what the collector interns */
};

bool st_forest_load_nodes(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	struct st_forest *forest = &model->forest;
	struct st_node_run run = {.process_id = process_id, .at = forest->raw_count};
	struct st_node_decoder decoder;
	struct st_stack_node node;
	uint32_t id;

	if (!st_node_decoder_init(&decoder, body))
		return true;
	while (st_node_decoder_next(&decoder, &id, &node)) {
		if (forest->raw_count >= NODES_MAX) {
			forest->refused_nodes += decoder.left + 1;
			break;
		}
		if (!ST_VEC_PUSH(forest->raw, forest->raw_count, forest->raw_capacity, node))
			return false;
		if (!run.count++)
			run.first_id = id;
	}
	body->failed |= decoder.body.failed;
	if (!run.count)
		return true;
	return ST_VEC_PUSH(forest->runs, forest->run_count, forest->run_capacity, run);
}

bool st_forest_load_code(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	struct st_forest *forest = &model->forest;
	struct st_code_definition code = {.process_id = process_id};
	uint32_t id = st_cursor_u32(body), known;
	struct st_text file, name, line_table;

	code.first_line = st_cursor_u32(body);
	code.flags = st_cursor_u32(body);
	file = st_cursor_text(body);
	name = st_cursor_text(body);
	line_table = st_cursor_text(body);
	if (body->failed || forest->code_count >= LIST_MAX)
		return true;
	if (!st_model_keep_text(model, file, &code.file) ||
	    !st_model_keep_text(model, name, &code.name) ||
	    !st_model_keep_text(model, line_table, &code.line_table))
		return false;
	/* Every file of a ring buffer has those that it needs. */
	known = st_id_map_get(&forest->code_index, st_id_pair(process_id, id));
	if (known != ST_ID_NONE) {
		forest->codes[known] = code;
		return true;
	}
	if (!ST_VEC_ROOM(forest->codes, forest->code_count, forest->code_capacity) ||
	    !st_id_map_put(&forest->code_index, st_id_pair(process_id, id), forest->code_count))
		return false;
	forest->codes[forest->code_count++] = code;
	return true;
}

static struct st_sampler_definition *sampler_of(struct st_forest *forest, uint32_t process_id)
{
	uint32_t at = st_id_map_get(&forest->sampler_index, process_id);

	if (at != ST_ID_NONE)
		return &forest->samplers[at];
	at = forest->sampler_count;
	if (!ST_VEC_ROOM(forest->samplers, at, forest->sampler_capacity) ||
	    !st_id_map_put(&forest->sampler_index, process_id, at))
		return NULL;
	forest->samplers[at] = (struct st_sampler_definition){.process_id = process_id};
	forest->sampler_count++;
	return &forest->samplers[at];
}

bool st_forest_load_sampler(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	struct st_sampler told = {0};
	struct st_sampler_definition *sampler;
	struct st_text why;

	told.rung = (enum st_sampler_rung)st_cursor_u32(body);
	told.trigger = (enum st_sampler_trigger)st_cursor_u32(body);
	told.flags = st_cursor_u32(body);
	st_cursor_u32(body);
	told.period_ns = st_cursor_u64(body);
	st_model_saw_time(model, st_cursor_u64(body));
	why = st_cursor_text(body);
	if (body->failed)
		return true;
	sampler = sampler_of(&model->forest, process_id);
	if (!sampler || !st_model_keep_text(model, why, &told.why))
		return false;
	sampler->sampler.rung = told.rung;
	sampler->sampler.trigger = told.trigger;
	sampler->sampler.flags = told.flags;
	sampler->sampler.period_ns = told.period_ns;
	sampler->sampler.why = told.why;
	return true;
}

bool st_forest_load_loss(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	struct st_sampler_definition *sampler, told = {0};

	told.sampler.dropped = st_cursor_u64(body);
	told.sampler.not_taken = st_cursor_u64(body);
	told.handler_ticks = st_cursor_u64(body);
	told.sampler.nodes_refused = st_cursor_u64(body);
	told.sampler.before_tables = st_cursor_u64(body);
	told.sampler.build_ns = st_cursor_u64(body);
	told.sampler.tables_built = st_cursor_u64(body);
	told.sampler.tables_cached = st_cursor_u64(body);
	if (body->failed)
		return true;
	sampler = sampler_of(&model->forest, process_id);
	if (!sampler)
		return false;
	sampler->handler_ticks = told.handler_ticks;
	sampler->sampler.dropped = told.sampler.dropped;
	sampler->sampler.not_taken = told.sampler.not_taken;
	sampler->sampler.nodes_refused = told.sampler.nodes_refused;
	sampler->sampler.before_tables = told.sampler.before_tables;
	sampler->sampler.build_ns = told.sampler.build_ns;
	sampler->sampler.tables_built = told.sampler.tables_built;
	sampler->sampler.tables_cached = told.sampler.tables_cached;
	return true;
}

bool st_forest_load_creator(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	struct st_forest *forest = &model->forest;
	struct st_creator_definition creator = {.process_id = process_id};

	creator.tid = st_cursor_u32(body);
	creator.creator_tid = st_cursor_u32(body);
	creator.ticks = st_cursor_u64(body);
	if (body->failed || forest->creator_count >= LIST_MAX)
		return true;
	st_model_saw_time(model, creator.ticks);
	return ST_VEC_PUSH(forest->creators, forest->creator_count, forest->creator_capacity,
			   creator);
}

bool st_forest_load_runtime(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	uint32_t version = st_cursor_u32(body);

	/* The last value that a map can hold stands for none. */
	if (body->failed || version == ST_ID_NONE)
		return true;
	return st_id_map_put(&model->forest.runtimes, process_id, version);
}

void st_forest_fini(struct st_forest *forest)
{
	free(forest->raw);
	free(forest->runs);
	free(forest->codes);
	st_id_map_fini(&forest->code_index);
	st_id_map_fini(&forest->runtimes);
	free(forest->creators);
	free(forest->samplers);
	st_id_map_fini(&forest->sampler_index);
	free(forest->parent);
	free(forest->process);
	free(forest->line);
	free(forest->value);
	free(forest->kind);
	free(forest->broken);
	free(forest->python_codes);
	memset(forest, 0, sizeof(*forest));
}
