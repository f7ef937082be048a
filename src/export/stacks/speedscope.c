// SPDX-License-Identifier: Apache-2.0
//
// The file format of speedscope.app: all frames once, then a profile per thread with its stacks in order of time,
// outermost frame first, each with its CPU time in nanoseconds. Samples in a row with the same stack become one.
#include <stdlib.h>

#include "analyze/stacks/stacks.h"
#include "base/json_out.h"
#include "base/map.h"
#include "export/exporters.h"
#include "export/stream.h"
#include "store/key_table.h"

enum { NOT_USED = UINT32_MAX, NO_FRAME = 0 /* index of "[no frame shown]" */ };

struct speedscope {
	struct st_stacks stacks;
	struct st_stream stream;
	struct st_buf *out;
	struct st_key_table labels; /* frames of the file less NO_FRAME */
	uint32_t *frame_of;	    /* of the file, by named frame; NOT_USED */
};

/* Frames of a stack up to the first that is known already: its callers are known too. */
static bool use_frames(struct speedscope *to, uint32_t frame)
{
	for (; frame && to->frame_of[frame] == NOT_USED;
	     frame = st_stacks_caller(&to->stacks, frame)) {
		struct st_stack_label label = st_stacks_label_of(&to->stacks, frame);
		uint32_t index =
			st_key_table_add(&to->labels, label.function, label.source, label.line);

		if (index == ST_ID_NONE)
			return false;
		to->frame_of[frame] = index + 1;
	}
	return true;
}

static bool find_frames(struct speedscope *to)
{
	uint32_t count = to->stacks.named->frame_count;

	to->frame_of = malloc(((size_t)count + 1) * sizeof(*to->frame_of));
	for (uint32_t i = 0; to->frame_of && i < count; i++)
		to->frame_of[i] = NOT_USED;
	for (uint32_t i = 0; to->frame_of && i < to->stacks.row_count; i++) {
		if (!use_frames(to, st_stacks_leaf(&to->stacks, to->stacks.rows[i])))
			return false;
	}
	return to->frame_of != NULL;
}

static void add_frame(struct speedscope *to, struct st_json *json, uint32_t index)
{
	const struct st_key *key = &to->labels.keys[index];
	const struct st_named *named = to->stacks.named;
	struct st_stack_label label = {(uint32_t)key->d[0], (uint32_t)key->d[1],
				       (uint32_t)key->d[2]};
	const struct st_named_function *function = &named->functions[label.function];
	bool is_python = function->kind == ST_FUNCTION_PYTHON;
	uint32_t source = is_python ? label.source : function->source;
	uint32_t line = is_python ? label.line : function->line;
	struct st_text file =
		source ? named->sources[source] : named->modules[function->module].name;
	struct st_buf *name = st_stream_scratch(&to->stream);

	st_stacks_label_text(&to->stacks, label, name);
	st_json_object_begin(json);
	st_json_put_bytes(json, "name", name->data, name->size_bytes);
	if (file.size_bytes) {
		st_json_put_bytes(json, "file", file.bytes, file.size_bytes);
	}
	if (source && line) {
		st_json_put_u64(json, "line", line);
	}
	st_json_object_end(json);
}

static enum st_status write_frames(struct speedscope *to, struct st_error *err)
{
	enum st_status status = ST_OK;
	struct st_json json;

	st_buf_append_text(to->out,
			   "{\"$schema\":\"https://www.speedscope.app/"
			   "file-format-schema.json\",\n\"exporter\":\"strata\",\n\"name\":");
	st_json_init(&json, to->out);
	st_json_text(&json, st_result_info(to->stacks.result)->name);
	st_buf_append_text(to->out, ",\n\"shared\":{\"frames\":[\n{\"name\":\"[no frame shown]\"}");
	for (uint32_t i = 0; i < to->labels.count && !status; i++) {
		st_buf_append_text(to->out, ",\n");
		st_json_init(&json, to->out);
		add_frame(to, &json, i);
		status = st_stream_spill(&to->stream, err);
	}
	st_buf_append_text(to->out, "]},\n\"activeProfileIndex\":0,\n\"profiles\":[");
	return status;
}

static void add_stack(struct speedscope *to, uint32_t leaf, struct st_buf *path, bool is_first)
{
	size_t count = 0;

	path->size_bytes = 0;
	for (uint32_t at = leaf; at; at = st_stacks_caller(&to->stacks, at), count++)
		st_buf_append_u32(path, to->frame_of[at]);
	st_buf_append_text(to->out, is_first ? "[" : ",\n[");
	if (!leaf)
		st_buf_printf(to->out, "%d", NO_FRAME);
	while (count && !path->failed) {
		const uint8_t *p = path->data + --count * 4;
		uint32_t frame = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
				 (uint32_t)p[3] << 24;

		st_buf_printf(to->out, count ? "%u," : "%u", frame);
	}
	st_buf_append_text(to->out, "]");
	to->out->failed |= path->failed;
}

/* Weights of the runs of equal stacks go behind all stacks. */
static enum st_status write_samples(struct speedscope *to, uint32_t first, uint32_t end,
				    struct st_error *err)
{
	const struct st_samples *samples = to->stacks.samples;
	struct st_buf path, weights;
	enum st_status status = ST_OK;

	st_buf_init(&path, SIZE_MAX / 4);
	st_buf_init(&weights, SIZE_MAX / 4);
	for (uint32_t i = first; i < end && !status;) {
		uint32_t leaf = st_stacks_leaf(&to->stacks, to->stacks.rows[i]);
		uint64_t weight = 0;

		add_stack(to, leaf, &path, i == first);
		st_buf_append_text(&weights, i == first ? "" : ",");
		for (; i < end && st_stacks_leaf(&to->stacks, to->stacks.rows[i]) == leaf; i++)
			weight += samples->weight_ns[to->stacks.rows[i]];
		st_buf_printf(&weights, "%llu", (unsigned long long)weight);
		to->out->failed |= weights.failed;
		status = st_stream_spill(&to->stream, err);
	}
	st_buf_append_text(to->out, "],\n\"weights\":[");
	st_buf_append(to->out, weights.data, weights.size_bytes);
	st_buf_append_text(to->out, "]}");
	st_buf_fini(&path);
	st_buf_fini(&weights);
	return status;
}

static enum st_status write_thread(struct speedscope *to, uint32_t first, uint32_t end,
				   struct st_error *err)
{
	const struct st_stacks *stacks = &to->stacks;
	uint32_t track = stacks->samples->track[stacks->rows[first]];
	struct st_buf *name = st_stream_scratch(&to->stream);
	uint64_t total = 0;
	struct st_json json;

	for (uint32_t i = first; i < end; i++)
		total += stacks->samples->weight_ns[stacks->rows[i]];
	st_stacks_process_text(stacks, stacks->tracks[track].process, name);
	st_buf_append_text(name, " ");
	st_stacks_thread_text(stacks, track, name);
	st_buf_append_text(to->out, first ? ",\n" : "\n");
	st_json_init(&json, to->out);
	st_json_object_begin(&json);
	st_json_put_text(&json, "type", "sampled");
	st_json_put_bytes(&json, "name", name->data, name->size_bytes);
	st_json_put_text(&json, "unit", "nanoseconds");
	st_json_put_u64(&json, "startValue", 0);
	st_json_put_u64(&json, "endValue", total);
	st_buf_append_text(to->out, ",\n\"samples\":[");
	return write_samples(to, first, end, err);
}

static enum st_status write_all(struct speedscope *to, struct st_error *err)
{
	enum st_status status = write_frames(to, err);

	to->stream.total = to->stacks.row_count;
	for (uint32_t first = 0; first < to->stacks.row_count && !status;
	     first = (uint32_t)to->stream.done) {
		to->stream.done = st_stacks_thread_end(&to->stacks, first);
		status = write_thread(to, first, (uint32_t)to->stream.done, err);
	}
	st_buf_append_text(to->out, "]}\n");
	return status;
}

enum st_status st_export_speedscope(const struct st_result *result,
				    const struct st_export_options *options, struct st_sink *sink,
				    struct st_error *err)
{
	struct speedscope to = {.out = &to.stream.out};
	enum st_status status =
		st_stacks_need(&to.stacks, result, options->question, &options->view, err);

	st_stream_init(&to.stream, sink, "the export");
	if (!status && !find_frames(&to))
		status = st_stream_no_memory(&to.stream, err);
	if (!status)
		status = write_all(&to, err);
	st_key_table_fini(&to.labels);
	free(to.frame_of);
	st_stacks_fini(&to.stacks);
	return st_stream_end(&to.stream, status, err);
}
