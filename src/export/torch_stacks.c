// SPDX-License-Identifier: Apache-2.0
//
// What torch's export_stacks writes: for each operator its Python stack, outermost first, and the microseconds that it took by
// itself; for flamegraph.pl and the like. Operators are folded as torch does.
#include <stdlib.h>
#include <string.h>

#include "analyze/dataset_operators.h"
#include "analyze/filter.h"
#include "base/buf.h"
#include "export/exporters.h"
#include "export/frame_names.h"

enum { SPILL_BYTES = 256 << 10 };

struct stacks {
	struct st_frame_names frames;
	struct st_buf texts;   /* of the stacks that were met */
	size_t *begins, *ends; /* by node: in texts; equal: not met yet */
	struct st_buf frame, out;
};

/* What would end a frame or the line becomes "_". */
static void add_frame(struct stacks *stacks, uint32_t node)
{
	stacks->frame.size_bytes = 0;
	st_frame_text(&stacks->frames, node, false, &stacks->frame);
	for (size_t i = 0; i < stacks->frame.size_bytes; i++)
		if (strchr(" ;\t\n", stacks->frame.data[i]) && stacks->frame.data[i])
			stacks->frame.data[i] = '_';
	st_buf_append(&stacks->texts, stacks->frame.data, stacks->frame.size_bytes);
}

/* Callers first: their text is the beginning of this one. Without recursion, because a stack is as deep as it is. */
static bool make_text(struct stacks *stacks, uint32_t leaf)
{
	const uint32_t *parent = stacks->frames.nodes->parent;
	uint32_t depth = 0, *path;

	for (uint32_t node = leaf; node; node = parent[node])
		depth++;
	path = calloc((size_t)depth + 1, sizeof(*path));
	if (!path)
		return false;
	for (uint32_t node = leaf, at = depth; node; node = parent[node])
		path[--at] = node;
	stacks->begins[leaf] = stacks->texts.size_bytes;
	for (uint32_t i = 0; i < depth; i++) {
		if (i)
			st_buf_append_u8(&stacks->texts, ';');
		add_frame(stacks, path[i]);
	}
	stacks->ends[leaf] = stacks->texts.size_bytes;
	free(path);
	return !stacks->texts.failed && !stacks->frame.failed;
}

static enum st_status add_row(struct stacks *stacks, uint32_t node, uint64_t self_ns,
			      struct st_error *err)
{
	if (stacks->begins[node] == stacks->ends[node] && !make_text(stacks, node))
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the export");
	st_buf_append(&stacks->out, stacks->texts.data + stacks->begins[node],
		      stacks->ends[node] - stacks->begins[node]);
	st_buf_printf(&stacks->out, " %llu\n", (unsigned long long)(self_ns / 1000));
	return ST_OK;
}

static enum st_status spill(struct stacks *stacks, struct st_sink *sink, size_t above,
			    struct st_error *err)
{
	enum st_status status = ST_OK;

	if (stacks->out.failed)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the export");
	if (stacks->out.size_bytes > above) {
		status = st_sink_write(sink, stacks->out.data, stacks->out.size_bytes, err);
		st_buf_clear(&stacks->out);
	}
	return status;
}

static enum st_status write_rows(struct stacks *stacks, const struct st_dataset *dataset,
				 const struct st_selection *selection, struct st_sink *sink,
				 struct st_error *err)
{
	const struct st_operator_rows *rows = st_dataset_operators(dataset);
	enum st_status status = ST_OK;

	for (uint32_t row = 0; row < rows->count && !status; row++) {
		if (!rows->stack[row] || rows->self_ns[row] < 1000 ||
		    !st_selection_has_track(selection, rows->track[row]))
			continue;
		status = add_row(stacks, rows->stack[row], rows->self_ns[row], err);
		if (!status)
			status = spill(stacks, sink, SPILL_BYTES, err);
	}
	return status ? status : spill(stacks, sink, 0, err);
}

static enum st_status open_dataset(struct st_dataset *dataset, struct st_selection *selection,
				   const struct st_result *result,
				   const struct st_export_options *options, struct st_error *err)
{
	const struct st_question *question = options ? options->question : NULL;
	struct st_operator_choice choice = {.as_torch = true};
	enum st_status status;

	if (question && question->has_time_range) {
		choice.has_window = true;
		choice.begin_ns = question->time_begin_ns;
		choice.end_ns = question->time_end_ns;
	}
	status = st_dataset_operators_choose(dataset, result, &choice, err);
	if (!status && question)
		status = st_selection_tracks(selection, dataset, question, err);
	return status;
}

enum st_status st_export_torch_stacks(const struct st_result *result,
				      const struct st_export_options *options, struct st_sink *sink,
				      struct st_error *err)
{
	struct st_selection selection = {0};
	struct st_dataset dataset = {0};
	struct stacks stacks = {0};
	size_t count;
	enum st_status status = open_dataset(&dataset, &selection, result, options, err);

	st_frame_names_init(&stacks.frames, result);
	count = (size_t)stacks.frames.nodes->count + 1;
	st_buf_init(&stacks.texts, SIZE_MAX / 4);
	st_buf_init(&stacks.frame, SIZE_MAX / 4);
	st_buf_init(&stacks.out, SIZE_MAX / 4);
	stacks.begins = calloc(count, sizeof(*stacks.begins));
	stacks.ends = calloc(count, sizeof(*stacks.ends));
	if (!status && stacks.begins && stacks.ends)
		status = write_rows(&stacks, &dataset, &selection, sink, err);
	else if (!status)
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the export");
	st_selection_fini(&selection);
	st_dataset_operators_fini(&dataset);
	st_buf_fini(&stacks.texts);
	st_buf_fini(&stacks.frame);
	st_buf_fini(&stacks.out);
	free(stacks.begins);
	free(stacks.ends);
	return status;
}
