// SPDX-License-Identifier: Apache-2.0
//
// Calls of Python functions and built-ins as torch's profiler writes them: "python_function", with numbers of their own.
// They nest, and operators lie in them; but a range that is begun in one function and ended in another (record_function)
// overlaps the calls of both. Slices of a thread must nest for readers, so what is open when something begins that ends
// later ends there in the file, as it does for torch when it looks for parents; what it really took stands beside.
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "export/trace/kineto_parts.h"

/* Something of a thread that is drawn. */
struct item {
	int64_t begin_ns, end_ns;
	int64_t *end;	/* in the file */
	uint32_t order; /* calls come first: they are around what has the same times */
};

struct items {
	struct item *list;
	uint32_t count;
};

static bool clip(const struct st_kineto *kineto, uint32_t call, int64_t *begin_ns, int64_t *end_ns)
{
	*begin_ns = kineto->calls[call].begin_ns;
	*end_ns = kineto->calls[call].end_ns;
	if (!kineto->has_window)
		return true;
	if (*begin_ns >= kineto->end_ns || *end_ns <= kineto->begin_ns)
		return false;
	if (*begin_ns < kineto->begin_ns)
		*begin_ns = kineto->begin_ns;
	if (*end_ns > kineto->end_ns)
		*end_ns = kineto->end_ns;
	return true;
}

bool st_kineto_calls_create(struct st_kineto *kineto)
{
	uint32_t count, inside = 0;
	int64_t begin_ns, end_ns;

	kineto->calls = st_result_traced_calls(kineto->result, &count);
	for (uint32_t i = 0; i < count && !inside; i++)
		inside += clip(kineto, i, &begin_ns, &end_ns);
	if (!inside || !(kineto->parts & ST_PART_STACKS))
		return true;
	kineto->call_count = count;
	kineto->call_spans = calloc((size_t)kineto->track_count + 1, sizeof(*kineto->call_spans));
	kineto->call_ends = calloc((size_t)count + 1, sizeof(*kineto->call_ends));
	kineto->slice_ends = calloc((size_t)kineto->slices->count + 1, sizeof(*kineto->slice_ends));
	if (!kineto->call_spans || !kineto->call_ends || !kineto->slice_ends)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct st_row_span *span = &kineto->call_spans[kineto->calls[i].track];

		if (span->begin == span->end)
			span->begin = i;
		span->end = i + 1;
	}
	return true;
}

void st_kineto_calls_destroy(struct st_kineto *kineto)
{
	free(kineto->call_spans);
	free(kineto->call_ends);
	free(kineto->slice_ends);
}

static void add_calls(struct st_kineto *kineto, uint32_t track, struct items *items)
{
	const struct st_row_span *span = &kineto->call_spans[track];

	for (uint32_t i = span->begin; i < span->end; i++) {
		struct item *item = &items->list[items->count];

		if (!clip(kineto, i, &item->begin_ns, &item->end_ns))
			continue;
		item->end = &kineto->call_ends[i];
		*item->end = item->end_ns;
		item->order = items->count++;
	}
}

static void add_slices(struct st_kineto *kineto, uint32_t track, struct items *items)
{
	for (uint32_t slice = kineto->tracks[track].row_begin;
	     slice < kineto->tracks[track].row_end; slice++) {
		if (!kineto->wanted[track] || st_kineto_kind(kineto, slice) == ST_PYTHON_NOTHING)
			continue;
		kineto->slice_ends[slice] = kineto->slices->end_ns[slice];
		items->list[items->count] = (struct item){kineto->slices->begin_ns[slice],
							  kineto->slices->end_ns[slice],
							  &kineto->slice_ends[slice], items->count};
		items->count++;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static void nest(const struct items *items, uint32_t *open)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < items->count; i++) {
		const struct item *item = &items->list[i];

		while (depth) {
			const struct item *top = &items->list[open[depth - 1]];

			if (item->begin_ns < *top->end && item->end_ns <= top->end_ns)
				break;
			if (*top->end > item->begin_ns)
				*top->end = item->begin_ns;
			depth--;
		}
		open[depth++] = i;
	}
}

bool st_kineto_has_calls(const struct st_kineto *kineto, uint32_t track)
{
	for (uint32_t i = 0; kineto->call_count && i < kineto->track_count; i++)
		if (kineto->wanted[i] && kineto->tracks[i].process == kineto->tracks[track].process)
			return true;
	return false;
}

bool st_kineto_calls_track(struct st_kineto *kineto, uint32_t track)
{
	struct items items = {0};
	uint32_t *open;
	size_t count;

	if (!kineto->call_count)
		return true;
	count = kineto->call_spans[track].end - kineto->call_spans[track].begin + 1 +
		(size_t)(kineto->tracks[track].row_end - kineto->tracks[track].row_begin);
	items.list = calloc(count, sizeof(*items.list));
	open = calloc(count, sizeof(*open));
	if (items.list && open) {
		add_calls(kineto, track, &items);
		add_slices(kineto, track, &items);
		if (items.count)
			qsort(items.list, items.count, sizeof(*items.list), by_time);
		nest(&items, open);
	}
	free(items.list);
	free(open);
	return items.list && open;
}

/* The number behind the last "_" of "nn.Module: Linear_0". */
static bool module_number(struct st_text name, uint64_t *number)
{
	static const char module[] = "nn.Module: ";
	const char *end = name.bytes + name.size_bytes, *at = end;

	if (name.size_bytes < sizeof(module) || memcmp(name.bytes, module, sizeof(module) - 1) != 0)
		return false;
	while (at > name.bytes && at[-1] >= '0' && at[-1] <= '9')
		at--;
	if (at == end || at[-1] != '_')
		return false;
	for (*number = 0; at < end; at++)
		*number = *number * 10 + (uint64_t)(*at - '0');
	return true;
}

void st_kineto_call_begin(struct st_kineto *kineto, struct st_json *json, uint32_t track,
			  const struct st_kineto_call *call)
{
	st_buf_append_text(kineto->out, ",\n");
	st_json_init(json, kineto->out);
	st_json_object_begin(json);
	st_json_put_text(json, "ph", "X");
	st_json_put_text(json, "cat", "python_function");
	st_json_put_bytes(json, "name", call->name.bytes, call->name.size_bytes);
	st_json_put_u64(json, "pid", kineto->ids.pids[kineto->tracks[track].process]);
	st_json_put_u64(json, "tid", kineto->ids.tids[track]);
	st_json_key(json, "ts");
	st_kineto_add_us(json, st_kineto_time(kineto, call->begin_ns));
	st_json_key(json, "dur");
	st_kineto_add_us(json, call->end_ns - call->begin_ns);
	st_json_put_object(json, "args");
	st_json_key(json, "Python parent id");
	if (call->parent)
		st_json_u64(json, call->parent);
	else
		st_json_null(json);
	st_json_put_u64(json, "Python id", call->id);
}

void st_kineto_call_end(struct st_kineto *kineto, struct st_json *json)
{
	st_json_put_u64(json, "Ev Idx", kineto->index++);
	st_json_object_end(json);
	st_json_object_end(json);
}

static void add_line(struct st_kineto *kineto, uint32_t track, uint32_t row)
{
	const struct st_traced_call *of = &kineto->calls[row];
	struct st_kineto_call call = {
		.name = st_result_text(kineto->result, of->name),
		.end_ns = kineto->call_ends[row],
		.id = (uint64_t)row + 1,
		.parent = of->parent == ST_NO_ROW ? 0 : (uint64_t)of->parent + 1,
	};
	struct st_json json;
	uint64_t number;
	int64_t end_ns;

	if (!clip(kineto, row, &call.begin_ns, &end_ns))
		return;
	st_kineto_call_begin(kineto, &json, track, &call);
	if (module_number(call.name, &number)) {
		st_json_put_u64(&json, "Python module id", number);
	}
	if (call.end_ns != end_ns) {
		st_json_put_u64(&json, "recorded_ns", (uint64_t)(end_ns - call.begin_ns));
	}
	st_kineto_call_end(kineto, &json);
}

enum st_status st_kineto_write_calls(struct st_kineto *kineto, uint32_t track, struct st_error *err)
{
	const struct st_row_span *span = &kineto->call_spans[track];
	enum st_status status = ST_OK;

	for (uint32_t i = span->begin; i < span->end && !status; i++) {
		add_line(kineto, track, i);
		status = st_stream_spill(&kineto->stream, err);
	}
	return status;
}
