// SPDX-License-Identifier: Apache-2.0
//
// Tiles as bytes (analyze/timeline/tiles.h). Little-endian, each column padded to four bytes.
#include "analyze/timeline/tiles.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/timeline/tile_cache.h"
#include "analyze/timeline/view_values.h"
#include "base/buf.h"

enum { BOXES = 0, VALUES = 1, EXACT_LEVEL = 20, BUCKET_BITS = 9 };

_Static_assert(1 << BUCKET_BITS == ST_TILE_BUCKETS, "a tile is that many buckets");

/* So many bytes more at the end; NULL: no memory. */
static uint8_t *room(struct st_buf *out, size_t size_bytes)
{
	uint8_t *at;

	if (!st_buf_reserve(out, size_bytes))
		return NULL;
	at = out->data + out->size_bytes;
	out->size_bytes += size_bytes;
	return at;
}

static uint8_t *put_u16(uint8_t *to, uint32_t value)
{
	uint16_t bytes = htole16((uint16_t)value);

	memcpy(to, &bytes, sizeof(bytes));
	return to + sizeof(bytes);
}

static uint8_t *put_u32(uint8_t *to, uint32_t value)
{
	uint32_t bytes = htole32(value);

	memcpy(to, &bytes, sizeof(bytes));
	return to + sizeof(bytes);
}

static uint8_t *put_float(uint8_t *to, double value)
{
	float number = (float)value;
	uint32_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return put_u32(to, bits);
}

static size_t padded(size_t size_bytes)
{
	return (size_bytes + 3) / 4 * 4;
}

/* Zeros to the end of a column. */
static uint8_t *pad(uint8_t *to, size_t size_bytes)
{
	memset(to, 0, padded(size_bytes) - size_bytes);
	return to + padded(size_bytes) - size_bytes;
}

static void put_head(struct st_buf *out, const struct st_tile_place *place, uint32_t kind,
		     uint32_t level, uint32_t count)
{
	st_buf_append_u32(out, place->track);
	st_buf_append_u32(out, kind);
	st_buf_append_u64(out, (uint64_t)place->index);
	st_buf_append_u32(out, level);
	st_buf_append_u32(out, count);
}

static uint8_t *put_times(uint8_t *to, const struct st_boxes *boxes,
			  const struct st_tile_window *window)
{
	unsigned int shift = window->level > EXACT_LEVEL ? window->level - EXACT_LEVEL : 0;

	for (uint32_t i = 0; i < boxes->count; i++)
		to = put_u32(to,
			     (uint32_t)((boxes->items[i].begin_ns - window->begin_ns) >> shift));
	/* Both ends are rounded alike, so that boxes which touch still do. */
	for (uint32_t i = 0; i < boxes->count; i++) {
		int64_t begin = (boxes->items[i].begin_ns - window->begin_ns) >> shift;
		int64_t end = (boxes->items[i].end_ns - window->begin_ns) >> shift;

		to = put_u32(to, (uint32_t)(end - begin));
	}
	return to;
}

/* All columns of the boxes: five of four bytes, one of two, three of one. */
static void put_boxes(const struct st_timeline_view *view, enum st_item_kind kind,
		      const struct st_boxes *boxes, const struct st_tile_window *window,
		      struct st_buf *out)
{
	struct st_item_columns items = st_view_columns(view, kind);
	size_t count = boxes->count;
	uint8_t *to = room(out, 20 * count + padded(2 * count) + 3 * padded(count));

	if (!to)
		return;
	to = put_times(to, boxes, window);
	for (uint32_t i = 0; i < count; i++)
		to = put_u32(to, boxes->items[i].count);
	for (uint32_t i = 0; i < count; i++)
		to = put_u32(to, items.label[boxes->items[i].row]);
	for (uint32_t i = 0; i < count; i++)
		to = put_u32(to, st_view_item_number(view, kind, boxes->items[i].row));
	for (uint32_t i = 0; i < count; i++)
		to = put_u16(to, boxes->items[i].lane - window->lane_first);
	to = pad(to, 2 * count);
	for (uint32_t i = 0; i < count; i++)
		*to++ = boxes->items[i].busy;
	to = pad(to, count);
	for (uint32_t i = 0; i < count; i++)
		*to++ = (uint8_t)st_view_label_category(view, items.label[boxes->items[i].row]);
	to = pad(to, count);
	for (uint32_t i = 0; i < count; i++)
		*to++ = boxes->items[i].flags;
	pad(to, count);
}

static void put_values(const struct st_value_bucket *buckets, uint32_t count, struct st_buf *out)
{
	uint8_t *to = room(out, padded(2 * (size_t)count) + 12 * (size_t)count);

	if (!to)
		return;
	for (uint32_t i = 0; i < count; i++)
		to = put_u16(to, buckets[i].bucket);
	to = pad(to, 2 * (size_t)count);
	for (uint32_t i = 0; i < count; i++)
		to = put_float(to, buckets[i].min);
	for (uint32_t i = 0; i < count; i++)
		to = put_float(to, buckets[i].max);
	for (uint32_t i = 0; i < count; i++)
		to = put_float(to, buckets[i].mean);
}

static enum st_status add_boxes(struct st_timeline_view *view, const struct st_tiles_ask *ask,
				const struct st_tile_place *place,
				const struct st_tile_window *window, struct st_buf *out,
				struct st_error *err)
{
	struct st_boxes boxes = {0};
	const struct st_lane_index *lanes;
	enum st_status status = st_view_lanes(view, place->track, ask->filter, &lanes, err);

	if (status)
		return status;
	if (!st_lane_index_boxes(lanes, window, &boxes))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for a tile");
	if (!status) {
		put_head(out, place, BOXES, window->level, boxes.count);
		put_boxes(view, view->tracks[place->track].items, &boxes, window, out);
	}
	free(boxes.items);
	return status;
}

/* What one pair of the request says; *tiles is raised by as many tiles as it has. */
static enum st_status add_place(struct st_timeline_view *view, const struct st_tiles_ask *ask,
				const struct st_tile_place *place, struct st_buf *out,
				uint32_t *tiles, struct st_error *err)
{
	const struct st_view_track *track = &view->tracks[place->track];
	struct st_tile_window window = {
		.begin_ns = (int64_t)((uint64_t)place->index << (ask->level + BUCKET_BITS)),
		.level = ask->level,
		.lane_first = ask->lane_first,
		.lane_end = ask->lane_end};
	enum st_status status = ST_OK;

	if (ask->filter && !st_view_filter_has(ask->filter, view, place->track)) {
		put_head(out, place, track->items == ST_ITEM_NONE ? VALUES : BOXES, ask->level, 0);
		*tiles += 1;
		return ST_OK;
	}
	if (track->items != ST_ITEM_NONE) {
		status = add_boxes(view, ask, place, &window, out, err);
		*tiles += 1;
	}
	if (!status && (track->values != ST_VALUES_NONE || track->items == ST_ITEM_NONE)) {
		struct st_value_bucket buckets[ST_TILE_BUCKETS];
		uint32_t count = st_view_values(view, place->track, &window, buckets);

		put_head(out, place, VALUES, ask->level, count);
		put_values(buckets, count, out);
		*tiles += 1;
	}
	return status;
}

/* The same from what was made before, where there is no filter. */
static enum st_status take_place(struct st_timeline_view *view, const struct st_tiles_ask *ask,
				 const struct st_tile_place *place, struct st_buf *out,
				 uint32_t *tiles, struct st_error *err)
{
	struct st_tile_key key = {place->index, place->track, ask->level, ask->lane_first,
				  ask->lane_end};
	struct st_cached_tile made = {NULL, 0, 0};
	size_t before = out->size_bytes;
	enum st_status status;

	if (ask->filter)
		return add_place(view, ask, place, out, tiles, err);
	made = st_tile_cache_get(view->tiles, &key);
	if (made.data) {
		st_buf_append(out, made.data, made.size_bytes);
		*tiles += made.tiles;
		return ST_OK;
	}
	status = add_place(view, ask, place, out, &made.tiles, err);
	*tiles += made.tiles;
	if (status || out->failed)
		return status;
	made.data = out->data + before;
	made.size_bytes = out->size_bytes - before;
	st_tile_cache_put(view->tiles, &key, &made);
	return ST_OK;
}

static enum st_status check(const struct st_timeline_view *view, const struct st_tiles_ask *ask,
			    struct st_error *err)
{
	int64_t most = INT64_MAX / 2;

	if (ask->level > ST_TILE_LEVEL_MAX)
		return st_error_set(err, ST_EUSAGE, 0, "level %u: there are levels 0 to %d",
				    ask->level, ST_TILE_LEVEL_MAX);
	if (ask->count > ST_TILES_MAX)
		return st_error_set(err, ST_EUSAGE, 0, "%u tiles at once: ask for at most %d",
				    ask->count, ST_TILES_MAX);
	if (ask->lane_end < ask->lane_first || ask->lane_end - ask->lane_first > ST_TILES_LANES_MAX)
		return st_error_set(err, ST_EUSAGE, 0,
				    "lanes %u to %u: ask for at most %d, the first one first",
				    ask->lane_first, ask->lane_end, ST_TILES_LANES_MAX);
	most >>= ask->level + BUCKET_BITS;
	for (uint32_t i = 0; i < ask->count; i++) {
		if (ask->places[i].track >= view->count)
			return st_error_set(err, ST_EUSAGE, 0,
					    "there is no track %u: this result has %u",
					    ask->places[i].track, view->count);
		if (ask->places[i].index > most || ask->places[i].index < -most)
			return st_error_set(err, ST_EUSAGE, 0,
					    "tile %" PRId64 " of level %u lies outside of all time",
					    ask->places[i].index, ask->level);
	}
	return ST_OK;
}

static void patch_u32(struct st_buf *out, size_t at, uint32_t value)
{
	for (unsigned int i = 0; i < 4 && !out->failed; i++)
		out->data[at + i] = (uint8_t)(value >> 8 * i);
}

enum st_status st_view_tiles(struct st_timeline_view *view, const struct st_tiles_ask *ask,
			     struct st_buf *out, struct st_error *err)
{
	struct st_tiles_ask full = *ask;
	size_t start = out->size_bytes;
	uint32_t answered = 0, tiles = 0;
	enum st_status status;

	if (!full.lane_first && !full.lane_end)
		full.lane_end = ST_TILES_LANES_USUAL;
	status = check(view, &full, err);
	if (status)
		return status;
	st_buf_append_u32(out, ST_TILES_MAGIC);
	st_buf_append_u32(out, 0);
	st_buf_append_u32(out, 0);
	st_buf_append_u32(out, full.lane_first);
	while (answered < full.count) {
		size_t before = out->size_bytes;
		uint32_t more = 0;

		status = take_place(view, &full, &full.places[answered], out, &more, err);
		if (status)
			return status;
		if (answered && out->size_bytes - start > ST_TILES_BYTES) {
			out->size_bytes = before;
			break;
		}
		answered++;
		tiles += more;
	}
	if (out->failed)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the tiles");
	patch_u32(out, start + 4, tiles);
	patch_u32(out, start + 8, answered);
	return ST_OK;
}
