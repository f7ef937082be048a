// SPDX-License-Identifier: Apache-2.0
//
// Report "memory": what held the memory of a framework's allocator at its peak. Rows are the blocks held at that
// time, grouped by the operator that allocated them: the outermost one, because "aten::empty" says nothing, and by
// the module that it belongs to.
#include "analyze/reports/report_memory.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/operators/dataset_operators.h"
#include "analyze/reports/report_kinds.h"
#include "analyze/tables/report_make.h"

enum { HELD, SHARE, KEPT, LARGEST, GROUP_COLUMNS };

static const struct st_column group_columns[GROUP_COLUMNS] = {
	[HELD] = {"held_bytes", "Held at Peak", "bytes", false},
	[SHARE] = {"held_ratio", "Held %", "ratio", false},
	[KEPT] = {"kept_bytes", "Kept to the End", "bytes", false},
	[LARGEST] = {"largest_bytes", "Largest Block", "bytes", false},
};

enum { NAME_WIDTH = 32 };

struct holders {
	const struct st_result *result;
	struct st_arena arena;
	struct st_dataset operators;
	const struct st_memory_block **blocks; /* held at the peak, by track and begin */
	uint32_t count;
	uint32_t *row,
		*owner; /* of operators: the innermost around it, and the outermost; or ST_NO_ROW */
	uint32_t *slice, *track, *parent;
	int64_t *begin_ns, *end_ns;
	uint64_t *self_ns;
	uint16_t *flags;
};

static int by_track(const void *a, const void *b)
{
	const struct st_memory_block *x = *(const struct st_memory_block *const *)a;
	const struct st_memory_block *y = *(const struct st_memory_block *const *)b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Whether a row says who wanted memory: neither a range of the program nor what autograd runs nodes in. */
static bool is_owner(const struct st_operator_rows *rows, uint32_t row)
{
	static const char wrapper[] = "autograd::engine::evaluate_function: ";
	uint32_t count;
	const struct st_signature *signatures = st_result_signatures(rows->result, &count);
	struct st_text name;

	if (rows->signature[row] >= count ||
	    signatures[rows->signature[row]].scope == ST_SCOPE_USER)
		return false;
	name = st_result_text(rows->result, signatures[rows->signature[row]].name);
	return name.size_bytes < sizeof(wrapper) - 1 ||
	       memcmp(name.bytes, wrapper, sizeof(wrapper) - 1) != 0;
}

/* The outermost of them around a row; the row itself when there is none. */
static uint32_t owner_of(const struct st_operator_rows *rows, uint32_t row)
{
	uint32_t found = row;

	for (; row != ST_NO_ROW; row = rows->parent[row]) {
		if (is_owner(rows, row))
			found = row;
	}
	return found;
}

static bool make_rows(struct holders *holders, const struct st_memory_blocks *blocks,
		      const struct st_memory_peak *peak)
{
	const struct st_operator_rows *rows = st_dataset_operators(&holders->operators);
	struct st_arena *arena = &holders->arena;
	size_t most = (size_t)blocks->count + 1;

	holders->blocks = st_arena_calloc(arena, most, sizeof(*holders->blocks));
	for (uint32_t i = 0; holders->blocks && i < blocks->count; i++) {
		if (st_memory_block_is_held(&blocks->items[i], peak->time_ns))
			holders->blocks[holders->count++] = &blocks->items[i];
	}
	most = (size_t)holders->count + 1;
	holders->row = st_arena_calloc(arena, most, sizeof(*holders->row));
	holders->owner = st_arena_calloc(arena, most, sizeof(*holders->owner));
	holders->slice = st_arena_calloc(arena, most, sizeof(*holders->slice));
	holders->track = st_arena_calloc(arena, most, sizeof(*holders->track));
	holders->parent = st_arena_calloc(arena, most, sizeof(*holders->parent));
	holders->begin_ns = st_arena_calloc(arena, most, sizeof(*holders->begin_ns));
	holders->end_ns = st_arena_calloc(arena, most, sizeof(*holders->end_ns));
	holders->self_ns = st_arena_calloc(arena, most, sizeof(*holders->self_ns));
	holders->flags = st_arena_calloc(arena, most, sizeof(*holders->flags));
	if (arena->failed)
		return false;
	qsort(holders->blocks, holders->count, sizeof(const void *), by_track);
	for (uint32_t i = 0; i < holders->count; i++) {
		const struct st_memory_block *block = holders->blocks[i];

		holders->row[i] =
			block->slice == ST_NO_ROW ? ST_NO_ROW : rows->row_of_slice[block->slice];
		holders->owner[i] =
			holders->row[i] == ST_NO_ROW ? ST_NO_ROW : owner_of(rows, holders->row[i]);
		holders->slice[i] = block->slice;
		holders->track[i] = block->track;
		holders->parent[i] = ST_NO_ROW;
		holders->begin_ns[i] = holders->end_ns[i] = block->begin_ns;
	}
	return true;
}

/* The keys of the operators' own dataset, and one more for blocks that no operator took. */
static bool holders_prepare(struct st_dataset *dataset, enum st_grouping grouping)
{
	struct holders *holders = dataset->private_data;
	struct st_filter any = {grouping, false, "*"}; /* some can only be filtered by */
	struct st_question question = {.filters = &any, .filter_count = 1};
	const uint32_t *rows = grouping == ST_BY_NN_MODULE ? holders->row : holders->owner;
	uint32_t *keys =
		st_arena_calloc(&holders->arena, (size_t)holders->count + 1, sizeof(*keys));
	const struct st_key_column *from = &holders->operators.keys[grouping];

	if (!keys || st_dataset_prepare(&holders->operators, &question, NULL))
		return false;
	for (uint32_t i = 0; i < holders->count; i++)
		keys[i] = rows[i] == ST_NO_ROW ? from->key_count : st_key_of(from, rows[i]);
	dataset->keys[grouping] = st_keys(keys, NULL, from->key_count + 1);
	return true;
}

static struct st_text holders_text(const struct st_dataset *dataset, enum st_grouping grouping,
				   uint32_t key, struct st_arena *arena)
{
	static const struct st_text none = {"[no operator]", 13};
	const struct holders *holders = dataset->private_data;

	if (grouping == ST_BY_PROCESS)
		return st_place_process(holders->result, key, arena);
	if (grouping == ST_BY_THREAD)
		return st_place_thread(holders->result, key, arena);
	if (grouping == ST_BY_INSTANCE) {
		grouping = ST_BY_OPERATOR;
		key = holders->owner[key] == ST_NO_ROW
			      ? holders->operators.keys[grouping].key_count
			      : st_key_of(&holders->operators.keys[grouping], holders->owner[key]);
	}
	if (key >= holders->operators.keys[grouping].key_count)
		return none;
	return holders->operators.text(&holders->operators, grouping, key, arena);
}

static bool holders_alias(const struct st_dataset *dataset, enum st_grouping grouping, uint32_t key,
			  unsigned int index, struct st_text *out, struct st_arena *arena)
{
	const struct holders *holders = dataset->private_data;

	return st_place_alias(holders->result, grouping, key, index, out, arena);
}

static bool set_places(struct st_dataset *dataset, struct holders *holders)
{
	uint32_t count, process_count;
	const struct st_track *tracks = st_result_tracks(holders->result, &count);
	struct st_row_span *spans =
		st_arena_calloc(&holders->arena, (size_t)count + 1, sizeof(*spans));
	uint32_t *map = st_arena_calloc(&holders->arena, (size_t)count + 1, sizeof(*map));

	if (!spans || !map)
		return false;
	st_result_processes(holders->result, &process_count);
	for (uint32_t i = 0; i < count; i++)
		map[i] = tracks[i].process;
	for (uint32_t i = 0; i < holders->count; i++) {
		struct st_row_span *span = &spans[holders->track[i]];

		if (span->begin == span->end)
			span->begin = i;
		span->end = i + 1;
	}
	dataset->tracks = spans;
	dataset->track_count = count;
	dataset->keys[ST_BY_PROCESS] = st_keys(holders->track, map, process_count);
	dataset->keys[ST_BY_THREAD] = st_keys(holders->track, NULL, count);
	dataset->keys[ST_BY_INSTANCE] = st_keys(NULL, NULL, holders->count);
	return true;
}

static bool make_dataset(struct st_dataset *out, struct holders *holders)
{
	*out = (struct st_dataset){.row_count = holders->count,
				   .begin_ns = holders->begin_ns,
				   .end_ns = holders->end_ns,
				   .self_ns = holders->self_ns,
				   .parent = holders->parent,
				   .track = holders->track,
				   .flags = holders->flags,
				   .numbers = holders->slice,
				   .answers = holders->operators.answers,
				   .filters = holders->operators.filters,
				   .measures = st_memory_measures,
				   .measure_count = ST_MEMORY_MEASURES,
				   .sorted_by = ST_HELD,
				   .instance = ST_BY_INSTANCE,
				   .named_by = ST_BY_OPERATOR,
				   .prepare = holders_prepare,
				   .text = holders_text,
				   .alias = holders_alias,
				   .arena = &holders->arena,
				   .private_data = holders};
	return set_places(out, holders);
}

static const struct st_memory_block *block_of(const struct st_dataset *dataset, uint32_t row)
{
	const struct holders *holders = dataset->private_data;

	return holders->blocks[row];
}

static uint64_t read_held(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	(void)arg;
	return block_of(dataset, row)->bytes;
}

static uint64_t read_kept(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	return block_of(dataset, row)->end_ns == INT64_MAX ? read_held(dataset, row, arg) : 0;
}

const struct st_measure st_memory_measures[ST_MEMORY_MEASURES] = {
	{ST_COUNT, "count", "count", "Blocks", "", ST_FOLD_COUNT, .derive = st_derive_count},
	{ST_HELD, "held", "held_bytes", "Held at Peak", "bytes", ST_FOLD_SUM, .read = read_held},
	{ST_KEPT, NULL, "kept_bytes", "Kept to the End", "bytes", ST_FOLD_SUM, .read = read_kept},
	{ST_LARGEST, NULL, "largest_bytes", "Largest Block", "bytes", ST_FOLD_MAX,
	 .read = read_held},
};

static void set_cells(struct st_cell *cells, const struct st_answer_row *row, uint64_t all)
{
	uint64_t held = st_answer_value(row, ST_HELD);

	cells[HELD] = st_cell_u64(held);
	cells[SHARE] = st_cell_double(all ? (double)held / (double)all : 0.0);
	cells[KEPT] = st_cell_u64(st_answer_value(row, ST_KEPT));
	cells[LARGEST] = st_cell_u64(st_answer_value(row, ST_LARGEST));
}

static const struct st_column instance_columns[] = {
	{"start_ns", "Taken", "ns", false},	{"end_ns", "Given Back", "ns", false},
	{"size_bytes", "Size", "bytes", false}, {"row", "Row", "", false},
	{"process", "Process", "", true},	{"thread", "Thread", "", true},
};
enum { INSTANCE_COLUMNS = sizeof(instance_columns) / sizeof(instance_columns[0]) };

static void instance_cells(struct st_report *report, const struct holders *holders,
			   struct st_cell *cells, uint32_t row)
{
	const struct st_memory_block *block = holders->blocks[row];
	struct st_arena *arena = st_report_arena(report);

	cells[0] = st_cell_i64(block->begin_ns);
	if (block->end_ns != INT64_MAX)
		cells[1] = st_cell_i64(block->end_ns);
	cells[2] = st_cell_u64(block->bytes);
	if (block->slice != ST_NO_ROW)
		cells[3] = st_cell_u64(block->slice);
	cells[4] = st_cell_bytes(st_place_process(holders->result, block->process, arena));
	cells[5] = st_cell_bytes(st_place_thread(holders->result, block->track, arena));
}

static enum st_status fill(struct st_report *out, const struct st_dataset *dataset,
			   struct st_question *question, uint64_t peak_bytes, struct st_error *err)
{
	static const char *const titles[ST_METRICS] = {[ST_COUNT] = "Blocks"};
	bool single = question->groupings[question->grouping_count - 1] == ST_BY_INSTANCE;
	struct st_report_layout layout = {.question = question,
					  .extra = single ? instance_columns : group_columns,
					  .extra_count = single ? INSTANCE_COLUMNS : GROUP_COLUMNS,
					  .titles = titles};
	const struct st_answer *shown;
	struct st_answer answer;
	enum st_status status;

	question->metrics = single ? (struct st_set){{0}} : ST_SET(ST_COUNT);
	status = st_dataset_ask(dataset, question, &answer, err);
	if (status)
		return status;
	st_report_from_answer(out, &answer, &layout);
	shown = st_report_answer(out);
	if (!out->rows || st_report_arena(out)->failed)
		return ST_OK; /* st_report_end says it */
	for (uint32_t i = 0; i < out->row_count; i++) {
		struct st_cell *cells = out->rows[i].cells + st_report_behind_index(&layout);

		if (!single)
			set_cells(cells, &shown->rows[i], peak_bytes);
		else if (shown->rows[i].slice != ST_NO_ROW)
			instance_cells(out, dataset->private_data, cells, shown->rows[i].slice);
	}
	if (!single)
		set_cells(out->totals.cells + st_report_behind_index(&layout), &shown->total,
			  peak_bytes);
	return ST_OK;
}

static enum st_status build(struct st_report *out, const struct st_memory_view *view,
			    struct holders *holders, const struct st_report_options *options,
			    struct st_error *err)
{
	struct st_question question = options->question;
	struct st_dataset dataset;
	enum st_status status;

	if (!make_rows(holders, &view->blocks, &view->peak) || !make_dataset(&dataset, holders))
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the blocks");
	if (!question.grouping_count && st_set_has(holders->operators.answers, ST_BY_NN_MODULE))
		question.groupings[question.grouping_count++] = ST_BY_NN_MODULE;
	if (!options->question.grouping_count)
		question.groupings[question.grouping_count++] = ST_BY_OPERATOR;
	question.has_time_range = false; /* it has said which peak */
	status = st_dataset_prepare(&dataset, &question, err);
	if (!status)
		status = fill(out, &dataset, &question, view->peak.bytes, err);
	return status;
}

enum st_status st_report_memory_build(const struct st_report_kind *kind,
				      const struct st_result *result,
				      const struct st_report_options *options,
				      struct st_report *out, struct st_error *err)
{
	struct holders holders = {.result = result};
	struct st_memory_view view;
	enum st_status status = st_memory_view_make(&view, result, &options->question, err);

	(void)kind;
	if (!status) {
		st_arena_init(&holders.arena, SIZE_MAX / 2);
		status = st_dataset_operators_init(&holders.operators, result, false, err);
		if (!status)
			status = build(out, &view, &holders, options, err);
		if (!status) {
			out->subject = st_memory_view_text(&view, result, st_report_arena(out));
			st_memory_view_notes(&view, out);
			out->name_width = NAME_WIDTH;
			out->empty = st_memory_view_empty(&view);
			st_dataset_hand_over(&holders.operators, st_report_arena(out));
		}
		st_dataset_operators_fini(&holders.operators);
		st_arena_fini(&holders.arena);
		st_memory_view_fini(&view);
	}
	return status;
}
