/* SPDX-License-Identifier: Apache-2.0
 *
 * The JIT interface, from libstrata_jit.so to the records in the ring.
 */
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../programs/itt_static_part.h"
#include "../programs/jit_static_part.h"
#include "inproc_server.h"

static struct server server;
static char code[4096]; /* "generated": only addresses of it are told */

static const char jit_library[] = ST_TEST_BUILD_DIR "/lib/strata/libstrata_jit.so";

static int teardown(void **state)
{
	(void)state;
	server_fini(&server);
	return 0;
}

static void load(void)
{
	setenv("INTEL_JIT_PROFILER64", jit_library, 1);
	if (!jit_part_load())
		_exit(99);
}

/* Ends the scenario with a status of its own where `condition` does not hold. */
static void expect(bool condition, int status)
{
	if (!condition)
		_exit(status);
}

static const struct event *record(size_t n, uint32_t detail)
{
	const struct event *event = server_record(&server, ST_EVENT_JIT, n);

	assert_non_null(event);
	assert_int_equal(event->detail, detail);
	return event;
}

/* The data of a record: texts and lines, told one after the other. */
struct reader {
	const char *at, *end;
};

static uint32_t number(struct reader *reader)
{
	uint32_t value;

	assert_true(reader->end - reader->at >= 4);
	memcpy(&value, reader->at, 4);
	reader->at += 4;
	return value;
}

static void assert_text(struct reader *reader, const char *expected)
{
	uint32_t length = number(reader);

	assert_int_equal(length, strlen(expected));
	assert_true(reader->end - reader->at >= (ptrdiff_t)length);
	assert_memory_equal(reader->at, expected, length);
	reader->at += length;
}

static void assert_texts(const struct event *event, const char *const expected[4],
			 struct reader *reader)
{
	*reader = (struct reader){event->data, event->data + event->data_bytes};
	for (int i = 0; i < 4; i++)
		assert_text(reader, expected[i]);
}

static void assert_code(const struct event *event, const void *address, uint64_t size)
{
	assert_int_equal(event->value, (uint64_t)(uintptr_t)address);
	assert_int_equal(event->extra, size);
}

/* --- every kind of event --- */

static struct line_number lines[] = {{4, 10}, {9, 12}, {64, 11}};

static void every_kind(void)
{
	struct method_load plain = {7, "kernel", code,	       64,   3, lines,
				    1, "Class",	 "source.cpp", code, 4, 1};
	struct method_load_v2 v2 = {8, "two", code + 64, 32, 0, NULL, NULL, "two.c", "module"};
	struct method_load_v3 v3 = {9, "three", code + 96, 16, 1, lines, "C", NULL, "m", 2};
	struct method_inline_load inlined = {10, 7, "inner", code + 8, 4, 2, lines, NULL, "i.h"};
	struct method_load update = {7, NULL, code + 512, 128, 0, NULL, 0, NULL, NULL, NULL, 0, 0};
	struct method_update update_v2 = {code + 1024, 256, 2, "format"};
	unsigned int method = 8;

	load();
	expect(jit_initialize() == 1, 1);
	expect(jit_notify(13, &plain) == 1, 2);
	expect(jit_notify(21, &v2) == 1, 3);
	expect(jit_notify(22, &v3) == 1, 4);
	expect(jit_notify(16, &inlined) == 1, 5);
	expect(jit_notify(15, &update) == 1, 6);
	expect(jit_notify(17, &update_v2) == 1, 7);
	expect(jit_notify(14, &method) == 1, 8); /* the bare number, as LLVM gives it */
	expect(jit_notify(2, NULL) == 1, 9);
	/* What says nothing, or is not known. */
	plain.size = 0;
	expect(jit_notify(13, &plain) == 0, 10);
	v2.address = NULL;
	expect(jit_notify(21, &v2) == 0, 11);
	expect(jit_notify(13, NULL) == 0, 12);
	expect(jit_notify(0, &plain) == 0, 13);
	expect(jit_notify(99, &plain) == 0, 14);
}

static void test_every_kind(void **state)
{
	const char *const none[4] = {"", "", "", ""};
	const struct event *event;
	struct reader reader;

	(void)state;
	server_run(&server, "clock=tsc", every_kind);
	assert_int_equal(server.status, 0);
	assert_int_equal(server_record_count(&server, ST_EVENT_JIT), 8);
	event = record(0, 13);
	assert_code(event, code, 64);
	assert_int_equal(event->id[0], 7);
	assert_texts(event, (const char *const[4]){"kernel", "Class", "source.cpp", ""}, &reader);
	assert_int_equal(number(&reader), 3);
	assert_int_equal(reader.end - reader.at, sizeof(lines));
	assert_memory_equal(reader.at, lines, sizeof(lines));
	event = record(1, 21);
	assert_code(event, code + 64, 32);
	assert_texts(event, (const char *const[4]){"two", "", "two.c", "module"}, &reader);
	assert_int_equal(number(&reader), 0);
	event = record(2, 22);
	assert_int_equal(event->id[2], 2);
	assert_texts(event, (const char *const[4]){"three", "C", "", "m"}, &reader);
	assert_int_equal(number(&reader), 1);
	event = record(3, 16);
	assert_int_equal(event->id[0], 10);
	assert_int_equal(event->id[1], 7);
	assert_code(event, code + 8, 4);
	assert_texts(event, (const char *const[4]){"inner", "", "i.h", ""}, &reader);
	assert_int_equal(number(&reader), 2);
	event = record(4, 15);
	assert_int_equal(event->id[0], 7);
	assert_code(event, code + 512, 128);
	assert_texts(event, none, &reader);
	event = record(5, 17);
	assert_code(event, code + 1024, 256);
	assert_int_equal(event->id[2], 2);
	assert_texts(event, (const char *const[4]){"", "format", "", ""}, &reader);
	event = record(6, 14);
	assert_int_equal(event->id[0], 8);
	assert_int_equal(event->mask, ST_FIELD_ID);
	assert_int_equal(record(7, 2)->mask, 0);
	assert_int_equal(server_events_cut(&server), 0);
	assert_int_equal(server_events_dropped(&server), 0);
}

/* --- bounds --- */

enum { MANY_LINES = 20000, LONG_TEXT = 100000 };

static void too_much(void)
{
	static struct line_number many[MANY_LINES];
	static char text[LONG_TEXT];
	struct method_load plain = {.method_id = 1,
				    .method_name = "m",
				    .address = code,
				    .size = 1,
				    .line_count = MANY_LINES,
				    .lines = many};

	for (unsigned int i = 0; i < MANY_LINES; i++)
		many[i] = (struct line_number){i + 1, i * 2};
	memset(text, 'x', sizeof(text) - 1);
	load();
	expect(jit_notify(13, &plain) == 1, 1);
	plain.method_name = text;
	plain.line_count = 5;
	expect(jit_notify(13, &plain) == 1, 2);
	plain.method_name = "null";
	plain.lines = NULL; /* and a count that lies */
	expect(jit_notify(13, &plain) == 1, 3);
}

static void test_too_much(void **state)
{
	const struct event *event;
	struct line_number one;
	struct reader reader;
	uint32_t count;

	(void)state;
	server_run(&server, "clock=tsc", too_much);
	assert_int_equal(server.status, 0);
	event = record(0, 13);
	assert_texts(event, (const char *const[4]){"m", "", "", ""}, &reader);
	count = number(&reader);
	assert_true(count > 1000 && count < MANY_LINES);
	assert_int_equal(reader.end - reader.at, count * sizeof(one));
	memcpy(&one, reader.at + (count - 1) * sizeof(one), sizeof(one));
	assert_int_equal(one.offset, count);
	assert_int_equal(one.line, (count - 1) * 2);
	event = record(1, 13);
	reader = (struct reader){event->data, event->data + event->data_bytes};
	count = number(&reader);
	assert_true(count >= 8192 && count < LONG_TEXT && reader.at[count - 1] == 'x');
	reader.at += count;
	for (int i = 0; i < 3; i++)
		assert_text(&reader, "");
	assert_int_equal(number(&reader), 5);
	assert_texts(record(2, 13), (const char *const[4]){"null", "", "", ""}, &reader);
	assert_int_equal(number(&reader), 0);
	assert_int_equal(server_events_cut(&server), 2);
}

/* --- pause, detach, groups --- */

static void call(int entry)
{
	((void (*)(void))itt_pointer[entry])();
}

static void while_paused(void)
{
	struct method_load plain = {
		.method_id = 1, .method_name = "paused", .address = code, .size = 1};

	expect(itt_part_load(), 98);
	load();
	call(ITT_I_pause);
	expect(jit_initialize() == 1, 1);
	expect(jit_notify(13, &plain) == 1, 2);
	call(ITT_I_resume);
	call(ITT_I_detach);
	expect(jit_initialize() == 0, 3);
	expect(jit_notify(13, &plain) == 0, 4);
}

static void test_while_paused(void **state)
{
	(void)state;
	server_run(&server, "clock=tsc", while_paused);
	assert_int_equal(server.status, 0);
	assert_int_equal(server_record_count(&server, ST_EVENT_JIT), 1);
}

static void not_wanted(void)
{
	struct method_load plain = {
		.method_id = 1, .method_name = "kernel", .address = code, .size = 1};

	load();
	expect(jit_initialize() == 0, 1);
	expect(jit_notify(13, &plain) == 0, 2);
}

static void test_not_wanted(void **state)
{
	(void)state;
	server_run(&server, "clock=tsc;groups=1000", not_wanted);
	assert_int_equal(server.status, 0);
	assert_int_equal(server.event_count, 0);
}

/* --- one collector, whoever brought it --- */

static int count_collectors(struct dl_phdr_info *info, size_t size, void *count)
{
	(void)size;
	*(int *)count += strstr(info->dlpi_name, "libstrata_collector") != NULL;
	return 0;
}

static int collectors(void)
{
	int count = 0;

	dl_iterate_phdr(count_collectors, &count);
	return count;
}

static void jit_comes_first(void)
{
	struct method_load plain = {
		.method_id = 1, .method_name = "first", .address = code, .size = 1};

	expect(collectors() == 0, 1);
	load();
	expect(collectors() == 1, 2);
	expect(jit_notify(13, &plain) == 1, 3);
	expect(itt_part_load(), 4);
	expect(collectors() == 1, 5);
	itt_task_begin(itt_domain_create("d"), itt_string_handle_create("task"));
	itt_task_end(itt_domain_create("d"));
}

static void itt_comes_first(void)
{
	struct method_load plain = {
		.method_id = 1, .method_name = "second", .address = code, .size = 1};

	expect(itt_part_load(), 1);
	itt_task_begin(itt_domain_create("d"), itt_string_handle_create("task"));
	load();
	expect(jit_notify(13, &plain) == 1, 2);
	itt_task_end(itt_domain_create("d"));
	expect(collectors() == 1, 3);
}

/* Brought by another name of the same file, as a preload may have been given. */
static void other_path(void)
{
	char folder[] = "/tmp/strata-test-jit-XXXXXX", link_path[64];
	struct method_load plain = {
		.method_id = 1, .method_name = "linked", .address = code, .size = 1};

	expect(mkdtemp(folder) != NULL, 1);
	snprintf(link_path, sizeof(link_path), "%s/libstrata_collector.so", folder);
	expect(symlink(server_library(), link_path) == 0, 2);
	expect(dlopen(link_path, RTLD_NOW) != NULL, 3);
	load();
	expect(jit_notify(13, &plain) == 1, 4);
	expect(collectors() == 1, 5);
	expect(unlink(link_path) == 0, 6);
	expect(rmdir(folder) == 0, 7);
}

static void run_and_count(void (*scenario)(void), size_t tasks)
{
	server_run(&server, "clock=tsc", scenario);
	assert_int_equal(server.status, 0);
	assert_int_equal(server.process_count, 1);
	assert_int_equal(server_record_count(&server, ST_EVENT_JIT), 1);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "task"), tasks);
	assert_int_equal(server_count(&server, EVENT_END, NULL), tasks);
}

static void test_jit_comes_first(void **state)
{
	(void)state;
	run_and_count(jit_comes_first, 1);
}

static void test_itt_comes_first(void **state)
{
	(void)state;
	run_and_count(itt_comes_first, 1);
}

static void test_other_path(void **state)
{
	(void)state;
	run_and_count(other_path, 0);
}

/* --- many threads --- */

enum { THREADS = 8, LOADS = 500 };

static void *send_many(void *base)
{
	struct method_load plain = {.method_name = "threaded", .size = 16};

	for (unsigned int i = 0; i < LOADS; i++) {
		plain.method_id = i + 1;
		plain.address = (char *)base + (size_t)16 * i;
		jit_notify(13, &plain);
	}
	return NULL;
}

static void from_threads(void)
{
	pthread_t threads[THREADS];

	load();
	for (uintptr_t i = 0; i < THREADS; i++)
		expect(!pthread_create(&threads[i], NULL, send_many, (void *)((i + 1) << 32)), 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void test_from_threads(void **state)
{
	static bool seen[THREADS][LOADS];

	(void)state;
	server_run(&server, "clock=tsc", from_threads);
	assert_int_equal(server.status, 0);
	assert_int_equal(server_record_count(&server, ST_EVENT_JIT), THREADS * LOADS);
	for (size_t i = 0; i < (size_t)THREADS * LOADS; i++) {
		const struct event *event = record(i, 13);
		uint64_t thread = (event->value >> 32) - 1, at = (uint32_t)event->value / 16;

		assert_true(thread < THREADS && at < LOADS && !seen[thread][at]);
		assert_int_equal(event->id[0], at + 1);
		seen[thread][at] = true;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_every_kind, teardown),
		cmocka_unit_test_teardown(test_too_much, teardown),
		cmocka_unit_test_teardown(test_while_paused, teardown),
		cmocka_unit_test_teardown(test_not_wanted, teardown),
		cmocka_unit_test_teardown(test_jit_comes_first, teardown),
		cmocka_unit_test_teardown(test_itt_comes_first, teardown),
		cmocka_unit_test_teardown(test_other_path, teardown),
		cmocka_unit_test_teardown(test_from_threads, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
