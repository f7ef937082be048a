/* SPDX-License-Identifier: Apache-2.0
 *
 * Clock domains: the program's own clocks, of which it tells frequency and base when asked; and tracks,
 * on which it wants its events to be seen. The program's functions are called with nothing of ours held.
 */
#include <stdatomic.h>

#include "collect/inproc/itt/bind.h"
#include "collect/inproc/itt/event.h"
#include "collect/inproc/core/object.h"
#include "collect/inproc/core/thread.h"

/* All clock domains, the latest first, linked by `next` of the interface. */
static _Atomic(struct itt_clock_domain *) clocks;

/* Frequency, base, and our time in the middle of the question. */
static void ask(itt_clock_fn fn, void *data, struct itt_clock_info *info, uint64_t number[3])
{
	uint64_t before = st_ticks();

	if (fn)
		fn(info, data);
	number[0] = info->clock_freq;
	number[1] = info->clock_base;
	number[2] = before + (st_ticks() - before) / 2;
}

static void *clock_domain_create(itt_clock_fn fn, void *data)
{
	struct st_itt_object template = {.clock = {.fn = fn, .fn_data = data}};
	struct st_itt_object *object;
	struct itt_clock_domain *first;

	ask(fn, data, &template.clock.info, template.head.number);
	object = st_object_make(&(struct st_object_wish){
		.kind = ST_OBJECT_CLOCK, .always_new = true, .template = &template});
	if (object->head.kind != ST_OBJECT_CLOCK)
		return object;
	first = atomic_load_explicit(&clocks, memory_order_relaxed);
	do
		object->clock.next = first;
	/* Release pairs with the acquire of a reset: the object is complete. */
	while (!atomic_compare_exchange_weak_explicit(&clocks, &first, &object->clock,
						      memory_order_release, memory_order_relaxed));
	st_object_announce(object);
	return object;
}

static void clock_domain_reset(void)
{
	struct itt_clock_domain *clock = atomic_load_explicit(&clocks, memory_order_acquire);

	for (; clock; clock = clock->next) {
		struct st_itt_object *object = st_object_own(clock);
		uint64_t number[3];
		struct st_thread *thread;

		ask(clock->fn, clock->fn_data, &clock->info, number);
		thread = object ? st_thread_enter(ST_LOSS_NONE) : NULL;
		if (!thread)
			continue;
		st_object_redefine(object, number);
		st_thread_leave(thread);
	}
}

/* --- tracks --- */

static struct st_itt_object *make_track(struct st_object_wish *wish,
					const struct itt_string_handle *name)
{
	struct st_itt_object *object;

	if (name && name->strA) {
		wish->name = name->strA;
		wish->name_bytes = __builtin_strlen(name->strA);
	}
	wish->always_new = true;
	object = st_object_make(wish);
	st_object_announce(object);
	return object;
}

static void *track_group_create(struct itt_string_handle *name, int type)
{
	struct st_itt_object template = {.group = {.name = name, .tgtype = type},
					 .head = {.type = (uint8_t)type}};

	return make_track(
		&(struct st_object_wish){.kind = ST_OBJECT_TRACK_GROUP, .template = &template},
		name);
}

static void *track_create(struct itt_track_group *group, struct itt_string_handle *name, int type)
{
	struct st_itt_object template = {.track = {.name = name, .group = group, .ttype = type},
					 .parent = st_object_own(group),
					 .head = {.type = (uint8_t)type}};

	return make_track(&(struct st_object_wish){.kind = ST_OBJECT_TRACK, .template = &template},
			  name);
}

static void set_track(void *track)
{
	struct st_record record = {.kind = ST_EVENT_SET_TRACK, .object = st_object_own(track)};

	if (record.object)
		record.mask = ST_FIELD_OBJECT;
	st_event(&record);
}

static const struct st_binding rows[] = {
	ST_BIND("clock_domain_create", clock_domain_create),
	ST_BIND("clock_domain_reset", clock_domain_reset),
	ST_BIND("track_group_create", track_group_create),
	ST_BIND("track_create", track_create),
	ST_BIND("set_track", set_track),
};
const struct st_bindings st_calls_clock = ST_BINDINGS(rows);
