// SPDX-License-Identifier: Apache-2.0
//
// Waits among the samples: every recorded wait is a row, with its stack or without, so that the sums are those of the waits
// themselves. Each has what it was for: a context of keys, as tasks have theirs.
#include "analyze/samples/sample_waits.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_rows.h"
#include "analyze/datasets/wait_sites.h"
#include "analyze/datasets/thread_time.h"
#include "base/search.h"
#include "base/vec.h"
#include "format/analysis.h"
#include "store/off_cpu.h"
#include "store/result.h"

/* As far from a moment a sample may say where a thread was then. */
static const int64_t NEAR_NS = 100000000;

struct st_set st_wait_groupings(void)
{
	return ST_SET(ST_BY_SYNC_OBJECT, ST_BY_SYNC_TYPE, ST_BY_CREATED_AT, ST_BY_WAIT_CLASS,
		      ST_BY_WAKER);
}

bool st_sample_has_waits(const struct st_result *result)
{
	return result && st_analysis_is_for(st_result_info(result)->type, ST_RECORDS_WAITS);
}

/* Which part of the wait time a class is. */
static uint8_t flags_of_class(struct st_text text)
{
	static const struct {
		enum st_wait_class class;
		uint8_t flag;
	} parts[] = {{ST_WAITS_SYNC, ST_SAMPLE_FOR_THREAD},
		     {ST_WAITS_GIL, ST_SAMPLE_FOR_THREAD},
		     {ST_WAITS_IDLE, ST_SAMPLE_IDLE}};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *word = st_wait_class_word(parts[i].class);

		if (text.size_bytes == strlen(word) && !memcmp(text.bytes, word, text.size_bytes))
			return parts[i].flag;
	}
	return 0;
}

/* Samples that are the stacks of waits are counted as those. */
static bool mark_samples(struct st_sample_set *set)
{
	const struct st_dataset *waits = &set->waits;
	uint32_t classes = waits->keys[ST_BY_WAIT_CLASS].key_count;

	set->wait_of = st_arena_calloc(&set->arena, (size_t)set->samples->count + 1,
				       sizeof(*set->wait_of));
	set->class_flags = st_arena_calloc(&set->arena, (size_t)classes + 1, 1);
	if (!set->wait_of || !set->class_flags)
		return false;
	for (uint32_t i = 0; i < waits->row_count; i++) {
		uint32_t sample = st_dataset_waits_sample(waits, i);

		if (sample != ST_NO_ROW)
			set->wait_of[sample] = i + 1;
	}
	for (uint32_t i = 0; i < classes; i++)
		set->class_flags[i] =
			flags_of_class(waits->text(waits, ST_BY_WAIT_CLASS, i, &set->arena));
	return true;
}

enum st_status st_sample_waits_open(struct st_sample_set *set, struct st_error *err)
{
	enum st_status status;

	if (!st_sample_has_waits(set->result)) {
		for (unsigned int i = 0; i < ST_GROUPINGS; i++)
			if (st_set_has(st_wait_groupings(), i))
				st_set_remove(&set->dataset.answers, i);
		return ST_OK;
	}
	status = st_dataset_waits_open(&set->waits, set->result, set->named, err);
	if (!status && !mark_samples(set))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the waits");
	return status;
}

bool st_wait_contexts_init(struct st_wait_contexts *contexts, const struct st_sample_set *set,
			   const struct st_question *question)
{
	struct st_set wanted = {{0}};

	memset(contexts, 0, sizeof(*contexts));
	st_pair_map_init(&contexts->chain);
	if (!set->waits.private_data)
		return true;
	for (unsigned int i = 0; i < question->grouping_count; i++)
		st_set_add(&wanted, question->groupings[i]);
	for (size_t i = 0; i < question->filter_count; i++)
		st_set_add(&wanted, question->filters[i].grouping);
	wanted = st_set_common(wanted, st_wait_groupings());
	for (unsigned int i = 0; i < ST_GROUPINGS; i++)
		if (st_set_has(wanted, i))
			contexts->used[contexts->used_count++] = (enum st_grouping)i;
	/* The first context is that of rows that are no waits. */
	for (unsigned int i = 0; i < contexts->used_count; i++) {
		if (!ST_VEC_ROOM(contexts->keys[i], 0, contexts->capacity[i]))
			return false;
		contexts->keys[i][0] = 0;
	}
	return true;
}

void st_wait_contexts_fini(struct st_wait_contexts *contexts)
{
	st_pair_map_fini(&contexts->chain);
	for (unsigned int i = 0; i < contexts->used_count; i++)
		free(contexts->keys[i]);
	memset(contexts, 0, sizeof(*contexts));
}

uint32_t st_wait_context(struct st_wait_contexts *contexts, const struct st_sample_set *set,
			 uint32_t row)
{
	uint32_t keys[ST_WAIT_GROUPINGS] = {0}, link = 0;

	for (unsigned int i = 0; i < contexts->used_count; i++) {
		keys[i] = st_key_of(&set->waits.keys[contexts->used[i]], row) + 1;
		/* Links of different places in the chain never meet: the place is part of the pair. */
		link = st_pair_map_add(&contexts->chain, (uint64_t)i << 32 | link, keys[i]);
	}
	if (contexts->chain.failed)
		contexts->failed = true;
	for (unsigned int i = 0; i < contexts->used_count && !contexts->failed; i++) {
		if (!ST_VEC_ROOM(contexts->keys[i], link + 1, contexts->capacity[i]))
			contexts->failed = true;
		else
			contexts->keys[i][link + 1] = keys[i];
	}
	return contexts->used_count && !contexts->failed ? link + 1 : 0;
}

static uint64_t short_of(const struct st_dataset *waits, uint32_t row, enum st_metric metric)
{
	const struct st_measure *measure = st_dataset_measure(waits, metric);

	return measure->read(waits, row, measure->arg);
}

bool st_sample_wait_at(const struct st_sample_set *set, const struct st_question *question,
		       uint32_t row, struct st_sample_wait *out)
{
	const struct st_dataset *waits = &set->waits;
	int64_t begin_ns = waits->begin_ns[row], end_ns = waits->end_ns[row];
	struct st_row_source source = st_dataset_rows_source(waits, row);
	uint32_t count;
	const struct st_span *spans = st_result_spans(set->result, &count);

	if (question->has_time_range &&
	    (end_ns < question->time_begin_ns || begin_ns >= question->time_end_ns))
		return false;
	if (question->has_time_range && begin_ns < question->time_begin_ns)
		begin_ns = question->time_begin_ns;
	if (question->has_time_range && end_ns > question->time_end_ns)
		end_ns = question->time_end_ns;
	*out = (struct st_sample_wait){
		.sample = st_dataset_waits_sample(waits, row),
		.track = st_key_of(&waits->keys[ST_BY_THREAD], row),
		.slice = source.span < count
				 ? spans[source.span].slice
				 : st_result_events(set->result)->rows[source.event].slice,
		.time_ns = waits->begin_ns[row],
		.flags = set->class_flags[st_key_of(&waits->keys[ST_BY_WAIT_CLASS], row)]};
	if (st_row_is_counted(waits, row)) {
		out->weight_ns = waits->flags[row] & waits->slow_flags
					 ? waits->part_ns(waits, row, begin_ns, end_ns)
					 : (uint64_t)(end_ns - begin_ns);
		out->count = 1;
	} else {
		out->weight_ns = short_of(waits, row, ST_SHORT_WAIT_TOTAL);
		out->count = short_of(waits, row, ST_SHORT_WAITS);
	}
	return out->count && out->track < set->track_count;
}

bool st_sample_has_preempted(const struct st_result *result)
{
	uint32_t count;
	const struct st_off_row *rows = st_result_off_cpu(result, &count);

	for (uint32_t i = 0; i < count && st_sample_has_waits(result); i++)
		if (rows[i].flags & ST_OFF_PREEMPTED && !(rows[i].flags & ST_OFF_LOST))
			return true;
	return false;
}

/* The sample on a CPU that is nearest to a moment, no further than that. */
static uint32_t nearest(const struct st_samples *samples, uint32_t track, int64_t ns)
{
	uint32_t first = samples->count ? samples->first_of_track[track] : 0;
	uint32_t end = samples->count ? samples->first_of_track[track + 1] : 0;
	uint32_t after = ST_SEARCH(i, first, end, samples->time_ns[i] < ns), before = after;

	while (after < end && samples->flags[after] & ST_SAMPLE_WAITING)
		after++;
	while (before > first && samples->flags[before - 1] & ST_SAMPLE_WAITING)
		before--;
	if (after < end && samples->time_ns[after] - ns <= NEAR_NS &&
	    (before == first || samples->time_ns[after] - ns <= ns - samples->time_ns[before - 1]))
		return after;
	return before > first && ns - samples->time_ns[before - 1] <= NEAR_NS ? before - 1
									      : ST_NO_ROW;
}

bool st_sample_preempted_at(const struct st_sample_set *set, const struct st_question *question,
			    const struct st_preempted *piece, struct st_sample_wait *out)
{
	int64_t begin_ns = piece->begin_ns, end_ns = begin_ns + (int64_t)piece->ns;
	uint32_t row = piece->span == ST_NO_ROW ? ST_NO_ROW
						: st_dataset_waits_row(&set->waits, piece->span);

	*out = (struct st_sample_wait){.sample = ST_NO_ROW,
				       .track = piece->track,
				       .slice = ST_NO_ROW,
				       .row = row,
				       .time_ns = begin_ns,
				       .flags = ST_SAMPLE_PREEMPTED};
	if (question->has_time_range) {
		begin_ns = begin_ns > question->time_begin_ns ? begin_ns : question->time_begin_ns;
		end_ns = end_ns < question->time_end_ns ? end_ns : question->time_end_ns;
	}
	out->weight_ns = end_ns > begin_ns ? (uint64_t)(end_ns - begin_ns) : 0;
	if (!out->weight_ns || piece->track >= set->track_count)
		return false;
	out->sample = row == ST_NO_ROW ? nearest(set->samples, piece->track, piece->begin_ns)
				       : st_dataset_waits_sample(&set->waits, row);
	return true;
}

uint32_t st_sample_wait_python(const struct st_sample_set *set, uint32_t frame)
{
	const struct st_wait_sites *sites = st_dataset_waits_sites(&set->waits);
	uint32_t python = st_wait_python(sites, frame);

	return python ? python : set->python_of[frame];
}
