/* SPDX-License-Identifier: Apache-2.0
 *
 * Static parts and their objects: taken over from before the load, of every generation, several in one
 * process, gone again; what is not wanted; objects over a fork and beyond the bounds.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../programs/itt_static_part.h"
#include "inproc_server.h"
#include "collect/launch/drain/formatted.h"

typedef unsigned long long ull;
typedef struct itt_id id_type;
typedef struct itt_domain domain_type;
typedef struct itt_string_handle string_type;

#define FN(type, name) ((type)itt_pointer[ITT_I_##name])

static struct server server;
static const id_type no_id;

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

static void task(domain_type *d, const char *name)
{
	itt_task_begin(d, text(name));
	itt_task_end(d);
}

static void mark(domain_type *d, const char *name)
{
	void (*call)(domain_type *, id_type, string_type *, int) =
		FN(void (*)(domain_type *, id_type, string_type *, int), marker);

	if (d && d->flags && call)
		call(d, no_id, text(name), 1);
}

static const struct event *record(enum st_event_kind kind, size_t n)
{
	const struct event *event = server_record(&server, kind, n);

	assert_non_null(event);
	return event;
}

/* --- objects from before the load --- */

static void early(void)
{
	domain_type *d = itt_early_domain("dom");
	struct itt_counter *counter = itt_early_counter("hits", "cache", 1);
	struct itt_counter *typed = itt_early_counter("ratio", NULL, 8);
	struct itt_histogram *histogram = itt_early_histogram(d, "sizes", 3, 1);
	void (*bind)(void *, size_t, struct itt_context_metadata *);
	uint32_t x[3] = {1, 2, 3};
	uint64_t y[3] = {4, 5, 6}, most = 99;
	double half = 0.5;
	void *late;

	itt_early_fact(counter, 5, "bytes", 0);
	itt_early_fact(counter, 10, NULL, 1000);
	load();
	FN(void (*)(void *), counter_inc)(counter);
	late = FN(void *(*)(const char *, const char *), counter_create)("hits", "cache");
	FN(void (*)(void *), counter_inc)(late);
	FN(void (*)(void *, void *), counter_set_value)(typed, &half);
	FN(void (*)(void *, size_t, void *, void *), histogram_submit)(histogram, 3, x, y);
	FN(void (*)(void *, size_t, void *, void *), histogram_submit)
	(FN(void *(*)(domain_type *, const char *, int, int), histogram_create)(d, "sizes", 3, 1),
	 2, NULL, y);
	bind = FN(__typeof__(bind), bind_context_metadata_to_counter);
	bind(late, 4,
	     (struct itt_context_metadata[]){
		     {5, "never: the first one stays"}, {7, "0:0:2.0"}, {11, &most}, {3, NULL}});
	bind(NULL, 1, NULL);
	/* The static part frees its nodes; the same memory may become another counter. */
	counter->nameA = "misses";
	FN(void (*)(void *), counter_inc)(counter);
}

static void test_early(void **state)
{
	const struct process *process = &server.processes[0];
	const struct object *hits;
	const struct event *event;

	(void)state;
	server_run(&server, NULL, early);
	hits = server_object(&server, ST_OBJECT_COUNTER, "hits");
	assert_non_null(hits);
	assert_string_equal(hits->second, "cache");
	assert_true(record(ST_EVENT_COUNTER_ADD, 0)->object == hits);
	assert_true(record(ST_EVENT_COUNTER_ADD, 1)->object == hits);
	assert_string_equal(record(ST_EVENT_COUNTER_ADD, 2)->object->name, "misses");
	event = record(ST_EVENT_COUNTER_SET, 0);
	assert_string_equal(event->object->name, "ratio");
	assert_int_equal(event->value, 0x3fe0000000000000ull);
	event = record(ST_EVENT_HISTOGRAM, 0);
	assert_int_equal(event->object->head.type, 3);
	assert_int_equal(event->object->head.type_y, 1);
	assert_string_equal(event->object->second, "dom");
	assert_int_equal(event->extra, 3);
	assert_int_equal(event->value, 12);
	assert_int_equal(event->data_bytes, 36);
	assert_memory_equal(event->data, "\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\0\0\0\0\5", 21);
	assert_true(record(ST_EVENT_HISTOGRAM, 1)->object == event->object);
	assert_int_equal(record(ST_EVENT_HISTOGRAM, 1)->value, 0);
	assert_int_equal(record(ST_EVENT_HISTOGRAM, 1)->data_bytes, 16);
	assert_int_equal(process->object_count, 4);
	assert_int_equal(process->fact_count, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_true(process->objects[process->facts[i].object] == hits);
	assert_int_equal(process->facts[0].head.type, 5);
	assert_string_equal(process->facts[0].text, "bytes");
	assert_int_equal(process->facts[1].head.number, 1000);
	assert_string_equal(process->facts[2].text, "0:0:2.0");
	assert_int_equal(process->facts[3].head.type, 11);
	assert_int_equal(process->facts[3].head.number, 99);
}

/* The program frees its early objects; those made later, and the names, stay. */
static void released(void)
{
	domain_type *d = itt_early_domain("early");
	struct itt_counter *counter = itt_early_counter("counter", NULL, 1);

	itt_early_string("name");
	itt_early_histogram(d, "h", 1, 1);
	itt_early_fact(counter, 5, "units", 0);
	load();
	task(d, "name");
	FN(void (*)(void *), counter_inc)(counter);
	itt_part_release();
	task(itt_domain_create("early"), "name");
	FN(void (*)(void *), counter_inc)
	(FN(void *(*)(const char *, const char *), counter_create)("counter", NULL));
	load();
	task(itt_domain_create("early"), "name");
}

static void test_released(void **state)
{
	(void)state;
	server_run(&server, NULL, released);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "name"), 3);
	assert_string_equal(server_event(&server, EVENT_BEGIN, 2)->domain, "early");
	assert_int_equal(server.processes[0].domain_count, 1);
	assert_int_equal(server.processes[0].object_count, 1);
	assert_int_equal(server_record_count(&server, ST_EVENT_COUNTER_ADD), 2);
}

/* --- generations --- */

/* The global at the very end of its memory: a read behind it is fatal. */
static struct itt_global *at_the_edge(size_t size_bytes)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_NONE))
		_exit(98);
	memcpy(pages + 4096 - size_bytes, &itt_global, size_bytes);
	return (struct itt_global *)(void *)(pages + 4096 - size_bytes);
}

static void generations(void)
{
	static const struct {
		unsigned int entries;
		size_t size_bytes;
	} parts[] = {{147, 184}, {149, 192}, {151, 192}, {154, 200}, {156, 200}};
	struct itt_counter *counter = itt_early_counter("early", NULL, 1);
	domain_type *d = itt_early_domain("dom");
	void (*init)(struct itt_global *, int);

	itt_early_fact(counter, 1, "name", 0);
	*(void **)&init =
		dlsym(dlopen(getenv("INTEL_LIBITTNOTIFY64"), RTLD_LAZY), "__itt_api_init");
	for (int i = 0; i < 5; i++) {
		itt_part_init(parts[i].entries);
		init(at_the_edge(parts[i].size_bytes), -1);
		task(d, "task");
		mark(d, "mark");
		FN(void (*)(void *), counter_inc)(counter);
		/* Only where the global has that list, are its facts known. */
		server_wait_drained();
	}
}

static void test_generations(void **state)
{
	(void)state;
	server_run(&server, NULL, generations);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "task"), 5);
	assert_int_equal(server_record_count(&server, ST_EVENT_MARKER), 5);
	assert_int_equal(server_record_count(&server, ST_EVENT_COUNTER_ADD), 5);
	assert_int_equal(server.processes[0].fact_count, 1);
	assert_int_equal(server.processes[0].object_count, 1);
}

/* The entries of a static part of 2010 have another size: not touched. */
static void too_old(void)
{
	itt_part_init(147);
	itt_global.version_build = 20101001;
	load();
	for (struct itt_api_info *api = itt_api_list; api->name; api++)
		if (*api->func_ptr != (void *)itt_thunk)
			_exit(1);
}

static void test_too_old(void **state)
{
	(void)state;
	server_run(&server, NULL, too_old);
	assert_int_equal(server.process_count, 0);
}

/* --- several static parts --- */

static void *open_part(const char *name, int flags, void (**call)(const char *))
{
	char path[512];
	void *library;

	snprintf(path, sizeof(path), "%s/tests/programs/%s", ST_TEST_BUILD_DIR, name);
	library = dlopen(path, RTLD_NOW | flags);
	if (!library)
		_exit(97);
	*(void **)call = dlsym(library, "part_task");
	return library;
}

static void parts(void)
{
	void (*first)(const char *), (*second)(const char *), (*fini)(void);
	void *library = open_part("itt_part_a.so", RTLD_LOCAL, &first), *other;
	domain_type *d = itt_early_domain("part");

	other = open_part("itt_part_b.so", RTLD_GLOBAL, &second);
	load();
	first("shared");
	second("shared");
	task(d, "shared");
	*(void **)&fini = dlsym(other, "part_fini");
	fini();
	first("while the other has ended");
	dlclose(library);
	dlclose(other);
	task(d, "after dlclose");
	/* Opened once more, it starts from nothing. */
	open_part("itt_part_a.so", RTLD_LOCAL, &first);
	first("again");
}

static void test_parts(void **state)
{
	(void)state;
	server_run(&server, NULL, parts);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "in a constructor"), 3);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "shared"), 3);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "while the other has ended"), 1);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "after dlclose"), 1);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "again"), 1);
	/* All of them are one domain. */
	assert_int_equal(server.processes[0].domain_count, 1);
}

/* The end of a static part, then its pause or thread call, which starts it anew for the same global. */
static void again(void)
{
	void (*fini)(struct itt_global *);
	domain_type *d = itt_early_domain("dom");

	load();
	task(d, "before");
	*(void **)&fini = dlsym(itt_global.lib, "__itt_api_fini");
	fini(&itt_global);
	for (struct itt_api_info *api = itt_api_list; api->name; api++)
		*api->func_ptr = api->null_func;
	load();
	task(d, "after");
	mark(d, "after");
}

static void test_again(void **state)
{
	(void)state;
	server_run(&server, NULL, again);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "before"), 1);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "after"), 1);
	assert_int_equal(server_record_count(&server, ST_EVENT_MARKER), 1);
}

/* --- the first call --- */

static pthread_barrier_t waiting;

/* Its thunk forwards no variable arguments: the pointers are left as they come, and would be fatal. */
static void first_formatted(void)
{
	domain_type *d = itt_early_domain("dom");
	string_type *format = itt_early_string("%s and %d");
	void (*add)(domain_type *, string_type *, ...);
	void (*add_overlapped)(domain_type *, id_type, string_type *, ...);

	load();
	add = FN(__typeof__(add), formatted_metadata_add);
	add_overlapped = FN(__typeof__(add_overlapped), formatted_metadata_add_overlapped);
	add(d, format, (char *)1, 2);
	add(d, format, "text", 7);
	load();
	itt_task_begin(d, text("task"));
	add(d, format, "task", 8);
	add_overlapped(d, (id_type){1, 2, 3}, format, NULL, 9);
	add(d, NULL, 1);
	itt_task_end(d);
	load();
	itt_task_begin(d, text("task"));
	itt_task_end(d);
	load();
	add_overlapped(d, (id_type){1, 2, 3}, format, (char *)1, 9);
}

static void assert_formatted(size_t index, const char *expected)
{
	const struct event *event = record(ST_EVENT_METADATA_FORMATTED, index);
	char text[64];
	struct st_formatted made =
		st_format_arguments(text, sizeof(text) - 1, event->data, event->data_bytes);

	text[made.length] = '\0';
	assert_string_equal(text, expected);
}

static void test_first_formatted(void **state)
{
	const struct event *event;

	(void)state;
	server_run(&server, NULL, first_formatted);
	event = record(ST_EVENT_METADATA_FORMATTED, 0);
	assert_string_equal(event->name, "%s and %d");
	assert_int_equal(event->detail, 1);
	assert_false(event->mask & ST_FIELD_DATA);
	assert_formatted(1, "text and 7");
	assert_formatted(2, "task and 8");
	event = record(ST_EVENT_METADATA_FORMATTED, 3);
	assert_formatted(3, "(null) and 9");
	assert_int_equal(event->id[2], 3);
	assert_int_equal(record(ST_EVENT_METADATA_FORMATTED, 4)->detail, 1);
	assert_int_equal(record(ST_EVENT_METADATA_FORMATTED, 5)->detail, 1);
}

/* Another thread's call while we were being loaded waits in the thunk and then comes without arguments, too. */
static void *call_after_waiting(void *unused)
{
	domain_type *d = itt_early_domain("dom");
	string_type *format = itt_early_string("%s and %d");
	void (*add)(domain_type *, string_type *, ...) =
		FN(__typeof__(add), formatted_metadata_add);

	itt_task_begin(d, text("task"));
	pthread_barrier_wait(&waiting);
	/* Loaded again, as after a reset. */
	pthread_barrier_wait(&waiting);
	add(d, format, (char *)1, 2);
	add(d, format, "text", 7);
	itt_task_end(d);
	return unused;
}

static void formatted_after_waiting(void)
{
	pthread_t thread;

	load();
	pthread_barrier_init(&waiting, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, call_after_waiting, NULL), 0);
	pthread_barrier_wait(&waiting);
	load();
	pthread_barrier_wait(&waiting);
	pthread_join(thread, NULL);
}

static void test_formatted_after_waiting(void **state)
{
	(void)state;
	server_run(&server, NULL, formatted_after_waiting);
	assert_int_equal(record(ST_EVENT_METADATA_FORMATTED, 0)->detail, 1);
	assert_formatted(1, "text and 7");
}

static int first_call;

static void first_calls(void)
{
	domain_type *d = itt_early_domain("dom");

	load();
	switch (first_call) {
	case 0:
		itt_thread_set_name("name");
		break;
	case 1:
		itt_pause();
		itt_resume();
		break;
	case 2:
		FN(int (*)(const char *, int), event_create)("event", 5);
		break;
	case 3:
		FN(ull(*)(void), get_timestamp)();
		break;
	case 4:
		itt_thread_ignore();
		_exit(0);
	default:
		FN(void *(*)(void), stack_caller_create)();
	}
	task(d, "task");
}

static void test_first_calls(void **state)
{
	(void)state;
	for (first_call = 0; first_call < 6; first_call++) {
		server_run(&server, NULL, first_calls);
		assert_int_equal(server_count(&server, EVENT_BEGIN, "task"), first_call != 4);
		assert_int_equal(server_record_count(&server, ST_EVENT_THREAD_IGNORE),
				 first_call == 4);
		if (first_call < 5)
			server_fini(&server);
	}
}

/* --- what is not wanted --- */

static void chosen(void)
{
	domain_type *yes = itt_early_domain("yes.1"), *no = itt_early_domain("no");
	domain_type *late_yes, *late_no;

	load();
	late_yes = itt_domain_create("yes.2");
	late_no = itt_domain_create("no longer");
	if (!yes->flags || no->flags || !late_yes->flags || late_no->flags)
		_exit(1);
	task(yes, "wanted");
	task(late_yes, "wanted");
	task(no, "not wanted");
	task(late_no, "not wanted");
	mark(no, "not wanted");
	/* Creators still give the program what it needs. */
	if (!text("x") || !FN(void *(*)(const char *, const char *), counter_create)("c", NULL))
		_exit(2);
}

static void test_domains(void **state)
{
	(void)state;
	server_run(&server, "clock=tsc;domains=yes%2E*,!yes.3", chosen);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL), 2);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "wanted"), 2);
	assert_int_equal(server_record_count(&server, ST_EVENT_MARKER), 0);
}

/* Beyond the bound of domains, too. */
static void many_unwanted(void)
{
	char name[32];

	load();
	for (int i = 0; i < ST_SHM_DOMAINS_MAX + 10; i++) {
		snprintf(name, sizeof(name), "drop %d", i);
		if (itt_domain_create(name)->flags)
			_exit(1);
	}
	task(itt_domain_create("keep this"), "wanted");
}

static void test_many_unwanted(void **state)
{
	(void)state;
	server_run(&server, "clock=tsc;domains=keep*", many_unwanted);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "wanted"), 1);
}

static void only_sync(void)
{
	domain_type *d = itt_early_domain("dom");

	load();
	if (itt_pointer[ITT_I_task_begin] || itt_pointer[ITT_I_marker] || itt_twin_pointer[0] ||
	    !itt_pointer[ITT_I_sync_prepare])
		_exit(1);
	for (struct itt_api_info *api = itt_api_list; api->name; api++)
		if (*api->func_ptr == (void *)itt_thunk)
			_exit(2);
	if (!itt_domain_create("x") || !text("y"))
		_exit(3);
	task(d, "not wanted");
	itt_pause(); /* a no-op then */
	itt_thread_set_name("not wanted");
	FN(void (*)(void *), sync_prepare)((void *)1);
}

static void test_groups(void **state)
{
	(void)state;
	server_run(&server, "clock=tsc;groups=10", only_sync);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL), 0);
	assert_int_equal(server_count(&server, EVENT_PAUSE, NULL), 0);
	assert_int_equal(server_record_count(&server, ST_EVENT_SYNC_PREPARE), 1);
	assert_null(server.processes[0].thread_name);
}

static void by_environment(void)
{
	domain_type *d;

	setenv("INTEL_ITTNOTIFY_GROUPS", "control;structure", 1);
	load();
	d = itt_domain_create("dom");
	if (itt_pointer[ITT_I_sync_prepare] || !itt_pointer[ITT_I_counter_inc] ||
	    !itt_pointer[ITT_I_heap_free_begin])
		_exit(1);
	task(d, "wanted");
}

static void test_groups_of_environment(void **state)
{
	(void)state;
	server_run(&server, NULL, by_environment);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "wanted"), 1);
}

/* --- over a fork, beyond the bounds, at once --- */

struct clock_info {
	ull frequency, base;
};

static void clock_fn(struct clock_info *info, void *data)
{
	*info = *(const struct clock_info *)data;
}

static void forked(void)
{
	static struct clock_info answer = {1000, 1};
	void (*inc)(void *), (*mark_ex)(domain_type *, void *, ull, id_type, string_type *, int);
	domain_type *d = itt_early_domain("dom");
	void *before, *after, *clock;
	int status;

	load();
	inc = FN(void (*)(void *), counter_inc);
	before = FN(void *(*)(const char *, const char *), counter_create)("before", NULL);
	inc(before);
	clock = FN(void *(*)(void *, void *), clock_domain_create)((void *)(uintptr_t)clock_fn,
								   &answer);
	mark_ex = FN(__typeof__(mark_ex), marker_ex);
	if (!fork()) {
		inc(before);
		answer.frequency = 2000;
		FN(void (*)(void), clock_domain_reset)();
		mark_ex(d, clock, 5, no_id, text("child"), 1);
		after = FN(void *(*)(const char *, const char *), counter_create)("child", NULL);
		inc(after);
		_exit(0);
	}
	wait(&status);
	after = FN(void *(*)(const char *, const char *), counter_create)("parent", NULL);
	inc(after);
	mark_ex(d, clock, 5, no_id, text("parent"), 1);
}

static void test_forked(void **state)
{
	const struct process *child = &server.processes[1];

	(void)state;
	server_run(&server, NULL, forked);
	assert_int_equal(server.process_count, 2);
	assert_int_equal(child->hello.inherited_objects, 2);
	assert_int_equal(server.processes[0].object_count, 3);
	assert_int_equal(child->object_count, 3);
	assert_string_equal(child->objects[3]->name, "child");
	/* The child's reset is the child's alone. */
	for (size_t i = 0; i < 2; i++) {
		const struct event *event = record(ST_EVENT_MARKER, i);

		assert_int_equal(event->clock->head.number[0],
				 strcmp(event->name, "child") ? 1000 : 2000);
	}
	assert_int_equal(server_record_count(&server, ST_EVENT_COUNTER_ADD), 4);
	for (size_t i = 0; i < 4; i++) {
		const struct event *event = record(ST_EVENT_COUNTER_ADD, i);
		bool shared = !strcmp(event->object->name, "before");

		assert_true(shared || event->object == server.processes[event->process].objects[3]);
	}
}

static void many_objects(void)
{
	void *(*create)(const char *, const char *), *counter = NULL;
	uint64_t value = 5;
	char name[32];

	load();
	create = FN(__typeof__(create), counter_create);
	for (int i = 0; i < ST_SHM_OBJECTS_MAX + 100; i++) {
		snprintf(name, sizeof(name), "counter %d", i);
		counter = create(name, NULL);
		if (!counter)
			_exit(1);
		if (i % 1000 == 0)
			server_wait_drained();
	}
	FN(void (*)(void *), counter_inc)(counter);
	FN(void (*)(void *, void *), counter_set_value)(counter, &value);
	FN(void (*)(void *), counter_inc)(create("counter 7", NULL));
}

static void test_many_objects(void **state)
{
	(void)state;
	server_run(&server, NULL, many_objects);
	assert_int_equal(server.processes[0].object_count, ST_SHM_OBJECTS_MAX);
	assert_int_equal(record(ST_EVENT_COUNTER_ADD, 0)->object->head.kind, ST_OBJECT_OTHERS);
	assert_false(record(ST_EVENT_COUNTER_SET, 0)->mask & ST_FIELD_VALUE);
	assert_string_equal(record(ST_EVENT_COUNTER_ADD, 1)->object->name, "counter 7");
}

enum { THREADS = 16, ROUNDS = 2000 };

static pthread_barrier_t barrier;

static void *worker(void *argument)
{
	domain_type *d;
	char name[32];

	(void)argument;
	pthread_barrier_wait(&barrier);
	d = itt_domain_create("dom");
	for (int i = 0; i < ROUNDS; i++) {
		snprintf(name, sizeof(name), "counter %d", i % 50);
		FN(void (*)(void *), counter_inc)
		(FN(void *(*)(const char *, const char *), counter_create)(name, "shared"));
		mark(d, name);
		task(d, name);
		if (i % 200 == 0)
			server_wait_drained();
	}
	return NULL;
}

static void at_once(void)
{
	pthread_t threads[THREADS];

	load();
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, worker, NULL))
			_exit(96);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void test_at_once(void **state)
{
	(void)state;
	server_run(&server, NULL, at_once);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL), THREADS * ROUNDS);
	assert_int_equal(server_record_count(&server, ST_EVENT_COUNTER_ADD), 0 + THREADS * ROUNDS);
	assert_int_equal(server_record_count(&server, ST_EVENT_MARKER), THREADS * ROUNDS);
	assert_int_equal(server.processes[0].object_count, 50);
	assert_int_equal(server_events_dropped(&server), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_early, setup, teardown),
		cmocka_unit_test_setup_teardown(test_released, setup, teardown),
		cmocka_unit_test_setup_teardown(test_generations, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_old, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_first_formatted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_formatted_after_waiting, setup, teardown),
		cmocka_unit_test_setup_teardown(test_first_calls, setup, teardown),
		cmocka_unit_test_setup_teardown(test_domains, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_unwanted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(test_groups_of_environment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_objects, setup, teardown),
		cmocka_unit_test_setup_teardown(test_at_once, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
