// SPDX-License-Identifier: Apache-2.0
//
// Stacks over time (analyze/stacks/flame_time.h). A sample stands for the time before it. Samples that follow each other
// without a gap share the boxes of the frames that they have in common, from the outermost in.
#include "analyze/stacks/flame_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_parts.h"
#include "analyze/stacks/flame_columns.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "base/vec.h"

enum { DEPTH_MAX = 4096 };

struct box {
	int64_t begin_ns, end_ns;
	uint32_t thread, depth, name, samples;
};

struct open_frame {
	int64_t begin_ns;
	uint32_t name, samples;
};

struct timed {
	struct st_stacks *stacks;
	struct st_arena arena;
	struct st_key_texts texts;
	uint32_t *name_of; /* by frame: key + 1; 0: not asked for yet */
	struct box *boxes;
	uint32_t count, capacity;
	struct open_frame open[DEPTH_MAX];
	uint32_t open_count;
	uint32_t path[DEPTH_MAX];
	uint64_t least_ns, left_out;
	bool failed;
};

static uint32_t name_of(struct timed *timed, uint32_t frame, struct st_buf *text)
{
	uint32_t known, key;

	if (timed->name_of[frame])
		return timed->name_of[frame] - 1;
	st_buf_clear(text);
	st_stacks_label_text(timed->stacks, st_stacks_label_of(timed->stacks, frame), text);
	known = timed->texts.count;
	key = st_key_texts_add(&timed->texts,
			       (struct st_text){(const char *)text->data, text->size_bytes});
	if (key == known && timed->texts.count > known)
		timed->texts.texts[key] = st_text_copy(&timed->arena, timed->texts.texts[key]);
	timed->failed |= text->failed || timed->texts.failed || timed->arena.failed;
	timed->name_of[frame] = key + 1;
	return key;
}

/* The frames of a sample from the outermost in; of those beyond the most the outermost are gone. */
static uint32_t path_of(struct timed *timed, uint32_t row, struct st_buf *text)
{
	uint32_t frame = st_stacks_leaf(timed->stacks, row), count = 0;

	for (; frame && count < DEPTH_MAX; frame = st_stacks_caller(timed->stacks, frame))
		timed->path[count++] = name_of(timed, frame, text);
	for (uint32_t i = 0; i < count / 2; i++) {
		uint32_t other = timed->path[count - 1 - i];

		timed->path[count - 1 - i] = timed->path[i];
		timed->path[i] = other;
	}
	return count;
}

static void close_from(struct timed *timed, uint32_t depth, uint32_t thread, int64_t end_ns)
{
	while (timed->open_count > depth) {
		struct open_frame *open = &timed->open[--timed->open_count];
		struct box box = {open->begin_ns,    end_ns,	 thread,
				  timed->open_count, open->name, open->samples};

		if ((uint64_t)(end_ns - open->begin_ns) < timed->least_ns) {
			timed->left_out++;
			continue;
		}
		/* Too many already: they are only counted. */
		if (timed->count > ST_FLAME_TIME_MAX)
			continue;
		if (!ST_VEC_PUSH(timed->boxes, timed->count, timed->capacity, box))
			timed->failed = true;
	}
}

static void add_thread(struct timed *timed, uint32_t first, uint32_t end, struct st_buf *text)
{
	const struct st_samples *samples = timed->stacks->samples;
	uint32_t thread = samples->track[timed->stacks->rows[first]];
	int64_t last_ns = INT64_MIN;

	for (uint32_t i = first; i < end && !timed->failed; i++) {
		uint32_t row = timed->stacks->rows[i];
		int64_t to_ns = samples->time_ns[row];
		int64_t weight_ns = samples->weight_ns[row] < INT64_MAX / 4
					    ? (int64_t)samples->weight_ns[row]
					    : 0;
		int64_t from_ns = to_ns - weight_ns;
		uint32_t count = path_of(timed, row, text), same = 0;

		/* Weights are of whole periods: a gap of less than half of one is none. */
		if (last_ns == INT64_MIN || from_ns - last_ns > weight_ns / 2) {
			if (last_ns != INT64_MIN)
				close_from(timed, 0, thread, last_ns);
		} else {
			from_ns = last_ns;
			while (same < count && same < timed->open_count &&
			       timed->open[same].name == timed->path[same])
				same++;
			close_from(timed, same, thread, last_ns);
		}
		for (uint32_t k = 0; k < same; k++)
			timed->open[k].samples++;
		for (; same < count; same++)
			timed->open[timed->open_count++] =
				(struct open_frame){from_ns, timed->path[same], 1};
		last_ns = to_ns > from_ns ? to_ns : from_ns;
	}
	close_from(timed, 0, thread, last_ns);
}

static void add_all(struct timed *timed)
{
	struct st_buf text;

	st_buf_init(&text, 1 << 20);
	timed->count = 0;
	timed->left_out = 0;
	for (uint32_t first = 0; first < timed->stacks->row_count && !timed->failed;) {
		uint32_t end = st_stacks_thread_end(timed->stacks, first);

		add_thread(timed, first, end, &text);
		first = end;
	}
	st_buf_fini(&text);
}

static void put_column(struct st_json *json, const char *key, const struct timed *timed,
		       size_t offset)
{
	st_json_put_array(json, key);
	for (uint32_t i = 0; i < timed->count; i++) {
		uint32_t value;

		memcpy(&value, (const char *)&timed->boxes[i] + offset, sizeof(value));
		st_json_u64(json, value);
	}
	st_json_array_end(json);
}

static void put_threads(struct st_json *json, const struct timed *timed)
{
	struct st_buf text;

	st_buf_init(&text, 1 << 16);
	st_json_put_array(json, "threads");
	for (uint32_t first = 0; first < timed->stacks->row_count;
	     first = st_stacks_thread_end(timed->stacks, first)) {
		uint32_t thread = timed->stacks->samples->track[timed->stacks->rows[first]];

		st_buf_clear(&text);
		st_stacks_thread_text(timed->stacks, thread, &text);
		st_json_object_begin(json);
		st_json_put_u64(json, "thread", thread);
		st_json_put_u64(json, "tid", timed->stacks->tracks[thread].tid);
		st_json_put_bytes(json, "title", text.data, text.size_bytes);
		st_json_object_end(json);
	}
	st_json_array_end(json);
	st_buf_fini(&text);
}

static void put_boxes(struct st_json *json, const struct timed *timed)
{
	st_json_put_u64(json, "total_ns", timed->stacks->total_ns);
	st_json_put_u64(json, "samples", timed->stacks->row_count);
	st_json_put_u64(json, "least_ns", timed->least_ns);
	st_json_put_u64(json, "left_out", timed->left_out);
	put_threads(json, timed);
	st_json_put_array(json, "names");
	for (uint32_t i = 0; i < timed->texts.count; i++)
		st_json_bytes(json, timed->texts.texts[i].bytes, timed->texts.texts[i].size_bytes);
	st_json_array_end(json);
	st_json_put_object(json, "boxes");
	put_column(json, "thread", timed, offsetof(struct box, thread));
	put_column(json, "depth", timed, offsetof(struct box, depth));
	put_column(json, "name", timed, offsetof(struct box, name));
	put_column(json, "samples", timed, offsetof(struct box, samples));
	st_json_put_array(json, "begin_ns");
	for (uint32_t i = 0; i < timed->count; i++)
		st_json_i64(json, timed->boxes[i].begin_ns);
	st_json_array_end(json);
	st_json_put_array(json, "end_ns");
	for (uint32_t i = 0; i < timed->count; i++)
		st_json_i64(json, timed->boxes[i].end_ns);
	st_json_array_end(json);
	st_json_object_end(json);
}

/* From the first sample to the last. */
static uint64_t time_of(const struct st_stacks *stacks)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (uint32_t i = 0; i < stacks->row_count; i++) {
		int64_t time_ns = stacks->samples->time_ns[stacks->rows[i]];

		first = time_ns < first ? time_ns : first;
		last = time_ns > last ? time_ns : last;
	}
	return last > first ? (uint64_t)(last - first) : 0;
}

enum st_status st_flame_time_json(struct st_stacks *stacks, double min_ratio, struct st_json *json,
				  struct st_error *err)
{
	struct timed *timed = calloc(1, sizeof(*timed));
	uint64_t time_ns = time_of(stacks);
	bool done = timed != NULL;

	if (!(min_ratio >= 0.0 && min_ratio <= 1.0)) {
		free(timed);
		return st_error_set(err, ST_EUSAGE, 0, "min_ratio: expected 0 to 1");
	}
	if (done) {
		timed->stacks = stacks;
		st_arena_init(&timed->arena, SIZE_MAX / 2);
		timed->least_ns = (uint64_t)ceil(min_ratio * (double)time_ns);
		timed->name_of =
			calloc((size_t)stacks->named->frame_count + 1, sizeof(*timed->name_of));
		done = timed->name_of != NULL;
		if (done)
			add_all(timed);
		while (done && !timed->failed && timed->count > ST_FLAME_TIME_MAX) {
			timed->least_ns += timed->least_ns / 2 + time_ns / 100000 + 1;
			add_all(timed);
		}
		done = done && !timed->failed;
		if (done)
			put_boxes(json, timed);
		st_key_texts_fini(&timed->texts);
		st_arena_fini(&timed->arena);
		free(timed->name_of);
		free(timed->boxes);
	}
	free(timed);
	return done ? ST_OK : st_error_set(err, ST_ENOMEM, 0, "out of memory for the flame graph");
}
