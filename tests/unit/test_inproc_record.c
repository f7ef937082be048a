/* SPDX-License-Identifier: Apache-2.0
 *
 * What the collector writes into the rings: names, nesting, loss, pauses, labels beyond the bounds.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "../programs/itt_static_part.h"
#include "inproc_server.h"

static struct server server;

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

static void task(struct itt_domain *domain, const char *name)
{
	itt_task_begin(domain, itt_string_handle_create(name));
	itt_task_end(domain);
}

static void load(void)
{
	if (!itt_part_load())
		_exit(99);
}

/* --- names and nesting --- */

static void nesting(void)
{
	struct itt_domain *early = itt_early_domain("early"), *late;
	struct itt_string_handle *outer = itt_early_string("outer");

	load();
	late = itt_domain_create("late");
	itt_task_begin(early, outer);
	itt_task_begin(late, itt_string_handle_create("inner"));
	itt_task_begin(late, NULL);
	itt_task_end(late);
	itt_task_end(late);
	itt_task_end(early);
	itt_task_begin(itt_domain_create("early"), itt_string_handle_create("outer"));
	itt_task_end(early);
	task(late, "");
	task(late, "quote\" newline\n emoji \xf0\x9f\x94\xa5 bad \xff\xfe");
	itt_task_end(late);
	itt_thread_set_name("the main thread");
}

static void test_nesting(void **state)
{
	(void)state;
	server_run(&server, NULL, nesting);
	assert_int_equal(server.process_count, 1);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL), 6);
	assert_int_equal(server_count(&server, EVENT_END, NULL), 6);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "outer"), 2);
	assert_string_equal(server_event(&server, EVENT_BEGIN, 0)->domain, "early");
	assert_string_equal(server_event(&server, EVENT_BEGIN, 1)->domain, "late");
	assert_string_equal(server_event(&server, EVENT_BEGIN, 2)->name, "");
	assert_int_equal(server_count(&server, EVENT_BEGIN,
				      "quote\" newline\n emoji \xf0\x9f\x94\xa5 bad \xff\xfe"),
			 1);
	assert_int_equal(server_count(&server, EVENT_UNMATCHED, NULL), 1);
	assert_int_equal(server_unmatched(&server), 1);
	/* The same text made before and after the load is one name; NULL is none. */
	assert_int_equal(server.processes[0].string_count, 4);
	assert_int_equal(server.processes[0].domain_count, 2);
	assert_string_equal(server.processes[0].thread_name, "the main thread");
	assert_int_equal(server.processes[0].thread_name_tid, server.processes[0].hello.pid);
}

static void *pointer_of(const char *name)
{
	for (struct itt_api_info *api = itt_api_list; api->name; api++)
		if (!strcmp(api->name, name))
			return *api->func_ptr;
	return NULL;
}

static void rare_forms(void)
{
	static const struct itt_id no_id;
	struct itt_domain *domain;
	void (*begin_fn)(struct itt_domain *, struct itt_id, struct itt_id, void *);
	void (*begin_ex)(struct itt_domain *, void *, unsigned long long, struct itt_id,
			 struct itt_id, struct itt_string_handle *);
	void (*end_ex)(struct itt_domain *, void *, unsigned long long);
	unsigned long long (*now)(void), time;

	load();
	domain = itt_domain_create("d");
	*(void **)&begin_fn = pointer_of("__itt_task_begin_fn");
	*(void **)&begin_ex = pointer_of("__itt_task_begin_ex");
	*(void **)&end_ex = pointer_of("__itt_task_end_ex");
	*(void **)&now = pointer_of("__itt_get_timestamp");
	begin_fn(domain, no_id, no_id, (void *)0xabc0);
	itt_task_end(domain);
	time = now();
	begin_ex(domain, NULL, time, no_id, no_id, itt_string_handle_create("explicit"));
	end_ex(domain, NULL, time + 1);
	begin_fn(NULL, no_id, no_id, NULL);
	end_ex(NULL, NULL, 0);
}

static void test_rare_forms(void **state)
{
	const struct event *begin, *end;

	(void)state;
	server_run(&server, NULL, rare_forms);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "0xabc0"), 1);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "0x0"), 1);
	begin = server_event(&server, EVENT_BEGIN, 1);
	end = server_event(&server, EVENT_END, 1);
	assert_string_equal(begin->name, "explicit");
	assert_int_equal(end->time - begin->time, 1);
	assert_string_equal(server_event(&server, EVENT_BEGIN, 2)->domain, "");
}

/* More domains than fit the short record, and than fit at all. */
static void many_domains(void)
{
	char name[32];

	load();
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "domain %d", i);
		task(itt_domain_create(name), "t");
	}
}

static void test_many_domains(void **state)
{
	(void)state;
	server_run(&server, NULL, many_domains);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "t"), 5000);
	assert_int_equal(server_count(&server, EVENT_END, NULL), 5000);
	assert_string_equal(server_event(&server, EVENT_BEGIN, 3000)->domain, "domain 3000");
	assert_string_equal(server_event(&server, EVENT_BEGIN, 4999)->domain, "*");
}

static void long_labels(void)
{
	char *text = malloc(300001);
	struct itt_domain *domain;

	load();
	domain = itt_domain_create("d");
	memset(text, 'x', 300000);
	text[65536] = '\0';
	task(domain, text);
	text[65536] = 'x';
	text[300000] = '\0';
	task(domain, text);
}

static void test_long_labels(void **state)
{
	(void)state;
	server_run(&server, NULL, long_labels);
	assert_int_equal(strlen(server_event(&server, EVENT_BEGIN, 0)->name), 65536);
	assert_int_equal(strlen(server_event(&server, EVENT_BEGIN, 1)->name), ST_SHM_TEXT_MAX);
	assert_int_equal(server.processes[0].header->labels_cut, 1);
}

/* --- full rings --- */

enum { DEEP = 10000 };

static void deep(void)
{
	struct itt_domain *domain;
	struct itt_string_handle *name;

	load();
	domain = itt_domain_create("d");
	name = itt_string_handle_create("deep");
	for (int i = 0; i < DEEP; i++)
		itt_task_begin(domain, name);
	for (int i = 0; i < DEEP; i++)
		itt_task_end(domain);
	task(domain, "after");
}

static void test_deep(void **state)
{
	(void)state;
	server_run(&server, NULL, deep);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "deep") + server_dropped(&server),
			 DEEP);
	assert_int_equal(server_dropped(&server), 0);
	assert_int_equal(server_count(&server, EVENT_END, NULL), DEEP + 1);
	assert_int_equal(server_unmatched(&server), 0);
}

enum { FLOOD = 100000, FLOOD_DEPTH = 7 };

/* Nobody drains: the ring fills in the middle of nested tasks. */
static void flood(void)
{
	struct itt_domain *domain;
	struct itt_string_handle *name;

	load();
	domain = itt_domain_create("d");
	name = itt_string_handle_create("flood");
	itt_task_begin(domain, itt_string_handle_create("outermost"));
	for (int i = 0; i < FLOOD; i++) {
		for (int k = 0; k < i % FLOOD_DEPTH; k++)
			itt_task_begin(domain, name);
		for (int k = 0; k < i % FLOOD_DEPTH; k++)
			itt_task_end(domain);
	}
	itt_task_end(domain);
	itt_task_end(domain);
}

static size_t flood_begins(void)
{
	size_t sum = 1;

	for (int i = 0; i < FLOOD; i++)
		sum += (size_t)(i % FLOOD_DEPTH);
	return sum;
}

static void test_flood(void **state)
{
	(void)state;
	server_init(&server);
	server.frozen = true;
	server_run_prepared(&server, flood);
	assert_true(server_dropped(&server) > 0);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL) + server_dropped(&server),
			 flood_begins());
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL),
			 server_count(&server, EVENT_END, NULL));
	assert_int_equal(server_count(&server, EVENT_BEGIN, "outermost"), 1);
	assert_int_equal(server_unmatched(&server), 1);
}

/* With a drainer that cannot keep up, losses are told between what was kept. */
static void test_flood_drained(void **state)
{
	uint64_t told = 0;

	(void)state;
	server_init(&server);
	server.config = "clock=tsc;ring=64";
	server_run_prepared(&server, flood);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL) + server_dropped(&server),
			 flood_begins());
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL),
			 server_count(&server, EVENT_END, NULL));
	for (size_t i = 0; i < server.event_count; i++)
		if (server.events[i].kind == EVENT_LOST)
			told += server.events[i].value;
	assert_true(told <= server_dropped(&server));
	assert_int_equal(server_unmatched(&server), 1);
}

/* --- many labels --- */

enum { LABELS = 200000 };

static void many_labels(void)
{
	struct itt_domain *domain;
	char name[32];

	load();
	domain = itt_domain_create("d");
	for (int i = 0; i < LABELS; i++) {
		snprintf(name, sizeof(name), "step_%d of run", i);
		task(domain, name);
		if (i % 1000 == 0)
			server_wait_drained();
	}
}

static void test_many_labels(void **state)
{
	static unsigned char seen[LABELS];
	size_t by_text = 0;

	(void)state;
	memset(seen, 0, sizeof(seen));
	server_run(&server, NULL, many_labels);
	assert_int_equal(server_dropped(&server), 0);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL), LABELS);
	for (size_t i = 0; i < server.event_count; i++) {
		const char *name = server.events[i].name;

		if (server.events[i].kind != EVENT_BEGIN)
			continue;
		assert_int_equal(strncmp(name, "step_", 5), 0);
		seen[strtoul(name + 5, NULL, 10)]++;
		by_text += server.events[i].text;
	}
	for (int i = 0; i < LABELS; i++)
		assert_int_equal(seen[i], 1);
	/* Those beyond the bound, and those whose definition came while the ring was full. */
	assert_true(by_text >= LABELS - ST_SHM_STRINGS_MAX);
	assert_true(server.processes[0].string_count <= ST_SHM_STRINGS_MAX + 1);
	assert_int_equal(server.processes[0].header->labels_unknown, 0);
}

/* Definitions nobody takes: the texts travel with the events. */
static void definitions_full(void)
{
	struct itt_domain *domain;
	char name[1024];

	load();
	domain = itt_domain_create("d");
	memset(name, '-', sizeof(name));
	for (int i = 0; i < 1500; i++) {
		snprintf(name + 900, sizeof(name) - 900, "%d", i);
		task(domain, name);
		if (i % 100 == 0)
			server_wait_drained();
	}
}

static void test_definitions_full(void **state)
{
	size_t by_text = 0;

	(void)state;
	server_init(&server);
	server.no_definitions = true;
	server_run_prepared(&server, definitions_full);
	assert_int_equal(server_dropped(&server), 0);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL), 1500);
	for (size_t i = 0; i < 1500; i++) {
		const struct event *event = server_event(&server, EVENT_BEGIN, i);

		assert_int_equal(strtoul(event->name + 900, NULL, 10), i);
		by_text += event->text;
	}
	assert_true(by_text > 0 && by_text < 1500);
	assert_true(server.processes[0].header->definitions_delayed > 0);
}

/* Handles of one family made in advance cannot be told apart, and that is counted. */
static void ambiguous_labels(void)
{
	struct itt_domain *domain;
	struct itt_string_handle *a, *b;
	char name[32];

	load();
	domain = itt_domain_create("d");
	for (int i = 0; i < ST_SHM_STRINGS_MAX; i++) {
		snprintf(name, sizeof(name), "filler %d", i);
		itt_string_handle_create(name);
	}
	a = itt_string_handle_create("epoch 1");
	b = itt_string_handle_create("epoch 2");
	if (a != b)
		_exit(1);
	itt_task_begin(domain, a);
	itt_task_end(domain);
	itt_string_handle_create("epoch 3");
	itt_task_begin(domain, itt_string_handle_create("epoch 3"));
	itt_task_end(domain);
	itt_task_begin(domain, a);
	itt_task_end(domain);
	task(domain, "filler 7");
}

static void test_ambiguous_labels(void **state)
{
	(void)state;
	server_run(&server, NULL, ambiguous_labels);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL), 4);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "epoch *"), 2);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "epoch 3"), 1);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "filler 7"), 1);
	assert_int_equal(server.processes[0].header->labels_unknown, 2);
}

/* --- pausing --- */

static void pausing(void)
{
	struct itt_domain *domain;

	load();
	domain = itt_domain_create("d");
	itt_task_begin(domain, itt_string_handle_create("straddles the pause"));
	itt_pause();
	itt_pause();
	task(domain, "hidden");
	itt_task_end(domain);
	itt_task_begin(domain, itt_string_handle_create("straddles the resume"));
	itt_task_begin(domain, itt_string_handle_create("inner"));
	itt_resume();
	task(domain, "visible");
	itt_task_end(domain);
	itt_task_end(domain);
	itt_pause();
	itt_task_begin(domain, itt_string_handle_create("last"));
	itt_resume();
	itt_task_end(domain);
	itt_detach();
	task(domain, "too late");
	itt_task_end(domain);
}

static void test_pausing(void **state)
{
	(void)state;
	server_run(&server, NULL, pausing);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL), 5);
	assert_int_equal(server_count(&server, EVENT_END, NULL), 5);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "hidden"), 0);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "too late"), 0);
	assert_int_equal(server_event(&server, EVENT_BEGIN, 0)->flags, 0);
	assert_string_equal(server_event(&server, EVENT_BEGIN, 1)->name, "straddles the resume");
	assert_int_equal(server_event(&server, EVENT_BEGIN, 1)->flags, ST_BEGIN_CLIPPED);
	assert_string_equal(server_event(&server, EVENT_BEGIN, 2)->name, "inner");
	assert_int_equal(server_event(&server, EVENT_BEGIN, 2)->flags, ST_BEGIN_CLIPPED);
	assert_string_equal(server_event(&server, EVENT_BEGIN, 3)->name, "visible");
	assert_string_equal(server_event(&server, EVENT_BEGIN, 4)->name, "last");
	assert_int_equal(server_count(&server, EVENT_PAUSE, NULL), 2);
	assert_int_equal(server_count(&server, EVENT_RESUME, NULL), 2);
	assert_int_equal(server_count(&server, EVENT_DETACH, NULL), 1);
	assert_int_equal(server_unmatched(&server), 0);
}

static void started_paused(void)
{
	struct itt_domain *domain;

	load();
	domain = itt_domain_create("d");
	task(domain, "hidden");
	for (int i = 0; i < 1000; i++)
		itt_task_begin(domain, itt_string_handle_create("deep while paused"));
	for (int i = 0; i < 1000; i++)
		itt_task_end(domain);
	itt_resume();
	task(domain, "visible");
}

static void test_started_paused(void **state)
{
	(void)state;
	server_run(&server, "clock=tsc;paused=1", started_paused);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL), 1);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "visible"), 1);
	assert_int_equal(server_unmatched(&server), 0);
	assert_int_equal(server_dropped(&server), 0);
}

static void test_resume_at_is_past(void **state)
{
	(void)state;
	server_run(&server, "clock=mono_raw;paused=1;resume_at=1", started_paused);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL), 1002);
	assert_int_equal(server_count(&server, EVENT_RESUME, NULL), 0);
	assert_int_equal(server.processes[0].header->clock, 2);
}

static void ignored_thread(void)
{
	struct itt_domain *domain;

	load();
	domain = itt_domain_create("d");
	task(domain, "before");
	itt_thread_ignore();
	task(domain, "after");
}

static void test_ignored_thread(void **state)
{
	(void)state;
	server_run(&server, NULL, ignored_thread);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL), 1);
	assert_int_equal(server_count(&server, EVENT_THREAD_END, NULL), 1);
}

/* --- handlers --- */

static struct itt_domain *handler_domain;
static volatile sig_atomic_t handler_calls;

static void on_signal(int number)
{
	(void)number;
	handler_calls++;
	task(handler_domain, "in the handler");
	itt_task_begin(handler_domain, itt_string_handle_create("in the handler"));
	itt_task_end(handler_domain);
}

/* A timer interrupts fast and slow paths at random; counts stay exact because every begin is either
 * recorded or counted as dropped. */
static void interrupted(void)
{
	struct itimerspec period = {{0, 50000}, {0, 50000}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	char name[32];
	timer_t timer;

	load();
	handler_domain = itt_domain_create("d");
	signal(SIGUSR1, on_signal);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &period, NULL))
		_exit(98);
	for (int i = 0; i < 300000; i++) {
		snprintf(name, sizeof(name), "name %d", i % 30000);
		task(handler_domain, name);
	}
	timer_delete(timer);
	if (!handler_calls)
		_exit(97);
	snprintf(name, sizeof(name), "handler calls %d", (int)handler_calls);
	server_wait_drained();
	task(handler_domain, name);
}

static void test_interrupted(void **state)
{
	const struct event *last;
	uint64_t lost, handled;

	(void)state;
	server_run(&server, NULL, interrupted);
	last = server_event(&server, EVENT_BEGIN, server_count(&server, EVENT_BEGIN, NULL) - 1);
	assert_int_equal(strncmp(last->name, "handler calls ", 14), 0);
	handled = strtoul(last->name + 14, NULL, 10);
	lost = server_dropped(&server) + server.processes[0].header->lost_no_slot;
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL) + lost, 300001 + 2 * handled);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL),
			 server_count(&server, EVENT_END, NULL));
	assert_int_equal(server_unmatched(&server), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nesting, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rare_forms, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_domains, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_labels, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flood, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flood_drained, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_labels, setup, teardown),
		cmocka_unit_test_setup_teardown(test_definitions_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ambiguous_labels, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pausing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_started_paused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_resume_at_is_past, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ignored_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interrupted, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
