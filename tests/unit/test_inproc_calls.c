/* SPDX-License-Identifier: Apache-2.0
 *
 * The rest of the interface: objects known by numbers, clocks and tasks with times of their own, tracks,
 * synchronisation, heap, modules, annotations; what a pause and a flood do to events.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "../programs/itt_static_part.h"
#include "inproc_server.h"

typedef unsigned long long ull;
typedef struct itt_id id_type;
typedef struct itt_domain domain_type;
typedef struct itt_string_handle string_type;

#define FN(type, name) ((type)itt_pointer[ITT_I_##name])

static struct server server;
static const id_type no_id;
static const id_type id_a = {0xa1, 2, 3};

static int setup(void **state)
{
	(void)state;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	server_fini(&server);
	return 0;
}

static void load(void)
{
	if (!itt_part_load())
		_exit(99);
}

static string_type *text(const char *name)
{
	return itt_string_handle_create(name);
}

static const struct event *record(enum st_event_kind kind, size_t n)
{
	const struct event *event = server_record(&server, kind, n);

	assert_non_null(event);
	return event;
}

/* --- events, marks, regions, frames --- */

static void marks(void)
{
	int (*create)(const char *, int);
	int (*create_mark)(const char *);
	unsigned char (*create_region)(const char *);
	int event, other, mark;
	char name[16];
	void *frame;

	load();
	create = FN(__typeof__(create), event_create);
	event = create("event-no-NUL-here", 5);
	other = create("other", -1);
	if (event <= 0 || other <= 0 || event == other || create("event", 5) != event)
		_exit(1);
	FN(int (*)(int), event_start)(event);
	FN(int (*)(int), event_start)(other);
	FN(int (*)(int), event_end)(event);
	FN(int (*)(int), event_end)(event + 1); /* never given out */
	create_mark = FN(__typeof__(create_mark), mark_create);
	mark = create_mark("mark");
	if (mark <= 0 || create_mark("mark") != mark)
		_exit(2);
	FN(int (*)(int, const char *), mark)(mark, "parameter");
	FN(int (*)(int), mark_off)(mark);
	FN(int (*)(int, const char *), mark_global)(mark, NULL);
	FN(int (*)(int), mark_global_off)(mark);
	FN(int (*)(int, const char *), mark)(event, "an event is no mark");
	create_region = FN(__typeof__(create_region), pt_region_create);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "region %d", i);
		if (create_region(name) != i % 8 || create_region(name) != i % 8)
			_exit(3);
	}
	frame = FN(void *(*)(const char *), frame_create)("frames");
	FN(void (*)(void *), frame_begin)(frame);
	FN(void (*)(void *), frame_end)(frame);
	FN(void (*)(void *), frame_begin)(NULL);
}

static void test_marks(void **state)
{
	const struct object *region;

	(void)state;
	server_run(&server, NULL, marks);
	assert_int_equal(server_record_count(&server, ST_EVENT_USER_START), 2);
	assert_string_equal(record(ST_EVENT_USER_START, 0)->object->name, "event");
	assert_string_equal(record(ST_EVENT_USER_START, 1)->object->name, "other");
	assert_int_equal(server_record_count(&server, ST_EVENT_USER_END), 1);
	assert_int_equal(server_record_count(&server, ST_EVENT_MARK), 2);
	assert_string_equal(record(ST_EVENT_MARK, 0)->data, "parameter");
	assert_int_equal(record(ST_EVENT_MARK, 0)->detail, 0);
	assert_int_equal(record(ST_EVENT_MARK, 1)->detail, 1);
	assert_null(record(ST_EVENT_MARK, 1)->data);
	assert_int_equal(record(ST_EVENT_MARK_OFF, 0)->detail, 0);
	assert_int_equal(record(ST_EVENT_MARK_OFF, 1)->detail, 1);
	assert_string_equal(record(ST_EVENT_MARK_OFF, 1)->object->name, "mark");
	region = server_object(&server, ST_OBJECT_PT_REGION, "region 9");
	assert_non_null(region);
	assert_int_equal(region->head.number[0], 1);
	assert_int_equal(server_record_count(&server, ST_EVENT_FRAME_BEGIN), 1);
	assert_string_equal(record(ST_EVENT_FRAME_BEGIN, 0)->object->name, "frames");
	assert_int_equal(record(ST_EVENT_FRAME_END, 0)->object->head.kind, ST_OBJECT_FRAME);
	assert_int_equal(server.processes[0].object_count, 2 + 1 + 10 + 1);
}

/* --- clocks and tasks with times of their own --- */

struct clock_info {
	ull frequency, base;
};

static struct clock_info clock_answer = {1000, 50};

static void clock_fn(struct clock_info *info, void *data)
{
	*info = clock_answer;
	if (data != &clock_answer)
		_exit(9);
}

static void clocks(void)
{
	void (*begin)(domain_type *, void *, ull, id_type, id_type, string_type *);
	void (*end)(domain_type *, void *, ull);
	void *clock, *second;
	domain_type *d;
	ull now;

	load();
	d = itt_domain_create("dom");
	begin = FN(__typeof__(begin), task_begin_ex);
	end = FN(__typeof__(end), task_end_ex);
	clock = FN(void *(*)(void *, void *), clock_domain_create)((void *)(uintptr_t)clock_fn,
								   &clock_answer);
	second = FN(void *(*)(void *, void *), clock_domain_create)(NULL, NULL);
	if (!clock || clock == second || ((struct clock_info *)clock)->frequency != 1000)
		_exit(1);
	itt_task_begin(d, text("ordinary"));
	now = FN(ull(*)(void), get_timestamp)();
	begin(d, NULL, now, no_id, no_id, text("fits"));
	begin(d, clock, 77, id_a, no_id, text("foreign"));
	begin(d, NULL, now - 1, no_id, id_a, text("too early"));
	begin(d, NULL, now + (1ull << 50), no_id, no_id, text("in the future"));
	itt_task_begin(d, text("inside"));
	itt_task_end(d);
	end(d, NULL, now + 5);
	end(d, NULL, now - 1);
	end(d, clock, 99);
	end(d, NULL, now + 3); /* of "fits" */
	FN(void (*)(domain_type *, void *, ull, id_type, id_type, void *), task_begin_fn_ex)
	(d, clock, 5, no_id, no_id, (void *)0x123);
	itt_task_end(d); /* a plain end closes it, too */
	itt_task_end(d);
	clock_answer = (struct clock_info){2000, 60};
	FN(void (*)(void), clock_domain_reset)();
	FN(void (*)(domain_type *, void *, ull, id_type, string_type *, int), marker_ex)
	(d, clock, 200, no_id, text("marker"), 1);
	FN(void (*)(domain_type *, void *, ull, id_type, string_type *, int), marker_ex)
	(d, d, 200, no_id, text("no clock of ours"), 1);
}

static void test_clocks(void **state)
{
	const struct event *event;

	(void)state;
	server_run(&server, NULL, clocks);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL), 3);
	assert_int_equal(server_count(&server, EVENT_END, NULL), 3);
	assert_string_equal(server_event(&server, EVENT_BEGIN, 1)->name, "fits");
	/* "inside", then "fits", then "ordinary". */
	assert_int_equal(server_unmatched(&server), 0);
	assert_int_equal(server_record_count(&server, ST_EVENT_TIMED_BEGIN), 4);
	assert_int_equal(server_record_count(&server, ST_EVENT_TIMED_END), 4);
	event = record(ST_EVENT_TIMED_BEGIN, 0);
	assert_string_equal(event->name, "foreign");
	assert_int_equal(event->given_time, 77);
	assert_int_equal(event->id[0], id_a.d1);
	assert_int_equal(event->clock->head.kind, ST_OBJECT_CLOCK);
	event = record(ST_EVENT_TIMED_BEGIN, 1);
	assert_string_equal(event->name, "too early");
	assert_null(event->clock);
	assert_int_equal(event->other[0], id_a.d1);
	assert_true(event->given_time < event->time);
	assert_true(record(ST_EVENT_TIMED_BEGIN, 2)->given_time > event->time);
	event = record(ST_EVENT_TIMED_BEGIN, 3);
	assert_string_equal(event->name, "0x123");
	assert_int_equal(event->value, 0x123);
	assert_int_equal(record(ST_EVENT_TIMED_END, 2)->given_time, 99);
	assert_non_null(record(ST_EVENT_TIMED_END, 2)->clock);
	assert_false(record(ST_EVENT_TIMED_END, 3)->mask & ST_FIELD_TIME);
	event = record(ST_EVENT_MARKER, 0);
	assert_int_equal(event->given_time, 200);
	/* The reset defined it once more, with the new answer. */
	assert_int_equal(event->clock->defined, 2);
	assert_int_equal(event->clock->head.number[0], 2000);
	assert_int_equal(event->clock->head.number[1], 60);
	assert_true(event->clock->head.number[2] <= event->time);
	assert_false(record(ST_EVENT_MARKER, 1)->mask & (ST_FIELD_TIME | ST_FIELD_CLOCK));
}

/* --- tracks --- */

static void tracks(void)
{
	void *group, *first, *second;

	load();
	group = FN(void *(*)(string_type *, int), track_group_create)(text("group"), 0);
	first = FN(void *(*)(void *, string_type *, int), track_create)(group, text("track"), 0);
	second = FN(void *(*)(void *, string_type *, int), track_create)(group, text("track"), 1);
	if (!group || !first || first == second)
		_exit(1);
	FN(void (*)(void *), set_track)(first);
	FN(void (*)(void *), set_track)(second);
	FN(void (*)(void *), set_track)(NULL);
	FN(void *(*)(void *, string_type *, int), track_create)(NULL, NULL, 0);
}

static void test_tracks(void **state)
{
	const struct event *event;
	const struct process *process = &server.processes[0];

	(void)state;
	server_run(&server, NULL, tracks);
	event = record(ST_EVENT_SET_TRACK, 0);
	assert_string_equal(event->object->name, "track");
	assert_string_equal(process->objects[event->object->head.parent]->name, "group");
	assert_true(record(ST_EVENT_SET_TRACK, 1)->object != event->object);
	assert_int_equal(record(ST_EVENT_SET_TRACK, 1)->object->head.type, 1);
	assert_int_equal(record(ST_EVENT_SET_TRACK, 2)->mask, 0);
	assert_int_equal(process->object_count, 4);
}

/* --- sync, suppression, stitching --- */

static void synchronisation(void)
{
	void *address = (void *)0x5000, *token, *other;

	load();
	FN(void (*)(void *, const char *, const char *, int), sync_create)
	(address, "type", "name", 2);
	FN(void (*)(void *, const char *, const char *, int), sync_create)
	(address, NULL, NULL, 1);
	FN(void (*)(void *, const char *, const char *, int), sync_set_name)
	(address, "t", NULL, 0);
	FN(int (*)(void *, const char *, int, const char *, int, int), notify_sync_name)
	(address, "typeXX", 4, "nameXX", 4, 1);
	FN(void (*)(void *, const char *), sync_rename)(address, "renamed");
	FN(void (*)(void *), sync_prepare)(address);
	FN(void (*)(void *), sync_cancel)(address);
	FN(void (*)(void *), sync_acquired)(address);
	FN(void (*)(void *), sync_releasing)(address);
	for (int i = 0; i < 4; i++)
		((void (*)(void *))itt_twin_pointer[i])((void *)0x6000);
	FN(void (*)(void *), notify_sync_prepare)(address);
	FN(void (*)(void *), notify_sync_cancel)(address);
	FN(void (*)(void *), notify_sync_acquired)(address);
	FN(void (*)(void *), notify_sync_releasing)(address);
	FN(void (*)(void *), sync_destroy)(address);
	FN(void (*)(unsigned int), suppress_push)(0xff00);
	FN(void (*)(void), suppress_pop)();
	FN(void (*)(int, unsigned int, void *, size_t), suppress_mark_range)(1, 3, address, 16);
	FN(void (*)(int, unsigned int, void *, size_t), suppress_clear_range)(0, 3, address, 16);
	token = FN(void *(*)(void), stack_caller_create)();
	other = FN(void *(*)(void), stack_caller_create)();
	if (!token || !other || token == other)
		_exit(1);
	FN(void (*)(void *), stack_callee_enter)(token);
	FN(void (*)(void *), stack_callee_leave)(token);
	FN(void (*)(void *), stack_caller_destroy)(token);
}

static void test_synchronisation(void **state)
{
	static const enum st_event_kind kinds[] = {ST_EVENT_SYNC_PREPARE, ST_EVENT_SYNC_CANCEL,
						   ST_EVENT_SYNC_ACQUIRED, ST_EVENT_SYNC_RELEASING};
	const struct event *event;

	(void)state;
	server_run(&server, NULL, synchronisation);
	event = record(ST_EVENT_SYNC_CREATE, 0);
	assert_int_equal(event->value, 0x5000);
	assert_int_equal(event->detail, 2);
	assert_int_equal(event->extra, 3);
	assert_int_equal(event->data_bytes, 9);
	assert_memory_equal(event->data, "type\0name", 9);
	event = record(ST_EVENT_SYNC_CREATE, 1);
	assert_int_equal(event->extra, 0);
	assert_int_equal(event->data_bytes, 1);
	assert_int_equal(record(ST_EVENT_SYNC_CREATE, 2)->detail, 2 << 16);
	event = record(ST_EVENT_SYNC_CREATE, 3);
	assert_int_equal(event->detail, 2 << 16 | 1);
	assert_memory_equal(event->data, "type\0name", 9);
	assert_string_equal(record(ST_EVENT_SYNC_RENAME, 0)->data, "renamed");
	/* The three dialects, each of the four kinds once; the twins by their group. */
	for (size_t kind = 0; kind < 4; kind++) {
		assert_int_equal(server_record_count(&server, kinds[kind]), 3);
		for (uint32_t dialect = 0; dialect < 3; dialect++) {
			event = record(kinds[kind], dialect);
			assert_int_equal(event->detail, dialect);
			assert_int_equal(event->value, dialect == 1 ? 0x6000 : 0x5000);
		}
	}
	assert_int_equal(record(ST_EVENT_SYNC_DESTROY, 0)->value, 0x5000);
	assert_int_equal(record(ST_EVENT_SUPPRESS_PUSH, 0)->detail, 0xff00);
	assert_int_equal(record(ST_EVENT_SUPPRESS_POP, 0)->mask, 0);
	event = record(ST_EVENT_SUPPRESS_RANGE, 0);
	assert_int_equal(event->id[0], 1);
	assert_int_equal(event->extra, 16);
	assert_int_equal(record(ST_EVENT_SUPPRESS_CLEAR, 0)->id[0], 0);
	event = record(ST_EVENT_CALLER_CREATE, 0);
	assert_true(event->value && event->value != record(ST_EVENT_CALLER_CREATE, 1)->value);
	assert_int_equal(record(ST_EVENT_CALLEE_ENTER, 0)->value, event->value);
	assert_int_equal(record(ST_EVENT_CALLEE_LEAVE, 0)->value, event->value);
	assert_int_equal(record(ST_EVENT_CALLER_DESTROY, 0)->value, event->value);
}

/* --- heap --- */

static void heap(void)
{
	void *h, *block = (void *)0x7000;

	load();
	h = FN(void *(*)(const char *, const char *), heap_function_create)("malloc", "libc");
	FN(void (*)(void *, size_t, int), heap_allocate_begin)(h, 64, 0);
	FN(void (*)(void *, void **, size_t, int), heap_allocate_end)(h, &block, 64, 1);
	FN(void (*)(void *, void *, size_t, int), heap_reallocate_begin)(h, block, 128, 0);
	FN(void (*)(void *, void *, void **, size_t, int), heap_reallocate_end)
	(h, (void *)0x1000, &block, 128, 0);
	FN(void (*)(void *, void *), heap_free_begin)(h, block);
	FN(void (*)(void *, void *), heap_free_end)(h, block);
	FN(void (*)(void *, void **, size_t, int), heap_allocate_end)(NULL, NULL, 8, 0);
	FN(void (*)(void), heap_internal_access_begin)();
	FN(void (*)(void), heap_internal_access_end)();
	FN(void (*)(void), heap_record_memory_growth_begin)();
	FN(void (*)(void), heap_record_memory_growth_end)();
	FN(void (*)(unsigned int), heap_reset_detection)(1);
	FN(void (*)(unsigned int), heap_record)(2);
}

static void test_heap(void **state)
{
	const struct event *event;

	(void)state;
	server_run(&server, NULL, heap);
	event = record(ST_EVENT_HEAP_ALLOCATE_BEGIN, 0);
	assert_string_equal(event->object->name, "malloc");
	assert_string_equal(event->object->second, "libc");
	assert_int_equal(event->extra, 64);
	event = record(ST_EVENT_HEAP_ALLOCATE_END, 0);
	assert_int_equal(event->value, 0x7000);
	assert_int_equal(event->detail, 1);
	event = record(ST_EVENT_HEAP_REALLOCATE_BEGIN, 0);
	assert_int_equal(event->id[0], 0x7000);
	assert_int_equal(event->extra, 128);
	event = record(ST_EVENT_HEAP_REALLOCATE_END, 0);
	assert_int_equal(event->id[0], 0x1000);
	assert_int_equal(event->value, 0x7000);
	assert_int_equal(record(ST_EVENT_HEAP_FREE_BEGIN, 0)->value, 0x7000);
	assert_int_equal(record(ST_EVENT_HEAP_FREE_END, 0)->value, 0x7000);
	assert_null(record(ST_EVENT_HEAP_ALLOCATE_END, 1)->object);
	for (uint32_t kind = ST_EVENT_HEAP_ACCESS_BEGIN; kind <= ST_EVENT_HEAP_GROWTH_END; kind++)
		assert_int_equal(server_record_count(&server, (enum st_event_kind)kind), 1);
	assert_int_equal(record(ST_EVENT_HEAP_RESET, 0)->detail, 1);
	assert_int_equal(record(ST_EVENT_HEAP_RECORD, 0)->detail, 2);
}

/* --- modules --- */

struct section {
	const char *name;
	int type;
	size_t flags;
	void *start;
	size_t size, offset;
};

struct module {
	unsigned int version;
	id_type id;
	int type;
	const char *name;
	void *buffer;
	size_t size;
	struct section *sections;
	size_t section_count;
};

static void modules(void)
{
	struct section sections[2] = {{".text", 3, 0x20000000, (void *)0x400000, 4096, 64},
				      {NULL, 1, 0, NULL, 8, 9}};
	struct module module = {.id = id_a,
				.type = 1,
				.name = "jitted.so",
				.buffer = sections,
				.size = 1 << 30,
				.sections = sections,
				.section_count = 2};

	load();
	FN(void (*)(void *, void *, const char *), module_load)
	((void *)0x1000, (void *)0x2000, "/lib/code.so");
	FN(void (*)(void *), module_unload)((void *)0x1000);
	FN(void (*)(struct module *), module_load_with_sections)(&module);
	module.sections = NULL;
	module.name = NULL;
	FN(void (*)(struct module *), module_load_with_sections)(&module);
	FN(void (*)(struct module *), module_unload_with_sections)(&module);
	FN(void (*)(struct module *), module_load_with_sections)(NULL);
}

static void test_modules(void **state)
{
	static const uint64_t numbers[5] = {3, 0x20000000, 0x400000, 4096, 64};
	const struct event *event;

	(void)state;
	server_run(&server, NULL, modules);
	event = record(ST_EVENT_MODULE_LOAD, 0);
	assert_int_equal(event->value, 0x1000);
	assert_int_equal(event->extra, 0x2000);
	assert_string_equal(event->data, "/lib/code.so");
	assert_int_equal(record(ST_EVENT_MODULE_UNLOAD, 0)->value, 0x1000);
	event = record(ST_EVENT_MODULE_LOAD_SECTIONS, 0);
	assert_int_equal(event->id[0], id_a.d1);
	assert_int_equal(event->detail, 1);
	assert_int_equal(event->value, 1 << 30);
	assert_int_equal(event->extra, 2);
	assert_int_equal(event->data_bytes, 10 + 6 + 40 + 1 + 40);
	assert_string_equal(event->data, "jitted.so");
	assert_string_equal(event->data + 10, ".text");
	assert_memory_equal(event->data + 16, numbers, 40);
	event = record(ST_EVENT_MODULE_LOAD_SECTIONS, 1);
	assert_int_equal(event->extra, 0);
	assert_int_equal(event->data_bytes, 1);
	assert_int_equal(record(ST_EVENT_MODULE_UNLOAD_SECTIONS, 0)->id[0], id_a.d1);
}

/* --- annotations for other tools --- */

static void annotations(void)
{
	static const int dimensions[2] = {3, 4};
	void *p = (void *)0x10;

	load();
	FN(void (*)(void *, void *, const char *), model_site_begin)(p, NULL, "site");
	FN(void (*)(void *, void *), model_site_end)(p, NULL);
	FN(void (*)(void *, void *, const char *), model_task_begin)(p, NULL, "task");
	FN(void (*)(void *, void *), model_task_end)(p, NULL);
	FN(void (*)(void *), model_lock_acquire)(p);
	FN(void (*)(void *), model_lock_release)(p);
	FN(void (*)(void *, size_t), model_record_allocation)(p, 1);
	FN(void (*)(void *), model_record_deallocation)(p);
	FN(void (*)(void *, size_t), model_induction_uses)(p, 2);
	FN(void (*)(void *, size_t), model_reduction_uses)(p, 3);
	FN(void (*)(void *, size_t), model_observe_uses)(p, 4);
	FN(void (*)(void *), model_clear_uses)(p);
	FN(void (*)(const char *), model_site_beginA)("site A");
	FN(void (*)(const char *, size_t), model_site_beginAL)("site AL", 6);
	FN(void (*)(const char *), model_task_beginA)("task A");
	FN(void (*)(const char *, size_t), model_task_beginAL)("task AL", 7);
	FN(void (*)(const char *), model_iteration_taskA)("iteration");
	FN(void (*)(const char *, size_t), model_iteration_taskAL)("iteration", 4);
	FN(void (*)(void), model_site_end_2)();
	FN(void (*)(void), model_task_end_2)();
	FN(void (*)(void *), model_lock_acquire_2)(p);
	FN(void (*)(void *), model_lock_release_2)(p);
	FN(void (*)(size_t), model_aggregate_task)(12);
	FN(void (*)(int), model_disable_push)(1);
	FN(void (*)(void), model_disable_pop)();
	FN(void (*)(void *, size_t), memory_read)(p, 5);
	FN(void (*)(void *, size_t), memory_write)(p, 6);
	FN(void (*)(void *, size_t), memory_update)(p, 7);
	FN(int (*)(void), state_get)();
	FN(int (*)(int), state_set)(2);
	FN(int (*)(int, int), obj_mode_set)(1, 2);
	FN(int (*)(int, int), thr_mode_set)(1, 1);
	FN(int (*)(void *, int, const int *, int, const char *, int), av_save)
	(p, 2, dimensions, 8, "out.csv", 1);
}

static void test_annotations(void **state)
{
	static const uint32_t expected[] = {8,	9,  10, 11, 13, 14, 15, 16, 17, 18, 19,
					    20, 8,  8,	10, 10, 12, 12, 9,  11, 13, 14,
					    21, 22, 23, 2,  3,	4,  24, 5,  6,	7,  1};
	const struct event *event;

	(void)state;
	server_run(&server, NULL, annotations);
	assert_int_equal(server_record_count(&server, ST_EVENT_CALL),
			 sizeof(expected) / sizeof(*expected));
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		assert_int_equal(record(ST_EVENT_CALL, i)->detail, expected[i]);
	assert_string_equal(record(ST_EVENT_CALL, 0)->data, "site");
	assert_int_equal(record(ST_EVENT_CALL, 0)->value, 0x10);
	assert_string_equal(record(ST_EVENT_CALL, 13)->data, "site A");
	assert_string_equal(record(ST_EVENT_CALL, 17)->data, "iter");
	assert_int_equal(record(ST_EVENT_CALL, 22)->value, 12);
	assert_int_equal(record(ST_EVENT_CALL, 26)->extra, 6);
	event = record(ST_EVENT_CALL, 32);
	assert_int_equal(event->extra, 2);
	assert_int_equal(event->data_bytes, 16 + 7);
	assert_memory_equal(event->data, "\10\0\0\0\1\0\0\0\3\0\0\0\4\0\0\0out.csv", 23);
}

/* --- pauses, ignored threads --- */

static void pauses(void)
{
	domain_type *d;
	int event;

	load();
	d = itt_domain_create("dom");
	event = FN(int (*)(const char *, int), event_create)("event", 5);
	FN(int (*)(int), event_start)(event);
	FN(void (*)(int), pause_scoped)(2);
	FN(void (*)(domain_type *, id_type, string_type *, int), marker)
	(d, no_id, text("still there"), 1);
	FN(void (*)(int), pause_scoped)(0x7fffffff);
	FN(void (*)(domain_type *, id_type, string_type *, int), marker)
	(d, no_id, text("hidden"), 1);
	itt_task_begin(d, text("straddles"));
	FN(int (*)(int), event_start)(event);
	FN(int (*)(int), event_end)(event);
	FN(void (*)(domain_type *, id_type), task_end_overlapped)(d, id_a);
	FN(void (*)(int), resume_scoped)(2);
	FN(void (*)(domain_type *, id_type, string_type *, int), marker)
	(d, no_id, text("hidden"), 1);
	FN(void (*)(int), resume_scoped)(1);
	FN(void (*)(domain_type *, id_type, string_type *, int), marker)
	(d, no_id, text("again"), 1);
	itt_task_end(d);
	itt_thread_ignore();
	FN(void (*)(domain_type *, id_type, string_type *, int), marker)
	(d, no_id, text("ignored"), 1);
}

static void test_pauses(void **state)
{
	(void)state;
	server_run(&server, NULL, pauses);
	assert_int_equal(server_record_count(&server, ST_EVENT_MARKER), 2);
	assert_string_equal(record(ST_EVENT_MARKER, 0)->name, "still there");
	assert_string_equal(record(ST_EVENT_MARKER, 1)->name, "again");
	assert_int_equal(server_record_count(&server, ST_EVENT_USER_START), 1);
	assert_int_equal(server_record_count(&server, ST_EVENT_USER_END), 1);
	assert_int_equal(server_record_count(&server, ST_EVENT_OVERLAPPED_END), 1);
	assert_int_equal(server_count(&server, EVENT_PAUSE, NULL), 1);
	assert_int_equal(server_count(&server, EVENT_RESUME, NULL), 1);
	assert_int_equal(record(ST_EVENT_SCOPE_PAUSE, 0)->detail, 2);
	assert_int_equal(record(ST_EVENT_SCOPE_PAUSE, 1)->detail, 0x7fffffff);
	assert_int_equal(record(ST_EVENT_SCOPE_RESUME, 0)->detail, 2);
	assert_int_equal(record(ST_EVENT_SCOPE_RESUME, 1)->detail, 1);
	/* A task begun in the pause shows itself when the pause is over, not at an end within it. */
	assert_int_equal(server_count(&server, EVENT_BEGIN, "straddles"), 1);
	assert_true(server_event(&server, EVENT_BEGIN, 0) > server_event(&server, EVENT_RESUME, 0));
	assert_int_equal(server_record_count(&server, ST_EVENT_THREAD_IGNORE), 1);
	assert_int_equal(server_count(&server, EVENT_THREAD_END, NULL), 1);
	assert_int_equal(server_events_dropped(&server), 0);
}

/* --- floods --- */

enum { FLOOD = 200000 };

/* Nobody drains: sync events stop at half of the ring, a task still finds its place. */
static void flood(void)
{
	domain_type *d;

	load();
	d = itt_domain_create("dom");
	for (int i = 0; i < FLOOD; i++)
		FN(void (*)(void *), sync_acquired)((void *)0x5000);
	FN(void (*)(domain_type *, id_type, string_type *, int), marker)
	(d, no_id, text("not a flood"), 1);
	itt_task_begin(d, text("task"));
	itt_task_end(d);
}

static void test_flood(void **state)
{
	size_t kept;

	(void)state;
	server_init(&server);
	server.frozen = true;
	server_run_prepared(&server, flood);
	kept = server_record_count(&server, ST_EVENT_SYNC_ACQUIRED);
	assert_int_equal(kept + server_events_dropped(&server), FLOOD);
	/* Three words each, half of a ring of 1 MiB. */
	assert_in_range(kept, ST_SHM_RING_BYTES / 2 / 24 - 10, ST_SHM_RING_BYTES / 2 / 24);
	assert_int_equal(server_record_count(&server, ST_EVENT_MARKER), 1);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "task"), 1);
	assert_int_equal(server_dropped(&server), 0);
}

/* A task that was lost takes the facts about it along: they are not given to the task around it. */
static void lost_task(void)
{
	domain_type *d;

	load();
	d = itt_domain_create("dom");
	itt_task_begin(d, text("outer"));
	for (int i = 0; i < FLOOD; i++)
		FN(void (*)(domain_type *, id_type, string_type *, int), marker)
	(d, no_id, text("filler"), 1);
	for (int i = 0; i < 100; i++)
		itt_task_begin(d, text("inner"));
	FN(void (*)(domain_type *, id_type, string_type *, const char *, size_t), metadata_str_add)
	(d, no_id, text("key"), "", 0);
	for (int i = 0; i < 101; i++)
		itt_task_end(d);
}

static void test_lost_task(void **state)
{
	(void)state;
	server_init(&server);
	server.frozen = true;
	server_run_prepared(&server, lost_task);
	assert_true(server_dropped(&server) > 0);
	assert_int_equal(server_record_count(&server, ST_EVENT_METADATA_TEXT), 0);
	assert_int_equal(server_record_count(&server, ST_EVENT_MARKER) +
				 server_events_dropped(&server),
			 FLOOD + 1);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL),
			 server_count(&server, EVENT_END, NULL));
}

/* --- handlers --- */

static domain_type *handler_domain;
static volatile sig_atomic_t handler_calls;

static void on_signal(int number)
{
	(void)number;
	handler_calls++;
	FN(void (*)(domain_type *, id_type, string_type *, int), marker)
	(handler_domain, no_id, text("in the handler"), 1);
	FN(int (*)(const char *, int), event_create)("made in the handler", -1);
}

enum { INTERRUPTED = 100000 };

/* A timer interrupts events and tasks at random: each event is recorded or counted. */
static void interrupted(void)
{
	struct itimerspec period = {{0, 50000}, {0, 50000}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	void *(*create)(const char *, const char *);
	char name[32];
	timer_t timer;

	load();
	handler_domain = itt_domain_create("dom");
	create = FN(__typeof__(create), counter_create);
	signal(SIGUSR1, on_signal);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &period, NULL))
		_exit(98);
	for (int i = 0; i < INTERRUPTED; i++) {
		snprintf(name, sizeof(name), "counter %d", i % 5000);
		FN(void (*)(void *), counter_inc)(create(name, NULL));
		itt_task_begin(handler_domain, text("task"));
		itt_task_end(handler_domain);
		if (i % 1000 == 0)
			server_wait_drained();
	}
	timer_delete(timer);
	server_wait_drained();
	if (!handler_calls)
		_exit(97);
	FN(void (*)(domain_type *, string_type *, ull), counter_inc_delta_v3)
	(handler_domain, text("calls"), (ull)handler_calls);
}

static void test_interrupted(void **state)
{
	const struct event *last;
	uint64_t lost, adds;

	(void)state;
	server_run(&server, NULL, interrupted);
	adds = server_record_count(&server, ST_EVENT_COUNTER_ADD);
	last = record(ST_EVENT_COUNTER_ADD, adds - 1);
	assert_string_equal(last->name, "calls");
	lost = server_events_dropped(&server) + server_dropped(&server) +
	       server.processes[0].header->lost_no_slot;
	assert_int_equal(adds + server_record_count(&server, ST_EVENT_MARKER) +
				 server_count(&server, EVENT_BEGIN, NULL) + lost,
			 2 * INTERRUPTED + 1 + last->value);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL),
			 server_count(&server, EVENT_END, NULL));
	assert_int_equal(server_unmatched(&server), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_marks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_clocks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tracks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_synchronisation, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_modules, setup, teardown),
		cmocka_unit_test_setup_teardown(test_annotations, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pauses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flood, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost_task, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interrupted, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
