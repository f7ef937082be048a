// SPDX-License-Identifier: Apache-2.0
//
// Samples in the Trace Event Format, as the events with which V8 tells its profiles ("Profile" and "ProfileChunk",
// phase P): readers of traces know them. A profile per thread; a chunk holds the nodes of the call tree that are
// new, and for each sample its node and the microseconds since the one before. The exact CPU time of
// each sample stands beside, as weights_ns.
#include <stdlib.h>

#include "base/map.h"
#include "export/trace/chrome_parts.h"
#include "store/key_table.h"

enum { SAMPLES_PER_CHUNK = 1000, ROOT = 1 };

struct profile {
	struct st_chrome *chrome;
	const struct st_stacks *stacks;
	struct st_key_table nodes; /* node less 2: parent, function, source and line */
	struct st_buf path;	   /* frames of a stack, innermost first */
	struct st_buf samples, deltas, weights;
	int64_t last_us;
	uint32_t new_nodes; /* of the chunk */
};

static void begin_event(struct profile *to, const char *name, uint32_t track, int64_t time_ns)
{
	struct st_chrome *chrome = to->chrome;
	char time[40];

	time[st_chrome_format_us(time, time_ns)] = 0;
	st_buf_printf(
		chrome->out,
		",\n{\"ph\":\"P\",\"cat\":\"disabled-by-default-v8.cpu_profiler\",\"name\":\"%s\","
		"\"id\":\"0x%x\",\"pid\":%u,\"tid\":%u,\"ts\":%s,\"args\":{\"data\":{",
		name, track + 1, chrome->ids.pids[chrome->walk.tracks[track].process],
		chrome->ids.tids[track], time);
}

static void add_node(struct profile *to, uint32_t id, uint32_t parent, uint32_t frame)
{
	const struct st_named *named = to->stacks->named;
	struct st_stack_label label = st_stacks_label_of(to->stacks, frame);
	const struct st_named_function *function = &named->functions[label.function];
	bool is_python = function->kind == ST_FUNCTION_PYTHON;
	struct st_text place =
		is_python ? named->sources[label.source] : named->modules[function->module].name;
	struct st_chrome *chrome = to->chrome;
	struct st_buf *name = st_stream_scratch(&chrome->walk.stream);
	struct st_json json;

	st_stacks_label_text(to->stacks, label, name);
	st_buf_append_text(chrome->out, to->new_nodes++ ? ",\n" : "\n");
	st_json_init(&json, chrome->out);
	st_json_object_begin(&json);
	st_json_put_u64(&json, "id", id);
	st_json_put_u64(&json, "parent", parent);
	st_json_put_object(&json, "callFrame");
	st_json_put_text(&json, "codeType", is_python ? "JS" : "other");
	st_json_put_bytes(&json, "functionName", name->data, name->size_bytes);
	st_json_put_u64(&json, "scriptId", 0);
	st_json_put_bytes(&json, "url", place.bytes, place.size_bytes);
	if (label.line) { /* counted from 0 there */
		st_json_put_u64(&json, "lineNumber", label.line - 1);
	}
	st_json_object_end(&json);
	st_json_object_end(&json);
}

/* The node of a stack; those of its callers that are new are written. 0: no memory. */
static uint32_t node_of(struct profile *to, uint32_t leaf)
{
	uint32_t node = ROOT;

	to->path.size_bytes = 0;
	for (uint32_t at = leaf; at; at = st_stacks_caller(to->stacks, at))
		st_buf_append(&to->path, &at, sizeof(at));
	for (size_t left = to->path.size_bytes / sizeof(uint32_t);
	     left-- > 0 && !to->path.failed;) {
		uint32_t frame = ((const uint32_t *)(const void *)to->path.data)[left];
		struct st_stack_label label = st_stacks_label_of(to->stacks, frame);
		uint32_t known = to->nodes.count, parent = node, place;

		place = st_key_table_add(&to->nodes, parent, label.function,
					 (uint64_t)label.source << 32 | label.line);
		if (place == ST_ID_NONE)
			return 0;
		node = place + ROOT + 1;
		if (place == known)
			add_node(to, node, parent, frame);
	}
	return to->path.failed ? 0 : node;
}

static bool write_chunk(struct profile *to, uint32_t first, uint32_t end, bool has_root)
{
	const struct st_stacks *stacks = to->stacks;
	const struct st_samples *samples = stacks->samples;
	struct st_buf *out = to->chrome->out;

	to->samples.size_bytes = to->deltas.size_bytes = to->weights.size_bytes = 0;
	begin_event(to, "ProfileChunk", samples->track[stacks->rows[first]],
		    samples->time_ns[stacks->rows[first]]);
	st_buf_append_text(out, "\"cpuProfile\":{\"nodes\":[");
	to->new_nodes = 0;
	if (has_root) {
		st_buf_append_text(out, "\n{\"id\":1,\"callFrame\":{\"codeType\":\"other\","
					"\"functionName\":\"(root)\",\"scriptId\":0}}");
		to->new_nodes = 1;
	}
	for (uint32_t i = first; i < end; i++) {
		uint32_t row = stacks->rows[i], node = node_of(to, st_stacks_leaf(stacks, row));
		int64_t us = samples->time_ns[row] / 1000;
		const char *comma = i == first ? "" : ",";

		if (!node)
			return false;
		st_buf_printf(&to->samples, "%s%u", comma, node);
		st_buf_printf(&to->deltas, "%s%lld", comma, (long long)(us - to->last_us));
		st_buf_printf(&to->weights, "%s%llu", comma,
			      (unsigned long long)samples->weight_ns[row]);
		to->last_us = us;
	}
	st_buf_append_text(out, "],\n\"samples\":[");
	st_buf_append(out, to->samples.data, to->samples.size_bytes);
	st_buf_append_text(out, "]},\n\"timeDeltas\":[");
	st_buf_append(out, to->deltas.data, to->deltas.size_bytes);
	st_buf_append_text(out, "],\n\"weights_ns\":[");
	st_buf_append(out, to->weights.data, to->weights.size_bytes);
	st_buf_append_text(out, "]}}}");
	return !to->samples.failed && !to->deltas.failed && !to->weights.failed;
}

static enum st_status write_thread(struct profile *to, uint32_t first, uint32_t end,
				   struct st_error *err)
{
	const struct st_stacks *stacks = to->stacks;
	struct st_stream *stream = &to->chrome->walk.stream;
	uint32_t row = stacks->rows[first];
	enum st_status status = ST_OK;

	to->last_us = stacks->samples->time_ns[row] / 1000;
	begin_event(to, "Profile", stacks->samples->track[row], stacks->samples->time_ns[row]);
	st_buf_printf(&stream->out, "\"startTime\":%lld}}}", (long long)to->last_us);
	for (uint32_t i = first; i < end && !status; i += SAMPLES_PER_CHUNK) {
		uint32_t until = end - i > SAMPLES_PER_CHUNK ? i + SAMPLES_PER_CHUNK : end;

		if (!write_chunk(to, i, until, i == first))
			return st_stream_no_memory(stream, err);
		stream->done += until - i;
		status = st_stream_spill(stream, err);
	}
	return status;
}

enum st_status st_chrome_samples(void *chrome, uint32_t first, uint32_t end, struct st_error *err)
{
	struct profile to = {.chrome = chrome,
			     .stacks = &((struct st_chrome *)chrome)->walk.stacks};
	enum st_status status;

	st_buf_init(&to.path, SIZE_MAX / 4);
	st_buf_init(&to.samples, SIZE_MAX / 4);
	st_buf_init(&to.deltas, SIZE_MAX / 4);
	st_buf_init(&to.weights, SIZE_MAX / 4);
	status = write_thread(&to, first, end, err);
	st_key_table_fini(&to.nodes);
	st_buf_fini(&to.path);
	st_buf_fini(&to.samples);
	st_buf_fini(&to.deltas);
	st_buf_fini(&to.weights);
	return status;
}
