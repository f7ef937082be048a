// SPDX-License-Identifier: Apache-2.0
//
// The rows of critical paths: pieces of time in which one thread runs, or waits for what no thread brings, one behind the
// other. What runs is known by the samples in it: each is of the time before it.
#include <stdio.h>
#include <string.h>

#include "analyze/datasets/row_sets.h"
#include "analyze/datasets/wait_links.h"
#include "base/search.h"
#include "resolve/named.h"
#include "store/off_cpu.h"
#include "store/samples.h"

struct path {
	struct st_rows *rows;
	struct st_dataset waits;
	struct st_wait_links links;
	struct st_text step;
};

static struct st_text plain(const char *text)
{
	return (struct st_text){text, strlen(text)};
}

/* Of a sample, or of none: ST_NO_ROW. */
static void place_keys(struct path *path, uint32_t sample, bool is_wait)
{
	struct st_rows *rows = path->rows;
	const struct st_wait_sites *sites = &rows->sites;
	const struct st_named *named = sites->named;
	uint32_t frame = st_wait_frame(sites, sample), python = frame;
	struct st_text file;
	char *line;

	if (!frame) {
		st_rows_key(rows, ST_BY_FUNCTION, plain("[No stack]"));
		st_rows_key(rows, ST_BY_PYTHON_LINE, plain("[No Python frame]"));
		return;
	}
	st_rows_key(rows, ST_BY_FUNCTION, named->functions[named->frames[frame].function].name);
	while (python &&
	       named->functions[named->frames[python].function].kind != ST_FUNCTION_PYTHON)
		python = named->frames[python].parent;
	if (is_wait && st_wait_python(sites, frame))
		python = st_wait_python(sites, frame);
	if (!python) {
		st_rows_key(rows, ST_BY_PYTHON_LINE, plain("[No Python frame]"));
		return;
	}
	file = named->sources[named->frames[python].source];
	line = st_arena_printf(&rows->arena, "%.*s:%u", (int)file.size_bytes, file.bytes,
			       named->frames[python].line);
	st_rows_key(rows, ST_BY_PYTHON_LINE, plain(line ? line : ""));
}

static void add(struct path *path, uint32_t track, const int64_t range_ns[2])
{
	struct st_rows *rows = path->rows;

	st_rows_add(rows, &(struct st_new_row){
				  .source = {ST_NO_ROW, ST_NO_ROW, ST_NO_ROW, ST_NO_ROW},
				  .begin_ns = range_ns[0],
				  .end_ns = range_ns[1],
				  .process = st_rows_process_of(rows, track),
				  .track = track,
			  });
	st_rows_key(rows, ST_BY_STEP, path->step);
}

static void add_running(struct path *path, uint32_t track, int64_t begin_ns, int64_t end_ns,
			uint32_t sample)
{
	const int64_t range_ns[2] = {begin_ns, end_ns};

	if (end_ns <= begin_ns || path->rows->failed)
		return;
	add(path, track, range_ns);
	st_rows_key(path->rows, ST_BY_WAIT_CLASS, plain("Running"));
	st_rows_key(path->rows, ST_BY_SYNC_OBJECT, plain("[not waiting]"));
	place_keys(path, sample, false);
}

/* In pieces up to each sample; the last one has the next sample, if that is not far. */
static void take_sampled(struct path *path, const struct st_wait_piece *piece)
{
	const struct st_samples *samples = st_result_samples(path->rows->result);
	int64_t now_ns = piece->begin_ns, near_ns = piece->end_ns + 20000000;
	uint32_t at, end, last = ST_NO_ROW;

	if (!samples->count) {
		add_running(path, piece->track, now_ns, piece->end_ns, ST_NO_ROW);
		return;
	}
	end = samples->first_of_track[piece->track + 1];
	at = ST_SEARCH(i, samples->first_of_track[piece->track], end,
		       samples->time_ns[i] <= piece->begin_ns);
	for (; at < end && samples->time_ns[at] < near_ns && now_ns < piece->end_ns; at++) {
		int64_t until_ns =
			samples->time_ns[at] < piece->end_ns ? samples->time_ns[at] : piece->end_ns;

		if (samples->flags[at] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE))
			continue;
		add_running(path, piece->track, now_ns, until_ns, at);
		now_ns = until_ns > now_ns ? until_ns : now_ns;
		last = at;
	}
	add_running(path, piece->track, now_ns, piece->end_ns, last);
}

/* What did not wait where waits are recorded may have been on no CPU all the same, by the kernel's records. */
static void take_running(struct path *path, const struct st_wait_piece *piece)
{
	struct st_wait_piece left = *piece;
	uint32_t count, at;
	const struct st_off_row *rows = st_result_off_cpu(path->rows->result, &count);

	at = ST_SEARCH(i, 0, count,
		       rows[i].track < piece->track ||
			       (rows[i].track == piece->track &&
				rows[i].begin_ns + (int64_t)rows[i].off_ns <= piece->begin_ns));
	for (; at < count && rows[at].track == piece->track && rows[at].begin_ns < piece->end_ns;
	     at++) {
		int64_t end_ns = rows[at].begin_ns + (int64_t)rows[at].off_ns;
		int64_t off_ns[2] = {rows[at].begin_ns, end_ns};

		/* Of sums and of the kernel's counts nobody knows when they were. */
		if (rows[at].flags & (ST_OFF_SEVERAL | ST_OFF_LOST | ST_OFF_WOKEN | ST_OFF_RAN))
			continue;
		off_ns[0] = off_ns[0] > left.begin_ns ? off_ns[0] : left.begin_ns;
		off_ns[1] = end_ns < piece->end_ns ? end_ns : piece->end_ns;
		if (off_ns[1] <= off_ns[0])
			continue;
		left.end_ns = off_ns[0];
		take_sampled(path, &left);
		add(path, piece->track, off_ns);
		st_rows_key(path->rows, ST_BY_WAIT_CLASS,
			    plain(st_wait_class_word(rows[at].flags & ST_OFF_PREEMPTED
							     ? ST_WAITS_PREEMPTED
							     : ST_WAITS_UNEXPLAINED)));
		st_rows_key(path->rows, ST_BY_SYNC_OBJECT, plain("[not waiting]"));
		place_keys(path, ST_NO_ROW, true);
		left.begin_ns = off_ns[1];
	}
	left.end_ns = piece->end_ns;
	if (left.end_ns > left.begin_ns)
		take_sampled(path, &left);
}

static bool take(void *arg, const struct st_wait_piece *piece)
{
	struct path *path = arg;
	const struct st_dataset *waits = &path->waits;
	const int64_t range_ns[2] = {piece->begin_ns, piece->end_ns};
	static const enum st_grouping copied[] = {ST_BY_WAIT_CLASS, ST_BY_SYNC_OBJECT};

	if (piece->wait == ST_NO_ROW) {
		take_running(path, piece);
		return !path->rows->failed;
	}
	add(path, piece->track, range_ns);
	for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++) {
		uint32_t key = st_key_of(&waits->keys[copied[i]], piece->wait);

		st_rows_key(path->rows, copied[i],
			    st_text_copy(&path->rows->arena,
					 waits->text(waits, copied[i], key, &path->rows->arena)));
	}
	place_keys(path, st_dataset_waits_sample(waits, piece->wait), true);
	return !path->rows->failed;
}

bool st_rows_fill_path(struct st_rows *rows)
{
	struct path path = {.rows = rows};
	bool done;

	if (!rows->range_count)
		return true;
	if (st_dataset_waits_open(&path.waits, rows->result, rows->sites.named, NULL))
		return false;
	done = st_wait_links_init(&path.links, &path.waits, rows->result);
	for (uint32_t i = 0; done && i < rows->range_count; i++) {
		const struct st_path_range *range = &rows->ranges[i];
		const int64_t range_ns[2] = {range->begin_ns, range->end_ns};

		path.step = st_text_copy(&rows->arena, range->step);
		done = st_wait_follow(&path.links, range->track, range_ns, take, &path);
	}
	st_wait_links_fini(&path.links);
	st_dataset_rows_fini(&path.waits);
	return done && !rows->arena.failed;
}
