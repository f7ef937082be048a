// SPDX-License-Identifier: Apache-2.0
//
// What torch's export_stacks writes: for each event that has a Python stack a line with it, outermost first, and the
// microseconds that the event took by itself, or that devices worked for it; for flamegraph.pl and the like. Events and their stacks are those of
// report torch-events.
#include <string.h>

#include "analyze/torch/torch_events.h"
#include "export/exporters.h"
#include "export/stream.h"

/* What would end a frame or the line becomes "_". */
static void add_frame(struct st_buf *out, const char *begin, const char *end)
{
	for (; begin < end; begin++)
		st_buf_append_u8(out, *begin && strchr(" ;\t\n", *begin) ? '_' : (uint8_t)*begin);
}

/* Frames come with the innermost first, a line each. */
static void add_stack(struct st_buf *out, struct st_text stack)
{
	const char *end = stack.bytes + stack.size_bytes;

	while (end > stack.bytes) {
		const char *begin = end;

		while (begin > stack.bytes && begin[-1] != '\n')
			begin--;
		add_frame(out, begin, end);
		if (begin > stack.bytes)
			st_buf_append_u8(out, ';');
		end = begin > stack.bytes ? begin - 1 : begin;
	}
}

static int64_t time_of(const struct st_operator_rows *rows, uint32_t row, bool by_device)
{
	if (!by_device)
		return (int64_t)rows->self_ns[row];
	return rows->device_ns ? (int64_t)rows->device_ns[row] : 0;
}

static const char *why_empty(const struct st_operator_rows *rows, bool has_stacks)
{
	if (!rows->count)
		return "the result has no operators of PyTorch; record them with strata -collect "
		       "operators -knob operator-stacks=true";
	return has_stacks ? "no operator with a Python stack has such a time"
			  : "no operator has a Python stack; record them with -knob "
			    "operator-stacks=true";
}

static enum st_status write_events(const struct st_torch_events *events, bool by_device,
				   struct st_stream *to, struct st_error *err)
{
	const struct st_operator_rows *rows = events->rows;
	enum st_status status = ST_OK;
	bool is_empty = true, has_stacks = false;

	for (uint32_t row = 0; row < rows->count && !status; row++) {
		uint32_t key = events->stack_of[row];
		int64_t time_ns = time_of(rows, row, by_device);

		if (!key || !st_row_is_counted(&events->dataset, row))
			continue;
		has_stacks = true;
		if (time_ns < 1000)
			continue;
		is_empty = false;
		add_stack(&to->out, events->stacks.texts[key]);
		st_buf_printf(&to->out, " %llu\n", (unsigned long long)time_ns / 1000);
		status = st_stream_spill(to, err);
	}
	if (is_empty)
		st_sink_set_empty(to->sink, why_empty(rows, has_stacks));
	return status;
}

enum st_status st_export_torch_stacks(const struct st_result *result,
				      const struct st_export_options *options, struct st_sink *sink,
				      struct st_error *err)
{
	const struct st_torch_options as_asked = {.given = true, .with_stack = true};
	struct st_torch_events events;
	struct st_stream to;
	enum st_status status =
		st_torch_events_init(&events, result, options->question, &as_asked, err);

	if (status)
		return status;
	st_stream_init(&to, sink, "the export");
	status = st_torch_events_stacks(&events, UINT32_MAX)
			 ? write_events(&events, options->by_device, &to, err)
			 : st_stream_no_memory(&to, err);
	st_torch_events_fini(&events);
	return st_stream_end(&to, status, err);
}
