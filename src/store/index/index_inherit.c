// SPDX-License-Identifier: Apache-2.0
//
// What a worker's samples inherit (store/index/index_build.h): a thread that has no slice open of its own works for
// the thread that created it, or for that one's creator, and so on; the first of them with an open slice at that
// time gives it. Tids are used again, so who created whom is found by tid and time.
//
// A worker's copy of a primitive is a slice of its own. Where the thread that runs the primitive is one of those that
// created the worker, its sample moves to what is innermost there, which knows the operator around it. In a pool that
// another thread set up (TensorFlow's) it stays in the copy.
#include "store/index/index_build.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "store/model/model.h"

enum { CHAIN_MAX = 32 };

struct tid_key {
	uint32_t process_id, tid;
	uint64_t ticks;
};

struct tid_track {
	struct tid_key key; /* ticks: when the thread was first seen */
	uint32_t final;
};

struct lineage {
	struct tid_track *tracks;
	struct st_creator_definition *creators;
	uint32_t track_count, creator_count;
};

static int compare_keys(struct tid_key x, struct tid_key y)
{
	if (x.process_id != y.process_id)
		return x.process_id < y.process_id ? -1 : 1;
	if (x.tid != y.tid)
		return x.tid < y.tid ? -1 : 1;
	return (x.ticks > y.ticks) - (x.ticks < y.ticks);
}

static int by_tid(const void *a, const void *b)
{
	const struct tid_track *x = a, *y = b;
	int order = compare_keys(x->key, y->key);

	return order ? order : (x->final > y->final) - (x->final < y->final);
}

static struct tid_key key_of(const struct st_creator_definition *creator)
{
	return (struct tid_key){creator->process_id, creator->tid, creator->ticks};
}

static int by_created(const void *a, const void *b)
{
	return compare_keys(key_of(a), key_of(b));
}

/* Of the tid's entries the last that is not later than the key's time, else its first; ST_NO_ROW: none. low: the
 * number of entries that are not behind the key. */
static uint32_t pick(uint32_t low, bool has_before, bool has_after)
{
	if (has_before)
		return low - 1;
	return has_after ? low : ST_NO_ROW;
}

static uint32_t find_creator(const struct lineage *lineage, struct tid_key key)
{
	const struct st_creator_definition *items = lineage->creators;
	uint32_t low =
		ST_SEARCH(i, 0, lineage->creator_count, compare_keys(key_of(&items[i]), key) <= 0);

	return pick(low,
		    low && items[low - 1].process_id == key.process_id &&
			    items[low - 1].tid == key.tid,
		    low < lineage->creator_count && items[low].process_id == key.process_id &&
			    items[low].tid == key.tid);
}

static uint32_t find_track(const struct lineage *lineage, struct tid_key key)
{
	const struct tid_track *items = lineage->tracks;
	uint32_t low = ST_SEARCH(i, 0, lineage->track_count, compare_keys(items[i].key, key) <= 0);

	return pick(low,
		    low && items[low - 1].key.process_id == key.process_id &&
			    items[low - 1].key.tid == key.tid,
		    low < lineage->track_count && items[low].key.process_id == key.process_id &&
			    items[low].key.tid == key.tid);
}

/* A creator that was never seen itself stands for its own creator. */
static uint32_t creator_of(const struct lineage *lineage, const struct tid_track *track)
{
	struct tid_key key = track->key;

	for (unsigned int i = 0; i < CHAIN_MAX; i++) {
		uint32_t at = find_creator(lineage, key), found;

		if (at == ST_NO_ROW)
			return ST_NO_ROW;
		key.tid = lineage->creators[at].creator_tid;
		key.ticks = lineage->creators[at].ticks;
		found = find_track(lineage, key);
		if (found != ST_NO_ROW)
			return lineage->tracks[found].final == track->final
				       ? ST_NO_ROW
				       : lineage->tracks[found].final;
	}
	return ST_NO_ROW;
}

static bool find_creators(struct st_index_builder *builder)
{
	struct st_model *model = builder->request->model;
	struct lineage lineage = {.creators = model->forest.creators,
				  .creator_count = model->forest.creator_count};

	lineage.tracks = calloc((size_t)builder->track_count + 1, sizeof(*lineage.tracks));
	if (!lineage.tracks)
		return false;
	qsort(lineage.creators, lineage.creator_count, sizeof(*lineage.creators), by_created);
	for (uint32_t i = 0; i < builder->track_count; i++) {
		const struct st_track_state *track = &builder->tracks[i];
		const struct st_track_definition *thread =
			st_model_track(model, track->process_id, track->track_id, false);

		if (!thread || !thread->is_defined || thread->kind != ST_TRACK_THREAD)
			continue;
		lineage.tracks[lineage.track_count++] =
			(struct tid_track){.key = {.process_id = track->process_id,
						   .tid = thread->tid,
						   .ticks = track->first_ticks},
					   .final = track->final};
	}
	if (lineage.track_count)
		qsort(lineage.tracks, lineage.track_count, sizeof(*lineage.tracks), by_tid);
	for (uint32_t i = 0; i < lineage.track_count; i++)
		builder->meta->tracks[lineage.tracks[i].final].creator =
			creator_of(&lineage, &lineage.tracks[i]);
	free(lineage.tracks);
	return true;
}

/* A place in the slices of a track that only moves forward. */
struct cursor {
	const struct st_index_track *track;
	uint32_t at; /* rows before it begin no later than the last time asked for */
};

/* Steps double until they are too far, then halve. */
static void advance(const struct st_index_columns *columns, struct cursor *cursor, int64_t ns)
{
	uint32_t step = 1, end = cursor->track->row_end;

	while (step <= end - cursor->at && columns->begin_ns[cursor->at + step - 1] <= ns) {
		cursor->at += step;
		step *= 2;
	}
	for (; step; step /= 2)
		if (step <= end - cursor->at && columns->begin_ns[cursor->at + step - 1] <= ns)
			cursor->at += step;
}

static uint32_t innermost_at(const struct st_index_columns *columns, struct cursor *cursor,
			     int64_t ns)
{
	uint32_t row;

	advance(columns, cursor, ns);
	if (cursor->at == cursor->track->row_begin)
		return ST_NO_ROW;
	row = cursor->at - 1;
	while (row != ST_NO_ROW &&
	       (columns->end_ns[row] <= ns || columns->flags[row] & ST_SLICE_TWIN))
		row = columns->parent[row];
	return row;
}

/* Whether a slice is, or lies in, one of that label. */
static bool is_within(const struct st_index_columns *columns, uint32_t row, uint32_t label)
{
	while (row != ST_NO_ROW && columns->label[row] != label)
		row = columns->parent[row];
	return row != ST_NO_ROW;
}

/* What a sample inherits from the threads of the chain, or ST_NO_ROW. */
static uint32_t inherit_one(const struct st_index_columns *columns, struct cursor *chain,
			    uint32_t length, uint32_t sample)
{
	uint32_t own = columns->samples.slice[sample];

	if (own != ST_NO_ROW && !(columns->flags[own] & ST_SLICE_COPY))
		return ST_NO_ROW;
	for (uint32_t i = 0; i < length; i++) {
		uint32_t row = innermost_at(columns, &chain[i], columns->samples.time_ns[sample]);

		if (row != ST_NO_ROW &&
		    (own == ST_NO_ROW || is_within(columns, row, columns->label[own])))
			return row;
	}
	return ST_NO_ROW;
}

static void inherit_track(struct st_index_builder *builder, const struct st_index_track *track)
{
	const struct st_index_columns *columns = &builder->index->columns;
	const struct st_sample_columns *samples = &columns->samples;
	struct cursor chain[CHAIN_MAX];
	uint32_t length = 0;

	for (uint32_t from = track->creator; from != ST_NO_ROW && length < CHAIN_MAX;
	     from = builder->meta->tracks[from].creator)
		chain[length++] = (struct cursor){.track = &builder->meta->tracks[from],
						  .at = builder->meta->tracks[from].row_begin};
	for (uint32_t i = track->sample_begin; i < track->sample_end && length; i++) {
		samples->inherited[i] = inherit_one(columns, chain, length, i);
		if (samples->inherited[i] != ST_NO_ROW)
			samples->slice[i] = ST_NO_ROW;
	}
}

bool st_index_inherit(struct st_index_builder *builder)
{
	if (!builder->request->model->forest.creator_count)
		return true;
	if (!find_creators(builder))
		return false;
	for (uint32_t i = 0; i < builder->meta->track_count; i++)
		inherit_track(builder, &builder->meta->tracks[i]);
	return true;
}
