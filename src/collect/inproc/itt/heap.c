/* SPDX-License-Identifier: Apache-2.0
 *
 * What an allocator tells about itself. These calls come from inside malloc: nothing here allocates. The
 * place where a new block's address stands is read during the call.
 */
#include <string.h>

#include "collect/inproc/itt/bind.h"
#include "collect/inproc/itt/event.h"
#include "collect/inproc/core/object.h"

static void *heap_function_create(const char *name, const char *domain)
{
	struct st_itt_object template = {.head = {.kind = ST_OBJECT_HEAP_FUNCTION}};
	struct st_itt_object *object =
		st_object_make(&(struct st_object_wish){.kind = ST_OBJECT_HEAP_FUNCTION,
							.name = name ? name : "",
							.name_bytes = name ? strlen(name) : 0,
							.second = domain,
							.second_bytes = domain ? strlen(domain) : 0,
							.template = &template});

	st_object_announce(object);
	return object;
}

static struct st_record heap(enum st_event_kind kind, void *function)
{
	struct st_record record = {.kind = kind, .object = st_object_own(function)};

	if (record.object)
		record.mask = ST_FIELD_OBJECT;
	return record;
}

static void set_address(struct st_record *record, const void *address)
{
	record->mask |= ST_FIELD_VALUE;
	record->value = (uintptr_t)address;
}

static void set_size(struct st_record *record, size_t size, int initialized)
{
	record->mask |= ST_FIELD_EXTRA;
	record->extra = size;
	record->detail = (uint32_t)initialized;
}

static void heap_allocate_begin(void *function, size_t size, int initialized)
{
	struct st_record record = heap(ST_EVENT_HEAP_ALLOCATE_BEGIN, function);

	set_size(&record, size, initialized);
	st_event(&record);
}

static void heap_allocate_end(void *function, void **address, size_t size, int initialized)
{
	struct st_record record = heap(ST_EVENT_HEAP_ALLOCATE_END, function);

	set_size(&record, size, initialized);
	set_address(&record, address ? *address : NULL);
	st_event(&record);
}

static void heap_free_begin(void *function, void *address)
{
	struct st_record record = heap(ST_EVENT_HEAP_FREE_BEGIN, function);

	set_address(&record, address);
	st_event(&record);
}

static void heap_free_end(void *function, void *address)
{
	struct st_record record = heap(ST_EVENT_HEAP_FREE_END, function);

	set_address(&record, address);
	st_event(&record);
}

static void set_old_address(struct st_record *record, const void *address)
{
	record->mask |= ST_FIELD_ID;
	record->id.d1 = (uintptr_t)address;
}

static void heap_reallocate_begin(void *function, void *address, size_t size, int initialized)
{
	struct st_record record = heap(ST_EVENT_HEAP_REALLOCATE_BEGIN, function);

	set_size(&record, size, initialized);
	set_old_address(&record, address);
	st_event(&record);
}

static void heap_reallocate_end(void *function, void *address, void **new_address, size_t size,
				int initialized)
{
	struct st_record record = heap(ST_EVENT_HEAP_REALLOCATE_END, function);

	set_size(&record, size, initialized);
	set_old_address(&record, address);
	set_address(&record, new_address ? *new_address : NULL);
	st_event(&record);
}

static void heap_internal_access_begin(void)
{
	st_event(&(struct st_record){.kind = ST_EVENT_HEAP_ACCESS_BEGIN});
}

static void heap_internal_access_end(void)
{
	st_event(&(struct st_record){.kind = ST_EVENT_HEAP_ACCESS_END});
}

static void heap_record_memory_growth_begin(void)
{
	st_event(&(struct st_record){.kind = ST_EVENT_HEAP_GROWTH_BEGIN});
}

static void heap_record_memory_growth_end(void)
{
	st_event(&(struct st_record){.kind = ST_EVENT_HEAP_GROWTH_END});
}

static void heap_reset_detection(unsigned int mask)
{
	st_event(&(struct st_record){.kind = ST_EVENT_HEAP_RESET, .detail = mask});
}

static void heap_record(unsigned int mask)
{
	st_event(&(struct st_record){.kind = ST_EVENT_HEAP_RECORD, .detail = mask});
}

static const struct st_binding rows[] = {
	ST_BIND("heap_function_create", heap_function_create),
	ST_BIND("heap_allocate_begin", heap_allocate_begin),
	ST_BIND("heap_allocate_end", heap_allocate_end),
	ST_BIND("heap_free_begin", heap_free_begin),
	ST_BIND("heap_free_end", heap_free_end),
	ST_BIND("heap_reallocate_begin", heap_reallocate_begin),
	ST_BIND("heap_reallocate_end", heap_reallocate_end),
	ST_BIND("heap_internal_access_begin", heap_internal_access_begin),
	ST_BIND("heap_internal_access_end", heap_internal_access_end),
	ST_BIND("heap_record_memory_growth_begin", heap_record_memory_growth_begin),
	ST_BIND("heap_record_memory_growth_end", heap_record_memory_growth_end),
	ST_BIND("heap_reset_detection", heap_reset_detection),
	ST_BIND("heap_record", heap_record),
};
const struct st_bindings st_calls_heap = ST_BINDINGS(rows);
