// SPDX-License-Identifier: Apache-2.0
//
// Samples folded into rows.
#include "analyze/samples/sample_rows.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/filter.h"
#include "analyze/datasets/dataset_rows.h"
#include "analyze/datasets/thread_time.h"
#include "analyze/samples/sample_operators.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/result.h"

static bool uses(const struct st_question *question, enum st_grouping grouping)
{
	for (unsigned int i = 0; i < question->grouping_count; i++)
		if (question->groupings[i] == grouping)
			return true;
	for (size_t i = 0; i < question->filter_count; i++)
		if (question->filters[i].grouping == grouping)
			return true;
	return false;
}

static bool make_keys(struct st_sample_set *set, const struct st_question *question)
{
	/* Stacks are made of functions. */
	bool has_stack = uses(question, ST_BY_CALLSTACK) || uses(question, ST_BY_FUNCTION_STACK);

	for (unsigned int i = 0; i < ST_GROUPINGS; i++) {
		enum st_grouping grouping = (enum st_grouping)i;

		if (st_grouping_is_frame(grouping) &&
		    (uses(question, grouping) || (has_stack && grouping == ST_BY_FUNCTION)) &&
		    !st_frame_keys_make(set, grouping))
			return false;
	}
	return true;
}

struct folder {
	struct st_sample_rows *rows;
	struct st_map map;	   /* of the rows */
	struct st_sample_row like; /* what is looked for */
};

static bool is_same(const void *entries, uint32_t number, const void *key)
{
	const struct st_sample_row *row = &((const struct st_sample_row *)entries)[number];
	const struct folder *folder = key;
	const struct st_sample_row *like = &folder->like;

	return row->frame == like->frame && row->context == like->context &&
	       row->cpu_class == like->cpu_class && row->flags == like->flags &&
	       row->wait == like->wait && (row->track == like->track || !folder->rows->by_track) &&
	       (row->python == like->python || !folder->rows->by_python);
}

static struct st_sample_row *row_of(struct folder *folder)
{
	struct st_sample_rows *rows = folder->rows;
	const struct st_sample_row *like = &folder->like;
	uint32_t hash =
		st_hash_pair((uint64_t)like->frame << 32 | like->context,
			     (uint64_t)(rows->by_track ? like->track : 0) << 32 |
				     (like->cpu_class << 8 | like->flags | like->wait << 16));
	uint32_t at = st_map_find(&folder->map, hash, is_same, rows->rows, folder);

	if (at != ST_ID_NONE)
		return &rows->rows[at];
	if (!ST_VEC_PUSH(rows->rows, rows->count, rows->capacity, *like) ||
	    !st_map_add(&folder->map, hash, rows->count - 1))
		return NULL;
	return &rows->rows[rows->count - 1];
}

/* Of a sample between the turns in which operators were recorded: what its stack says. */
static void look_for_operator(struct st_sample_rows *rows, uint32_t sample,
			      struct st_sample_row *out)
{
	bool inherited;
	uint32_t frame = st_sample_operator_frame(rows->set, sample, &inherited);

	if (!frame)
		return;
	out->flags |= inherited ? ST_SAMPLE_INHERITED : 0;
	out->context = st_context_called(&rows->contexts, rows->set, frame, out->context);
}

/* What a question sees of one sample; false: no memory. */
static bool look_at(struct st_sample_rows *rows, uint32_t sample, struct st_sample_row *out)
{
	struct st_sample_set *set = rows->set;
	const struct st_samples *samples = set->samples;
	uint32_t slice = samples->slice[sample], node = samples->node[sample];
	uint32_t frame = node < set->named->node_count ? set->named->frame_of_node[node] : 0;

	*out = (struct st_sample_row){.track = samples->track[sample],
				      .cpu_class = set->classes[frame],
				      .frame = st_sample_leaf(set, node)};
	if (slice == ST_NO_ROW && samples->inherited[sample] != ST_NO_ROW) {
		slice = samples->inherited[sample];
		out->flags |= ST_SAMPLE_INHERITED;
	}
	if (samples->flags[sample] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE))
		out->flags |= ST_SAMPLE_OFF_CPU;
	if (samples->flags[sample] & ST_SAMPLE_RUNNABLE)
		out->flags |= ST_SAMPLE_READY;
	out->python = set->python_of[rows->by_python ? frame : out->frame];
	/* A million samples ask this several times over: whatever a result or a question has not costs them no call. */
	if (rows->contexts.used_count)
		out->context = st_context_of(&rows->contexts, set, slice);
	if (!out->context && rows->contexts.has_timed_steps)
		out->context =
			st_context_at(&rows->contexts, set, out->track, samples->time_ns[sample]);
	if (set->operators)
		look_for_operator(rows, sample, out);
	return !rows->contexts.failed;
}

/* Of a wait without a stack only its thread and its task are known. */
static bool look_at_wait(struct st_sample_rows *rows, const struct st_sample_wait *wait,
			 struct st_sample_row *out)
{
	struct st_sample_set *set = rows->set;
	uint32_t node;

	if (wait->sample != ST_NO_ROW) {
		if (!look_at(rows, wait->sample, out))
			return false;
		/* Who has no work does nothing for the thread that created it. */
		if (wait->flags & ST_SAMPLE_IDLE && out->flags & ST_SAMPLE_INHERITED) {
			out->flags &= (uint8_t)~ST_SAMPLE_INHERITED;
			out->context = 0;
		}
		node = set->samples->node[wait->sample];
		out->python = st_sample_wait_python(
			set, node < set->named->node_count ? set->named->frame_of_node[node] : 0);
	} else {
		*out = (struct st_sample_row){.track = wait->track};
		if (rows->contexts.used_count)
			out->context = st_context_of(&rows->contexts, set, wait->slice);
	}
	if (!out->context && rows->contexts.has_timed_steps)
		out->context = st_context_at(&rows->contexts, set, wait->track, wait->time_ns);
	out->flags |= ST_SAMPLE_OFF_CPU | wait->flags;
	return !rows->contexts.failed;
}

static bool fold_waits(struct folder *folder, const struct st_question *question)
{
	struct st_sample_rows *rows = folder->rows;
	const struct st_sample_set *set = rows->set;

	for (uint32_t i = 0; i < set->waits.row_count; i++) {
		struct st_sample_wait wait;
		struct st_sample_row *row;

		if (!st_sample_wait_at(set, question, i, &wait))
			continue;
		if (!look_at_wait(rows, &wait, &folder->like))
			return false;
		folder->like.wait = st_wait_context(&rows->waits, set, i);
		row = rows->waits.failed ? NULL : row_of(folder);
		if (!row)
			return false;
		row->weight += wait.weight_ns;
		row->waits += wait.count;
		row->samples += wait.sample != ST_NO_ROW;
	}
	return true;
}

/* Where a thread that lost its CPU was its wait tells, or the nearest sample; in which task, and step, is known. */
static bool look_at_preempted(struct st_sample_rows *rows, const struct st_sample_wait *wait,
			      struct st_sample_row *out)
{
	const struct st_sample_wait bare = {
		.sample = ST_NO_ROW,
		.track = wait->track,
		.slice = rows->contexts.used_count
				 ? st_context_slice(rows->set, wait->track, wait->time_ns)
				 : ST_NO_ROW,
		.time_ns = wait->time_ns,
		.flags = wait->flags};
	struct st_sample_row known;

	if (!look_at_wait(rows, &bare, out))
		return false;
	if (wait->sample != ST_NO_ROW) {
		if (!look_at_wait(rows, wait, &known))
			return false;
		out->frame = known.frame;
		out->python = known.python;
	}
	if (wait->row != ST_NO_ROW)
		out->wait = st_wait_context(&rows->waits, rows->set, wait->row);
	return !rows->waits.failed;
}

static bool fold_preempted(struct folder *folder, const struct st_question *question)
{
	struct st_sample_rows *rows = folder->rows;
	const struct st_thread_times *times =
		rows->set->waits.private_data ? st_dataset_waits_times(&rows->set->waits) : NULL;

	for (uint32_t i = 0; times && i < times->preempted_count; i++) {
		struct st_sample_wait wait;
		struct st_sample_row *row;

		if (!st_sample_preempted_at(rows->set, question, &times->preempted[i], &wait))
			continue;
		row = look_at_preempted(rows, &wait, &folder->like) ? row_of(folder) : NULL;
		if (!row)
			return false;
		row->weight += wait.weight_ns;
	}
	return true;
}

static bool fold(struct folder *folder, const struct st_question *question)
{
	const struct st_samples *samples = folder->rows->set->samples;
	const uint32_t *wait_of = folder->rows->set->wait_of;

	for (uint32_t i = 0; i < samples->count; i++) {
		struct st_sample_row *row;

		if ((wait_of && wait_of[i]) ||
		    (question->has_time_range && (samples->time_ns[i] < question->time_begin_ns ||
						  samples->time_ns[i] >= question->time_end_ns)))
			continue;
		row = look_at(folder->rows, i, &folder->like) ? row_of(folder) : NULL;
		if (!row)
			return false;
		row->weight += samples->weight_ns[i];
		row->samples++;
	}
	return true;
}

static struct st_axis axis_of(const uint32_t *first, const uint32_t *next, uint32_t count)
{
	return (struct st_axis){first, sizeof(struct st_sample_row), next, count};
}

/* What is around a Python frame; made when a filter asks for it. */
static bool make_python_chain(struct st_sample_set *set)
{
	const struct st_named *named = set->named;

	if (set->outer_python)
		return true;
	set->outer_python = st_arena_calloc(&set->arena, (size_t)named->frame_count + 1,
					    sizeof(*set->outer_python));
	for (uint32_t i = 1; set->outer_python && i < named->frame_count; i++)
		set->outer_python[i] = set->python_of[named->frames[i].parent];
	return set->outer_python;
}

static void bind_contexts(const struct st_sample_rows *rows)
{
	const struct st_sample_contexts *contexts = &rows->contexts;
	struct st_dataset *dataset = &rows->set->dataset;

	dataset->axes[ST_AXIS_AROUND].next = contexts->outer;
	for (unsigned int i = 0; i < contexts->used_count; i++)
		dataset->keys[contexts->used[i]].column = contexts->keys[i];
}

static void bind_waits(const struct st_sample_rows *rows)
{
	const struct st_wait_contexts *waits = &rows->waits;
	struct st_sample_set *set = rows->set;

	for (unsigned int i = 0; i < waits->used_count; i++)
		set->dataset.keys[waits->used[i]] = (struct st_key_column){
			.column = waits->keys[i],
			.key_count = set->waits.keys[waits->used[i]].key_count + 1,
			.axis = ST_AXIS_WAIT,
			.inner = ST_AXIS_WAIT};
}

/* The rows as the dataset's axes, and the keys that were made. */
static void bind(const struct st_sample_rows *rows)
{
	static const struct st_sample_row none;
	struct st_sample_set *set = rows->set;
	struct st_dataset *dataset = &set->dataset;
	const struct st_sample_row *row = rows->rows ? rows->rows : &none;
	const struct st_key_column *places = &set->slices.keys[ST_BY_PROCESS];
	const struct st_sample_contexts *contexts = &rows->contexts;

	set->rows = rows;
	dataset->row_count = rows->count;
	dataset->axes[ST_AXIS_AROUND] = axis_of(&row->context, NULL, 0);
	dataset->axes[ST_AXIS_FRAMES] = axis_of(&row->frame, set->caller, set->named->frame_count);
	dataset->axes[ST_AXIS_CALLS] =
		axis_of(&row->frame, set->tree_caller, set->named->frame_count);
	dataset->axes[ST_AXIS_LEAF] = axis_of(&row->frame, NULL, 0);
	dataset->axes[ST_AXIS_PYTHON] = axis_of(&row->python, set->outer_python, 0);
	dataset->axes[ST_AXIS_PLACE] = axis_of(&row->track, NULL, 0);
	dataset->axes[ST_AXIS_CLASS] = axis_of(&row->cpu_class, NULL, 0);
	dataset->axes[ST_AXIS_WAIT] = axis_of(&row->wait, NULL, 0);
	dataset->keys[ST_BY_PROCESS] = (struct st_key_column){.map = places->map,
							      .key_count = set->process_count,
							      .axis = ST_AXIS_PLACE,
							      .inner = ST_AXIS_PLACE};
	dataset->keys[ST_BY_THREAD] = (struct st_key_column){.map = NULL,
							     .key_count = set->track_count,
							     .axis = ST_AXIS_PLACE,
							     .inner = ST_AXIS_PLACE};
	bind_waits(rows);
	dataset->keys[ST_BY_CPU_CLASS] = (struct st_key_column){.map = NULL,
								.key_count = ST_CPU_CLASSES,
								.axis = ST_AXIS_CLASS,
								.inner = ST_AXIS_CLASS};
	for (unsigned int i = 0; i < contexts->used_count; i++)
		dataset->keys[contexts->used[i]] = (struct st_key_column){
			.key_count = set->slices.keys[contexts->used[i]].key_count + 1,
			.axis = ST_AXIS_AROUND,
			.inner = ST_AXIS_AROUND,
			.is_numbered = contexts->used[i] == ST_BY_TASK};
	for (unsigned int i = 0; i < ST_GROUPINGS; i++) {
		enum st_grouping grouping = (enum st_grouping)i;
		bool is_python = st_grouping_is_python(grouping);

		if (set->keys[i].of_frame)
			dataset->keys[i] = (struct st_key_column){
				.column = set->keys[i].of_frame,
				.key_count = set->keys[i].count,
				.axis = ST_AXIS_FRAMES,
				.inner = is_python ? ST_AXIS_PYTHON : ST_AXIS_LEAF,
				.is_function = grouping == ST_BY_FUNCTION ||
					       grouping == ST_BY_FUNCTION_MANGLED ||
					       grouping == ST_BY_PYTHON_FUNCTION};
	}
	bind_contexts(rows);
	dataset->keys[ST_BY_CALLSTACK] = dataset->keys[ST_BY_FUNCTION];
	dataset->keys[ST_BY_CALLSTACK].tree = ST_TREE_CALLERS;
	dataset->keys[ST_BY_CALLSTACK].filtered_by = ST_BY_FUNCTION;
	dataset->keys[ST_BY_FUNCTION_STACK] = dataset->keys[ST_BY_CALLSTACK];
	dataset->keys[ST_BY_FUNCTION_STACK].tree = ST_TREE_CALLS;
}

static bool begin(struct st_sample_rows *out, struct st_sample_set *set,
		  const struct st_question *question)
{
	bool has_python =
		uses(question, ST_BY_PYTHON_LINE) || uses(question, ST_BY_PYTHON_FUNCTION);

	memset(out, 0, sizeof(*out));
	out->set = set;
	out->by_python = set->view.python_frames == ST_PYTHON_NONE && has_python;
	out->by_track = uses(question, ST_BY_THREAD) || uses(question, ST_BY_PROCESS);
	return make_keys(set, question) && st_contexts_init(&out->contexts, set, question) &&
	       st_wait_contexts_init(&out->waits, set, question) &&
	       (!has_python || !question->filter_count || make_python_chain(set));
}

static enum st_status out_of_memory(struct st_sample_rows *rows, struct st_error *err)
{
	uint32_t count = rows->set->samples->count;

	st_sample_rows_fini(rows);
	return st_error_set(err, ST_ENOMEM, 0, "out of memory for %u samples", count);
}

enum st_status st_sample_rows_fold(struct st_sample_rows *out, struct st_sample_set *set,
				   const struct st_question *question, struct st_error *err)
{
	struct folder folder = {.rows = out};
	bool done = begin(out, set, question) && fold(&folder, question) &&
		    fold_waits(&folder, question) && fold_preempted(&folder, question);

	st_map_fini(&folder.map);
	if (!done)
		return out_of_memory(out, err);
	bind(out);
	return ST_OK;
}

enum st_status st_sample_rows_begin(struct st_sample_rows *out, struct st_sample_set *set,
				    const struct st_question *question, struct st_error *err)
{
	bool done = begin(out, set, question) &&
		    ST_VEC_PUSH(out->rows, out->count, out->capacity, (struct st_sample_row){0});

	if (!done)
		return out_of_memory(out, err);
	bind(out);
	return ST_OK;
}

bool st_sample_rows_look(struct st_sample_rows *rows, uint32_t sample)
{
	const uint32_t *wait_of = rows->set->wait_of;

	if (!look_at(rows, sample, &rows->rows[0]))
		return false;
	if (wait_of && wait_of[sample])
		rows->rows[0].wait = st_wait_context(&rows->waits, rows->set, wait_of[sample] - 1);
	/* They may have moved. */
	bind_contexts(rows);
	bind_waits(rows);
	return !rows->waits.failed;
}

bool st_sample_rows_look_at_wait(struct st_sample_rows *rows, const struct st_sample_wait *wait)
{
	if (!look_at_wait(rows, wait, &rows->rows[0]))
		return false;
	bind_contexts(rows);
	return true;
}

enum st_status st_sample_rows_make(struct st_sample_rows *out, struct st_sample_set *set,
				   const struct st_question *question, struct st_error *err)
{
	struct st_selection selection;
	uint32_t kept = 0;
	enum st_status status = st_sample_rows_fold(out, set, question, err);

	if (status || !question->filter_count)
		return status;
	status = st_sample_check(set, question, err);
	if (!status)
		status = st_selection_init(&selection, &set->dataset, question, err);
	if (status) {
		st_sample_rows_fini(out);
		return status;
	}
	for (uint32_t i = 0; i < out->count; i++)
		if (st_selection_has(&selection, i))
			out->rows[kept++] = out->rows[i];
	out->count = kept;
	st_selection_fini(&selection);
	bind(out);
	return ST_OK;
}

void st_sample_rows_fini(struct st_sample_rows *rows)
{
	free(rows->rows);
	st_contexts_fini(&rows->contexts);
	st_wait_contexts_fini(&rows->waits);
	memset(rows, 0, sizeof(*rows));
}
