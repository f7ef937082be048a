/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands of Level Zero that are under way (collect/ze/ze_events.c), with a driver whose events are signalled when the test
 * says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collect/devices/handles.h"
#include "collect/devices/watcher.h"
#include "collect/inproc/device/device.h"
#include "collect/ze/ze.h"

enum { SLACK = 10, TOLD_MAX = 64, POOL_EVENTS_MAX = 4096 };

struct event {
	bool is_signalled;
	struct ze_times times;
};

struct ze_functions ze;
static struct st_device_record told[TOLD_MAX];
static uint32_t told_count;
static uint64_t lost;
static uint32_t under_way; /* of the only list */
static struct event pool_events[POOL_EVENTS_MAX];
static uint32_t pool_event_count;

/* What the rest of the library is to the file. */
uint64_t ze_device_slack(uint32_t device)
{
	(void)device;
	return SLACK;
}

void ze_device_ticks(uint32_t device, const struct ze_times *times, struct st_device_record *out)
{
	(void)device;
	out->begin = times->begin;
	out->end = times->end;
}

uint32_t ze_name_id(uint32_t number)
{
	return number;
}

void ze_command_times(uint32_t list, const ze_any *event, const struct ze_times *times)
{
	(void)list;
	(void)event;
	(void)times;
}

uint32_t ze_list_count(uint32_t list, int32_t change)
{
	assert_int_equal(list, 1);
	return under_way += (uint32_t)change;
}

void *ze_map(size_t size_bytes)
{
	return calloc(1, size_bytes);
}

void ze_unmap(void *at, size_t size_bytes)
{
	(void)size_bytes;
	free(at);
}

void st_watcher_hurry(void)
{
}

void strata_device_lost(uint64_t count)
{
	lost += count;
}

unsigned int strata_device_put(struct st_device_record *record, unsigned int is_communication)
{
	(void)is_communication;
	if (told_count < TOLD_MAX)
		told[told_count++] = *record;
	return ST_DEVICE_PUT;
}

static int32_t event_status(ze_any *event)
{
	return ((struct event *)event)->is_signalled ? ZE_SUCCESS : ZE_NOT_READY;
}

static int32_t event_times(ze_any *event, struct ze_times *out)
{
	*out = ((struct event *)event)->times;
	return ZE_SUCCESS;
}

static int32_t event_reset(ze_any *event)
{
	((struct event *)event)->is_signalled = false;
	return ZE_SUCCESS;
}

static int32_t pool_create(ze_any *context, const struct ze_pool_wish *wish, uint32_t count,
			   ze_any **devices, ze_any **pool)
{
	(void)context;
	(void)wish;
	(void)count;
	(void)devices;
	*pool = pool_events;
	return ZE_SUCCESS;
}

static int32_t event_create(ze_any *pool, const struct ze_event_wish *wish, ze_any **out)
{
	(void)pool;
	(void)wish;
	assert_true(pool_event_count < POOL_EVENTS_MAX);
	*out = &pool_events[pool_event_count++];
	return ZE_SUCCESS;
}

static int32_t destroy(ze_any *object)
{
	(void)object;
	return ZE_SUCCESS;
}

static int set_up(void **state)
{
	(void)state;
	ze = (struct ze_functions){
		.event_status = event_status,
		.event_times = event_times,
		.event_reset = event_reset,
		.event_create = event_create,
		.event_destroy = destroy,
		.pool_create = pool_create,
		.pool_destroy = destroy,
	};
	told_count = under_way = pool_event_count = 0;
	lost = 0;
	return ze_events_start() ? 0 : 1;
}

static int tear_down(void **state)
{
	(void)state;
	ze_events_forget();
	return 0;
}

static void signal_at(struct event *event, uint64_t begin)
{
	event->times = (struct ze_times){.begin = begin, .end = begin + 1};
	event->is_signalled = true;
}

/* More events of the program's than are counted: each is found all the same, once. */
static void test_many_events(void **state)
{
	enum { EVENTS = ST_HANDLES_MAX + 1000 };
	static struct event events[EVENTS], other;

	(void)state;
	for (uint32_t i = 0; i < EVENTS; i++)
		ze_pending_add(&(struct ze_pending){.event = {.handle = &events[i]}});
	assert_int_equal(ze_pending_count(), EVENTS);
	ze_pending_read(&other, 0, true);
	ze_pending_read(&events[EVENTS - 1], 0, false);
	assert_int_equal(ze_pending_count(), EVENTS);
	signal_at(&events[0], 100);
	for (uint32_t i = 0; i < EVENTS; i++) {
		ze_pending_read(&events[i], 0, true);
		assert_int_equal(ze_pending_count(), EVENTS - 1 - i);
	}
	assert_int_equal(told_count, 1);
	assert_int_equal(lost, EVENTS - 1);
	/* And again, with the same events. */
	ze_pending_add(&(struct ze_pending){.event = {.handle = &events[EVENTS - 1]}});
	ze_pending_read(&events[EVENTS - 1], 0, true);
	assert_int_equal(ze_pending_count(), 0);
}

/* One event signalled by several commands. */
static void test_event_of_several(void **state)
{
	struct event event = {0}, other = {0};

	(void)state;
	for (int i = 0; i < 3; i++) {
		ze_pending_add(&(struct ze_pending){.event = {.handle = &event}});
		ze_pending_add(&(struct ze_pending){.event = {.handle = &other}});
	}
	ze_pending_read(&event, 0, true);
	assert_int_equal(ze_pending_count(), 3);
	assert_int_equal(lost, 3);
	ze_pending_read(&event, 0, true);
	ze_pending_read(&other, 0, true);
	assert_int_equal(ze_pending_count(), 0);
	assert_int_equal(lost, 6);
}

/* A list's event shows what ran before: a time that is known, one that is not, and at last its own. */
static void test_times_of_before(void **state)
{
	struct event event = {0};
	struct ze_pending one = {
		.event = {.handle = &event}, .list = 1, .call_begin = 1000, .call_end = 1001};

	(void)state;
	signal_at(&event, 500);
	one.last = event.times;
	ze_pending_add(&one);
	assert_int_equal(under_way, 1);
	ze_pending_read(NULL, 1, false);
	signal_at(&event, 1000 - SLACK - 1);
	ze_pending_read(NULL, 1, false);
	ze_pending_read(NULL, 1, false);
	assert_int_equal(told_count, 0);
	signal_at(&event, 1000 - SLACK);
	ze_pending_read(NULL, 1, false);
	assert_int_equal(told_count, 1);
	assert_int_equal(told[0].begin, 1000 - SLACK);
	assert_int_equal(under_way, 0);
	assert_int_equal(lost, 0);
}

/* Whatever has run in it is told, wherever it stands; what has not is lost. Others stay. */
static void test_context_gone(void **state)
{
	enum { COMMANDS = 20 };
	int first, second;
	struct ze_event events[COMMANDS];

	(void)state;
	for (uint32_t i = 0; i < COMMANDS; i++) {
		assert_true(ze_event_take(i % 4 == 3 ? &second : (ze_any *)&first, &events[i]));
		ze_pending_add(&(struct ze_pending){.event = events[i]});
		if (i % 5)
			signal_at(events[i].handle, 100 + i);
	}
	ze_context_gone(&first);
	assert_int_equal(ze_pending_count(), 5);
	assert_int_equal(told_count, 12);
	assert_int_equal(lost, 3);
	ze_context_gone(&second);
	assert_int_equal(ze_pending_count(), 0);
	assert_int_equal(told_count, 16);
	assert_int_equal(lost, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_many_events, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_event_of_several, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_times_of_before, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_context_gone, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
