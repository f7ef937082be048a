// SPDX-License-Identifier: Apache-2.0
//
// Tracks, labels and tiles of a view: everything that a result holds is on a track and in a tile; curves against the same
// worked out plainly; and what is refused.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "analyze/timeline/tile_cache.h"
#include "analyze/timeline/tiles.h"
#include "analyze/timeline/view.h"
#include "analyze/timeline/view_values.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "events_result.h"

static struct st_result *fake;
static struct st_timeline_view *view;
static struct st_buf out;
static struct st_error err;

static int setup(void **state)
{
	(void)state;
	fake = NULL;
	view = NULL;
	memset(&err, 0, sizeof(err));
	st_buf_init(&out, SIZE_MAX / 4);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	st_timeline_view_close(view);
	fake_destroy(fake);
	st_buf_fini(&out);
	return 0;
}

static void open_view(void)
{
	if (st_timeline_view_open(&view, fake, &err))
		fail_msg("%s", err.text);
}

static struct json_object *tracks(void)
{
	struct st_json json;
	struct json_object *parsed;

	st_buf_clear(&out);
	st_json_init(&json, &out);
	st_json_object_begin(&json);
	assert_int_equal(st_view_tracks_json(view, &json, &err), ST_OK);
	st_json_object_end(&json);
	st_buf_append_u8(&out, 0);
	parsed = json_tokener_parse((const char *)out.data);
	assert_non_null(parsed);
	st_buf_clear(&out);
	return parsed;
}

static uint32_t find_track(const char *kind, unsigned int number)
{
	for (uint32_t i = 0; i < view->count; i++)
		if (strcmp(view->tracks[i].kind, kind) == 0 && number-- == 0)
			return i;
	fail_msg("no track \"%s\"", kind);
	return 0;
}

/* A tile as a reader of the bytes has it. */
struct tile {
	uint32_t track, kind, level, count;
	int64_t index;
	const uint8_t *start, *dur, *counts, *label, *event, *lane, *busy, *category, *flags;
	const uint8_t *bucket, *min, *max, *mean;
};

static uint32_t u32_at(const uint8_t *column, size_t at)
{
	uint32_t value;

	memcpy(&value, column + 4 * at, 4);
	return value;
}

static uint16_t u16_at(const uint8_t *column, size_t at)
{
	uint16_t value;

	memcpy(&value, column + 2 * at, 2);
	return value;
}

static float float_at(const uint8_t *column, size_t at)
{
	float value;

	memcpy(&value, column + 4 * at, 4);
	return value;
}

static const uint8_t *take(const uint8_t **at, size_t size_bytes)
{
	const uint8_t *column = *at;

	*at += (size_bytes + 3) / 4 * 4;
	assert_true(*at <= out.data + out.size_bytes);
	return column;
}

static const uint8_t *read_tile(const uint8_t *at, struct tile *tile)
{
	const uint8_t *head = take(&at, 24);
	uint32_t n = u32_at(head, 5);

	*tile = (struct tile){.track = u32_at(head, 0),
			      .kind = u32_at(head, 1),
			      .level = u32_at(head, 4),
			      .count = n};
	memcpy(&tile->index, head + 8, 8);
	if (tile->kind == 1) {
		tile->bucket = take(&at, 2 * n);
		tile->min = take(&at, 4 * n);
		tile->max = take(&at, 4 * n);
		tile->mean = take(&at, 4 * n);
		return at;
	}
	tile->start = take(&at, 4 * n);
	tile->dur = take(&at, 4 * n);
	tile->counts = take(&at, 4 * n);
	tile->label = take(&at, 4 * n);
	tile->event = take(&at, 4 * n);
	tile->lane = take(&at, 2 * n);
	tile->busy = take(&at, n);
	tile->category = take(&at, n);
	tile->flags = take(&at, n);
	return at;
}

static uint32_t ask_tile(uint32_t track, uint32_t level, int64_t index,
			 const struct st_view_filter *filter, struct tile tiles[2])
{
	struct st_tile_place place = {track, index};
	struct st_tiles_ask ask = {.level = level, .places = &place, .count = 1, .filter = filter};
	const uint8_t *at;
	uint32_t count;

	st_buf_clear(&out);
	if (st_view_tiles(view, &ask, &out, &err))
		fail_msg("%s", err.text);
	assert_memory_equal(out.data, "STT1", 4);
	count = u32_at(out.data, 1);
	assert_int_equal(u32_at(out.data, 2), 1);
	at = out.data + 16;
	for (uint32_t i = 0; i < count; i++)
		at = read_tile(at, &tiles[i]);
	assert_ptr_equal(at, out.data + out.size_bytes);
	return count;
}

/* Every kind of thing is on a track of its own, in a tile that covers all time. */
static void everything_is_drawn(void **state)
{
	static const char *const kinds[] = {"process", "thread", "overlapped", "regions",
					    "frames",  "events", "marks",      "waits",
					    "markers", "counter"};
	uint32_t spans = 0;
	struct json_object *doc, *list;

	(void)state;
	fake = events_create();
	open_view();
	doc = tracks();
	assert_true(json_object_object_get_ex(doc, "tracks", &list));
	assert_int_equal(json_object_array_length(list), view->count);
	json_object_put(doc);
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		find_track(kinds[i], 0);
	for (uint32_t i = 0; i < view->count; i++) {
		struct tile tiles[2];
		uint32_t drawn = 0;

		if (view->tracks[i].items == ST_ITEM_NONE)
			continue;
		assert_int_equal(ask_tile(i, 3, 0, NULL, tiles), 1);
		for (uint32_t j = 0; j < tiles[0].count; j++) {
			struct st_view_label label;

			drawn += u32_at(tiles[0].counts, j);
			assert_true(st_view_label(view, u32_at(tiles[0].label, j), &label));
			assert_int_equal(label.category, tiles[0].category[j]);
		}
		assert_int_equal(drawn, view->tracks[i].count);
		spans += view->tracks[i].items == ST_ITEM_SPAN ? drawn : 0;
	}
	assert_int_equal(spans, EVENTS_SPANS);
	/* The three overlapped tasks lie on three lanes. */
	assert_int_equal(view->tracks[find_track("overlapped", 0)].lanes, 3);
}

static void tasks_have_their_place_and_row(void **state)
{
	struct tile tiles[2];
	uint32_t thread;

	(void)state;
	fake = events_create();
	open_view();
	json_object_put(tracks());
	thread = find_track("thread", 0);
	assert_int_equal(view->tracks[thread].lanes, 2);
	assert_int_equal(ask_tile(thread, 1, 0, NULL, tiles), 1);
	assert_int_equal(tiles[0].count, 3);
	assert_int_equal(u32_at(tiles[0].start, 0), 100);
	assert_int_equal(u32_at(tiles[0].dur, 0), 900);
	assert_int_equal(u32_at(tiles[0].event, 0), EVENTS_OUTER);
	assert_int_equal(u16_at(tiles[0].lane, 0), 0);
	assert_int_equal(u32_at(tiles[0].start, 1), 200);
	assert_int_equal(u32_at(tiles[0].event, 1), EVENTS_FIRST);
	assert_int_equal(u16_at(tiles[0].lane, 1), 1);
	assert_int_equal(tiles[0].busy[1], 255);
	/* The second half of a finer level: what comes from the left says so. */
	assert_int_equal(ask_tile(thread, 0, 1, NULL, tiles), 1);
	assert_int_equal(tiles[0].count, 1);
	assert_int_equal(u32_at(tiles[0].start, 0), 0);
	assert_int_equal(u32_at(tiles[0].dur, 0), 1000 - 512);
	assert_int_equal(tiles[0].flags[0], ST_BOX_FROM_LEFT);
}

static void filters_leave_the_lanes(void **state)
{
	const struct st_filter filters[] = {
		{.grouping = ST_BY_TASK_TYPE, .pattern = "s*"},
		{.grouping = ST_BY_THREAD, .pattern = "6"},
	};
	struct st_question question = {.filters = filters, .filter_count = 1};
	struct st_view_filter filter;
	struct tile tiles[2];
	uint32_t thread, overlapped;

	(void)state;
	fake = events_create();
	open_view();
	thread = find_track("thread", 0);
	overlapped = find_track("overlapped", 0);
	assert_int_equal(st_view_filter_init(&filter, view, "task-type=s*", &question, &err),
			 ST_OK);
	ask_tile(thread, 3, 0, &filter, tiles);
	assert_int_equal(tiles[0].count, 1);
	assert_int_equal(u32_at(tiles[0].event, 0), EVENTS_SECOND);
	assert_int_equal(u16_at(tiles[0].lane, 0), 1);
	ask_tile(overlapped, 3, 0, &filter, tiles);
	assert_int_equal(tiles[0].count, 3);
	st_view_filter_fini(&filter);
	/* The same track without a filter is as it was. */
	ask_tile(thread, 3, 0, NULL, tiles);
	assert_int_equal(tiles[0].count, 3);
	question.filters = filters + 1;
	assert_int_equal(st_view_filter_init(&filter, view, "thread=6", &question, &err), ST_OK);
	ask_tile(thread, 3, 0, &filter, tiles);
	assert_int_equal(tiles[0].count, 0);
	ask_tile(find_track("thread", 1), 3, 0, &filter, tiles);
	assert_int_equal(tiles[0].count, 1);
	st_view_filter_fini(&filter);
	question = (struct st_question){
		.has_time_range = true, .time_begin_ns = 350, .time_end_ns = 2000};
	assert_int_equal(st_view_filter_init(&filter, view, "350:", &question, &err), ST_OK);
	ask_tile(thread, 3, 0, &filter, tiles);
	assert_int_equal(tiles[0].count, 2);
	st_view_filter_fini(&filter);
}

static void impossible_tiles_are_refused(void **state)
{
	static const struct {
		uint32_t level, track, lane_first, lane_end, count;
		int64_t index;
	} asked[] = {
		{.level = 45, .count = 1},
		{.level = UINT32_MAX, .count = 1},
		{.level = 3, .count = 1, .track = 1000},
		{.level = 3, .count = 1, .track = UINT32_MAX},
		{.level = 44, .count = 1, .index = INT64_MAX},
		{.level = 0, .count = 1, .index = INT64_MIN},
		{.level = 3, .count = 1, .lane_first = 2, .lane_end = 1},
		{.level = 3, .count = 1, .lane_first = 0, .lane_end = UINT32_MAX},
		{.level = 3, .count = ST_TILES_MAX + 1},
	};
	static struct st_tile_place places[ST_TILES_MAX + 1];

	(void)state;
	fake = events_create();
	open_view();
	for (unsigned int i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct st_tiles_ask ask = {.level = asked[i].level,
					   .places = places,
					   .count = asked[i].count,
					   .lane_first = asked[i].lane_first,
					   .lane_end = asked[i].lane_end};

		memset(places, 0, sizeof(places));
		places[0] = (struct st_tile_place){asked[i].track, asked[i].index};
		assert_int_equal(st_view_tiles(view, &ask, &out, &err), ST_EUSAGE);
		assert_true(err.text[0] != '\0');
	}
}

static void unknown_labels_are_refused(void **state)
{
	uint32_t ids[] = {0, 1000000};
	struct st_json json;

	(void)state;
	fake = events_create();
	open_view();
	st_json_init(&json, &out);
	st_json_object_begin(&json);
	assert_int_equal(st_view_labels_json(view, ids, 1, &json, &err), ST_OK);
	assert_int_equal(st_view_labels_json(view, ids, 2, &json, &err), ST_EUSAGE);
	assert_int_equal(st_view_labels_json(view, ids, ST_VIEW_LABELS_MAX + 1, &json, &err),
			 ST_EUSAGE);
}

/* An answer ends where it is long enough, and says how far it came. */
static void long_answers_are_cut(void **state)
{
	enum { LANES = 40, LONG = 7000 };
	static struct st_tile_place places[64];
	struct st_tiles_ask ask = {.level = 6, .places = places, .count = 64};
	uint32_t label;

	(void)state;
	fake = fake_create();
	fake_process(fake, "p", 1);
	label = fake_label(fake, "d", "deep");
	fake_track(fake, 0, "", 1);
	for (uint32_t i = 0; i < LONG; i++)
		for (uint32_t lane = 0; lane < LANES; lane++)
			fake_slice(fake, label, i * 100 + lane, i * 100 + 90 - lane,
				   lane ? fake->slices.count - 1 : ST_NO_ROW);
	fake_finish(fake);
	open_view();
	for (uint32_t i = 0; i < 64; i++)
		places[i] = (struct st_tile_place){find_track("thread", 0), i % 16};
	assert_int_equal(st_view_tiles(view, &ask, &out, &err), ST_OK);
	assert_true(out.size_bytes <= ST_TILES_BYTES);
	assert_true(u32_at(out.data, 2) > 0);
	assert_true(u32_at(out.data, 2) < 64);
	assert_int_equal(u32_at(out.data, 1), u32_at(out.data, 2));
}

/* What was made for a track goes when there is too much, and comes again. */
static void memory_is_bounded(void **state)
{
	struct tile tiles[2];
	uint32_t first, second;

	(void)state;
	fake = events_create();
	open_view();
	view->made_max_bytes = 1;
	first = find_track("thread", 0);
	second = find_track("thread", 1);
	for (unsigned int i = 0; i < 3; i++) {
		ask_tile(first, 3, 0, NULL, tiles);
		assert_int_equal(tiles[0].count, 3);
		ask_tile(second, 3, 0, NULL, tiles);
		assert_int_equal(tiles[0].count, 1);
		assert_int_equal(view->made_count, 1);
	}
}

static uint64_t seed = 3;

static uint64_t next_random(uint64_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % below;
}

/* CPU time of threads and of their process against a sum over all samples, at every level. */
static void cpu_time_is_that_of_the_samples(void **state)
{
	enum { SAMPLES = 3000 };

	(void)state;
	fake = fake_create();
	fake_process(fake, "p", 1);
	for (uint32_t thread = 0; thread < 2; thread++) {
		int64_t at = 0;

		fake_track(fake, 0, "", 10 + thread);
		for (uint32_t i = 0; i < SAMPLES; i++) {
			int64_t gap = 1000 + (int64_t)next_random(100);

			at += gap;
			fake_sample(fake, at, (uint64_t)gap - next_random(400), 0,
				    next_random(10) ? 0 : ST_SAMPLE_WAITING);
		}
	}
	fake_finish(fake);
	open_view();
	for (uint32_t level = 6; level < 24; level++)
		for (int64_t index = 0; index < 3; index++) {
			double expected[2][ST_TILE_BUCKETS] = {{0}};
			int64_t left = index << (level + 9);
			struct tile tiles[2];

			for (uint32_t i = 0; i < fake->samples.count; i++) {
				int64_t end = fake->samples.time_ns[i] - left;
				int64_t begin = end - (int64_t)fake->samples.weight_ns[i];

				for (int64_t b = 0; b < ST_TILE_BUCKETS && !fake->samples.flags[i];
				     b++) {
					int64_t from = b << level, to = (b + 1) << level;

					from = begin > from ? begin : from;
					to = end < to ? end : to;
					if (to > from)
						expected[fake->samples.track[i]][b] +=
							(double)(to - from) / ldexp(1, (int)level);
				}
			}
			for (uint32_t which = 0; which < 3; which++) {
				uint32_t at = 0, track = which < 2 ? find_track("thread", which)
								   : find_track("process", 0);

				assert_int_equal(ask_tile(track, level, index, NULL, tiles), 1);
				for (uint32_t b = 0; b < ST_TILE_BUCKETS; b++) {
					double wanted = which < 2 ? expected[which][b]
								  : expected[0][b] + expected[1][b];
					bool is_there = at < tiles[0].count &&
							u16_at(tiles[0].bucket, at) == b;

					assert_true(
						fabs((is_there ? (double)float_at(tiles[0].mean, at)
							       : 0.0) -
						     wanted) < 1e-5);
					at += is_there;
				}
			}
		}
}

/* A counter's least, largest and mean value in each bucket against all of its values. */
static void counters_are_bounded_by_their_values(void **state)
{
	enum { VALUES = 2000 };
	uint32_t object;

	(void)state;
	fake = fake_create();
	fake_process(fake, "p", 1);
	fake_track(fake, 0, "", 1);
	object = fake_object(fake, ST_OBJECT_COUNTER, 2, "d", "queue");
	fake->info.elapsed_ns = 400000;
	for (uint32_t i = 0; i < VALUES; i++)
		fake_event(fake, (struct st_event_row){.kind = ST_EVENT_COUNTER_SET,
						       .time_ns = 100 + 150 * (int64_t)i +
								  (int64_t)next_random(100),
						       .object = object,
						       .slice = ST_NO_ROW,
						       .value = next_random(1000)});
	fake_finish(fake);
	open_view();
	for (uint32_t level = 4; level < 14; level++) {
		const struct st_counter *counter = &view->counters.counters[0];
		struct tile tiles[2];

		assert_int_equal(ask_tile(find_track("counter", 0), level, 0, NULL, tiles), 1);
		assert_true(tiles[0].count > 0);
		for (uint32_t i = 0; i < tiles[0].count; i++) {
			int64_t from = (int64_t)u16_at(tiles[0].bucket, i) << level;
			int64_t to = from + (INT64_C(1) << level);
			double min = INFINITY, max = -INFINITY, sum = 0, time = 0;

			if (to > fake->info.elapsed_ns)
				to = fake->info.elapsed_ns;
			for (uint32_t j = 0; j < VALUES; j++) {
				int64_t begin = counter->samples[j].time_ns;
				int64_t end = j + 1 < VALUES ? counter->samples[j + 1].time_ns
							     : fake->info.elapsed_ns;

				if (begin >= to || end <= from)
					continue;
				begin = begin > from ? begin : from;
				end = end < to ? end : to;
				min = fmin(min, counter->samples[j].number);
				max = fmax(max, counter->samples[j].number);
				sum += counter->samples[j].number * (double)(end - begin);
				time += (double)(end - begin);
			}
			assert_true(fabs(float_at(tiles[0].min, i) - (min)) < 1e-3);
			assert_true(fabs(float_at(tiles[0].max, i) - (max)) < 1e-3);
			assert_true(fabs(float_at(tiles[0].mean, i) - (sum / time)) < 1e-2);
		}
	}
}

/* What is asked for again comes from memory, and is the same; other lanes, levels and filters are other tiles. */
static void tiles_are_the_same_again(void **state)
{
	struct st_buf first;
	struct st_tile_cache *cache;

	(void)state;
	fake = events_create();
	open_view();
	cache = view->tiles;
	assert_non_null(cache);
	st_buf_init(&first, SIZE_MAX / 4);
	for (uint32_t track = 0; track < view->count; track++) {
		for (uint32_t level = 0; level < 4; level++) {
			struct st_tile_place places[] = {{track, 0}, {track, 1}, {track, 0}};
			struct st_tiles_ask ask = {.level = level, .places = places, .count = 3};

			for (uint32_t lane_end = 1; lane_end < 3; lane_end++) {
				ask.lane_end = lane_end;
				view->tiles = NULL;
				st_buf_clear(&first);
				assert_int_equal(st_view_tiles(view, &ask, &first, &err), ST_OK);
				view->tiles = cache;
				for (int again = 0; again < 2; again++) {
					st_buf_clear(&out);
					assert_int_equal(st_view_tiles(view, &ask, &out, &err),
							 ST_OK);
					assert_int_equal(out.size_bytes, first.size_bytes);
					assert_memory_equal(out.data, first.data, out.size_bytes);
				}
			}
		}
	}
	st_buf_fini(&first);
}

static void cache_is_bounded(void **state)
{
	enum { SIZE = 1000, FIT = 8 };
	struct st_tile_cache *cache = st_tile_cache_create(FIT * (SIZE + 100));
	uint8_t bytes[2 * SIZE];
	struct st_cached_tile tile = {bytes, SIZE, 1}, got;
	uint32_t kept = 0;

	(void)state;
	assert_non_null(cache);
	for (uint32_t i = 0; i < 100; i++) {
		struct st_tile_key key = {-(int64_t)i, i % 7, i % 5, 0, 256};
		struct st_tile_key pinned = {0, 0, 0, 0, 256}, other = {0, 0, 0, 1, 256};

		memset(bytes, (int)i, sizeof(bytes));
		st_tile_cache_put(cache, &key, &tile);
		/* What is used stays. */
		got = st_tile_cache_get(cache, &pinned);
		assert_non_null(got.data);
		assert_int_equal(got.size_bytes, SIZE);
		assert_int_equal(got.data[SIZE - 1], 0);
		assert_null(st_tile_cache_get(cache, &other).data);
	}
	for (uint32_t i = 0; i < 100; i++) {
		got = st_tile_cache_get(cache,
					&(struct st_tile_key){-(int64_t)i, i % 7, i % 5, 0, 256});
		kept += got.data != NULL;
		assert_true(!got.data || got.data[0] == i);
		assert_true(got.data || i < 100 - FIT + 1);
	}
	assert_in_range(kept, FIT - 1, FIT);
	/* One that would drive out the others is not kept; nor is anything where there is no cache. */
	tile.size_bytes = 2 * SIZE;
	st_tile_cache_put(cache, &(struct st_tile_key){1, 1, 1, 0, 1}, &tile);
	assert_null(st_tile_cache_get(cache, &(struct st_tile_key){1, 1, 1, 0, 1}).data);
	st_tile_cache_put(NULL, &(struct st_tile_key){1, 1, 1, 0, 1}, &tile);
	assert_null(st_tile_cache_get(NULL, &(struct st_tile_key){1, 1, 1, 0, 1}).data);
	st_tile_cache_destroy(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(everything_is_drawn, setup, teardown),
		cmocka_unit_test_setup_teardown(tasks_have_their_place_and_row, setup, teardown),
		cmocka_unit_test_setup_teardown(filters_leave_the_lanes, setup, teardown),
		cmocka_unit_test_setup_teardown(impossible_tiles_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown_labels_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(long_answers_are_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_is_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(tiles_are_the_same_again, setup, teardown),
		cmocka_unit_test(cache_is_bounded),
		cmocka_unit_test_setup_teardown(cpu_time_is_that_of_the_samples, setup, teardown),
		cmocka_unit_test_setup_teardown(counters_are_bounded_by_their_values, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
