/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits as the library of waits tells them, without that library: what is only added up.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/inproc/waits/seam.h"
#include "inproc_server.h"

/* So many ticks in a millisecond that every wait is short, and sums are told when the thread ends. */
static const char all_short[] = "ring=64;waits=1000000000000";

static struct server server;
static bool (*wait_begin)(struct st_open_wait *);
static void (*wait_end)(struct st_open_wait *, enum st_wait_outcome);

static int teardown(void **state)
{
	(void)state;
	server_fini(&server);
	return 0;
}

static void load(void)
{
	void *library = dlopen(server_library(), RTLD_NOW);

	if (!library)
		_exit(99);
	*(void **)&wait_begin = dlsym(library, "strata_wait_begin");
	*(void **)&wait_end = dlsym(library, "strata_wait_end");
	if (!wait_begin || !wait_end)
		_exit(98);
}

static void wait_for(uint64_t object)
{
	struct st_open_wait wait = {.object = object, .kind = ST_WAIT_MUTEX};

	wait_begin(&wait);
	wait_end(&wait, ST_WAIT_DONE);
}

static void in_thread(void *(*body)(void *))
{
	pthread_t thread;

	load();
	pthread_create(&thread, NULL, body, NULL);
	pthread_join(thread, NULL);
}

/* More than one sum can count, of one object and of those that have found no place. */
enum { MANY = ST_WAIT_COUNT_MAX + 100000, OBJECTS = 12 };

static void *wait_often(void *arg)
{
	for (uint64_t i = 0; i < MANY; i++)
		wait_for(0x1000);
	for (uint64_t i = 0; i < OBJECTS; i++)
		wait_for(0x2000 + i * 64);
	for (uint64_t i = 0; i < MANY; i++)
		wait_for(0x9000);
	return arg;
}

static void very_many(void)
{
	in_thread(wait_often);
}

static void test_very_many_are_all_counted(void **state)
{
	const struct event *event;
	uint64_t of_one = 0, all = 0;

	(void)state;
	server_run(&server, all_short, very_many);
	assert_int_equal(server.status, 0);
	for (size_t i = 0; (event = server_record(&server, ST_EVENT_WAIT_SUM, i)); i++) {
		all += st_wait_sum_count(event->detail);
		if (event->value == 0x1000)
			of_one += st_wait_sum_count(event->detail);
	}
	assert_int_equal(of_one, MANY);
	assert_int_equal(all, 2 * MANY + OBJECTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_very_many_are_all_counted, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
