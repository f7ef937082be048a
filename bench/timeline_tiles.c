/* SPDX-License-Identifier: Apache-2.0
 *
 * What a timeline of a large result costs, from the open result: opening the view, laying the tracks on lanes, the first
 * tiles of a view of all, and tiles at other zooms. CPU time; memory is what the process holds beside the
 * mapped columns.
 * usage: timeline_tiles RESULT; prints one JSON object.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/timeline/tiles.h"
#include "base/buf.h"
#include "base/json_out.h"

enum { VIEW_PIXELS = 2000, ROUNDS = 200 };

static double now_ms(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* Memory of our own in MB: the mapped columns are files. */
static double held_mb(void)
{
	char line[256];
	double kb = 0.0;
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "RssAnon:", 8) == 0)
			kb = strtod(line + 8, NULL);
	if (file)
		fclose(file);
	return kb / 1024.0;
}

static void fail(const struct st_error *err)
{
	fprintf(stderr, "timeline_tiles: %s\n", err->text);
	exit(1);
}

/* All tracks over a part of the time, as a page asks for it. */
static size_t ask_view(struct st_timeline_view *view, int64_t begin_ns, int64_t width_ns,
		       struct st_buf *out)
{
	static struct st_tile_place places[ST_TILES_MAX];
	struct st_tiles_ask ask = {.places = places};
	struct st_error err = {0};
	int64_t tile_ns;
	size_t bytes = 0;

	while ((INT64_C(1) << ask.level) * VIEW_PIXELS < width_ns)
		ask.level++;
	tile_ns = INT64_C(512) << ask.level;
	for (uint32_t i = 0; i < view->count; i++)
		for (int64_t at = begin_ns / tile_ns; at * tile_ns < begin_ns + width_ns; at++)
			if (view->tracks[i].items != ST_ITEM_NONE && ask.count < ST_TILES_MAX)
				places[ask.count++] = (struct st_tile_place){i, at};
	while (ask.count) {
		uint32_t answered;

		st_buf_clear(out);
		if (st_view_tiles(view, &ask, out, &err))
			fail(&err);
		memcpy(&answered, out->data + 8, sizeof(answered));
		bytes += out->size_bytes;
		ask.places += answered;
		ask.count -= answered;
	}
	return bytes;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	struct st_result *result;
	struct st_timeline_view *view;
	struct st_error err = {0};
	struct st_buf out;
	struct st_json json;
	double start, open_ms, build_ms, first_ms, before_mb, took[ROUNDS];
	size_t bytes;

	if (argc != 2 || st_result_open(&result, argv[1], NULL, &err))
		fail(&err);
	st_buf_init(&out, SIZE_MAX / 4);
	before_mb = held_mb();
	start = now_ms(CLOCK_PROCESS_CPUTIME_ID);
	if (st_timeline_view_open(&view, result, &err))
		fail(&err);
	open_ms = now_ms(CLOCK_PROCESS_CPUTIME_ID) - start;
	start = now_ms(CLOCK_PROCESS_CPUTIME_ID);
	st_json_init(&json, &out);
	st_json_object_begin(&json);
	if (st_view_tracks_json(view, &json, &err))
		fail(&err);
	build_ms = now_ms(CLOCK_PROCESS_CPUTIME_ID) - start;
	start = now_ms(CLOCK_PROCESS_CPUTIME_ID);
	bytes = ask_view(view, view->begin_ns, view->end_ns - view->begin_ns, &out);
	first_ms = now_ms(CLOCK_PROCESS_CPUTIME_ID) - start;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		int64_t width_ns = (view->end_ns - view->begin_ns) >> (i % 20);

		start = now_ms(CLOCK_PROCESS_CPUTIME_ID);
		ask_view(view, view->begin_ns + (view->end_ns - view->begin_ns - width_ns) / 3,
			 width_ns, &out);
		took[i] = now_ms(CLOCK_PROCESS_CPUTIME_ID) - start;
	}
	qsort(took, ROUNDS, sizeof(took[0]), compare);
	printf("{\"slices\": %u, \"open_ms\": %.1f, \"build_ms\": %.1f, "
	       "\"first_view_ms\": %.2f, \"first_view_bytes\": %zu, \"view_median_ms\": %.2f, "
	       "\"view_p99_ms\": %.2f, \"view_max_ms\": %.2f, \"memory_mb\": %.1f}\n",
	       st_result_slices(result)->count, open_ms, build_ms, first_ms, bytes,
	       took[ROUNDS / 2], took[ROUNDS * 99 / 100], took[ROUNDS - 1], held_mb() - before_mb);
	st_buf_fini(&out);
	st_timeline_view_close(view);
	st_result_close(result);
	return 0;
}
