/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that tell when a command ran: ours where the program has none for it, made in pools for each context and used
 * again, or the program's. What is under way is kept until an event is signalled; nobody waits for that.
 */
#include <string.h>

#include "collect/devices/handles.h"
#include "collect/devices/watcher.h"
#include "collect/inproc/device/device.h"
#include "collect/ze/ze.h"

enum {
	CONTEXTS_MAX = 64,
	POOL_EVENTS = 256,
	POOLS_MAX = 64, /* of a context */
	PENDING_MAX = 65536,
	LOOKS_MAX = 512, /* while the lock is held */
	IS_UNTIMED = 2,
	IS_TIMED = 1,
};

static struct context {
	ze_any *handle; /* NULL: gone */
	ze_any *pools[POOLS_MAX];
	uint32_t pool_count;
	ze_any *events[POOLS_MAX * POOL_EVENTS]; /* free ones first; all that were made */
	uint32_t free_count;
} * contexts;
static uint32_t context_count;

static struct ze_pending *pending;
static uint32_t pending_count;

/* Events of the program's that are in no timed pool. */
static struct st_handles known_events;

/* How many of those under way signal each event of the program's: most calls that name one have nothing to look for. */
static struct st_handles signalled;
static uint32_t uncounted; /* signal events that found no place there */

static struct context *context_of(ze_any *handle)
{
	for (uint32_t i = 0; i < context_count; i++)
		if (contexts[i].handle == handle)
			return &contexts[i];
	for (uint32_t i = 0; i < context_count; i++)
		if (!contexts[i].handle) {
			contexts[i].handle = handle;
			return &contexts[i];
		}
	if (context_count == CONTEXTS_MAX)
		return NULL;
	contexts[context_count].handle = handle;
	return &contexts[context_count++];
}

static void add_pool(struct context *context)
{
	const struct ze_pool_wish wish = {.type = ZE_TYPE_EVENT_POOL,
					  .flags = ZE_POOL_HOST_VISIBLE | ZE_POOL_TIMESTAMP,
					  .count = POOL_EVENTS};
	ze_any *pool = NULL;

	if (context->pool_count == POOLS_MAX ||
	    ze.pool_create(context->handle, &wish, 0, NULL, &pool) != ZE_SUCCESS)
		return;
	context->pools[context->pool_count++] = pool;
	for (uint32_t i = 0; i < POOL_EVENTS; i++) {
		const struct ze_event_wish event = {.type = ZE_TYPE_EVENT,
						    .index = i,
						    .signal = ZE_SCOPE_HOST,
						    .wait = ZE_SCOPE_HOST};
		ze_any *made = NULL;

		if (ze.event_create(pool, &event, &made) == ZE_SUCCESS)
			context->events[context->free_count++] = made;
	}
}

bool ze_event_take(ze_any *handle, struct ze_event *out)
{
	struct context *context = context_of(handle);

	if (!context)
		return false;
	if (!context->free_count)
		add_pool(context);
	if (!context->free_count)
		return false;
	out->handle = context->events[--context->free_count];
	out->context = (uint32_t)(context - contexts) + 1;
	return true;
}

void ze_event_give_back(const struct ze_event *event)
{
	struct context *context;

	if (!event->context)
		return;
	context = &contexts[event->context - 1];
	if (context->free_count == POOLS_MAX * POOL_EVENTS)
		return;
	ze.event_reset(event->handle);
	context->events[context->free_count++] = event->handle;
}

void ze_event_is_timed(ze_any *event, bool is_timed)
{
	if (is_timed && !st_handles_get(&known_events, event))
		return;
	st_handles_set(&known_events, event, is_timed ? IS_TIMED : IS_UNTIMED);
}

bool ze_event_has_times(const ze_any *event)
{
	return st_handles_get(&known_events, event) != IS_UNTIMED;
}

static void count(const struct ze_pending *one, int32_t change)
{
	uint32_t now = st_handles_get(&signalled, one->event.handle);
	bool is_counted = now || change > 0;

	if (one->list)
		ze_list_count(one->list, change);
	if (one->event.context)
		return;
	if (!is_counted || !st_handles_set(&signalled, one->event.handle, now + (uint32_t)change))
		uncounted += (uint32_t)change;
}

/* The last one takes its place. */
static void drop(uint32_t at)
{
	count(&pending[at], -1);
	pending[at] = pending[--pending_count];
}

/* How many there are at most of one event or of one list. */
static uint32_t count_of(const ze_any *event, uint32_t list)
{
	if (list)
		return ze_list_count(list, 0);
	return uncounted ? UINT32_MAX : st_handles_get(&signalled, event);
}

void ze_pending_add(const struct ze_pending *one)
{
	if (pending_count < PENDING_MAX) {
		pending[pending_count++] = *one;
		count(one, 1);
		if (pending_count % (PENDING_MAX / 16) == 0)
			st_watcher_hurry();
		return;
	}
	strata_device_lost(1);
	if (!one->list)
		ze_event_give_back(&one->event);
}

static bool is_same(const struct ze_times *a, const struct ze_times *b)
{
	return a->begin == b->begin && a->end == b->end;
}

/* The event of a list's command shows what ran last until it is signalled again: times that are known, or that lie before this
 * execution was asked for, are of one before. */
static bool is_of_before(struct ze_pending *one, const struct ze_times *times)
{
	if (!one->list)
		return false;
	if (is_same(times, &one->last))
		return true;
	ze_device_ticks(one->record.device, times, &one->record);
	if (one->record.begin + ze_device_slack(one->record.device) >= one->call_begin)
		return false;
	one->last = *times;
	return true;
}

/* False: it is not over. */
static bool read_one(struct ze_pending *one, struct ze_batch *batch)
{
	struct ze_times times = {0};

	if (ze.event_status(one->event.handle) != ZE_SUCCESS)
		return false;
	if (ze.event_times(one->event.handle, &times) != ZE_SUCCESS) {
		strata_device_lost(1);
	} else if (is_of_before(one, &times)) {
		return false;
	} else {
		ze_device_ticks(one->record.device, &times, &one->record);
		one->record.name = ze_name_id(one->record.name);
		if (batch)
			batch->records[batch->count++] = one->record;
		else if (strata_device_put(&one->record, 0) == ST_DEVICE_FULL)
			strata_device_lost(1);
		if (one->list)
			ze_command_times(one->list, one->event.handle, &times);
	}
	/* A list keeps its events for the next time. */
	if (!one->list)
		ze_event_give_back(&one->event);
	else if (one->event.context)
		ze.event_reset(one->event.handle);
	return true;
}

void ze_pending_read(const ze_any *event, uint32_t list, bool last)
{
	uint32_t left = count_of(event, list);

	for (uint32_t i = 0; left && i < pending_count;) {
		struct ze_pending *one = &pending[i];
		bool is_meant = list ? one->list == list : one->event.handle == event;
		bool is_over = is_meant && read_one(one, NULL);

		left -= is_meant;
		if (!is_over && !(is_meant && last)) {
			i++;
			continue;
		}
		if (!is_over)
			strata_device_lost(1);
		drop(i);
	}
}

void ze_pending_look(struct ze_batch *batch)
{
	static uint32_t at;

	batch->count = 0;
	for (uint32_t looks = 0; looks < LOOKS_MAX && batch->count < ZE_BATCH; looks++) {
		batch->is_all = at >= pending_count;
		if (batch->is_all)
			break;
		if (read_one(&pending[at], batch))
			drop(at);
		else
			at++;
	}
	if (batch->is_all)
		at = 0;
}

void ze_pending_take(struct ze_batch *batch)
{
	for (batch->count = 0; batch->count < ZE_BATCH && pending_count; batch->count++) {
		struct ze_pending *one = &pending[pending_count - 1];

		one->record.begin = one->record.end = one->call_end;
		one->record.flags |= ST_DEVICE_UNFINISHED;
		one->record.name = ze_name_id(one->record.name);
		batch->records[batch->count] = one->record;
		drop(pending_count - 1);
	}
	batch->is_all = !pending_count;
}

uint32_t ze_pending_count(void)
{
	return pending_count;
}

/* What it has under way: read now, or not at all. */
static void read_context(uint32_t number)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < pending_count;) {
		if (pending[i].event.context != number) {
			i++;
			continue;
		}
		lost += !read_one(&pending[i], NULL);
		drop(i);
	}
	if (lost)
		strata_device_lost(lost);
}

/* Its pools go with it. */
void ze_context_gone(ze_any *handle)
{
	for (uint32_t i = 0; i < context_count; i++) {
		struct context *context = &contexts[i];

		if (context->handle != handle)
			continue;
		read_context(i + 1);
		for (uint32_t j = 0; j < context->free_count; j++)
			ze.event_destroy(context->events[j]);
		for (uint32_t j = 0; j < context->pool_count; j++)
			ze.pool_destroy(context->pools[j]);
		memset(context, 0, sizeof(*context));
	}
}

/* Not in every process that this is loaded into. */
bool ze_events_start(void)
{
	contexts = ze_map(CONTEXTS_MAX * sizeof(*contexts));
	pending = ze_map(PENDING_MAX * sizeof(*pending));
	return contexts && pending;
}

void ze_events_forget(void)
{
	ze_unmap(contexts, CONTEXTS_MAX * sizeof(*contexts));
	ze_unmap(pending, PENDING_MAX * sizeof(*pending));
	contexts = NULL;
	pending = NULL;
	context_count = pending_count = uncounted = 0;
	st_handles_clear(&signalled);
}
