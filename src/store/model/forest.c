// SPDX-License-Identifier: Apache-2.0
//
// From definitions to one forest of stack nodes (store/model/forest.h): runs of nodes are put in order, ids become
// numbers in the forest, and positions in Python codes become lines.
#include "store/model/forest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "store/model/model.h"
#include "format/sample_record.h"
#include "store/python_lines.h"

enum { INHERIT_DEPTH_MAX = 4096 };

/* By process and id; of the same ids the first told counts. */
static int by_ids(const void *a, const void *b)
{
	const struct st_node_run *x = a, *y = b;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	if (x->first_id != y->first_id)
		return x->first_id < y->first_id ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* The run of a process that holds an id, among the first count. */
static const struct st_node_run *run_of(const struct st_node_run *runs, uint32_t count,
					uint32_t process_id, uint32_t id)
{
	uint32_t low =
		ST_SEARCH(i, 0, count,
			  runs[i].process_id < process_id ||
				  (runs[i].process_id == process_id && runs[i].first_id <= id));

	if (!low || runs[low - 1].process_id != process_id ||
	    id - runs[low - 1].first_id >= runs[low - 1].count)
		return NULL;
	return &runs[low - 1];
}

uint32_t st_forest_node(const struct st_forest *forest, uint32_t process_id, uint32_t id,
			bool *broken)
{
	const struct st_node_run *run;
	uint32_t node;

	*broken = false;
	if (!id)
		return 0;
	run = run_of(forest->runs, forest->run_count, process_id, id);
	if (!run) {
		*broken = true;
		return 0;
	}
	node = run->at + (id - run->first_id);
	*broken = forest->broken && forest->broken[node];
	return node;
}

static bool allocate(struct st_forest *forest)
{
	size_t count = (size_t)forest->raw_count + 1;

	forest->parent = calloc(count, sizeof(*forest->parent));
	forest->process = calloc(count, sizeof(*forest->process));
	forest->line = calloc(count, sizeof(*forest->line));
	forest->value = calloc(count, sizeof(*forest->value));
	forest->kind = calloc(count, sizeof(*forest->kind));
	return forest->parent && forest->process && forest->line && forest->value && forest->kind;
}

/* The hole above a node, or above one of its callers, is remembered for the samples that pass there. */
static bool set_broken(struct st_forest *forest, uint32_t node)
{
	if (!forest->broken)
		forest->broken = calloc((size_t)forest->raw_count + 1, sizeof(*forest->broken));
	if (!forest->broken)
		return false;
	forest->broken[node] = true;
	return true;
}

/* One node into the forest; done: the runs that are there. */
static bool place_node(struct st_forest *forest, const struct st_node_run *own, uint32_t done,
		       const struct st_stack_node *raw)
{
	uint32_t node = forest->node_count++;
	bool broken = false;

	forest->kind[node] = raw->kind;
	forest->value[node] = raw->value;
	forest->parent[node] = 0;
	if (raw->parent >= own->first_id && raw->parent - own->first_id < own->count) {
		forest->parent[node] = own->at + (raw->parent - own->first_id);
	} else if (raw->parent) {
		const struct st_node_run *run =
			run_of(forest->runs, done, own->process_id, raw->parent);

		if (run)
			forest->parent[node] = run->at + (raw->parent - run->first_id);
		broken = !run;
	}
	broken = broken || (forest->broken && forest->broken[forest->parent[node]]);
	if (!broken)
		return true;
	forest->broken_nodes++;
	return set_broken(forest, node);
}

/* Runs are sorted, and those that follow each other become one; usually one a process is left. */
static bool place_runs(struct st_model *model)
{
	struct st_forest *forest = &model->forest;
	uint32_t done = 0;

	forest->node_count = 1;
	if (forest->run_count)
		qsort(forest->runs, forest->run_count, sizeof(*forest->runs), by_ids);
	for (uint32_t i = 0; i < forest->run_count; i++) {
		struct st_node_run run = forest->runs[i], *last = NULL, *into;
		uint32_t process = st_id_map_get(&model->process_index, run.process_id), skip = 0;

		if (done && forest->runs[done - 1].process_id == run.process_id)
			last = &forest->runs[done - 1];
		/* What was told before is told again, or tells something else: the first counts. */
		if (last && last->first_id + last->count > run.first_id)
			skip = last->first_id + last->count - run.first_id;
		skip = skip < run.count ? skip : run.count;
		forest->repeated_nodes += skip;
		if (skip == run.count)
			continue;
		into = last;
		if (!last || last->first_id + last->count < run.first_id) {
			into = &forest->runs[done++];
			*into = (struct st_node_run){.process_id = run.process_id,
						     .first_id = run.first_id,
						     .at = forest->node_count};
		}
		for (uint32_t n = skip; n < run.count; n++) {
			forest->process[forest->node_count] = process;
			if (!place_node(forest, into, done, &forest->raw[run.at + n]))
				return false;
			into->count++;
		}
	}
	forest->run_count = done;
	free(forest->raw);
	forest->raw = NULL;
	return true;
}

/* A code of a process, or of the one it was forked from; made up if nobody defines it. */
static uint32_t code_of(struct st_model *model, uint32_t process_id, uint32_t id)
{
	struct st_forest *forest = &model->forest;
	uint64_t key = st_id_pair(process_id, id);
	struct st_code_definition code = {.process_id = process_id};
	uint32_t at = st_id_map_get(&forest->code_index, key);
	char name[64];

	if (at != ST_ID_NONE)
		return at;
	for (uint32_t depth = 0, from = process_id; depth < INHERIT_DEPTH_MAX; depth++) {
		uint32_t index = st_id_map_get(&model->process_index, from);

		from = index == ST_ID_NONE ? 0 : model->more[index].ancestor_id;
		at = from ? st_id_map_get(&forest->code_index, st_id_pair(from, id)) : ST_ID_NONE;
		if (!from || at != ST_ID_NONE)
			break;
	}
	if (at == ST_ID_NONE) {
		snprintf(name, sizeof(name), "[Python code %" PRIu32 " not recorded]", id);
		code.name = st_model_add_text(model, name);
		if (!code.name)
			return ST_ID_NONE;
		forest->unknown_codes++;
	} else {
		code = forest->codes[at];
		code.process_id = process_id;
	}
	if (!ST_VEC_ROOM(forest->codes, forest->code_count, forest->code_capacity) ||
	    !st_id_map_put(&forest->code_index, key, forest->code_count))
		return ST_ID_NONE;
	forest->codes[forest->code_count] = code;
	return forest->code_count++;
}

/* The version of a process's interpreter, or of the one it was forked from; 0: not known. */
static uint32_t runtime_of(const struct st_model *model, uint32_t process_id)
{
	for (uint32_t depth = 0; process_id && depth < INHERIT_DEPTH_MAX; depth++) {
		uint32_t version = st_id_map_get(&model->forest.runtimes, process_id);
		uint32_t index = st_id_map_get(&model->process_index, process_id);

		if (version != ST_ID_NONE)
			return version;
		process_id = index == ST_ID_NONE ? 0 : model->more[index].ancestor_id;
	}
	return 0;
}

static uint32_t decode_line(const struct st_model *model, const struct st_code_definition *code,
			    uint32_t position)
{
	struct st_text bytes = st_text_table_get(&model->texts, code->line_table);
	struct st_python_line_table table = {.version = runtime_of(model, code->process_id),
					     .flags = code->flags,
					     .first_line = code->first_line,
					     .bytes = (const uint8_t *)bytes.bytes,
					     .size_bytes = bytes.size_bytes};
	/* The table's form is that of a version; the first line needs none. */
	bool is_readable = table.version || position == ST_PYTHON_POSITION_NONE;
	uint32_t line = is_readable ? st_python_line_of(&table, position) : 0;

	return line == ST_ID_NONE ? 0 : line;
}

/* Many nodes stand at the same place of the same code. */
static bool name_python(struct st_model *model)
{
	struct st_forest *forest = &model->forest;
	struct st_id_map lines = {0};
	bool ok = true;

	for (uint32_t node = 1; node < forest->node_count && ok; node++) {
		uint32_t process_id, position, code, line;
		uint64_t key;

		if ((forest->kind[node] & ST_FRAME_KIND_MASK) != ST_FRAME_PYTHON)
			continue;
		process_id = model->processes[forest->process[node]].id;
		position = (uint32_t)(forest->value[node] >> 32);
		code = code_of(model, process_id, (uint32_t)forest->value[node]);
		if (code == ST_ID_NONE) {
			ok = false;
			break;
		}
		key = st_id_pair(code, position);
		line = st_id_map_get(&lines, key);
		if (line == ST_ID_NONE) {
			line = decode_line(model, &forest->codes[code], position);
			ok = st_id_map_put(&lines, key, line);
		}
		forest->value[node] = code | (uint64_t)position << 32;
		forest->line[node] = line;
	}
	st_id_map_fini(&lines);
	return ok;
}

static bool make_codes(struct st_model *model)
{
	struct st_forest *forest = &model->forest;

	forest->python_codes =
		calloc((size_t)forest->code_count + 1, sizeof(*forest->python_codes));
	if (!forest->python_codes)
		return false;
	for (uint32_t i = 0; i < forest->code_count; i++) {
		const struct st_code_definition *code = &forest->codes[i];

		forest->python_codes[i] = (struct st_python_code){
			.process = st_id_map_get(&model->process_index, code->process_id),
			.first_line = code->first_line,
			.file = code->file,
			.name = code->name};
	}
	return true;
}

static void note_losses(struct st_model *model)
{
	const struct st_forest *forest = &model->forest;

	if (forest->broken_nodes)
		st_notes_add(&model->notes,
			     "%" PRIu64 " stack nodes lost their callers because of damage",
			     forest->broken_nodes);
	if (forest->repeated_nodes)
		st_notes_add(&model->notes, "%" PRIu64 " stack nodes are defined twice",
			     forest->repeated_nodes);
	if (forest->refused_nodes)
		st_notes_add(&model->notes, "too many stack nodes: %" PRIu64 " were dropped",
			     forest->refused_nodes);
	if (forest->unknown_codes)
		st_notes_add(&model->notes, "%" PRIu64 " Python functions have no recorded name",
			     forest->unknown_codes);
}

bool st_forest_finish(struct st_model *model)
{
	if (!allocate(&model->forest) || !place_runs(model) || !name_python(model) ||
	    !make_codes(model))
		return false;
	note_losses(model);
	return true;
}
