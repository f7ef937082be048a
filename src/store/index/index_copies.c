// SPDX-License-Identifier: Apache-2.0
//
// Tasks repeated by worker threads. oneDNN's worker threads repeat the task of the primitive that their
// caller runs, each on its own thread, where nothing else is open. Such a slice lies within its caller's in
// time, has the same label and, since ids are told, the same id: which two callers of one primitive in the
// same millisecond have as well. So a thread must be a worker, too. It creates no primitives, and all of its
// outermost slices lie within others': by id most of them, because the caller's may be lost.
#include "store/index/index_build.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "store/model/model.h"

struct candidate {
	uint32_t process_id, label, row;
};

/* The slices so far that end last, of two different tracks. */
struct covering {
	int64_t end_ns, other_end_ns;
	uint32_t track;
};

/* The outermost slices of a thread in a domain. */
struct tally {
	uint32_t within, calls;
	bool has_ids;
};

struct copies {
	struct st_index_builder *builder;
	struct candidate *items;
	uint32_t count, capacity;
	struct st_id_map ids;	  /* row -> id */
	struct st_key_table keys; /* (process id, label, id) */
	struct covering *covering;
	uint32_t covering_capacity;
	struct st_key_table threads; /* (track, domain) */
	struct tally *tallies;	     /* by number of that key */
	uint32_t tally_capacity;
	uint8_t *creates;   /* by track: it creates primitives */
	uint8_t *is_within; /* by item: by id where it has one, else by label */
};

/* Old versions repeat nothing. */
static bool is_wanted(const struct copies *c, uint32_t label)
{
	enum st_category category = c->builder->meta->labels[label].category;

	return category == ST_CATEGORY_PRIMITIVE || category == ST_CATEGORY_PRIMITIVE_STAGE;
}

static bool has_labels(const struct copies *c)
{
	for (uint32_t i = 0; i < c->builder->meta->label_count; i++)
		if (is_wanted(c, i))
			return true;
	return false;
}

static bool find_items(struct copies *c)
{
	const struct st_index_columns *columns = &c->builder->index->columns;
	const struct st_index_meta *meta = c->builder->meta;

	for (uint32_t t = 0; t < meta->track_count; t++) {
		const struct st_index_track *track = &meta->tracks[t];

		for (uint32_t row = track->row_begin; row < track->row_end; row++) {
			uint32_t label = columns->label[row];

			if (meta->labels[label].category == ST_CATEGORY_PRIMITIVE_CREATE)
				c->creates[t] = 1;
			if (!is_wanted(c, label))
				continue;
			if (!ST_VEC_PUSH(c->items, c->count, c->capacity,
					 (struct candidate){
						 .process_id = track->process_id,
						 .label = label,
						 .row = row,
					 }))
				return false;
		}
	}
	return true;
}

/* The first id told while a slice is the innermost is its own. */
static bool find_ids(struct copies *c)
{
	const struct st_index_columns *columns = &c->builder->index->columns;

	for (uint32_t i = 0; i < c->builder->event_count; i++) {
		const struct st_event_row *row = &columns->events[i];

		if ((row->kind != ST_EVENT_TASK_ID && row->kind != ST_EVENT_ID_CREATE) ||
		    row->slice == ST_NO_ROW || !row->id ||
		    !is_wanted(c, columns->label[row->slice]) ||
		    st_id_map_get(&c->ids, row->slice) != ST_ID_NONE)
			continue;
		if (!st_id_map_put(&c->ids, row->slice, row->id))
			return false;
	}
	return true;
}

/* Callers before what lies within them. */
static int by_time(const void *a, const void *b, void *arg)
{
	const struct candidate *x = a, *y = b;
	const struct st_index_columns *columns = arg;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	if (x->label != y->label)
		return x->label < y->label ? -1 : 1;
	if (columns->begin_ns[x->row] != columns->begin_ns[y->row])
		return columns->begin_ns[x->row] < columns->begin_ns[y->row] ? -1 : 1;
	if (columns->end_ns[x->row] != columns->end_ns[y->row])
		return columns->end_ns[x->row] > columns->end_ns[y->row] ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* Whether a slice lies within one of another track seen before; adds it to those seen. */
static bool is_covered(struct copies *c, const struct candidate *item, uint32_t id, bool *ok)
{
	const struct st_index_columns *columns = &c->builder->index->columns;
	uint32_t known = c->keys.count, track = columns->track[item->row];
	uint32_t key = st_key_table_add(&c->keys, item->process_id, item->label, id);
	int64_t end_ns = columns->end_ns[item->row], others;
	struct covering *covering;

	if (key == ST_ID_NONE || !ST_VEC_ROOM(c->covering, key, c->covering_capacity)) {
		*ok = false;
		return false;
	}
	covering = &c->covering[key];
	if (key >= known)
		*covering = (struct covering){.end_ns = -1, .other_end_ns = -1, .track = track};
	others = covering->track == track ? covering->other_end_ns : covering->end_ns;
	if (covering->track != track && end_ns > covering->end_ns) {
		covering->other_end_ns = covering->end_ns;
		covering->end_ns = end_ns;
		covering->track = track;
	} else if (covering->track == track) {
		covering->end_ns = end_ns > covering->end_ns ? end_ns : covering->end_ns;
	} else if (end_ns > covering->other_end_ns) {
		covering->other_end_ns = end_ns;
	}
	return others >= end_ns;
}

static struct tally *tally_of(struct copies *c, const struct candidate *item)
{
	uint32_t track = c->builder->index->columns.track[item->row], known = c->threads.count;
	st_string_id domain = c->builder->meta->labels[item->label].domain;
	uint32_t key = st_key_table_add(&c->threads, track, domain, 0);

	if (key == ST_ID_NONE || !ST_VEC_ROOM(c->tallies, key, c->tally_capacity))
		return NULL;
	if (key >= known)
		c->tallies[key] = (struct tally){0};
	return &c->tallies[key];
}

static bool find_covered(struct copies *c)
{
	const struct st_index_columns *columns = &c->builder->index->columns;
	bool ok = true;

	for (uint32_t i = 0; i < c->count && ok; i++) {
		const struct candidate *item = &c->items[i];
		uint32_t id = st_id_map_get(&c->ids, item->row);
		bool within = is_covered(c, item, 0, &ok);
		struct tally *tally = tally_of(c, item);

		if (id != ST_ID_NONE)
			within = is_covered(c, item, id, &ok);
		c->is_within[i] = within;
		if (!tally)
			return false;
		if (columns->depth[item->row])
			continue;
		tally->has_ids = tally->has_ids || id != ST_ID_NONE;
		tally->within += within;
		tally->calls += !within;
	}
	return ok;
}

static bool is_worker(const struct copies *c, const struct candidate *item)
{
	uint32_t track = c->builder->index->columns.track[item->row];
	st_string_id domain = c->builder->meta->labels[item->label].domain;
	uint32_t key = st_key_table_find(&c->threads, track, domain, 0);
	const struct tally *tally = &c->tallies[key];

	return !c->creates[track] &&
	       (tally->has_ids ? tally->calls <= tally->within : !tally->calls);
}

static void flag(struct copies *c)
{
	struct st_index_columns *columns = &c->builder->index->columns;

	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t row = c->items[i].row;

		if (columns->depth[row] || !c->is_within[i] || !is_worker(c, &c->items[i]))
			continue;
		columns->flags[row] |= ST_SLICE_COPY;
		c->builder->meta->copies++;
	}
}

bool st_index_copies_finish(struct st_index_builder *builder)
{
	struct copies c = {.builder = builder};
	bool ok = true;

	if (!has_labels(&c))
		return true;
	c.creates = calloc(builder->meta->track_count + 1, 1);
	ok = c.creates && find_items(&c) && find_ids(&c);
	if (ok && c.count) {
		qsort_r(c.items, c.count, sizeof(*c.items), by_time, &builder->index->columns);
		c.is_within = calloc(c.count, 1);
		ok = c.is_within && find_covered(&c);
	}
	if (ok)
		flag(&c);
	free(c.items);
	free(c.is_within);
	free(c.creates);
	free(c.tallies);
	free(c.covering);
	st_id_map_fini(&c.ids);
	st_key_table_fini(&c.keys);
	st_key_table_fini(&c.threads);
	return ok;
}
