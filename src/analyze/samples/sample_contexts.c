// SPDX-License-Identifier: Apache-2.0
//
// What a question sees of the slices around a sample.
#include "analyze/samples/sample_rows.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/operators/dataset_tasks.h"
#include "analyze/samples/sample_operators.h"
#include "base/vec.h"
#include "store/result.h"

enum {
	CREATORS_MAX = 32, /* as many as the index follows */
	CALLS_MAX = 64
};

uint32_t st_context_slice(const struct st_sample_set *set, uint32_t track, int64_t time_ns)
{
	const struct st_slices *slices = st_result_slices(set->result);
	const struct st_track *tracks;
	uint32_t count, low, high, at = ST_NO_ROW;

	tracks = st_result_tracks(set->result, &count);
	if (track >= count)
		return ST_NO_ROW;
	low = tracks[track].row_begin;
	high = tracks[track].row_end;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (slices->begin_ns[middle] <= time_ns) {
			at = middle;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	while (at != ST_NO_ROW &&
	       (slices->end_ns[at] <= time_ns || slices->flags[at] & ST_SLICE_TWIN))
		at = slices->parent[at];
	return at;
}

/* The slice around one. A thread of a pool runs a library's primitive, or its part of one, for the thread that
 * created it: it lies in what that one is doing, other than the same primitive. */
static uint32_t outer_slice(const struct st_sample_set *set, uint32_t slice)
{
	const struct st_slices *slices = st_result_slices(set->result);
	uint32_t outer = slices->parent[slice], track = slices->track[slice], count;
	const struct st_label *labels = st_result_labels(set->result, &count);

	if (outer != ST_NO_ROW || !st_category_is_execution(labels[slices->label[slice]].category))
		return outer;
	for (unsigned int i = 0; i < CREATORS_MAX && outer == ST_NO_ROW; i++) {
		track = st_result_track_creator(set->result, track);
		if (track == ST_NO_ROW)
			return ST_NO_ROW;
		outer = st_context_slice(set, track, slices->begin_ns[slice]);
		if (outer != ST_NO_ROW && slices->label[outer] == slices->label[slice])
			outer = slices->parent[outer];
	}
	return outer;
}

/* One in no operator or step: not everything in what is around it is outside of them. */
static bool is_nothing(const struct st_sample_contexts *contexts, uint32_t context)
{
	for (unsigned int i = 0; i < contexts->used_count; i++)
		if (contexts->keys[i][context])
			return false;
	return true;
}

static bool set_context(struct st_sample_contexts *contexts, uint32_t context, const uint32_t *keys,
			uint32_t outer)
{
	if (!ST_VEC_ROOM(contexts->outer, context, contexts->outer_capacity))
		return false;
	contexts->outer[context] =
		outer && is_nothing(contexts, outer) ? contexts->outer[outer] : outer;
	for (unsigned int i = 0; i < contexts->used_count; i++) {
		if (!ST_VEC_ROOM(contexts->keys[i], context, contexts->key_capacity[i]))
			return false;
		contexts->keys[i][context] = keys[i];
	}
	return true;
}

static uint32_t add_context(struct st_sample_contexts *contexts, const uint32_t *keys,
			    uint32_t outer)
{
	uint32_t link = 0, known, context;

	/* Links of different places in the chain never meet: the place is part of the pair. */
	for (unsigned int i = 0; i < contexts->used_count; i++)
		link = st_pair_map_add(&contexts->chain, (uint64_t)i << 32 | (i ? link : outer),
				       keys[i]);
	known = contexts->ids.count;
	context = st_pair_map_add(&contexts->ids, link, 0) + 1;
	if (contexts->chain.failed || contexts->ids.failed ||
	    (contexts->ids.count > known && !set_context(contexts, context, keys, outer)))
		contexts->failed = true;
	return contexts->failed ? 0 : context;
}

/* Groupings whose first key means that a slice has none: as if there were no slice. */
static bool has_none(enum st_grouping grouping)
{
	return grouping == ST_BY_STEP || grouping == ST_BY_OPERATOR || grouping == ST_BY_NN_MODULE;
}

static uint32_t make_context(struct st_sample_contexts *contexts, const struct st_sample_set *set,
			     uint32_t slice)
{
	uint32_t keys[ST_GROUPINGS] = {0}, outer = outer_slice(set, slice);
	uint32_t around = outer == ST_NO_ROW ? 0 : contexts->of_slice[outer];
	bool is_elsewhere = set->slices.parent[slice] == ST_NO_ROW;

	for (unsigned int i = 0; i < contexts->used_count; i++) {
		uint32_t key = st_key_of(&set->slices.keys[contexts->used[i]], slice);

		keys[i] = key || !has_none(contexts->used[i]) ? key + 1 : 0;
		/* What is around it on another thread gives its operator and step as well. */
		if (has_none(contexts->used[i]) && is_elsewhere && contexts->keys[i][around])
			keys[i] = contexts->keys[i][around];
	}
	return add_context(contexts, keys, around);
}

uint32_t st_context_of(struct st_sample_contexts *contexts, const struct st_sample_set *set,
		       uint32_t slice)
{
	if (slice == ST_NO_ROW || !contexts->used_count || slice >= set->slices.row_count)
		return 0;
	while (!contexts->of_slice[slice] && !contexts->failed) {
		uint32_t top = slice, outer = outer_slice(set, top);

		while (outer != ST_NO_ROW && !contexts->of_slice[outer]) {
			top = outer;
			outer = outer_slice(set, top);
		}
		contexts->of_slice[top] = make_context(contexts, set, top);
	}
	return contexts->of_slice[slice];
}

/* Of what is told by the slice alone, and so the same for all of an operator. */
static bool is_of_kind(enum st_grouping grouping)
{
	return grouping != ST_BY_STEP && grouping != ST_BY_NN_MODULE && grouping != ST_BY_TASK;
}

uint32_t st_context_called(struct st_sample_contexts *contexts, const struct st_sample_set *set,
			   uint32_t frame, uint32_t around)
{
	uint32_t calls[CALLS_MAX], count = 0, keys[ST_GROUPINGS], last = ST_NO_ROW;

	if (!contexts->used_count)
		return 0;
	for (; frame && count < CALLS_MAX; frame = st_sample_operator_outer(set, frame))
		calls[count++] = st_sample_operator_slice(set, frame);
	while (count-- > 0 && !contexts->failed) {
		/* An operator is called, and called again for its kernel. */
		if (calls[count] == last)
			continue;
		last = calls[count];
		for (unsigned int i = 0; i < contexts->used_count; i++) {
			enum st_grouping grouping = contexts->used[i];

			keys[i] = is_of_kind(grouping)
					  ? st_key_of(&set->slices.keys[grouping], last) + 1
					  : contexts->keys[i][around];
		}
		around = add_context(contexts, keys, around);
	}
	return around;
}

uint32_t st_context_at(struct st_sample_contexts *contexts, const struct st_sample_set *set,
		       uint32_t track, int64_t time_ns)
{
	uint32_t keys[ST_GROUPINGS] = {0}, step;
	const struct st_step_keys *steps;

	if (!contexts->has_timed_steps)
		return 0;
	steps = st_dataset_slices_steps(&set->slices);
	step = st_step_at(&steps->list, set->result, track, time_ns);
	if (step == ST_NO_ROW)
		return 0;
	for (unsigned int i = 0; i < contexts->used_count; i++)
		if (contexts->used[i] == ST_BY_STEP)
			keys[i] = steps->keys[step] + 1;
	return add_context(contexts, keys, 0);
}

bool st_contexts_init(struct st_sample_contexts *contexts, struct st_sample_set *set,
		      const struct st_question *question)
{
	static const uint32_t none[ST_GROUPINGS];
	struct st_set wanted = {{0}};

	memset(contexts, 0, sizeof(*contexts));
	st_pair_map_init(&contexts->chain);
	st_pair_map_init(&contexts->ids);
	for (unsigned int i = 0; i < question->grouping_count; i++)
		st_set_add(&wanted, question->groupings[i]);
	for (size_t i = 0; i < question->filter_count; i++)
		st_set_add(&wanted, question->filters[i].grouping);
	for (unsigned int i = 0; i < ST_GROUPINGS; i++)
		if (st_set_has(wanted, i) && st_grouping_is_task((enum st_grouping)i))
			contexts->used[contexts->used_count++] = (enum st_grouping)i;
	if (!contexts->used_count)
		return set_context(contexts, 0, none, 0);
	for (unsigned int i = 0; i < contexts->used_count; i++) {
		enum st_grouping grouping = contexts->used[i];

		if (!set->slices.keys[grouping].key_count && set->slices.row_count &&
		    !set->slices.prepare(&set->slices, grouping))
			return false;
		if (grouping == ST_BY_STEP && set->slices.row_count)
			contexts->has_timed_steps =
				st_step_list_is_timed(&st_dataset_slices_steps(&set->slices)->list);
	}
	contexts->of_slice = calloc((size_t)set->slices.row_count + 1, sizeof(*contexts->of_slice));
	return contexts->of_slice && set_context(contexts, 0, none, 0);
}

void st_contexts_fini(struct st_sample_contexts *contexts)
{
	st_pair_map_fini(&contexts->chain);
	st_pair_map_fini(&contexts->ids);
	free(contexts->outer);
	for (unsigned int i = 0; i < contexts->used_count; i++)
		free(contexts->keys[i]);
	free(contexts->of_slice);
	memset(contexts, 0, sizeof(*contexts));
}
