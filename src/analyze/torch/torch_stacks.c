// SPDX-License-Identifier: Apache-2.0
//
// Python stacks as torch's profiler writes them: "file(line): function", the innermost first, files without the folder
// that Python found them in. Where calls are recorded they are torch's very own: functions and built-ins that an event was
// called in. Else they come from the frames of each operator, and the line is the one that ran, where torch has the
// function's first: more of them are told apart.
#include "analyze/torch/torch_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/samples.h"
#include "store/traced_calls.h"

enum { STACK_MAX_BYTES = 64 << 10 };

struct job {
	struct st_torch_events *events;
	const struct st_stack_nodes *nodes;
	const struct st_python_code *codes;
	uint32_t code_count, most;
	const struct st_traced_call *calls; /* NULL: there are frames */
};

/* Behind the last of the folders that libraries are installed in. */
static struct st_text without_folder(struct st_text file)
{
	static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
	const char *end = file.bytes + file.size_bytes;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		size_t length = strlen(folders[i]);
		const char *at = memmem(file.bytes, file.size_bytes, folders[i], length);

		if (at)
			return (struct st_text){at + length, (size_t)(end - at) - length};
	}
	return file;
}

/* torch knows functions by their plain names. */
static struct st_text plain_name(struct st_text name)
{
	const char *dot = memrchr(name.bytes, '.', name.size_bytes);

	if (!dot)
		return name;
	return (struct st_text){dot + 1, name.size_bytes - (size_t)(dot + 1 - name.bytes)};
}

/* Frames that torch leaves out: its own on the way to the engine. */
static bool is_hidden(struct st_text file, struct st_text name)
{
	if (st_text_holds(file, "autograd/__init__"))
		return st_text_holds(name, "backward") || st_text_holds(name, "_make_grads");
	return st_text_holds(file, "torch/tensor") && st_text_holds(name, "backward");
}

static bool add_frame(const struct job *job, uint32_t node, struct st_buf *out)
{
	const struct st_result *result = job->events->result;
	uint32_t code = (uint32_t)job->nodes->value[node];
	struct st_text file = {"?", 1}, name = {"?", 1};

	if (code < job->code_count) {
		file = without_folder(st_result_text(result, job->codes[code].file));
		name = plain_name(st_result_text(result, job->codes[code].name));
	}
	if (is_hidden(file, name))
		return false;
	if (out->size_bytes)
		st_buf_append_u8(out, '\n');
	st_buf_append(out, file.bytes, file.size_bytes);
	st_buf_printf(out, "(%u): ", job->nodes->line[node]);
	st_buf_append(out, name.bytes, name.size_bytes);
	return true;
}

static bool add_call(const struct job *job, uint32_t call, struct st_buf *out)
{
	const struct st_operator_rows *rows = job->events->rows;
	uint32_t row = rows->row_of_call[call];
	struct st_text name;

	if (row == ST_NO_ROW)
		return false;
	name = st_row_name(rows, row);
	if (is_hidden(name, name))
		return false;
	if (out->size_bytes)
		st_buf_append_u8(out, '\n');
	st_buf_append(out, name.bytes, name.size_bytes);
	return true;
}

/* From a node of frames, or from a call, which stands as its number + 1. */
static uint32_t key_of(struct job *job, uint32_t node)
{
	struct st_arena *arena = job->events->dataset.arena;
	struct st_buf out;
	uint32_t key = 0;

	st_buf_init(&out, STACK_MAX_BYTES);
	for (uint32_t left = job->most; node && left && !job->calls;
	     node = job->nodes->parent[node])
		left -= add_frame(job, node, &out);
	for (uint32_t left = job->most; node && left && job->calls;
	     node = job->calls[node - 1].parent + 1)
		left -= add_call(job, node - 1, &out);
	if (out.size_bytes)
		key = st_key_texts_add(
			&job->events->stacks,
			st_text_copy(arena, (struct st_text){(char *)out.data, out.size_bytes}));
	st_buf_fini(&out);
	return key;
}

static bool is_enter(const struct job *job, uint32_t node)
{
	uint32_t code = (uint32_t)job->nodes->value[node];
	const struct st_result *result = job->events->result;

	if (code >= job->code_count)
		return false;
	return st_text_equals(without_folder(st_result_text(result, job->codes[code].file)),
			      "torch/autograd/profiler.py") &&
	       st_text_holds(st_result_text(result, job->codes[code].name), "__enter__");
}

/* A range stands where the program has it: record_function's own two frames are the same for all. */
static uint32_t around_marking(const struct job *job, uint32_t node)
{
	uint32_t at = node;

	for (int i = 0; i < 2 && at && at <= job->nodes->count; i++, at = job->nodes->parent[at])
		if (is_enter(job, at))
			return job->nodes->parent[at];
	return node;
}

/* The call that a row was made in, + 1; 0: none. ST_NO_ROW + 1 is 0. */
static uint32_t call_of(const struct job *job, uint32_t row)
{
	const struct st_operator_rows *rows = job->events->rows;
	uint32_t call = rows->call[row];

	if (call != ST_NO_ROW && st_row_is_call(rows, row))
		call = job->calls[call].parent;
	return call + 1;
}

/* Of what runs backward only the forward operator's helps; a node without one has none. */
static uint32_t node_of(const struct job *job, uint32_t row)
{
	const struct st_torch_events *events = job->events;
	const struct st_operator_rows *rows = events->rows;

	if (job->calls && st_row_is_call(rows, row))
		return call_of(job, row);
	if (events->is_backward[row])
		row = events->forward_row[row];
	if (row == ST_NO_ROW)
		return 0;
	return job->calls ? call_of(job, row) : rows->stack[row];
}

bool st_torch_events_stacks(struct st_torch_events *events, uint32_t most)
{
	static const struct st_text none = {"", 0};
	const struct st_operator_rows *rows = events->rows;
	struct job job = {.events = events, .most = most};
	uint32_t *known, count;
	bool done;

	job.nodes = st_result_stack_nodes(events->result);
	job.codes = st_result_python_codes(events->result, &job.code_count);
	count = job.nodes->count;
	if (rows->has_calls)
		job.calls = st_result_traced_calls(events->result, &count);
	known = calloc((size_t)count + 1, sizeof(*known)); /* by node: key + 1 */
	events->stack_of = st_torch_column(events, rows->count, sizeof(*events->stack_of));
	st_key_texts_init(&events->stacks);
	st_key_texts_add(&events->stacks, none);
	done = known && events->stack_of && st_torch_events_link(events);
	for (uint32_t row = 0; done && most && row < rows->count; row++) {
		uint32_t node = node_of(&job, row);

		if (node && !job.calls && st_torch_event_is_user(events, row))
			node = around_marking(&job, node);
		if (!node || node > count)
			continue;
		if (!known[node])
			known[node] = key_of(&job, node) + 1;
		events->stack_of[row] = known[node] - 1;
	}
	free(known);
	return done && !events->stacks.failed && !events->dataset.arena->failed;
}
