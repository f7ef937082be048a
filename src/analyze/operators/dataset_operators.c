// SPDX-License-Identifier: Apache-2.0
//
// Operators as a dataset: their keys, and the time that is their own.
#include "analyze/operators/dataset_operators.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/operator_turns.h"
#include "analyze/operators/dataset_tasks.h"
#include "analyze/operators/operator_texts.h"

/* What torch's profiler leaves out of its own tables. */
static bool is_helper(struct st_text name)
{
	return st_text_begins(name, "profiler::_record_function_") ||
	       st_text_equals(name, "aten::is_leaf") || st_text_equals(name, "aten::output_nr") ||
	       st_text_equals(name, "aten::_version");
}

static enum st_operator_label kind_of(const struct st_label *label, struct st_text name,
				      bool as_torch)
{
	if (label->from_itt)
		return ST_LABEL_ITT;
	if (st_category_is_torch(label->category))
		return as_torch && is_helper(name) ? ST_LABEL_HELPER : ST_LABEL_OPERATOR;
	if (label->category == ST_CATEGORY_MODULE)
		return ST_LABEL_MODULE;
	if (as_torch && st_category_is_call(label->category))
		return ST_LABEL_RUNTIME;
	if (as_torch && st_category_is_device(label->category))
		return ST_LABEL_DEVICE;
	if (st_category_is_execution(label->category) && !as_torch)
		return ST_LABEL_PRIMITIVE;
	return ST_LABEL_OTHER;
}

static bool map_labels(struct st_operator_rows *rows, bool as_torch)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(rows->result, &count);
	struct st_key_texts *keys = &rows->texts[ST_BY_OPERATOR];
	static const struct st_text step = {"ProfilerStep*", 13}; /* one of many to torch */

	rows->name_of = st_operators_column(rows, count, sizeof(*rows->name_of));
	rows->kind_of = st_operators_column(rows, count, sizeof(*rows->kind_of));
	rows->is_range = st_operators_column(rows, count, sizeof(*rows->is_range));
	if (!rows->name_of || !rows->kind_of || !rows->is_range)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct st_text name = st_result_text(rows->result, labels[i].name);
		bool is_step = as_torch && labels[i].category == ST_CATEGORY_STEP;

		rows->kind_of[i] = (uint8_t)kind_of(&labels[i], name, as_torch);
		rows->is_range[i] = st_category_is_range(labels[i].category) && !labels[i].from_itt;
		rows->has_modules = rows->has_modules || rows->kind_of[i] == ST_LABEL_MODULE;
		rows->name_of[i] = st_key_texts_add(keys, is_step ? step : name);
	}
	return !keys->failed;
}

static void set_signature(struct st_operator_rows *rows, uint32_t row,
			  const struct st_operator *item)
{
	if (item->signature < rows->signature_count)
		rows->signature[row] = item->signature;
	rows->sequence[row] = item->sequence;
	rows->stack[row] = item->stack;
	rows->has_stacks = rows->has_stacks || item->stack;
}

/* Columns of zeros take no memory before something else is written. */
static bool set_signatures(struct st_operator_rows *rows)
{
	const struct st_signature *signatures =
		st_result_signatures(rows->result, &rows->signature_count);
	uint32_t count, at = 0;
	const struct st_operator *items = st_result_operators(rows->result, &count);
	bool has_sequences = count || rows->as_torch;

	for (uint32_t i = 0; i < rows->signature_count; i++)
		rows->has_inputs = rows->has_inputs || (signatures[i].flags & ST_SIGNATURE_INPUTS &&
							signatures[i].scope != ST_SCOPE_MODULE);
	rows->signature = st_operators_column(rows, rows->count, sizeof(*rows->signature));
	rows->stack = st_operators_column(rows, rows->count, sizeof(*rows->stack));
	if (has_sequences)
		rows->sequence = st_operators_column(rows, rows->count, sizeof(*rows->sequence));
	if (!rows->signature || !rows->stack || (has_sequences && !rows->sequence))
		return false;
	for (uint32_t row = 0; rows->signature_count && row < rows->count; row++)
		rows->signature[row] = rows->signature_count;
	for (uint32_t row = 0; rows->sequence && row < rows->count; row++)
		rows->sequence[row] = ST_NO_SEQUENCE;
	/* Both lie by slice. */
	for (uint32_t row = 0; row < rows->count && at < count; row++) {
		if (st_row_is_call(rows, row))
			continue;
		while (at < count && items[at].row < rows->slice[row])
			at++;
		if (at < count && items[at].row == rows->slice[row])
			set_signature(rows, row, &items[at]);
	}
	return true;
}

static uint64_t part_ns(const struct st_dataset *dataset, uint32_t row, int64_t begin_ns,
			int64_t end_ns)
{
	const struct st_operator_rows *rows = dataset->private_data;

	if (begin_ns == rows->begin_ns[row] && end_ns == rows->end_ns[row])
		return st_result_wall_ns(rows->result, rows->slice[row]);
	return st_pause_list_recorded(&rows->pauses, st_key_of(&dataset->keys[ST_BY_PROCESS], row),
				      begin_ns, end_ns);
}

static uint64_t wall_ns(const struct st_dataset *dataset, uint32_t row, int64_t end_ns)
{
	if (end_ns <= dataset->begin_ns[row])
		return 0;
	if (dataset->flags[row] & dataset->slow_flags)
		return part_ns(dataset, row, dataset->begin_ns[row], end_ns);
	return (uint64_t)(end_ns - dataset->begin_ns[row]);
}

/* One that ends behind what is around it takes only what lies inside. Among calls what is around what is as torch has it:
 * two that lie in the same one may overlap, and then take more than there was; the sum of all is right. */
static void set_self(const struct st_dataset *dataset, struct st_operator_rows *rows)
{
	uint64_t *self_ns = rows->own.self_ns;

	for (uint32_t row = 0; self_ns && row < rows->count; row++) {
		uint32_t up = rows->parent[row];
		int64_t end_ns = rows->end_ns[row];
		uint64_t inside_ns;

		self_ns[row] = wall_ns(dataset, row, end_ns);
		if (up == ST_NO_ROW)
			continue;
		inside_ns = wall_ns(dataset, row,
				    end_ns < rows->end_ns[up] ? end_ns : rows->end_ns[up]);
		if (!rows->has_calls && inside_ns > self_ns[up])
			inside_ns = self_ns[up];
		self_ns[up] -= inside_ns;
	}
}

static bool set_tracks(struct st_dataset *dataset, struct st_operator_rows *rows)
{
	uint32_t count, process_count;
	const struct st_track *tracks = st_result_tracks(rows->result, &count);
	struct st_row_span *spans = st_operators_column(rows, count, sizeof(*spans));
	uint32_t *map = st_operators_column(rows, count, sizeof(*map));

	if (!spans || !map)
		return false;
	st_result_processes(rows->result, &process_count);
	for (uint32_t i = 0; i < count; i++)
		map[i] = tracks[i].process;
	for (uint32_t row = 0; row < rows->count; row++) {
		struct st_row_span *span = &spans[rows->track[row]];

		if (span->begin == span->end)
			span->begin = row;
		span->end = row + 1;
	}
	dataset->tracks = spans;
	dataset->track_count = count;
	dataset->keys[ST_BY_PROCESS] = st_keys(rows->track, map, process_count);
	dataset->keys[ST_BY_THREAD] = st_keys(rows->track, NULL, count);
	return true;
}

static struct st_text operator_text(const struct st_dataset *dataset, enum st_grouping grouping,
				    uint32_t key, struct st_arena *arena)
{
	const struct st_operator_rows *rows = dataset->private_data;

	if (grouping == ST_BY_PROCESS)
		return st_place_process(rows->result, key, arena);
	if (grouping == ST_BY_THREAD)
		return st_place_thread(rows->result, key, arena);
	if (grouping == ST_BY_INSTANCE) {
		key = st_key_of(&dataset->keys[ST_BY_OPERATOR], key);
		grouping = ST_BY_OPERATOR;
	}
	return rows->texts[grouping].texts[key];
}

static bool operator_alias(const struct st_dataset *dataset, enum st_grouping grouping,
			   uint32_t key, unsigned int index, struct st_text *out,
			   struct st_arena *arena)
{
	const struct st_operator_rows *rows = dataset->private_data;

	return st_place_alias(rows->result, grouping, key, index, out, arena);
}

static struct st_text signature_text(struct st_operator_rows *rows,
				     const struct st_signature *signature,
				     enum st_grouping grouping)
{
	const char *word;

	if (grouping == ST_BY_INPUT_SHAPES)
		return st_operator_inputs_shown(
			signature, rows->as_torch ? ST_INPUTS_TORCH_SHAPES : ST_INPUTS_SHAPES,
			&rows->arena);
	if (grouping == ST_BY_INPUT_TYPES)
		return st_operator_inputs_shown(signature, ST_INPUTS_TYPES, &rows->arena);
	word = st_operator_scope_text(signature->scope);
	return (struct st_text){word, strlen(word)};
}

/* Signatures that look the same in this grouping are one key; the last is "no signature". */
static bool map_signatures(struct st_dataset *dataset, enum st_grouping grouping)
{
	static const struct st_text unknown = {"[unknown]", 9};
	struct st_operator_rows *rows = dataset->private_data;
	struct st_key_texts *keys = &rows->texts[grouping];
	uint32_t count;
	const struct st_signature *signatures = st_result_signatures(rows->result, &count);
	uint32_t *map = st_operators_column(rows, count, sizeof(*map));

	if (!map)
		return false;
	for (uint32_t i = 0; i < count; i++)
		map[i] = st_key_texts_add(keys, signature_text(rows, &signatures[i], grouping));
	map[count] = st_key_texts_add(keys, unknown);
	dataset->keys[grouping] = st_keys(rows->signature, map, keys->count);
	return !keys->failed && !rows->arena.failed;
}

/* Steps are found among all tasks. */
static bool add_steps(struct st_dataset *dataset, struct st_operator_rows *rows)
{
	struct st_key_texts *keys = &rows->texts[ST_BY_STEP];
	uint32_t *steps = st_operators_column(rows, rows->count, sizeof(*steps));
	struct st_step_keys found = {0};
	struct st_dataset slices;
	bool done;

	if (!steps || st_dataset_slices_init(&slices, rows->result, NULL))
		return false;
	done = st_dataset_add_steps(&slices, rows->result, keys, &rows->arena, &found);
	for (uint32_t row = 0; done && row < rows->count; row++)
		steps[row] = st_key_of(&slices.keys[ST_BY_STEP], rows->slice[row]);
	dataset->keys[ST_BY_STEP] = st_keys(steps, NULL, keys->count);
	st_step_list_fini(&found.list);
	st_dataset_slices_fini(&slices);
	return done;
}

/* What their slices are as tasks; labels of calls, which are behind the others, have a name only. */
static bool map_tasks(struct st_dataset *dataset, enum st_grouping grouping)
{
	struct st_operator_rows *rows = dataset->private_data;
	struct st_key_texts *keys = &rows->texts[grouping];
	uint32_t count, end = 0;
	const struct st_label *labels = st_result_labels(rows->result, &count);
	uint32_t *map;

	for (uint32_t row = 0; row < rows->count; row++)
		end = rows->label[row] >= end ? rows->label[row] + 1 : end;
	map = st_operators_column(rows, end, sizeof(*map));
	for (uint32_t i = 0; map && i < end; i++)
		map[i] = st_key_texts_add(
			keys, i < count ? st_label_text(rows->result, &labels[i], grouping)
					: rows->texts[ST_BY_OPERATOR].texts[rows->name_of[i]]);
	dataset->keys[grouping] = st_keys(rows->label, map, keys->count);
	return map && !keys->failed;
}

static bool operator_prepare(struct st_dataset *dataset, enum st_grouping grouping)
{
	struct st_operator_rows *rows = dataset->private_data;

	switch (grouping) {
	case ST_BY_INPUT_SHAPES:
	case ST_BY_INPUT_TYPES:
	case ST_BY_OPERATOR_SCOPE:
		return map_signatures(dataset, grouping);
	case ST_BY_NN_MODULE:
		return st_operators_add_modules(dataset, rows);
	case ST_BY_PYTHON_LINE:
	case ST_BY_PYTHON_FUNCTION:
	case ST_BY_CALLSTACK:
		return st_operators_add_stacks(dataset, rows, grouping);
	case ST_BY_STEP:
		return add_steps(dataset, rows);
	case ST_BY_CATEGORY:
	case ST_BY_TASK_DOMAIN:
	case ST_BY_TASK_TYPE:
	case ST_BY_TASK_FAMILY:
		return map_tasks(dataset, grouping);
	default:
		return true;
	}
}

struct st_set st_dataset_operators_answers(void)
{
	return ST_SET(ST_BY_PROCESS, ST_BY_THREAD, ST_BY_STEP, ST_BY_INSTANCE, ST_BY_OPERATOR,
		      ST_BY_INPUT_SHAPES, ST_BY_INPUT_TYPES, ST_BY_NN_MODULE, ST_BY_OPERATOR_SCOPE,
		      ST_BY_PYTHON_LINE, ST_BY_PYTHON_FUNCTION, ST_BY_CALLSTACK);
}

struct st_set st_dataset_operators_filters(void)
{
	return ST_SET(ST_BY_TASK, ST_BY_CATEGORY, ST_BY_TASK_DOMAIN, ST_BY_TASK_TYPE,
		      ST_BY_TASK_FAMILY);
}

static struct st_set groupings_of(const struct st_operator_rows *rows)
{
	struct st_set set = st_dataset_operators_answers();

	if (!rows->has_inputs) {
		st_set_remove(&set, ST_BY_INPUT_SHAPES);
		st_set_remove(&set, ST_BY_INPUT_TYPES);
	}
	if (!rows->has_stacks) {
		st_set_remove(&set, ST_BY_PYTHON_LINE);
		st_set_remove(&set, ST_BY_PYTHON_FUNCTION);
		st_set_remove(&set, ST_BY_CALLSTACK);
	}
	if (!rows->has_modules)
		st_set_remove(&set, ST_BY_NN_MODULE);
	return set;
}

static bool scale(struct st_dataset *out, const struct st_operator_rows *rows)
{
	struct st_scaled_rows scaled = {.count = rows->count,
					.slice = rows->slice,
					.parent = rows->parent,
					.self_ns = out->self_ns};

	if (!st_scaled_rows_make(&scaled, rows->result, out->arena))
		return false;
	out->times = scaled.times;
	out->times_ns = scaled.times_ns;
	out->more_self_ns = scaled.more_self_ns;
	return true;
}

static bool make(struct st_dataset *out, struct st_operator_rows *rows,
		 const struct st_operator_choice *choice)
{
	if (!st_pause_list_make(&rows->pauses, rows->result, &rows->arena) ||
	    !map_labels(rows, choice->as_torch) || !st_operators_pick(rows, choice))
		return false;
	if (choice->as_torch && choice->with_calls && !st_operators_add_calls(rows, choice))
		return false;
	if (choice->as_torch && !st_operators_fold(rows))
		return false;
	if (!set_signatures(rows))
		return false;
	out->row_count = rows->count;
	out->begin_ns = rows->begin_ns;
	out->end_ns = rows->end_ns;
	out->self_ns = rows->self_ns;
	out->parent = rows->parent;
	out->track = rows->track;
	out->flags = rows->flags;
	out->numbers = rows->slice;
	out->answers = groupings_of(rows);
	out->filters = st_dataset_operators_filters();
	out->keys[ST_BY_OPERATOR] =
		st_keys(rows->label, rows->name_of, rows->texts[ST_BY_OPERATOR].count);
	out->keys[ST_BY_INSTANCE] = st_keys(NULL, NULL, rows->count);
	if (!set_tracks(out, rows))
		return false;
	set_self(out, rows);
	return choice->as_torch || scale(out, rows);
}

enum st_status st_dataset_operators_choose(struct st_dataset *out, const struct st_result *result,
					   const struct st_operator_choice *choice,
					   struct st_error *err)
{
	struct st_operator_rows *rows = calloc(1, sizeof(*rows));

	memset(out, 0, sizeof(*out));
	if (!rows)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for operators");
	rows->result = result;
	rows->as_torch = choice->as_torch;
	st_arena_init(&rows->arena, SIZE_MAX / 2);
	*out = (struct st_dataset){
		.private_data = rows,
		.arena = &rows->arena,
		.measures = st_wall_measures,
		.measure_count = ST_WALL_MEASURES,
		.sorted_by = ST_WALL_TOTAL,
		.total = ST_WALL_TOTAL,
		.slow_flags = ST_SLICE_CLIPPED,
		.loose_flags = ST_SLICE_MISMATCHED,
		.uncounted_flags = ST_SLICE_COPY,
		.instance = ST_BY_INSTANCE,
		.named_by = ST_BY_OPERATOR,
		.part_ns = part_ns,
		.text = operator_text,
		.alias = operator_alias,
		.prepare = operator_prepare,
	};
	if (make(out, rows, choice))
		return ST_OK;
	st_dataset_operators_fini(out);
	return st_error_set(err, ST_ENOMEM, 0, "out of memory for operators");
}

enum st_status st_dataset_operators_init(struct st_dataset *out, const struct st_result *result,
					 bool as_torch, struct st_error *err)
{
	return st_dataset_operators_choose(out, result,
					   &(struct st_operator_choice){.as_torch = as_torch}, err);
}

void st_dataset_operators_fini(struct st_dataset *dataset)
{
	struct st_operator_rows *rows = dataset ? dataset->private_data : NULL;

	if (!rows)
		return;
	for (unsigned int i = 0; i < ST_GROUPINGS; i++)
		st_key_texts_fini(&rows->texts[i]);
	st_arena_fini(&rows->arena);
	free(rows);
	memset(dataset, 0, sizeof(*dataset));
}

const struct st_operator_rows *st_dataset_operators(const struct st_dataset *dataset)
{
	return dataset->private_data;
}
