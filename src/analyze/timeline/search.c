// SPDX-License-Identifier: Apache-2.0
//
// Finds things on a timeline by name and time. Texts are compared once for each label, and items only by their label.
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/timeline/details.h"
#include "base/json_out.h"
#include "base/search.h"
#include "base/vec.h"

struct hit {
	int64_t begin_ns;
	uint32_t track, row;
	uint8_t kind;
};

struct finder {
	struct st_timeline_view *view;
	const struct st_find *find;
	uint8_t *is_wanted; /* by label */
	uint32_t label_count;
	uint64_t *counts, *wall_ns; /* by label */
	uint32_t *open;		    /* by label: how many are around the slice at hand */
	struct hit *hits;
	uint32_t hit_count, hit_capacity;
	uint64_t total;
	uint64_t buckets[ST_FIND_BUCKETS];
	bool failed;
};

/* Letters of ASCII are equal in any case; others are themselves. */
static bool holds(struct st_text text, const char *part, size_t length)
{
	for (size_t i = 0; i + length <= text.size_bytes; i++)
		if (strncasecmp(text.bytes + i, part, length) == 0)
			return true;
	return false;
}

static bool choose_labels(struct finder *finder)
{
	const struct st_timeline_view *view = finder->view;
	const struct st_find *find = finder->find;
	size_t length = find->text ? strlen(find->text) : 0;
	size_t count = (size_t)view->label_count + view->more_count;

	finder->label_count = (uint32_t)count;
	finder->is_wanted = calloc(count + 1, 1);
	finder->counts = calloc(count + 1, sizeof(*finder->counts));
	finder->wall_ns = calloc(count + 1, sizeof(*finder->wall_ns));
	finder->open = calloc(count + 1, sizeof(*finder->open));
	if (!finder->is_wanted || !finder->counts || !finder->wall_ns || !finder->open)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct st_view_label label;

		st_view_label(view, i, &label);
		finder->is_wanted[i] = !find->text && !find->label_count;
		if (length)
			finder->is_wanted[i] = holds(label.name, find->text, length);
	}
	for (uint32_t i = 0; i < find->label_count; i++)
		if (find->labels[i] < count)
			finder->is_wanted[find->labels[i]] = 1;
	return true;
}

static void finder_fini(struct finder *finder)
{
	free(finder->is_wanted);
	free(finder->counts);
	free(finder->wall_ns);
	free(finder->open);
	free(finder->hits);
}

static uint32_t row_at(const struct st_timeline_view *view, const struct st_view_track *track,
		       uint32_t at)
{
	const uint32_t *order = view->items[track->items].order;

	return order ? order[track->first + at] : track->first + at;
}

static bool is_hidden(const struct st_view_track *track, const struct st_item_columns *items,
		      uint32_t row)
{
	return track->items == ST_ITEM_SLICE && items->flags[row] & ST_SLICE_TWIN;
}

/* A hit, counted; the first of each track are kept, so that the first of all are among them. */
static void add_hit(struct finder *finder, uint32_t track, uint32_t row, uint32_t *kept)
{
	struct st_timeline_view *view = finder->view;
	enum st_item_kind kind = view->tracks[track].items;
	struct st_item_columns items = st_view_columns(view, kind);
	int64_t begin_ns = items.begin_ns[row];
	__int128 span = (__int128)view->end_ns - view->begin_ns + 1;
	__int128 at = ((__int128)begin_ns - view->begin_ns) * ST_FIND_BUCKETS / span;
	struct hit hit = {begin_ns, track, row, (uint8_t)kind};

	finder->total++;
	finder->buckets[at < 0 ? 0 : at >= ST_FIND_BUCKETS ? ST_FIND_BUCKETS - 1 : at]++;
	if (*kept >= finder->find->offset + finder->find->limit)
		return;
	(*kept)++;
	if (!ST_VEC_PUSH(finder->hits, finder->hit_count, finder->hit_capacity, hit))
		finder->failed = true;
}

/* Wall time of a label counts a slice only if none around it has the same label, as in reports. */
static void count_item(struct finder *finder, const struct st_view_track *track,
		       const struct st_item_columns *items, uint32_t row)
{
	uint32_t label = items->label[row];

	if (track->items == ST_ITEM_SLICE && items->flags[row] & ST_SLICE_COPY)
		return;
	finder->counts[label]++;
	if (!finder->open[label])
		finder->wall_ns[label] += track->items == ST_ITEM_SLICE
						  ? st_result_wall_ns(finder->view->result, row)
						  : st_item_ns(items, row);
}

static bool is_in_range(const struct st_find *find, int64_t begin_ns)
{
	return !find->has_range || (begin_ns >= find->begin_ns && begin_ns < find->end_ns);
}

static void look_at_track(struct finder *finder, uint32_t index, uint32_t *around)
{
	struct st_timeline_view *view = finder->view;
	const struct st_view_track *track = &view->tracks[index];
	struct st_item_columns items = st_view_columns(view, track->items);
	bool nests = track->items == ST_ITEM_SLICE;
	uint32_t depth = 0, kept = 0;

	for (uint32_t i = 0; i < track->count; i++) {
		uint32_t row = row_at(view, track, i), label = items.label[row];

		while (nests && depth > view->slices->depth[row])
			finder->open[around[--depth]]--;
		if (finder->is_wanted[label] && !is_hidden(track, &items, row) &&
		    is_in_range(finder->find, items.begin_ns[row])) {
			count_item(finder, track, &items, row);
			add_hit(finder, index, row, &kept);
		}
		if (nests && depth == view->slices->depth[row]) {
			around[depth++] = label;
			finder->open[label]++;
		}
	}
	while (depth)
		finder->open[around[--depth]]--;
}

static int by_time(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

struct name {
	uint64_t wall_ns;
	uint32_t label;
};

static int by_wall(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->wall_ns != y->wall_ns)
		return x->wall_ns > y->wall_ns ? -1 : 1;
	return (x->label > y->label) - (x->label < y->label);
}

static void put_names(const struct finder *finder, struct st_json *json)
{
	struct name *names = calloc((size_t)finder->label_count + 1, sizeof(*names));
	uint32_t count = 0;

	for (uint32_t i = 0; names && i < finder->label_count; i++)
		if (finder->counts[i])
			names[count++] = (struct name){finder->wall_ns[i], i};
	if (count)
		qsort(names, count, sizeof(*names), by_wall);
	st_json_put_u64(json, "name_count", count);
	st_json_put_array(json, "names");
	for (uint32_t i = 0; i < count && i < ST_FIND_NAMES_MAX; i++) {
		struct st_view_label label;

		st_view_label(finder->view, names[i].label, &label);
		st_json_object_begin(json);
		st_json_put_u64(json, "label", names[i].label);
		st_json_put_bytes(json, "name", label.name.bytes, label.name.size_bytes);
		st_json_put_bytes(json, "domain", label.domain.bytes, label.domain.size_bytes);
		st_json_put_u64(json, "category", label.category);
		st_json_put_text(json, "category_name", st_view_category(label.category).name);
		st_json_put_u64(json, "count", finder->counts[names[i].label]);
		st_json_put_u64(json, "wall_total_ns", names[i].wall_ns);
		st_json_object_end(json);
	}
	st_json_array_end(json);
	free(names);
}

static void put_hit(struct st_timeline_view *view, const struct hit *hit, struct st_json *json)
{
	enum st_item_kind kind = (enum st_item_kind)hit->kind;
	struct st_item_columns items = st_view_columns(view, kind);

	st_json_put_u64(json, "row", st_view_item_number(view, kind, hit->row));
	st_json_put_text(json, "kind", st_item_words[kind]);
	st_json_put_u64(json, "track", hit->track);
	st_json_put_i64(json, "begin_ns", items.begin_ns[hit->row]);
	st_json_put_i64(json, "end_ns", items.end_ns[hit->row]);
	st_json_put_u64(json, "label", items.label[hit->row]);
}

static void put_answer(struct finder *finder, struct st_json *json)
{
	const struct st_find *find = finder->find;

	put_names(finder, json);
	st_json_put_u64(json, "total", finder->total);
	st_json_put_array(json, "hits");
	for (uint32_t i = find->offset; i < finder->hit_count && i - find->offset < find->limit;
	     i++) {
		st_json_object_begin(json);
		put_hit(finder->view, &finder->hits[i], json);
		st_json_object_end(json);
	}
	st_json_array_end(json);
	st_json_put_array(json, "buckets");
	for (unsigned int i = 0; i < ST_FIND_BUCKETS; i++)
		st_json_u64(json, finder->buckets[i]);
	st_json_array_end(json);
}

static enum st_status check(const struct st_find *find, struct st_error *err)
{
	if (find->offset > ST_FIND_HITS_MAX || find->limit > ST_FIND_HITS_MAX - find->offset)
		return st_error_set(err, ST_EUSAGE, 0,
				    "offset %u and limit %u: hits are listed up to number %d; "
				    "search in a range of time for those behind",
				    find->offset, find->limit, ST_FIND_HITS_MAX);
	return ST_OK;
}

enum st_status st_view_search_json(struct st_timeline_view *view, const struct st_find *find,
				   struct st_json *json, struct st_error *err)
{
	struct finder finder = {.view = view, .find = find};
	uint32_t *around = calloc(UINT16_MAX + 2, sizeof(*around));
	enum st_status status = check(find, err);
	bool is_ready = !status && around && choose_labels(&finder);

	if (!status && !is_ready)
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the search");
	for (uint32_t i = 0; is_ready && i < view->count; i++)
		if (view->tracks[i].items != ST_ITEM_NONE)
			look_at_track(&finder, i, around);
	if (!status && finder.failed)
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the search");
	if (!status) {
		if (finder.hit_count)
			qsort(finder.hits, finder.hit_count, sizeof(*finder.hits), by_time);
		put_answer(&finder, json);
	}
	finder_fini(&finder);
	free(around);
	return status;
}

/* The nearest one ---------------------------------------------------------------------------------- */

/* Of one track: the first wanted item that begins at the time or later, or the last one before it. */
static bool nearest_of_track(const struct finder *finder, const struct st_find_next *next,
			     uint32_t index, struct hit *out)
{
	const struct st_timeline_view *view = finder->view;
	const struct st_view_track *track = &view->tracks[index];
	struct st_item_columns items = st_view_columns(view, track->items);
	uint32_t at = ST_SEARCH(i, 0, track->count,
				items.begin_ns[row_at(view, track, i)] < next->from_ns);

	for (;;) {
		uint32_t row;

		if (next->backward ? at == 0 : at >= track->count)
			return false;
		row = row_at(view, track, next->backward ? at - 1 : at);
		if (finder->is_wanted[items.label[row]] && !is_hidden(track, &items, row)) {
			*out = (struct hit){items.begin_ns[row], index, row, (uint8_t)track->items};
			return true;
		}
		at = next->backward ? at - 1 : at + 1;
	}
}

enum st_status st_view_next_json(struct st_timeline_view *view, const struct st_find_next *next,
				 struct st_json *json, struct st_error *err)
{
	struct finder finder = {.view = view, .find = &next->what};
	struct hit best = {0};
	bool is_found = false;

	if (next->track != ST_NO_ROW && next->track >= view->count)
		return st_error_set(err, ST_EUSAGE, 0, "there is no track %u: this result has %u",
				    next->track, view->count);
	if (!choose_labels(&finder)) {
		finder_fini(&finder);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the search");
	}
	for (uint32_t i = 0; i < view->count; i++) {
		struct hit hit;

		if ((next->track != ST_NO_ROW && next->track != i) ||
		    view->tracks[i].items == ST_ITEM_NONE ||
		    !nearest_of_track(&finder, next, i, &hit))
			continue;
		if (!is_found ||
		    (next->backward ? hit.begin_ns > best.begin_ns : hit.begin_ns < best.begin_ns))
			best = hit;
		is_found = true;
	}
	if (is_found) {
		put_hit(view, &best, json);
	} else {
		st_json_key(json, "row");
		st_json_null(json);
	}
	finder_fini(&finder);
	return ST_OK;
}
