// SPDX-License-Identifier: Apache-2.0
//
// What is told of a thing (analyze/datasets/thing_args.h). The events of a track lie in the order in which they were
// recorded, those of a slice between its begin and its end, mixed with those of the slices inside it. So
// they are looked for from a place that only moves on, and no list of them is made.
#include "analyze/datasets/thing_args.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/itt_values.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "store/devices.h"

enum { SCOPE_TASK = 4 };

const char *const st_arg_words[ST_ARG_WORDS] = {
	[ST_ARG_NO_WORD] = "",
	[ST_ARG_DOMAIN] = "domain",
	[ST_ARG_ROW] = "row",
	[ST_ARG_PARENT] = "parent",
	[ST_ARG_FLAGS] = "flags",
	[ST_ARG_RECORDED_NS] = "recorded_ns",
	[ST_ARG_NAME_BYTES] = "name_bytes",
	[ST_ARG_ID] = "id",
	[ST_ARG_PARENT_ID] = "parent_id",
	[ST_ARG_CALLER] = "caller",
	[ST_ARG_PYTHON_LINE] = "python_line",
	[ST_ARG_FUNCTION] = "function",
	[ST_ARG_TID] = "tid",
	[ST_ARG_END_TID] = "end_tid",
	[ST_ARG_SCOPE] = "scope",
	[ST_ARG_VALUE] = "value",
	[ST_ARG_ADDRESS] = "address",
	[ST_ARG_TYPE] = "type",
	[ST_ARG_X] = "x",
	[ST_ARG_Y] = "y",
	[ST_ARG_EDGE] = "edge",
	[ST_ARG_METADATA] = "metadata",
	[ST_ARG_FORMATTED] = "formatted",
	[ST_ARG_UNNAMED] = "unnamed",
	[ST_ARG_CUT] = "cut",
	[ST_ARG_ESCAPED] = "escaped",
	[ST_ARG_RELATIONS] = "relations",
	[ST_ARG_RELATION] = "relation",
	[ST_ARG_HEAD] = "head",
	[ST_ARG_TAIL] = "tail",
	[ST_ARG_FLOW] = "flow",
	[ST_ARG_DEVICE] = "device",
	[ST_ARG_STREAM] = "stream",
	[ST_ARG_CORRELATION] = "correlation",
	[ST_ARG_GRID] = "grid",
	[ST_ARG_BLOCK] = "block",
	[ST_ARG_REGISTERS] = "registers_per_thread",
	[ST_ARG_SHARED_BYTES] = "shared_memory_bytes",
	[ST_ARG_BYTES] = "bytes",
};

bool st_thing_args_init(struct st_thing_args *args, const struct st_result *result,
			const struct st_ties *ties)
{
	uint32_t count;

	memset(args, 0, sizeof(*args));
	args->result = result;
	args->ties = ties;
	args->events = st_result_events(result);
	args->slices = st_result_slices(result);
	args->labels = st_result_labels(result, &count);
	args->spans = st_result_spans(result, &args->span_count);
	args->ids = st_result_ids(result, &count);
	args->objects = st_result_objects(result, &args->object_count);
	args->syncs = st_result_sync_objects(result, &args->sync_count);
	args->tracks = st_result_tracks(result, &args->track_count);
	args->callers = st_result_callers(result, &count);
	/* The first one stands for none. */
	args->slice_callers = count > 1 ? st_result_slice_callers(result) : NULL;
	st_result_device_items(result, &count);
	args->has_devices = count > 0;
	args->key_seen = calloc((size_t)st_result_text_count(result) + 1, sizeof(*args->key_seen));
	return args->key_seen != NULL;
}

void st_thing_args_fini(struct st_thing_args *args)
{
	free(args->key_seen);
	args->key_seen = NULL;
}

void st_text_escape(struct st_buf *out, struct st_text text)
{
	const uint8_t *bytes = (const uint8_t *)text.bytes;

	for (size_t i = 0; i < text.size_bytes;) {
		size_t length = st_utf8_length(bytes + i, bytes + text.size_bytes);

		if (!length)
			st_buf_printf(out, "\\x%02x", bytes[i]);
		else if (bytes[i] == '\\')
			st_buf_append_text(out, "\\\\");
		else
			st_buf_append(out, bytes + i, length);
		i += length ? length : 1;
	}
}

struct st_text st_arg_name(const struct st_arg *arg, const struct st_result *result,
			   struct st_buf *scratch)
{
	const char *word = st_arg_words[arg->word];
	struct st_text text =
		arg->word ? (struct st_text){word, strlen(word)} : st_result_text(result, arg->key);
	bool is_plain = st_utf8_is_valid(text.bytes, text.size_bytes);

	if (!arg->repeat && is_plain)
		return text;
	scratch->size_bytes = 0;
	if (is_plain)
		st_buf_append(scratch, text.bytes, text.size_bytes);
	else
		st_text_escape(scratch, text);
	if (arg->repeat)
		st_buf_printf(scratch, " #%" PRIu32, arg->repeat);
	return (struct st_text){(const char *)scratch->data, scratch->size_bytes};
}

static size_t element_bytes(const struct st_arg *arg)
{
	return st_value_bytes(arg->type) ? st_value_bytes(arg->type) : 1;
}

size_t st_arg_element_count(const struct st_arg *arg)
{
	return arg->text.size_bytes / element_bytes(arg);
}

struct st_element st_arg_element(const struct st_arg *arg, size_t index)
{
	size_t width = element_bytes(arg);
	struct st_element element = {.form = ST_ELEMENT_UNSIGNED};
	uint64_t bits = 0;

	memcpy(&bits, arg->text.bytes + index * width, width);
	if (arg->type == ST_VALUE_FLOAT || arg->type == ST_VALUE_DOUBLE) {
		element.form = ST_ELEMENT_DOUBLE;
		element.number = st_value_number(arg->type, bits);
		return element;
	}
	if (arg->type == ST_VALUE_S64 || arg->type == ST_VALUE_S32 || arg->type == ST_VALUE_S16)
		element.form = ST_ELEMENT_SIGNED;
	element.integer = st_value_integer(arg->type, bits);
	return element;
}

/* One argument ------------------------------------------------------------------------------------- */

static void tell(struct st_thing_args *args, struct st_arg arg)
{
	args->write(args->to, &arg);
}

static void tell_text(struct st_thing_args *args, enum st_arg_word word, const char *text)
{
	tell(args,
	     (struct st_arg){.form = ST_ARG_IS_TEXT, .word = word, .text = {text, strlen(text)}});
}

static void tell_u64(struct st_thing_args *args, enum st_arg_word word, uint64_t number)
{
	tell(args, (struct st_arg){.form = ST_ARG_IS_U64, .word = word, .number = number});
}

static void tell_string(struct st_thing_args *args, enum st_arg_word word, st_string_id id)
{
	tell(args, (struct st_arg){.form = ST_ARG_IS_TEXT_ID, .word = word, .text_id = id});
}

static void tell_address(struct st_thing_args *args, enum st_arg_word word, uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	tell_text(args, word, text);
}

static void tell_id(struct st_thing_args *args, enum st_arg_word word, uint32_t id)
{
	const uint64_t *d;
	char text[72];

	if (!id)
		return;
	d = args->ids[id].d;
	snprintf(text, sizeof(text), "%" PRIu64 ":%" PRIu64 ":%" PRIu64, d[0], d[1], d[2]);
	tell_text(args, word, text);
}

static void tell_end(struct st_thing_args *args)
{
	tell(args, (struct st_arg){.form = ST_ARG_IS_END});
}

/* Metadata ----------------------------------------------------------------------------------------- */

static bool is_metadata(uint32_t kind)
{
	return kind >= ST_EVENT_METADATA && kind <= ST_EVENT_METADATA_FORMATTED;
}

bool st_event_is_of_slice(const struct st_event_row *row)
{
	if (row->slice == ST_NO_ROW || !is_metadata(row->kind))
		return false;
	if (row->kind == ST_EVENT_METADATA_SCOPED || row->kind == ST_EVENT_METADATA_TEXT_SCOPED)
		return row->detail >> 16 == SCOPE_TASK;
	return !row->id;
}

/* The name of a metadata argument, told apart from those that the thing has already. */
static struct st_arg name_metadata(struct st_thing_args *args, const struct st_event_row *row)
{
	struct st_arg arg = {.form = ST_ARG_IS_TEXT};
	uint32_t *seen = &args->key_seen[row->name];

	args->told++;
	if (row->kind == ST_EVENT_METADATA_FORMATTED) {
		arg.word = ST_ARG_FORMATTED;
		seen = &args->formatted;
	} else if (!row->name) {
		arg.word = ST_ARG_UNNAMED;
		seen = &args->unnamed;
	} else {
		arg.key = row->name;
	}
	arg.repeat = *seen == args->serial ? args->told : 0;
	*seen = args->serial;
	return arg;
}

static void tell_metadata(struct st_thing_args *args, const struct st_event_row *row)
{
	struct st_arg arg = name_metadata(args, row);

	if (!args->in_metadata)
		tell(args, (struct st_arg){.form = ST_ARG_IS_GROUP, .word = ST_ARG_METADATA});
	args->in_metadata = true;
	arg.text = st_result_blob(args->result, row->data);
	arg.blob = row->data;
	if (row->flags & ST_EVENT_DATA_CUT)
		args->cut++;
	if (row->kind == ST_EVENT_METADATA || row->kind == ST_EVENT_METADATA_SCOPED) {
		arg.form = ST_ARG_IS_VALUES;
		arg.type = row->detail & 0xffff;
	} else if (row->kind == ST_EVENT_METADATA_FORMATTED && row->detail) {
		/* The arguments could not be had: the format stands for the text. */
		arg.form = ST_ARG_IS_TEXT_ID;
		arg.text_id = row->name;
	}
	tell(args, arg);
}

static void end_metadata(struct st_thing_args *args)
{
	if (args->in_metadata)
		tell_end(args);
	args->in_metadata = false;
	if (args->cut)
		tell_u64(args, ST_ARG_CUT, args->cut);
}

static void begin_thing(struct st_thing_args *args)
{
	args->serial++;
	args->cut = args->told = 0;
}

/* Ties --------------------------------------------------------------------------------------------- */

static void tell_relation(struct st_thing_args *args, const struct st_tie *tie)
{
	const struct st_event_row *row = &args->events->rows[tie->event];

	tell(args, (struct st_arg){.form = ST_ARG_IS_GROUP});
	tell_text(args, ST_ARG_RELATION, st_relation_name(row->detail));
	tell_text(args, ST_ARG_EDGE, tie->is_head ? "head" : "tail");
	tell_id(args, ST_ARG_HEAD, row->id);
	tell_id(args, ST_ARG_TAIL, row->other);
	if (tie->flow)
		tell_u64(args, ST_ARG_FLOW, tie->flow);
	tell_end(args);
}

static void tell_ties(struct st_thing_args *args, st_thing thing)
{
	size_t count, relations = 0;
	const struct st_tie *ties;

	if (!args->ties->count) {
		end_metadata(args);
		return;
	}
	ties = st_ties_of(args->ties, thing, &count);
	for (size_t i = 0; i < count; i++) {
		const struct st_event_row *row;

		if (ties[i].event == ST_NO_ROW)
			continue;
		row = &args->events->rows[ties[i].event];
		if (row->kind == ST_EVENT_RELATION)
			relations++;
		else
			tell_metadata(args, row);
	}
	end_metadata(args);
	if (!relations)
		return;
	tell(args, (struct st_arg){.form = ST_ARG_IS_LIST, .word = ST_ARG_RELATIONS});
	for (size_t i = 0; i < count; i++) {
		if (ties[i].event != ST_NO_ROW &&
		    args->events->rows[ties[i].event].kind == ST_EVENT_RELATION)
			tell_relation(args, &ties[i]);
	}
	tell_end(args);
}

/* Slices ------------------------------------------------------------------------------------------- */

void st_thing_args_track(struct st_thing_args *args, uint32_t track)
{
	args->at = args->end = 0;
	if (!args->events->count)
		return;
	args->at = args->events->first_of_track[track];
	args->end = args->events->first_of_track[track + 1];
}

/* The next event of the slice itself, from `at` on. While a slice is open, the innermost one is itself or
 * a deeper one begun after it. */
static uint32_t next_of_slice(const struct st_thing_args *args, uint32_t row, uint32_t at)
{
	const uint16_t *depth = args->slices->depth;

	for (; at < args->end; at++) {
		uint32_t slice = args->events->rows[at].slice;

		if (slice == row)
			return at;
		if (slice == ST_NO_ROW || slice < row || depth[slice] <= depth[row])
			break;
	}
	return ST_NO_ROW;
}

static void tell_once(struct st_thing_args *args, const struct st_event_row *row, uint32_t *told)
{
	uint32_t bit = row->kind < 32 ? 1u << row->kind : 0;

	if (*told & bit)
		return;
	*told |= bit;
	if (row->kind == ST_EVENT_TASK_ID) {
		tell_id(args, ST_ARG_ID, row->id);
		tell_id(args, ST_ARG_PARENT_ID, row->other);
	} else if (row->kind == ST_EVENT_TASK_LINE) {
		tell_string(args, ST_ARG_PYTHON_LINE, row->name);
	} else if (row->kind == ST_EVENT_TASK_FN) {
		tell_address(args, ST_ARG_FUNCTION, row->value);
	}
}

static void tell_caller(struct st_thing_args *args, uint32_t row)
{
	const struct st_caller *caller;

	if (!args->slice_callers || !args->slice_callers[row])
		return;
	caller = &args->callers[args->slice_callers[row]];
	if (caller->place)
		tell_string(args, ST_ARG_CALLER, caller->place);
	else if (caller->address)
		tell_address(args, ST_ARG_CALLER, caller->address);
}

static void tell_sizes(struct st_thing_args *args, enum st_arg_word word, const uint32_t sizes[3])
{
	char text[48];

	snprintf(text, sizeof(text), "%" PRIu32 " x %" PRIu32 " x %" PRIu32, sizes[0], sizes[1],
		 sizes[2]);
	tell_text(args, word, text);
}

static void tell_device(struct st_thing_args *args, uint32_t row)
{
	const struct st_device_item *item =
		args->has_devices ? st_result_device_item_of(args->result, row) : NULL;

	if (!item)
		return;
	if (item->correlation)
		tell_u64(args, ST_ARG_CORRELATION, item->correlation);
	if (item->kind == ST_DEVICE_CALL || item->kind == ST_DEVICE_OVERHEAD)
		return;
	tell_u64(args, ST_ARG_DEVICE, item->device);
	if (item->kind == ST_DEVICE_KERNEL) {
		const uint32_t block[3] = {item->block[0], item->block[1], item->block[2]};

		tell_u64(args, ST_ARG_STREAM, item->stream);
		tell_sizes(args, ST_ARG_GRID, item->grid);
		tell_sizes(args, ST_ARG_BLOCK, block);
		tell_u64(args, ST_ARG_REGISTERS, item->registers);
		tell_u64(args, ST_ARG_SHARED_BYTES,
			 (uint64_t)item->shared_static + item->shared_dynamic);
		return;
	}
	if (item->kind != ST_DEVICE_MEMORY)
		tell_u64(args, ST_ARG_STREAM, item->stream);
	tell_u64(args, ST_ARG_BYTES, item->value);
}

void st_thing_args_slice(struct st_thing_args *args, uint32_t row)
{
	const struct st_event_row *rows = args->events->rows;
	uint32_t told = 0, first;

	tell_caller(args, row);
	tell_device(args, row);
	begin_thing(args);
	while (args->at < args->end &&
	       (rows[args->at].slice == ST_NO_ROW || rows[args->at].slice < row))
		args->at++;
	first = next_of_slice(args, row, args->at);
	for (uint32_t at = first; at != ST_NO_ROW; at = next_of_slice(args, row, at + 1)) {
		if (rows[at].kind <= ST_EVENT_TASK_FN)
			tell_once(args, &rows[at], &told);
	}
	for (uint32_t at = first; at != ST_NO_ROW; at = next_of_slice(args, row, at + 1)) {
		if (st_event_is_of_slice(&rows[at]))
			tell_metadata(args, &rows[at]);
	}
	tell_ties(args, st_thing_make(ST_THING_SLICE, row));
}

/* Spans and instants ------------------------------------------------------------------------------- */

static void tell_flags(struct st_thing_args *args, uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = {{ST_SLICE_UNFINISHED, "unfinished"},
		     {ST_SLICE_CLIPPED, "clipped"},
		     {ST_SPAN_CANCELLED, "cancelled"},
		     {ST_SPAN_ESTIMATED, "estimated"}};
	char text[64] = "";
	size_t length = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (flags & names[i].flag)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
						   length ? "," : "", names[i].name);
	}
	if (length)
		tell_text(args, ST_ARG_FLAGS, text);
}

static void tell_thread(struct st_thing_args *args, enum st_arg_word word, uint32_t track)
{
	if (track < args->track_count)
		tell_u64(args, word, args->tracks[track].tid);
}

void st_thing_args_span(struct st_thing_args *args, uint32_t index)
{
	const struct st_span *span = &args->spans[index];
	bool is_sync = span->kind == ST_SPAN_WAIT || span->kind == ST_SPAN_HOLD;

	begin_thing(args);
	if (span->domain)
		tell_string(args, ST_ARG_DOMAIN, span->domain);
	tell_u64(args, ST_ARG_ROW, index);
	tell_flags(args, span->flags);
	tell_id(args, ST_ARG_ID, span->id);
	tell_id(args, ST_ARG_PARENT_ID, span->parent);
	tell_thread(args, ST_ARG_TID, span->begin_track);
	if (span->end_track != span->begin_track)
		tell_thread(args, ST_ARG_END_TID, span->end_track);
	if (is_sync && span->object < args->sync_count) {
		tell_address(args, ST_ARG_ADDRESS, args->syncs[span->object].address);
		if (args->syncs[span->object].type)
			tell_string(args, ST_ARG_TYPE, args->syncs[span->object].type);
	}
	if (span->kind == ST_SPAN_TIMED_TASK && span->event < args->events->count &&
	    args->events->rows[span->event].value)
		tell_address(args, ST_ARG_FUNCTION, args->events->rows[span->event].value);
	tell_ties(args, st_thing_make(ST_THING_SPAN, index));
}

static void tell_histogram(struct st_thing_args *args, const struct st_event_row *row)
{
	struct st_text data = st_result_blob(args->result, row->data), x = data, y = data;
	const struct st_object *object;

	if (row->object >= args->object_count)
		return;
	object = &args->objects[row->object];
	x.size_bytes = row->value < data.size_bytes ? (size_t)row->value : data.size_bytes;
	y.bytes += x.size_bytes;
	y.size_bytes -= x.size_bytes;
	if (x.size_bytes)
		tell(args, (struct st_arg){.form = ST_ARG_IS_VALUES,
					   .word = ST_ARG_X,
					   .type = object->type,
					   .text = x});
	tell(args, (struct st_arg){.form = ST_ARG_IS_VALUES,
				   .word = ST_ARG_Y,
				   .type = object->type_y,
				   .text = y});
}

static void tell_scope(struct st_thing_args *args, const struct st_event_row *row)
{
	if (row->kind == ST_EVENT_MARKER)
		tell_text(args, ST_ARG_SCOPE, st_scope_name(row->detail));
	else if (row->kind == ST_EVENT_METADATA_SCOPED ||
		 row->kind == ST_EVENT_METADATA_TEXT_SCOPED)
		tell_text(args, ST_ARG_SCOPE, st_scope_name(row->detail >> 16));
	else if (row->kind == ST_EVENT_SCOPE_PAUSE || row->kind == ST_EVENT_SCOPE_RESUME)
		tell_u64(args, ST_ARG_SCOPE, row->detail);
}

void st_thing_args_event(struct st_thing_args *args, uint32_t index)
{
	const struct st_event_row *row = &args->events->rows[index];
	struct st_text data = st_result_blob(args->result, row->data);

	begin_thing(args);
	if (row->domain)
		tell_string(args, ST_ARG_DOMAIN, row->domain);
	tell_u64(args, ST_ARG_ROW, index);
	if (row->kind != ST_EVENT_RELATION) {
		tell_id(args, ST_ARG_ID, row->id);
		tell_id(args, ST_ARG_PARENT_ID, row->other);
	}
	tell_thread(args, ST_ARG_TID, row->track);
	tell_scope(args, row);
	if (row->flags & ST_EVENT_TIME_ESTIMATED)
		tell_text(args, ST_ARG_FLAGS, "estimated");
	if (row->kind == ST_EVENT_HISTOGRAM)
		tell_histogram(args, row);
	else if (row->kind == ST_EVENT_MARK && data.size_bytes)
		tell(args,
		     (struct st_arg){.form = ST_ARG_IS_TEXT, .word = ST_ARG_VALUE, .text = data});
	/* Metadata that names no thing is told at its own place. */
	if (is_metadata(row->kind) && !row->id)
		tell_metadata(args, row);
	tell_ties(args, st_thing_make(ST_THING_EVENT, index));
}
