// SPDX-License-Identifier: Apache-2.0
//
// Samples folded into rows.
#include "analyze/samples/sample_rows.h"

#include <stdlib.h>
#include <string.h>

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
	for (unsigned int i = 0; i < question->grouping_count; i++)
		if (st_grouping_is_frame(question->groupings[i]) &&
		    !st_frame_keys_make(set, question->groupings[i]))
			return false;
	for (size_t i = 0; i < question->filter_count; i++)
		if (st_grouping_is_frame(question->filters[i].grouping) &&
		    !st_frame_keys_make(set, question->filters[i].grouping))
			return false;
	/* Stacks are made of functions. */
	if (uses(question, ST_BY_CALLSTACK) || uses(question, ST_BY_FUNCTION_STACK))
		return st_frame_keys_make(set, ST_BY_FUNCTION);
	return true;
}

struct folder {
	struct st_sample_rows *rows;
	const struct st_question *question;
	struct st_pair_map map;
	struct st_pair_map leaves; /* (frame, Python frame), where the first hides the second */
	uint32_t capacity;
	bool by_track, by_python;
};

static struct st_sample_row *row_of(struct folder *folder, const struct st_sample_row *like)
{
	struct st_sample_rows *rows = folder->rows;
	uint32_t leaf = folder->by_python
				? st_pair_map_add(&folder->leaves, like->frame, like->python)
				: like->frame;
	uint32_t key = st_pair_map_add(&folder->map, (uint64_t)leaf << 32 | like->context,
				       (uint64_t)(folder->by_track ? like->track : 0) << 32 |
					       (uint64_t)like->cpu_class << 8 | like->flags);

	if (folder->map.failed || folder->leaves.failed)
		return NULL;
	if (key < rows->count)
		return &rows->rows[key];
	if (rows->count == folder->capacity) {
		uint32_t capacity = folder->capacity ? folder->capacity * 2 : 1024;
		struct st_sample_row *more = realloc(rows->rows, capacity * sizeof(*more));

		if (!more)
			return NULL;
		rows->rows = more;
		folder->capacity = capacity;
	}
	rows->rows[rows->count] = *like;
	return &rows->rows[rows->count++];
}

static bool fold_sample(struct folder *folder, uint32_t sample)
{
	struct st_sample_set *set = folder->rows->set;
	const struct st_samples *samples = set->samples;
	uint32_t slice = samples->slice[sample], node = samples->node[sample], frame;
	bool off_cpu = samples->flags[sample] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE);
	struct st_sample_row like = {.track = samples->track[sample]};
	struct st_sample_row *row;

	if (slice == ST_NO_ROW && samples->inherited[sample] != ST_NO_ROW) {
		slice = samples->inherited[sample];
		like.flags |= ST_SAMPLE_INHERITED;
	}
	if (off_cpu)
		like.flags |= ST_SAMPLE_OFF_CPU;
	frame = node < set->named->node_count ? set->named->frame_of_node[node] : 0;
	like.cpu_class = set->classes[frame];
	like.frame = st_sample_leaf(set, node);
	like.python = set->python_of[folder->by_python ? frame : like.frame];
	like.context = st_context_of(&folder->rows->contexts, set, slice);
	if (!like.context)
		like.context = st_context_at(&folder->rows->contexts, set, like.track,
					     samples->time_ns[sample]);
	row = row_of(folder, &like);
	if (!row || folder->rows->contexts.failed)
		return false;
	row->weight += samples->weight_ns[sample];
	row->samples++;
	return true;
}

static bool fold(struct folder *folder)
{
	const struct st_samples *samples = folder->rows->set->samples;
	const struct st_question *question = folder->question;

	for (uint32_t i = 0; i < samples->count; i++) {
		if (question->has_time_range && (samples->time_ns[i] < question->time_begin_ns ||
						 samples->time_ns[i] >= question->time_end_ns))
			continue;
		if (!fold_sample(folder, i))
			return false;
	}
	return true;
}

static void keep_wanted(struct st_sample_rows *rows, const struct st_sample_filter *filter)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < rows->count; i++)
		if (st_sample_filter_has(filter, rows, &rows->rows[i]))
			rows->rows[kept++] = rows->rows[i];
	rows->count = kept;
}

enum st_status st_sample_rows_make(struct st_sample_rows *out, struct st_sample_set *set,
				   const struct st_question *question, struct st_error *err)
{
	struct folder folder = {.rows = out, .question = question};
	struct st_sample_filter filter;
	enum st_status status;
	bool done;

	memset(out, 0, sizeof(*out));
	out->set = set;
	st_pair_map_init(&folder.map);
	st_pair_map_init(&folder.leaves);
	folder.by_python =
		set->view.python_frames == ST_PYTHON_NONE &&
		(uses(question, ST_BY_PYTHON_LINE) || uses(question, ST_BY_PYTHON_FUNCTION));
	folder.by_track = uses(question, ST_BY_THREAD) || uses(question, ST_BY_PROCESS);
	done = make_keys(set, question) && st_contexts_init(&out->contexts, set, question) &&
	       fold(&folder);
	st_pair_map_fini(&folder.map);
	st_pair_map_fini(&folder.leaves);
	if (!done) {
		st_sample_rows_fini(out);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for %u samples",
				    set->samples->count);
	}
	if (!question->filter_count)
		return ST_OK;
	status = st_sample_filter_init(&filter, set, question, err);
	if (status) {
		st_sample_rows_fini(out);
		return status;
	}
	keep_wanted(out, &filter);
	st_sample_filter_fini(&filter);
	return ST_OK;
}

void st_sample_rows_fini(struct st_sample_rows *rows)
{
	free(rows->rows);
	st_contexts_fini(&rows->contexts);
	memset(rows, 0, sizeof(*rows));
}
