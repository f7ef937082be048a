/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters and histograms, and what a program tells about a counter. Handles made before the collector was
 * loaded are the static part's own nodes, whose fields for us hold garbage and whose memory may be used
 * again for another counter: they are looked up by what they say, at every use.
 */
#include "collect/inproc/itt/counter.h"

#include <string.h>

#include "collect/inproc/itt/bind.h"
#include "collect/inproc/itt/event.h"
#include "collect/inproc/core/object.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/itt/values.h"

typedef unsigned long long ull;

static struct st_itt_object *make_counter(const char *name, const char *domain, int type)
{
	struct st_itt_object template = {.counter = {.type = type},
					 .head = {.type = (uint8_t)type}};

	return st_object_make(&(struct st_object_wish){.kind = ST_OBJECT_COUNTER,
						       .key_type = (uint8_t)type,
						       .name = name ? name : "",
						       .name_bytes = name ? strlen(name) : 0,
						       .second = domain,
						       .second_bytes = domain ? strlen(domain) : 0,
						       .template = &template});
}

static struct st_itt_object *counter_of(void *handle)
{
	struct st_itt_object *object = st_object_own(handle);
	const struct itt_counter *counter = handle;

	if (object || !handle)
		return object;
	return make_counter(counter->nameA, counter->domainA, counter->type);
}

static struct st_itt_object *make_histogram(const struct itt_histogram *from)
{
	const char *domain = from->domain ? from->domain->nameA : NULL;
	struct st_itt_object template = {
		.histogram = *from,
		.head = {.type = (uint8_t)from->x_type, .type_y = (uint8_t)from->y_type}};

	template.histogram.next = NULL;
	return st_object_make(
		&(struct st_object_wish){.kind = ST_OBJECT_HISTOGRAM,
					 .name = from->nameA ? from->nameA : "",
					 .name_bytes = from->nameA ? strlen(from->nameA) : 0,
					 .second = domain,
					 .second_bytes = domain ? strlen(domain) : 0,
					 .template = &template});
}

/* --- creation --- */

static void *counter_create_typed(const char *name, const char *domain, int type)
{
	struct st_itt_object *object = make_counter(name, domain, type);

	st_object_announce(object);
	return object;
}

static void *counter_create(const char *name, const char *domain)
{
	return counter_create_typed(name, domain, ITT_TYPE_U64);
}

static void *counter_create_v3(const struct itt_domain *domain, const char *name, int type)
{
	return counter_create_typed(name, domain ? domain->nameA : NULL, type);
}

static void *histogram_create(const struct itt_domain *domain, const char *name, int x_type,
			      int y_type)
{
	struct st_itt_object *object = make_histogram(&(struct itt_histogram){
		.domain = domain, .nameA = name, .x_type = x_type, .y_type = y_type});

	st_object_announce(object);
	return object;
}

/* --- values --- */

static void add(void *handle, uint64_t delta)
{
	struct st_record record = {.kind = ST_EVENT_COUNTER_ADD,
				   .mask = ST_FIELD_OBJECT | ST_FIELD_VALUE,
				   .object = counter_of(handle),
				   .value = delta};

	if (record.object)
		st_event(&record);
}

static void counter_inc(void *handle)
{
	add(handle, 1);
}

static void counter_inc_delta(void *handle, ull value)
{
	add(handle, value);
}

static void counter_dec(void *handle)
{
	add(handle, (uint64_t)-1);
}

static void counter_dec_delta(void *handle, ull value)
{
	add(handle, 0 - value);
}

/* A counter of an unknown type, or one beyond the bounds: the value cannot be read. */
static struct st_record setting(void *handle, const void *value)
{
	struct st_record record = {.kind = ST_EVENT_COUNTER_SET,
				   .mask = ST_FIELD_OBJECT,
				   .object = counter_of(handle)};

	if (record.object && value && st_value_read(record.object->head.type, value, &record.value))
		record.mask |= ST_FIELD_VALUE;
	return record;
}

static void counter_set_value(void *handle, void *value)
{
	struct st_record record = setting(handle, value);

	if (record.object)
		st_event(&record);
}

static void counter_set_value_ex(void *handle, void *clock, ull time, void *value)
{
	struct st_record record = setting(handle, value);

	st_record_time(&record, clock, time);
	if (record.object)
		st_event(&record);
}

static void counter_destroy(void *handle)
{
	struct st_record record = {.kind = ST_EVENT_COUNTER_DESTROY,
				   .mask = ST_FIELD_OBJECT,
				   .object = counter_of(handle)};

	if (record.object)
		st_event(&record);
}

/* Counters that are named at every use, by domain and string. */
static void add_named(const struct itt_domain *domain, struct itt_string_handle *name,
		      uint64_t delta)
{
	st_event(&(struct st_record){.kind = ST_EVENT_COUNTER_ADD,
				     .mask = ST_FIELD_NAMES | ST_FIELD_VALUE,
				     .domain = domain,
				     .name = name,
				     .value = delta});
}

static void counter_inc_v3(const struct itt_domain *domain, struct itt_string_handle *name)
{
	add_named(domain, name, 1);
}

static void counter_inc_delta_v3(const struct itt_domain *domain, struct itt_string_handle *name,
				 ull value)
{
	add_named(domain, name, value);
}

static void counter_dec_v3(const struct itt_domain *domain, struct itt_string_handle *name)
{
	add_named(domain, name, (uint64_t)-1);
}

static void counter_dec_delta_v3(const struct itt_domain *domain, struct itt_string_handle *name,
				 ull value)
{
	add_named(domain, name, 0 - value);
}

/* Both axes are cut at the same element, or neither. */
static void histogram_submit(struct itt_histogram *handle, size_t length, void *x, void *y)
{
	struct st_record record = {.kind = ST_EVENT_HISTOGRAM,
				   .mask = ST_FIELD_OBJECT | ST_FIELD_VALUE | ST_FIELD_EXTRA |
					   ST_FIELD_DATA,
				   .extra = length};
	uint32_t x_size, y_size;
	struct st_part parts[2];
	size_t count = length;

	if (!handle)
		return;
	record.object = st_object_own(handle);
	if (!record.object)
		record.object = make_histogram(handle);
	x_size = x ? st_type_bytes(record.object->head.type) : 0;
	y_size = y ? st_type_bytes(record.object->head.type_y) : 0;
	if (x_size + y_size && count > st_event_data_max() / (x_size + y_size)) {
		count = st_event_data_max() / (x_size + y_size);
		record.cut = true;
	}
	parts[0] = (struct st_part){x, x_size * (uint32_t)count};
	parts[1] = (struct st_part){y, y_size * (uint32_t)count};
	record.value = parts[0].size_bytes;
	record.parts = parts;
	record.part_count = 2;
	st_event(&record);
}

/* --- context metadata --- */

static bool define_fact(struct st_itt_object *counter, int type, const void *value)
{
	struct st_object_metadata fact = {.type = (uint32_t)type};
	const char *text = type <= ITT_CONTEXT_TEXT_LAST ? value : NULL;
	const struct st_part parts[2] = {
		{&fact, sizeof(fact)}, {text, text ? (uint32_t)strnlen(text, ST_SHM_TEXT_MAX) : 0}};
	uint32_t id = st_object_id(counter);
	bool done;

	if (!text)
		memcpy(&fact.number, value, sizeof(fact.number));
	fact.text_bytes = parts[1].size_bytes;
	if (!id || !st_process_lock())
		return false;
	done = st_define_parts(ST_DEFINE_OBJECT_METADATA, id, parts, 2);
	st_process_unlock();
	return done;
}

/* As in the static part, the first value of a kind stays. Wide strings are Windows' alone: even kinds up
 * to 8 do not exist here. A counter that was made before us becomes an object here, which cannot be done
 * once the thread has entered. */
void st_counter_fact(void *handle, int type, const void *value)
{
	struct st_itt_object *counter = value ? counter_of(handle) : NULL;
	uint32_t bit = 1u << (type & 31);
	struct st_thread *thread;

	if (!counter || type <= 0 || type > ITT_CONTEXT_LAST ||
	    (type <= ITT_CONTEXT_TEXT_LAST && type % 2 == 0) ||
	    (atomic_load_explicit(&counter->told, memory_order_relaxed) & bit))
		return;
	thread = st_thread_enter(ST_LOSS_NONE);
	if (!thread)
		return;
	if (define_fact(counter, type, value))
		atomic_fetch_or_explicit(&counter->told, bit, memory_order_relaxed);
	st_thread_leave(thread);
}

static void bind_context_metadata(void *handle, size_t length,
				  const struct itt_context_metadata *metadata)
{
	for (size_t i = 0; metadata && i < length; i++)
		st_counter_fact(handle, metadata[i].type, metadata[i].value);
}

static const struct st_binding rows[] = {
	ST_BIND("counter_inc", counter_inc),
	ST_BIND("counter_inc_delta", counter_inc_delta),
	ST_BIND("counter_dec", counter_dec),
	ST_BIND("counter_dec_delta", counter_dec_delta),
	ST_BIND("counter_set_value", counter_set_value),
	ST_BIND("counter_set_value_v3", counter_set_value),
	ST_BIND("counter_set_value_ex", counter_set_value_ex),
	ST_BIND("counter_destroy", counter_destroy),
	ST_BIND("counter_inc_v3", counter_inc_v3),
	ST_BIND("counter_inc_delta_v3", counter_inc_delta_v3),
	ST_BIND("counter_dec_v3", counter_dec_v3),
	ST_BIND("counter_dec_delta_v3", counter_dec_delta_v3),
	ST_BIND("histogram_submit", histogram_submit),
};
const struct st_bindings st_calls_counter = ST_BINDINGS(rows);

static const struct st_binding creators[] = {
	ST_BIND("counter_create", counter_create),
	ST_BIND("counter_create_typed", counter_create_typed),
	ST_BIND("counter_create_v3", counter_create_v3),
	ST_BIND("histogram_create", histogram_create),
	ST_BIND("bind_context_metadata_to_counter", bind_context_metadata),
};
const struct st_bindings st_calls_counter_create = ST_BINDINGS(creators);
