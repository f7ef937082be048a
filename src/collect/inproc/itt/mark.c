/* SPDX-License-Identifier: Apache-2.0
 *
 * User events, marks, regions of processor trace and legacy frames: things that are made by name and then
 * known by a number or a pointer.
 */
#include <stdatomic.h>
#include <string.h>

#include "collect/inproc/itt/bind.h"
#include "collect/inproc/itt/event.h"
#include "collect/inproc/core/object.h"

enum { PT_REGIONS = 8 }; /* as many as the marks in the code can tell apart */

static _Atomic uint32_t pt_regions;

static struct st_itt_object *make_named(enum st_object_kind kind, const char *name, size_t length)
{
	struct st_itt_object template = {.head = {.kind = (uint8_t)kind}};
	struct st_itt_object *object =
		st_object_make(&(struct st_object_wish){.kind = kind,
							.name = name ? name : "",
							.name_bytes = name ? length : 0,
							.template = &template});

	st_object_announce(object);
	return object;
}

static void tell(enum st_event_kind kind, struct st_itt_object *object, uint32_t detail,
		 const char *parameter)
{
	struct st_record record = {
		.kind = kind, .mask = ST_FIELD_OBJECT, .detail = detail, .object = object};
	struct st_part part = {parameter, 0};

	if (!object)
		return;
	if (parameter) {
		part.size_bytes = (uint32_t)strnlen(parameter, st_event_data_max() + 1);
		record.mask |= ST_FIELD_DATA;
		record.parts = &part;
		record.part_count = 1;
	}
	st_event(&record);
}

/* --- user events --- */

/* The name need not be terminated; a negative length says that it is. */
static int event_create(const char *name, int length)
{
	size_t bytes = 0;

	if (name)
		bytes = length < 0 ? strlen(name) : strnlen(name, (size_t)length);
	return st_object_number(make_named(ST_OBJECT_USER_EVENT, name, bytes));
}

static int event_start(int event)
{
	tell(ST_EVENT_USER_START, st_object_numbered(event, ST_OBJECT_USER_EVENT), 0, NULL);
	return 0;
}

static int event_end(int event)
{
	tell(ST_EVENT_USER_END, st_object_numbered(event, ST_OBJECT_USER_EVENT), 0, NULL);
	return 0;
}

/* --- marks --- */

enum { MARK_THREAD = 0, MARK_GLOBAL = 1 };

static int mark_create(const char *name)
{
	return st_object_number(make_named(ST_OBJECT_MARK_TYPE, name, name ? strlen(name) : 0));
}

static int mark(int type, const char *parameter)
{
	tell(ST_EVENT_MARK, st_object_numbered(type, ST_OBJECT_MARK_TYPE), MARK_THREAD, parameter);
	return 0;
}

static int mark_off(int type)
{
	tell(ST_EVENT_MARK_OFF, st_object_numbered(type, ST_OBJECT_MARK_TYPE), MARK_THREAD, NULL);
	return 0;
}

static int mark_global(int type, const char *parameter)
{
	tell(ST_EVENT_MARK, st_object_numbered(type, ST_OBJECT_MARK_TYPE), MARK_GLOBAL, parameter);
	return 0;
}

static int mark_global_off(int type)
{
	tell(ST_EVENT_MARK_OFF, st_object_numbered(type, ST_OBJECT_MARK_TYPE), MARK_GLOBAL, NULL);
	return 0;
}

/* --- regions of processor trace --- */

/* Eight numbers are all there are: the ninth region shares the first one's, and so on. What the program
 * does with them is an instruction pattern that no collector ever sees. */
static unsigned char pt_region_create(const char *name)
{
	struct st_itt_object template = {.head = {.kind = ST_OBJECT_PT_REGION}};
	struct st_object_wish wish = {.kind = ST_OBJECT_PT_REGION,
				      .name = name ? name : "",
				      .name_bytes = name ? strlen(name) : 0,
				      .template = &template};
	struct st_itt_object *object = st_object_find(&wish);

	if (!object) {
		template.head.number[0] =
			atomic_fetch_add_explicit(&pt_regions, 1, memory_order_relaxed) %
			PT_REGIONS;
		object = st_object_make(&wish);
	}
	st_object_announce(object);
	return (unsigned char)object->head.number[0];
}

/* --- legacy frames --- */

static void *frame_create(const char *domain)
{
	return make_named(ST_OBJECT_FRAME, domain, domain ? strlen(domain) : 0);
}

static void frame_begin(void *frame)
{
	tell(ST_EVENT_FRAME_BEGIN, st_object_own(frame), 0, NULL);
}

static void frame_end(void *frame)
{
	tell(ST_EVENT_FRAME_END, st_object_own(frame), 0, NULL);
}

static const struct st_binding rows[] = {
	ST_BIND("event_create", event_create),
	ST_BIND("event_start", event_start),
	ST_BIND("event_end", event_end),
	ST_BIND("mark_create", mark_create),
	ST_BIND("mark", mark),
	ST_BIND("mark_off", mark_off),
	ST_BIND("mark_global", mark_global),
	ST_BIND("mark_global_off", mark_global_off),
	ST_BIND("pt_region_create", pt_region_create),
	ST_BIND("frame_create", frame_create),
	ST_BIND("frame_begin", frame_begin),
	ST_BIND("frame_end", frame_end),
};
const struct st_bindings st_calls_mark = ST_BINDINGS(rows);
