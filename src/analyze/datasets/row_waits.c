// SPDX-License-Identifier: Apache-2.0
//
// The rows of waits, and what their keys are: those that a program tells of its own objects, beside them its holds and
// acquisitions, and those in functions of the C library.
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/places.h"
#include "analyze/datasets/row_sets.h"
#include "analyze/datasets/wait_class.h"
#include "base/search.h"
#include "base/vec.h"
#include "resolve/named.h"

static struct st_text plain(const char *text)
{
	return (struct st_text){text, strlen(text)};
}

/* "train.py:12", "make_queue, queue.c:41": where it was made, if that is known. */
static struct st_text made_at(const struct st_result *result, const struct st_sync_object *object)
{
	struct st_text line = st_result_text(result, object->made_at);
	const char *slash = line.size_bytes ? memrchr(line.bytes, '/', line.size_bytes) : NULL;

	if (slash)
		return (struct st_text){slash + 1,
					line.size_bytes - (size_t)(slash + 1 - line.bytes)};
	return line;
}

static const char *maker_text(const struct st_result *result, const struct st_sync_object *object,
			      struct st_arena *arena)
{
	struct st_text place = made_at(result, object);
	const char *text = place.size_bytes ? st_arena_printf(arena, " (%.*s)",
							      (int)place.size_bytes, place.bytes)
					    : "";

	return text ? text : "";
}

struct st_text st_sync_object_text(const struct st_result *result, uint32_t object,
				   struct st_arena *arena)
{
	uint32_t count;
	const struct st_sync_object *objects = st_result_sync_objects(result, &count);
	struct st_text name, type;
	char *shown;

	if (object >= count)
		return plain("[unknown]");
	name = st_result_text(result, objects[object].name);
	type = st_result_text(result, objects[object].type);
	if (name.size_bytes)
		return name;
	shown = st_arena_printf(
		arena, "%.*s%s0x%llx%s", type.size_bytes < 1000 ? (int)type.size_bytes : 1000,
		type.bytes, type.size_bytes ? " " : "", (unsigned long long)objects[object].address,
		maker_text(result, &objects[object], arena));
	return plain(shown ? shown : "");
}

/* Sync objects by process, address and time of their begin: which one an address means at a time. */
struct sync_place {
	uint32_t process, object;
	uint32_t kind; /* of the C library's: of which kind; else 0 */
	uint64_t address;
	int64_t first_ns;
};

static int by_place(const void *a, const void *b)
{
	const struct sync_place *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

static uint32_t find_object(const struct sync_place *places, uint32_t count,
			    const struct sync_place *wanted)
{
	uint32_t low = ST_SEARCH(i, 0, count, by_place(&places[i], wanted) <= 0);

	/* The last one not after it; or the first one, when it is used before it is created. */
	if (low && places[low - 1].process == wanted->process &&
	    places[low - 1].kind == wanted->kind && places[low - 1].address == wanted->address)
		return places[low - 1].object;
	if (low < count && places[low].process == wanted->process &&
	    places[low].kind == wanted->kind && places[low].address == wanted->address)
		return places[low].object;
	return ST_NO_ROW;
}

/* What rows of waits are filled from. */
struct filling {
	struct st_rows *rows;
	const struct st_sync_object *objects;
	uint32_t object_count;
	struct st_text *texts; /* by object; the last one: of none */
	uint8_t *is_lock;      /* by object: one of Python's locks */
	struct st_text
		*calls; /* by frame, as far as asked for: of locks that Python makes for one wait */
	struct st_wait_classes classes;
};

static const char python_lock[] = "Python Lock";

static void sync_keys(const struct filling *fill, uint32_t object, struct st_text text)
{
	struct st_rows *rows = fill->rows;
	bool is_known = object < fill->object_count;
	struct st_text place;

	st_rows_key(rows, ST_BY_SYNC_OBJECT, text);
	if (is_known && fill->is_lock[object])
		st_rows_key(rows, ST_BY_SYNC_TYPE, plain(python_lock));
	else
		st_rows_key(rows, ST_BY_SYNC_TYPE,
			    is_known ? st_result_text(rows->result, fill->objects[object].type)
				     : plain(""));
	/* Without folders, as in names: many objects that one line made are one row. */
	place = is_known ? made_at(rows->result, &fill->objects[object]) : plain("");
	st_rows_key(rows, ST_BY_CREATED_AT, place.size_bytes ? place : plain("[not known]"));
	st_rows_key(rows, ST_BY_CATEGORY, plain("wait"));
}

static struct st_text object_text(const struct filling *fill, uint32_t object)
{
	return fill->texts[object < fill->object_count ? object : fill->object_count];
}

static const struct st_text no_waker = {"[not known]", 11};

static const char *const class_words[ST_WAIT_CLASSES] = {[ST_WAITS_SYNC] = "Synchronization",
							 [ST_WAITS_GIL] = "Python GIL",
							 [ST_WAITS_IO] = "I/O",
							 [ST_WAITS_SLEEP] = "Sleep",
							 [ST_WAITS_IDLE] = "Idle Worker",
							 [ST_WAITS_PREEMPTED] = "Preempted",
							 [ST_WAITS_UNEXPLAINED] = "Unexplained"};

const char *st_wait_class_word(enum st_wait_class class)
{
	return class_words[class];
}

uint32_t st_library_wait(const struct st_span *span)
{
	uint32_t detail = span->event & ST_WAIT_DETAIL_MASK;

	return span->kind == ST_SPAN_WAIT && span->event == (ST_SPAN_TOLD | detail) ? detail : 0;
}

static uint32_t kind_of_object(uint32_t detail)
{
	uint32_t kind = detail & ST_WAIT_KIND_MASK;

	return kind == ST_WAIT_READ_LOCK ? ST_WAIT_WRITE_LOCK : kind ? kind : ST_WAIT_KINDS;
}

static void class_key(struct st_rows *rows, uint32_t kind)
{
	st_rows_key(rows, ST_BY_WAIT_CLASS,
		    plain(kind ? class_words[st_wait_class_of(kind)] : "Several"));
}

static void task_key(struct st_rows *rows, uint32_t slice)
{
	st_rows_key(rows, ST_BY_TASK_TYPE,
		    slice == ST_NO_ROW ? plain("[Outside any task]")
				       : st_slice_name(rows->result, slice));
}

/* A lock of Python is a semaphore; for a condition, and so for a queue, it makes a new one for each wait: these are known
 * by who waits. */
static void look_for_locks(const struct filling *fill, const struct st_span *spans,
			   uint32_t span_count)
{
	struct st_rows *rows = fill->rows;

	for (uint32_t i = 0; i < span_count && rows->sites.named; i++) {
		uint32_t object = spans[i].object, frame;
		struct st_text line;
		const char *maker;
		char *text;

		if (spans[i].kind != ST_SPAN_WAIT || object >= fill->object_count ||
		    fill->is_lock[object] ||
		    fill->objects[object].attribute >> ST_SYNC_KIND_SHIFT != ST_WAIT_SEMAPHORE)
			continue;
		frame = st_wait_frame(&rows->sites, st_wait_sample(rows->result, &spans[i]));
		if (!st_wait_is_python_lock(&rows->sites, frame))
			continue;
		fill->is_lock[object] = 1;
		line = st_wait_line(&rows->sites, frame, &rows->arena);
		maker = maker_text(rows->result, &fill->objects[object], &rows->arena);
		text = st_arena_printf(&rows->arena, "Lock 0x%llx%s%s%.*s%s",
				       (unsigned long long)fill->objects[object].address, maker,
				       line.size_bytes && !*maker ? " (" : "",
				       *maker ? 0 : (int)line.size_bytes, line.bytes,
				       line.size_bytes && !*maker ? ")" : "");
		if (!fill->objects[object].name && text)
			fill->texts[object] = plain(text);
	}
}

static struct st_text text_of_wait(const struct filling *fill, const struct st_span *span,
				   uint32_t sample)
{
	struct st_rows *rows = fill->rows;
	uint32_t frame = st_wait_frame(&rows->sites, sample);

	if (span->object >= fill->object_count || !fill->is_lock[span->object] ||
	    !st_wait_is_python_lock(&rows->sites, frame) || fill->objects[span->object].name)
		return object_text(fill, span->object);
	if (!fill->calls[frame].bytes)
		fill->calls[frame] = st_wait_call(&rows->sites, frame, &rows->arena);
	return fill->calls[frame].size_bytes ? fill->calls[frame] : object_text(fill, span->object);
}

/* What is known of a wait, or of a hold, beyond its object. */
static void wait_keys(struct st_rows *rows, const struct st_span *span, enum st_wait_class class)
{
	bool is_known = span->end_track != ST_NO_ROW && span->end_track != span->begin_track;

	st_rows_key(rows, ST_BY_WAIT_CLASS, plain(class_words[class]));
	task_key(rows, span->slice);
	st_rows_key(rows, ST_BY_WAKER,
		    is_known ? st_place_thread(rows->result, span->end_track, &rows->arena)
			     : no_waker);
}

static void fill_sync_events(const struct filling *fill, const struct sync_place *places)
{
	struct st_rows *rows = fill->rows;
	const struct st_events *events = st_result_events(rows->result);

	for (uint32_t i = 0; i < events->count && !rows->failed; i++) {
		const struct st_event_row *row = &events->rows[i];
		struct sync_place wanted = {.address = row->value, .first_ns = row->time_ns};
		uint32_t object;

		if ((row->kind != ST_EVENT_SYNC_ACQUIRED && row->kind != ST_EVENT_SYNC_RELEASING &&
		     row->kind != ST_EVENT_WAIT_SUM && row->kind != ST_EVENT_HOLD_SUM) ||
		    row->flags & ST_EVENT_REPEATED)
			continue;
		if (row->kind == ST_EVENT_WAIT_SUM || row->kind == ST_EVENT_HOLD_SUM)
			wanted.kind = kind_of_object(row->detail);
		wanted.process = st_rows_process_of(rows, row->track);
		object = find_object(places, fill->object_count, &wanted);
		if (object == ST_NO_ROW && wanted.kind) { /* the program has named it */
			wanted.kind = 0;
			object = find_object(places, fill->object_count, &wanted);
		}
		st_rows_add_event(rows, i, object, ST_ROW_UNCOUNTED);
		sync_keys(fill, object, object_text(fill, object));
		if (row->kind == ST_EVENT_WAIT_SUM || row->kind == ST_EVENT_HOLD_SUM)
			class_key(rows, row->detail & ST_WAIT_KIND_MASK);
		else
			st_rows_key(rows, ST_BY_WAIT_CLASS, plain(class_words[ST_WAITS_SYNC]));
		task_key(rows, row->slice);
		st_rows_key(rows, ST_BY_WAKER, no_waker);
	}
}

/* Python's interpreter lock, which is the only one whose holds strata records itself. */
static bool is_held(const struct st_result *result, const struct st_span *span)
{
	const struct st_events *events = st_result_events(result);

	return span->kind == ST_SPAN_HOLD && span->event < events->count &&
	       events->rows[span->event].kind == ST_EVENT_HOLD;
}

static void fill_span(const struct filling *fill, const struct st_span *spans, uint32_t index)
{
	struct st_rows *rows = fill->rows;
	const struct st_span *span = &spans[index];
	uint32_t sample = span->kind == ST_SPAN_WAIT && rows->sites.named
				  ? st_wait_sample(rows->result, span)
				  : ST_NO_ROW;

	st_rows_add_span(rows, index, span->object);
	if (rows->failed)
		return;
	if (span->kind == ST_SPAN_HOLD)
		rows->flags[rows->count - 1] |= ST_ROW_UNCOUNTED;
	if (!ST_VEC_ROOM(rows->samples, rows->count - 1, rows->sample_capacity)) {
		rows->failed = true;
		return;
	}
	rows->samples[rows->count - 1] = sample;
	sync_keys(fill, span->object, text_of_wait(fill, span, sample));
	wait_keys(rows, span,
		  is_held(rows->result, span) ? ST_WAITS_GIL
					      : (enum st_wait_class)fill->classes.of_span[index]);
}

static bool fill_all(const struct filling *fill, struct sync_place *places)
{
	struct st_rows *rows = fill->rows;
	uint32_t span_count, spans_filled;
	const struct st_span *spans = st_result_spans(rows->result, &span_count);

	for (uint32_t i = 0; i < fill->object_count; i++)
		places[i] = (struct sync_place){.process = fill->objects[i].process,
						.object = i,
						.kind = fill->objects[i].attribute >>
							ST_SYNC_KIND_SHIFT,
						.address = fill->objects[i].address,
						.first_ns = fill->objects[i].first_ns};
	qsort(places, fill->object_count, sizeof(*places), by_place);
	look_for_locks(fill, spans, span_count);
	for (uint32_t i = 0; i < span_count && !rows->failed; i++)
		if (spans[i].kind == ST_SPAN_WAIT || spans[i].kind == ST_SPAN_HOLD)
			fill_span(fill, spans, i);
	spans_filled = rows->span_rows = rows->count;
	fill_sync_events(fill, places);
	/* Of what was only added up nobody knows where it was. */
	if (!ST_VEC_ROOM(rows->samples, rows->count, rows->sample_capacity))
		return false;
	for (uint32_t i = spans_filled; i < rows->count; i++)
		rows->samples[i] = ST_NO_ROW;
	return !rows->failed && !rows->arena.failed;
}

bool st_rows_fill_waits(struct st_rows *rows)
{
	struct filling fill = {.rows = rows};
	struct sync_place *places;
	uint32_t frames = rows->sites.named ? rows->sites.named->frame_count : 0;
	bool is_filled;

	fill.objects = st_result_sync_objects(rows->result, &fill.object_count);
	fill.texts =
		st_arena_calloc(&rows->arena, (size_t)fill.object_count + 1, sizeof(*fill.texts));
	fill.is_lock = st_arena_calloc(&rows->arena, (size_t)fill.object_count + 1, 1);
	fill.calls = st_arena_calloc(&rows->arena, (size_t)frames + 1, sizeof(*fill.calls));
	places = st_arena_calloc(&rows->arena, (size_t)fill.object_count + 1, sizeof(*places));
	if (!fill.texts || !fill.is_lock || !fill.calls || !places)
		return false;
	for (uint32_t i = 0; i <= fill.object_count; i++)
		fill.texts[i] = st_sync_object_text(rows->result, i, &rows->arena);
	if (!st_thread_times_make(&rows->times, &rows->sites, NULL) ||
	    !st_wait_classes_make(&fill.classes, &rows->sites))
		return false;
	is_filled = fill_all(&fill, places);
	st_wait_classes_fini(&fill.classes);
	return is_filled;
}
