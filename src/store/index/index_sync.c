// SPDX-License-Identifier: Apache-2.0
//
// Sync objects, and how long threads wait for them and hold them. First the lives at each address, in the
// order of the calls of all threads; then, thread by thread, prepare, acquired and releasing.
//
// Runtimes like LLVM's libomp tell each use of a lock twice, by sync_* and within it by fsync_*: where both are
// used at an address, fsync is the repetition. Where only fsync is, "releasing" and "acquired" say that one
// thread lets another go on; nobody holds anything.
#include "store/index/index_spans.h"
#include "store/index/index_waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "store/model/model.h"

enum { ATTRIBUTE_BARRIER = 1, HAS_TYPE = 1, HAS_NAME = 2, INTERFACE_FSYNC = 1 };

struct life {
	uint32_t address; /* number of the address */
	uint32_t object;
	int64_t from_ns;
};

struct address {
	uint32_t current; /* object + 1 while the lives are found */
	uint32_t first;	  /* its lives, once sorted: first and how many */
	uint32_t count;
	uint32_t made_up; /* object + 1 for an address that nobody told of */
	uint32_t made;	  /* how many objects of the C library have come to life there */
	bool plain;	  /* used by other calls than fsync_* */
};

struct waiting { /* of a thread at an address; spans + 1 */
	uint32_t wait, hold;
};

struct sync {
	struct st_span_builder *out;
	struct st_key_table addresses; /* (process id, address) */
	struct address *by_address;
	uint32_t address_capacity;
	struct life *lives;
	uint32_t life_count, life_capacity;
	struct st_sync_object *objects;
	uint32_t object_count, object_capacity;
	struct st_key_table threads; /* (track, address) */
	struct waiting *waiting;
	uint32_t waiting_capacity;
	struct st_wakes wakes;
};

/* `kind`: of an object of the C library (format/wait_kind.h), or 0. */
static uint32_t address_of_kind(struct sync *sync, uint32_t process_id, uint64_t address,
				uint32_t kind)
{
	uint32_t known = sync->addresses.count;
	uint32_t at = st_key_table_add(&sync->addresses, process_id, address, kind);

	if (at == ST_ID_NONE || !ST_VEC_ROOM(sync->by_address, at, sync->address_capacity))
		return ST_ID_NONE;
	if (at >= known)
		memset(&sync->by_address[at], 0, sizeof(sync->by_address[at]));
	return at;
}

static uint32_t address_of(struct sync *sync, uint32_t process_id, uint64_t address)
{
	return address_of_kind(sync, process_id, address, 0);
}

static uint32_t add_object(struct sync *sync, uint32_t process_id, const struct st_event_row *row)
{
	struct st_sync_object object;

	memset(&object, 0, sizeof(object));
	object.process = st_model_process(sync->out->builder->request->model, process_id);
	object.address = row->value;
	object.first_ns = row->time_ns;
	if (!ST_VEC_ROOM(sync->objects, sync->object_count, sync->object_capacity))
		return ST_NO_ROW;
	sync->objects[sync->object_count] = object;
	return sync->object_count++;
}

static bool add_life(struct sync *sync, uint32_t address, uint32_t object, int64_t from_ns)
{
	if (object == ST_NO_ROW || !ST_VEC_ROOM(sync->lives, sync->life_count, sync->life_capacity))
		return false;
	sync->lives[sync->life_count++] =
		(struct life){.address = address, .object = object, .from_ns = from_ns};
	sync->by_address[address].current = object + 1;
	return true;
}

static bool text_of(struct sync *sync, const char *bytes, size_t size_bytes, st_string_id *out)
{
	return st_text_table_add(&sync->out->builder->request->model->texts, bytes, size_bytes,
				 out);
}

/* Type, NUL, name, as far as each was given. */
static bool names_of(struct sync *sync, const struct st_event_row *row, st_string_id *type,
		     st_string_id *name)
{
	struct st_text data = st_text_table_get(&sync->out->builder->tables.blobs, row->data);
	const char *nul = memchr(data.bytes, '\0', data.size_bytes);
	size_t type_bytes = nul ? (size_t)(nul - data.bytes) : data.size_bytes;
	size_t skip = nul ? type_bytes + 1 : type_bytes;

	*type = *name = 0;
	if (row->extra & HAS_TYPE && !text_of(sync, data.bytes, type_bytes, type))
		return false;
	return !(row->extra & HAS_NAME) ||
	       text_of(sync, data.bytes + skip, data.size_bytes - skip, name);
}

/* Created again with the same names it is the same object: some runtimes do that all the time. */
static bool take_create(struct sync *sync, uint32_t process_id, uint32_t address,
			const struct st_event_row *row)
{
	uint32_t current = sync->by_address[address].current, attribute = row->detail & 0xffff;
	st_string_id type, name;

	if (!names_of(sync, row, &type, &name))
		return false;
	if (current && sync->objects[current - 1].type == type &&
	    sync->objects[current - 1].name == name &&
	    sync->objects[current - 1].attribute == attribute)
		return true;
	current = add_object(sync, process_id, row);
	if (!add_life(sync, address, current, row->time_ns))
		return false;
	sync->objects[current].type = type;
	sync->objects[current].name = name;
	sync->objects[current].attribute = attribute;
	return true;
}

static bool take_rename(struct sync *sync, uint32_t process_id, uint32_t address,
			const struct st_event_row *row)
{
	struct st_text name = st_text_table_get(&sync->out->builder->tables.blobs, row->data);
	uint32_t current = sync->by_address[address].current;

	if (!current) {
		current = add_object(sync, process_id, row);
		if (!add_life(sync, address, current, row->time_ns))
			return false;
		current++;
	}
	return text_of(sync, name.bytes, name.size_bytes, &sync->objects[current - 1].name);
}

/* What lies at an object's place from now on: something new, or the descriptor of another file. */
static bool take_library_object(struct sync *sync, uint32_t process_id,
				const struct st_event_row *row)
{
	uint32_t kind = st_wait_object_kind(row->detail & ST_WAIT_KIND_MASK), address, made;
	struct st_text name = st_text_table_get(&sync->out->builder->tables.blobs, row->data);
	struct st_sync_object *object;

	address = address_of_kind(sync, process_id, row->value, kind ? kind : ST_WAIT_KINDS);
	if (address == ST_ID_NONE)
		return false;
	made = add_object(sync, process_id, row);
	if (!add_life(sync, address, made, row->time_ns))
		return false;
	object = &sync->objects[made];
	object->generation = sync->by_address[address].made++;
	object->maker = st_wait_has_address(kind) ? row->extra : 0;
	object->made_at = row->name;
	return st_wait_name_object(object, kind, &sync->out->builder->request->model->texts) &&
	       (!name.size_bytes || text_of(sync, name.bytes, name.size_bytes, &object->name));
}

static bool find_lives(struct sync *sync)
{
	const struct st_event_tables *tables = &sync->out->builder->tables;
	bool ok = true;

	for (uint32_t i = 0; i < tables->wide_count && ok; i++) {
		const struct st_wide_event *event = &tables->wide[i];
		const struct st_event_row *row =
			&sync->out->builder->index->columns.events[event->row];
		uint32_t address;

		if (row->kind == ST_EVENT_WAIT_OBJECT)
			ok = take_library_object(sync, event->process_id, row);
		if (row->kind < ST_EVENT_SYNC_CREATE || row->kind > ST_EVENT_SYNC_DESTROY)
			continue;
		address = address_of(sync, event->process_id, row->value);
		if (address == ST_ID_NONE)
			return false;
		if (row->kind == ST_EVENT_SYNC_CREATE)
			ok = take_create(sync, event->process_id, address, row);
		else if (row->kind == ST_EVENT_SYNC_RENAME)
			ok = take_rename(sync, event->process_id, address, row);
		else
			sync->by_address[address].current = 0;
	}
	return ok;
}

static int by_address_and_time(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->object > y->object) - (x->object < y->object);
}

static void sort_lives(struct sync *sync)
{
	if (sync->life_count)
		qsort(sync->lives, sync->life_count, sizeof(*sync->lives), by_address_and_time);
	for (uint32_t i = 0; i < sync->life_count; i++) {
		struct address *address = &sync->by_address[sync->lives[i].address];

		if (!address->count++)
			address->first = i;
	}
}

/* What lies at an address at that time: the last that came to life there, else the first to come. */
static uint32_t object_at(struct sync *sync, uint32_t process_id, uint32_t at,
			  const struct st_event_row *row)
{
	struct address *address = &sync->by_address[at];
	uint32_t low;

	if (!address->count) {
		if (!address->made_up) {
			address->made_up = add_object(sync, process_id, row) + 1;
			if (!address->made_up)
				return ST_NO_ROW;
		}
		if (row->time_ns < sync->objects[address->made_up - 1].first_ns)
			sync->objects[address->made_up - 1].first_ns = row->time_ns;
		return address->made_up - 1;
	}
	low = ST_SEARCH(i, 0, address->count,
			sync->lives[address->first + i].from_ns <= row->time_ns);
	return sync->lives[address->first + (low ? low - 1 : 0)].object;
}

static bool begin_span(struct sync *sync, enum st_span_kind kind, uint32_t row, uint32_t object,
		       uint32_t *out)
{
	uint32_t span = st_spans_begin(sync->out, kind, row);

	if (span == ST_NO_ROW)
		return false;
	sync->out->spans[span].object = object;
	sync->out->spans[span].domain = sync->objects[object].type;
	sync->out->spans[span].name = sync->objects[object].name;
	*out = span + 1;
	return true;
}

/* Prepared again without an answer, or acquired again without a release: that got lost, or never comes
 * (TBB's monitors), and with it how long the wait or the hold was. */
static void forget_span(struct sync *sync, uint32_t *span)
{
	if (*span) {
		sync->out->spans[*span - 1].kind = 0;
		sync->out->spans[*span - 1].end_ns = 0;
	}
	*span = 0;
}

static void end_span(struct sync *sync, uint32_t *span, uint32_t row, uint16_t flags)
{
	if (*span) {
		st_spans_end(sync->out, *span - 1, row);
		sync->out->spans[*span - 1].flags |= flags;
	}
	*span = 0;
}

static bool take_use(struct sync *sync, struct waiting *thread, uint32_t at, uint32_t object)
{
	const struct st_event_row *row = &sync->out->builder->index->columns.events[at];

	switch (row->kind) {
	case ST_EVENT_SYNC_PREPARE:
		forget_span(sync, &thread->wait);
		return begin_span(sync, ST_SPAN_WAIT, at, object, &thread->wait);
	case ST_EVENT_SYNC_CANCEL:
		end_span(sync, &thread->wait, at, ST_SPAN_CANCELLED);
		return true;
	case ST_EVENT_SYNC_ACQUIRED:
		end_span(sync, &thread->wait, at, 0);
		forget_span(sync, &thread->hold);
		/* A barrier is passed, not held. */
		return sync->objects[object].attribute == ATTRIBUTE_BARRIER ||
		       row->detail == INTERFACE_FSYNC ||
		       begin_span(sync, ST_SPAN_HOLD, at, object, &thread->hold);
	default:
		end_span(sync, &thread->hold, at, 0);
		return true;
	}
}

static struct waiting *thread_at(struct sync *sync, uint32_t track, uint32_t address)
{
	uint32_t known = sync->threads.count;
	uint32_t at = st_key_table_add(&sync->threads, track, address, 0);

	if (at == ST_ID_NONE || !ST_VEC_ROOM(sync->waiting, at, sync->waiting_capacity))
		return NULL;
	if (at >= known)
		memset(&sync->waiting[at], 0, sizeof(sync->waiting[at]));
	return &sync->waiting[at];
}

static bool is_use(const struct st_event_row *row)
{
	return row->kind >= ST_EVENT_SYNC_PREPARE && row->kind <= ST_EVENT_SYNC_RELEASING;
}

static bool find_interfaces(struct sync *sync)
{
	const struct st_index_builder *builder = sync->out->builder;

	for (uint32_t i = 0; i < builder->event_count; i++) {
		const struct st_event_row *row = &builder->index->columns.events[i];
		uint32_t address;

		if (!is_use(row) || row->detail == INTERFACE_FSYNC)
			continue;
		address =
			address_of(sync, builder->meta->tracks[row->track].process_id, row->value);
		if (address == ST_ID_NONE)
			return false;
		sync->by_address[address].plain = true;
	}
	return true;
}

/* An object of the C library's: that which the program has named at this address, or else one of its kind. */
static uint32_t library_object(struct sync *sync, uint32_t process_id,
			       const struct st_event_row *row)
{
	uint32_t kind = st_wait_object_kind(row->detail & ST_WAIT_KIND_MASK), at, object;
	struct st_sync_object *made;

	if (st_wait_has_address(kind)) {
		at = address_of(sync, process_id, row->value);
		if (at == ST_ID_NONE)
			return ST_NO_ROW;
		if (sync->by_address[at].count)
			return object_at(sync, process_id, at, row);
	}
	at = address_of_kind(sync, process_id, row->value, kind ? kind : ST_WAIT_KINDS);
	if (at == ST_ID_NONE)
		return ST_NO_ROW;
	if (sync->by_address[at].count)
		return object_at(sync, process_id, at, row);
	object = sync->by_address[at].made_up;
	if (object) {
		made = &sync->objects[object - 1];
		if (row->time_ns < made->first_ns)
			made->first_ns = row->time_ns;
		return object - 1;
	}
	object = add_object(sync, process_id, row);
	if (object == ST_NO_ROW || !st_wait_name_object(&sync->objects[object], kind,
							&sync->out->builder->request->model->texts))
		return ST_NO_ROW;
	sync->by_address[at].made_up = object + 1;
	return object;
}

/* Of Python's lock; and sums, which have an object, too. */
static bool take_hold(struct sync *sync, uint32_t at)
{
	const struct st_index_builder *builder = sync->out->builder;
	const struct st_event_row *row = &builder->index->columns.events[at];
	uint32_t object = library_object(sync, builder->meta->tracks[row->track].process_id, row);
	struct st_event_row dropped = {0};
	uint32_t span;

	if (object == ST_NO_ROW)
		return false;
	if (row->kind != ST_EVENT_HOLD)
		return true;
	if (!begin_span(sync, ST_SPAN_HOLD, at, object, &span))
		return false;
	st_span_close_at(&sync->out->spans[span - 1], row->time_ns + (int64_t)row->extra);
	sync->out->spans[span - 1].end_track = row->track;
	/* Who wants it looks at its clock now and then, and at such a moment there is nobody to be woken. */
	dropped.time_ns = row->time_ns + (int64_t)row->extra;
	dropped.track = row->track;
	return st_wakes_add(&sync->wakes, object, &dropped);
}

static bool take_library_wait(struct sync *sync, const struct st_wait_event *wait)
{
	struct st_span_builder *out = sync->out;
	const struct st_index_track *track = &out->builder->meta->tracks[wait->track];
	uint32_t outcome = wait->detail >> ST_WAIT_SHIFT;
	struct st_event_row row = {
		.time_ns = wait->begin_ns, .value = wait->object, .detail = wait->detail};
	uint32_t object = library_object(sync, track->process_id, &row);
	struct st_span *made;

	if (object == ST_NO_ROW || out->count >= ST_NO_ROW - 1 ||
	    !ST_VEC_ROOM(out->spans, out->count, out->capacity))
		return false;
	made = &out->spans[out->count++];
	*made = (struct st_span){
		.begin_ns = wait->begin_ns,
		.kind = ST_SPAN_WAIT,
		.process = st_model_process(out->builder->request->model, track->process_id),
		.begin_track = wait->track,
		.end_track = wait->track,
		.slice = wait->slice,
		.domain = sync->objects[object].type,
		.name = sync->objects[object].name,
		.object = object,
		.event = ST_SPAN_TOLD | wait->detail};
	st_span_close_at(made, wait->begin_ns + (int64_t)wait->ns);
	if (st_wait_is_given_up(wait->detail & ST_WAIT_KIND_MASK, outcome))
		made->flags |= ST_SPAN_CANCELLED;
	if (outcome == ST_WAIT_OPEN)
		made->flags |= ST_SLICE_UNFINISHED;
	return true;
}

/* A region whose threads never waited is one all the same. */
static bool take_region(struct sync *sync, const struct st_event_row *region)
{
	struct st_event_row row = *region;

	row.detail = ST_WAIT_REGION;
	return library_object(sync, sync->out->builder->meta->tracks[row.track].process_id, &row) !=
	       ST_NO_ROW;
}

static bool find_uses(struct sync *sync)
{
	const struct st_index_builder *builder = sync->out->builder;

	for (uint32_t i = 0; i < builder->event_count; i++) {
		struct st_event_row *row = &builder->index->columns.events[i];
		uint32_t process_id, address, object;
		struct waiting *thread;

		if (row->kind == ST_EVENT_PARALLEL && !take_region(sync, row))
			return false;
		if (row->kind >= ST_EVENT_WAIT_SUM && row->kind <= ST_EVENT_HOLD_SUM &&
		    !take_hold(sync, i))
			return false;
		if (!is_use(row))
			continue;
		process_id = builder->meta->tracks[row->track].process_id;
		address = address_of(sync, process_id, row->value);
		if (address == ST_ID_NONE)
			return false;
		if (row->detail == INTERFACE_FSYNC && sync->by_address[address].plain) {
			row->flags |= ST_EVENT_REPEATED;
			continue;
		}
		object = object_at(sync, process_id, address, row);
		thread = thread_at(sync, row->track, address);
		if (object == ST_NO_ROW || !thread || !take_use(sync, thread, i, object))
			return false;
	}
	return true;
}

/* Waits in the C library, and who ended them. */
static bool find_waits(struct sync *sync)
{
	const struct st_index_builder *builder = sync->out->builder;

	for (uint32_t i = 0; i < builder->tables.wait_count; i++)
		if (!take_library_wait(sync, &builder->tables.waits[i]))
			return false;
	for (uint32_t i = 0; i < builder->tables.wake_count; i++) {
		const struct st_wake_event *wake = &builder->tables.wakes[i];
		struct st_event_row row = {.time_ns = wake->ns,
					   .value = wake->object,
					   .track = wake->track,
					   .detail = wake->kind};
		uint32_t object =
			library_object(sync, builder->meta->tracks[wake->track].process_id, &row);

		if (object == ST_NO_ROW || !st_wakes_add(&sync->wakes, object, &row))
			return false;
	}
	return true;
}

bool st_spans_add_sync(struct st_span_builder *spans)
{
	struct st_index_tables *tables = &spans->builder->meta->tables;
	struct sync sync = {.out = spans};
	bool ok = find_lives(&sync);

	if (ok) {
		sort_lives(&sync);
		ok = find_interfaces(&sync) && find_uses(&sync) && find_waits(&sync);
		ok = ok && st_wakes_match(&sync.wakes, spans, sync.objects);
	}
	tables->sync_objects = sync.objects;
	tables->sync_object_count = sync.object_count;
	st_key_table_fini(&sync.addresses);
	st_key_table_fini(&sync.threads);
	free(sync.by_address);
	free(sync.lives);
	free(sync.waiting);
	free(sync.wakes.items);
	return ok;
}
