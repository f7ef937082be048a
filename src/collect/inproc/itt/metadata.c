/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts that a program attaches to tasks: numbers, text, arguments of a format. Everything is copied
 * during the call; the count is kept as it was given, also where the data is cut.
 */
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "collect/inproc/itt/arguments.h"
#include "collect/inproc/itt/bind.h"
#include "collect/inproc/itt/event.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/itt/values.h"

enum { SCOPE_SHIFT = 16 };

_Static_assert(sizeof(struct st_arguments) <= ST_SCRATCH_BYTES, "they fit");
_Static_assert(offsetof(struct st_thread, scratch) % 8 == 0, "and are aligned");

/* One key and its data; `id` NULL where the interface has none. */
struct fact {
	enum st_event_kind kind;
	uint32_t detail;
	const struct itt_domain *domain;
	const struct itt_id *id;
	struct itt_string_handle *key;
};

/* As much as an event can carry; a text ends between characters, so that it can be read. */
static uint32_t cut_length(enum st_event_kind kind, const char *data)
{
	uint32_t length = st_event_data_max();

	if (kind == ST_EVENT_METADATA_TEXT || kind == ST_EVENT_METADATA_TEXT_SCOPED)
		for (int i = 0; i < 3 && ((uint8_t)data[length] & 0xc0) == 0x80; i++)
			length--;
	return length;
}

static void add_bytes(const struct fact *fact, uint64_t count, const void *data, uint64_t bytes)
{
	struct st_record record = {.kind = fact->kind,
				   .mask = ST_FIELD_NAMES | ST_FIELD_EXTRA,
				   .detail = fact->detail,
				   .domain = fact->domain,
				   .name = fact->key,
				   .extra = count};
	struct st_part part = {data, (uint32_t)bytes};

	if (bytes > st_event_data_max()) {
		part.size_bytes = data ? cut_length(fact->kind, data) : 0;
		record.cut = true;
	}
	if (data) {
		record.mask |= ST_FIELD_DATA;
		record.parts = &part;
		record.part_count = 1;
	}
	if (fact->id)
		st_record_id(&record, *fact->id);
	st_event(&record);
}

/* Of an unknown type nothing is known but the count. */
static void add_values(const struct fact *fact, int type, size_t count, const void *data)
{
	uint32_t size = st_type_bytes(type);
	uint64_t bytes = size && count <= UINT32_MAX ? (uint64_t)count * size : (uint64_t)count;

	add_bytes(fact, count, size ? data : NULL, bytes);
}

static void add_text(const struct fact *fact, const char *text, size_t length)
{
	if (length == (size_t)-1)
		length = text ? strlen(text) : 0;
	add_bytes(fact, length, text, length);
}

static void metadata_add(const struct itt_domain *domain, struct itt_id id,
			 struct itt_string_handle *key, int type, size_t count, void *data)
{
	add_values(&(struct fact){ST_EVENT_METADATA, (uint32_t)type, domain, &id, key}, type, count,
		   data);
}

static void metadata_str_add(const struct itt_domain *domain, struct itt_id id,
			     struct itt_string_handle *key, const char *data, size_t length)
{
	add_text(&(struct fact){ST_EVENT_METADATA_TEXT, 0, domain, &id, key}, data, length);
}

static void metadata_add_with_scope(const struct itt_domain *domain, int scope,
				    struct itt_string_handle *key, int type, size_t count,
				    void *data)
{
	uint32_t detail = ((uint32_t)type & 0xffff) | (uint32_t)scope << SCOPE_SHIFT;

	add_values(&(struct fact){ST_EVENT_METADATA_SCOPED, detail, domain, NULL, key}, type, count,
		   data);
}

static void metadata_str_add_with_scope(const struct itt_domain *domain, int scope,
					struct itt_string_handle *key, const char *data,
					size_t length)
{
	uint32_t detail = (uint32_t)scope << SCOPE_SHIFT;

	add_text(&(struct fact){ST_EVENT_METADATA_TEXT_SCOPED, detail, domain, NULL, key}, data,
		 length);
}

/* In the thread's scratch memory, so that it costs the program no stack. */
static void add_formatted(struct st_record record, va_list arguments)
{
	/* The thunk through which a static part loads us forwards no variable arguments: what stands
	 * in their place is garbage, and nobody but the one who was loaded just now can know. */
	bool forwarded = st_loaded_by_this_call();
	struct st_thread *thread = st_thread_enter(ST_LOSS_EVENT);
	struct st_arguments *packed;

	if (!thread)
		return;
	record.kind = ST_EVENT_METADATA_FORMATTED;
	record.mask |= ST_FIELD_NAMES;
	if (forwarded || !record.name || !record.name->strA) {
		record.detail = 1;
	} else {
		packed = (struct st_arguments *)(void *)thread->scratch;
		st_arguments_pack(packed, record.name->strA, arguments);
		record.cut = packed->cut;
		record.mask |= ST_FIELD_DATA;
		record.parts = packed->parts;
		record.part_count = packed->part_count;
	}
	st_event_put(thread, &record);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

static void formatted_metadata_add(const struct itt_domain *domain,
				   struct itt_string_handle *format, ...)
{
	struct st_record record = {.domain = domain, .name = format};
	va_list arguments;

	va_start(arguments, format);
	add_formatted(record, arguments);
	va_end(arguments);
}

static void formatted_metadata_add_overlapped(const struct itt_domain *domain, struct itt_id id,
					      struct itt_string_handle *format, ...)
{
	struct st_record record = {.domain = domain, .name = format};
	va_list arguments;

	st_record_id(&record, id);
	va_start(arguments, format);
	add_formatted(record, arguments);
	va_end(arguments);
}

static const struct st_binding rows[] = {
	ST_BIND("metadata_add", metadata_add),
	ST_BIND("metadata_str_add", metadata_str_add),
	ST_BIND("metadata_add_with_scope", metadata_add_with_scope),
	ST_BIND("metadata_str_add_with_scope", metadata_str_add_with_scope),
	ST_BIND("formatted_metadata_add", formatted_metadata_add),
	ST_BIND("formatted_metadata_add_overlapped", formatted_metadata_add_overlapped),
};
const struct st_bindings st_calls_metadata = ST_BINDINGS(rows);
