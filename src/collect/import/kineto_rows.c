// SPDX-License-Identifier: Apache-2.0
//
// From the events of a trace to tracks whose slices nest: in the order of time, with the ends between the begins. Python
// calls nest among themselves, beside the slices; they also are the stack of the operators that begin in them. Slices of
// one thread or stream that overlap without nesting (kernels that run at the same time) go to further tracks.
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "collect/import/kineto_parts.h"
#include "format/operator.h"
#include "format/sample_record.h"

enum {
	ROUNDING_NS = 1000, /* times are written in microseconds by some versions */
	LANES_MAX = 64, /* tracks beside one for what overlaps; the rest is skipped and counted */
	DEPTH_MAX = 4096,
};

struct open {
	uint64_t end;
	uint32_t domain;
	uint32_t node; /* of a call: the stack with it */
};

struct row {
	struct st_kineto_job *kineto;
	uint32_t process, track;
	struct open slices[DEPTH_MAX], calls[DEPTH_MAX];
	uint32_t slice_count, call_count;
};

static int by_place(const struct st_kineto_event *a, const struct st_kineto_event *b)
{
	bool on_device[2] = {a->kind == ST_KINETO_DEVICE, b->kind == ST_KINETO_DEVICE};

	if (on_device[0] != on_device[1])
		return on_device[0] - on_device[1];
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

/* What is around another comes before it: it begins earlier, or ends later, or was written earlier. */
static int by_place_and_time(const void *a, const void *b)
{
	const struct st_kineto_event *x = a, *y = b;
	int place = by_place(x, y);

	if (place)
		return place;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static void put(struct row *row, const struct st_import_op *op)
{
	st_import_op(row->kineto->out, row->track, op);
}

/* Ends all that ended until then, slices and calls in the order of their ends. */
static void end_until(struct row *row, uint64_t time)
{
	for (;;) {
		const struct open *slice =
			row->slice_count ? &row->slices[row->slice_count - 1] : NULL;
		const struct open *call = row->call_count ? &row->calls[row->call_count - 1] : NULL;
		bool is_call = call && (!slice || call->end < slice->end);
		const struct open *first = is_call ? call : slice;

		if (!first || first->end > time)
			return;
		put(row, &(struct st_import_op){.time = first->end,
						.kind = is_call ? ST_IMPORT_RETURN : ST_IMPORT_END,
						.domain = first->domain});
		if (is_call)
			row->call_count--;
		else
			row->slice_count--;
	}
}

/* Of "torch/nn/modules/linear.py(130): forward"; 0: a built-in or a module, which have no line. */
static uint32_t code_of(struct row *row, struct st_text name)
{
	struct st_import_out *out = row->kineto->out;
	const char *colon = memmem(name.bytes, name.size_bytes, "): ", 3);
	const char *open = colon ? memrchr(name.bytes, '(', (size_t)(colon - name.bytes)) : NULL;
	struct st_buf *key = &row->kineto->scratch;

	if (!open || open == name.bytes || colon == open + 1)
		return 0;
	for (const char *at = open + 1; at < colon; at++)
		if (*at < '0' || *at > '9')
			return 0;
	st_buf_clear(key);
	st_buf_append(key, name.bytes, (size_t)(open - name.bytes));
	st_buf_append_u8(key, 0);
	st_buf_append(key, colon + 3, (size_t)(name.bytes + name.size_bytes - colon - 3));
	st_buf_append_u8(key, 0);
	st_buf_append(key, open + 1, (size_t)(colon - open - 1));
	st_buf_append_u8(key, 0);
	/* Whoever takes it apart looks for all three texts. */
	if (key->failed) {
		out->no_memory = true;
		return 0;
	}
	return st_import_id(out, &out->processes[row->process].slices.codes,
			    st_import_text(out, key->data, key->size_bytes));
}

static void put_begin(struct row *row, const struct st_kineto_event *event, st_string_id domain,
		      st_string_id name, uint64_t end)
{
	struct st_import_out *out = row->kineto->out;
	struct st_import_slice_names *names = &out->processes[row->process].slices;
	const uint32_t calls = row->call_count;
	const struct st_import_op op = {
		.time = event->begin,
		.kind = ST_IMPORT_BEGIN,
		.domain = st_import_id(out, &names->domains, domain),
		.name = st_import_id(out, &names->names, name),
		.signature = event->signature,
		.stack = event->signature && calls ? row->calls[calls - 1].node : 0,
		.value = event->value};

	put(row, &op);
	row->slices[row->slice_count++] = (struct open){.end = end, .domain = op.domain};
	if (event->link)
		put(row, &(struct st_import_op){.time = event->begin,
						.kind = event->kind == ST_KINETO_DEVICE
								? ST_IMPORT_FLOW_IN
								: ST_IMPORT_FLOW_OUT,
						.value = (int64_t)event->link});
}

/* A call of a module is one of Python and a slice of its own. */
static void put_call(struct row *row, const struct st_kineto_event *event)
{
	static const char module[] = "nn.Module: ";
	struct st_import_out *out = row->kineto->out;
	struct st_text name = st_text_table_get(&out->texts, event->name);
	uint32_t node = row->call_count ? row->calls[row->call_count - 1].node : 0;
	uint32_t code = code_of(row, name);
	uint64_t end = event->end;

	if (row->call_count && end > row->calls[row->call_count - 1].end) {
		end = row->calls[row->call_count - 1].end;
		out->counts.clipped += event->end - end > ROUNDING_NS;
	}
	if (code)
		node = st_import_node(out, row->process, node, ST_FRAME_PYTHON,
				      code | (uint64_t)ST_PYTHON_POSITION_NONE << 32);
	put(row, &(struct st_import_op){
			 .time = event->begin,
			 .kind = ST_IMPORT_CALL,
			 .name = st_import_id(out, &out->processes[row->process].slices.names,
					      event->name)});
	row->calls[row->call_count++] = (struct open){.end = end, .node = node};
	if (st_text_begins(name, module) && row->slice_count < DEPTH_MAX &&
	    (!row->slice_count || end <= row->slices[row->slice_count - 1].end))
		put_begin(row, event,
			  st_import_text(out, ST_MODULE_DOMAIN, sizeof(ST_MODULE_DOMAIN) - 1),
			  st_import_text(out, name.bytes + sizeof(module) - 1,
					 name.size_bytes - sizeof(module) + 1),
			  end);
}

/* False: it does not nest in what is open here. */
static bool take(struct row *row, const struct st_kineto_event *event)
{
	const struct open *around = row->slice_count ? &row->slices[row->slice_count - 1] : NULL;
	uint64_t end = event->end;

	if (event->kind == ST_KINETO_MEMORY) {
		put(row, &(struct st_import_op){.time = event->begin,
						.kind = ST_IMPORT_BLOCK,
						.value = event->value,
						.address = event->link,
						.place = event->signature});
		return true;
	}
	if (event->kind == ST_KINETO_CALL) {
		if (row->call_count == DEPTH_MAX)
			row->kineto->out->counts.skipped++;
		else
			put_call(row, event);
		return true;
	}
	if (around && end > around->end) {
		if (end - around->end > ROUNDING_NS)
			return false;
		end = around->end;
	}
	if (row->slice_count == DEPTH_MAX)
		row->kineto->out->counts.skipped++;
	else
		put_begin(row, event, event->domain, event->name, end);
	return true;
}

/* A track of what nests; the rest is moved to the front of the events, and counted. */
static uint32_t fill_track(struct row *row, struct st_kineto_event *events, uint32_t count)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < count; i++) {
		end_until(row, events[i].begin);
		if (!take(row, &events[i]))
			events[left++] = events[i];
	}
	end_until(row, UINT64_MAX);
	return left;
}

static uint32_t find_track(struct row *row, const struct st_kineto_event *event, uint32_t lane)
{
	struct st_import_out *out = row->kineto->out;
	bool on_device = event->kind == ST_KINETO_DEVICE;
	uint32_t track;

	if (!on_device && !lane)
		return st_import_thread_of(out, event->pid, event->tid, event->begin);
	track = st_import_track(out, row->process,
				on_device ? ST_TRACK_DEVICE_STREAM : ST_TRACK_OTHER, event->tid);
	if (track == ST_IMPORT_NONE)
		return track;
	st_buf_clear(&row->kineto->scratch);
	if (on_device)
		st_buf_printf(&row->kineto->scratch, "device %u stream %u", event->pid, event->tid);
	else
		st_buf_printf(&row->kineto->scratch, "thread %u", event->tid);
	if (lane)
		st_buf_printf(&row->kineto->scratch, ", overlapping %u", lane);
	out->threads[track].name =
		st_import_text(out, row->kineto->scratch.data, row->kineto->scratch.size_bytes);
	return track;
}

static void fill_tracks(struct row *row, struct st_kineto_event *events, uint32_t count)
{
	for (uint32_t lane = 0; count && lane < LANES_MAX && !row->kineto->out->no_memory; lane++) {
		row->track = find_track(row, &events[0], lane);
		if (row->track == ST_IMPORT_NONE)
			return;
		count = fill_track(row, events, count);
	}
	row->kineto->out->counts.skipped += count;
}

/* Devices are processes too in these files: only those with events of the host are here. */
static void name_all(struct st_kineto_job *kineto)
{
	struct st_import_out *out = kineto->out;

	for (uint32_t i = 0; i < kineto->name_count; i++) {
		const struct st_kineto_name *name = &kineto->names[i];
		uint32_t at = st_id_map_get(&out->process_of, name->pid);

		if (at == ST_ID_NONE)
			continue;
		if (!name->is_thread) {
			out->processes[at].name = name->text;
			continue;
		}
		at = st_id_map_get(&out->thread_of, st_id_pair(at, name->tid));
		if (at != ST_ID_NONE)
			out->threads[at].name = name->text;
	}
}

void st_kineto_rows(struct st_kineto_job *kineto)
{
	struct st_kineto_event *events = kineto->events;
	struct row *row = calloc(1, sizeof(*row));

	if (!row) {
		kineto->out->no_memory = true;
		return;
	}
	row->kineto = kineto;
	if (kineto->count)
		qsort(events, kineto->count, sizeof(*events), by_place_and_time);
	for (uint32_t i = 0, end; i < kineto->count && !kineto->out->no_memory; i = end) {
		uint32_t process = kineto->host;

		for (end = i + 1; end < kineto->count && !by_place(&events[i], &events[end]);)
			end++;
		if (events[i].kind != ST_KINETO_DEVICE || process == ST_IMPORT_NONE)
			process = st_import_process_of(kineto->out, events[i].pid, events[i].begin);
		if (process == ST_IMPORT_NONE)
			break;
		row->process = process;
		fill_tracks(row, &events[i], end - i);
	}
	free(row);
	name_all(kineto);
	/* Whether they went on is not known: they end where the trace does. */
	for (uint32_t i = 0; i < kineto->out->thread_count; i++) {
		const struct st_import_thread *thread = &kineto->out->threads[i];
		struct st_import_process *process = &kineto->out->processes[thread->process];

		process->has_end = true;
		if (thread->last > process->end)
			process->end = thread->last;
	}
}
