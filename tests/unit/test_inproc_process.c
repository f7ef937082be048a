/* SPDX-License-Identifier: Apache-2.0
 *
 * The collector in the life of processes and threads: forks of every kind, thread churn, many threads,
 * exec, static parts of all generations, and everything that must not disturb the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../programs/itt_static_part.h"
#include "inproc_server.h"

static struct server server;
static struct itt_domain *domain;

static int teardown(void **state)
{
	(void)state;
	server_fini(&server);
	return 0;
}

static void task(const char *name)
{
	itt_task_begin(domain, itt_string_handle_create(name));
	itt_task_end(domain);
}

static void load(void)
{
	if (!itt_part_load())
		_exit(99);
	domain = itt_domain_create("d");
}

static void check_child(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		_exit(96);
}

static pid_t raw_fork(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void child_work(void)
{
	task("in the child");
	task("new in the child");
	itt_task_end(domain);
	_exit(0);
}

static void forks(void)
{
	pid_t (*const ways[])(void) = {fork, _Fork, raw_fork};
	pid_t pid;

	load();
	task("in the parent");
	for (int i = 0; i < 3; i++) {
		itt_task_begin(domain, itt_string_handle_create("around the fork"));
		pid = ways[i]();
		if (!pid)
			child_work();
		itt_task_end(domain);
		check_child(pid);
	}
	pid = fork();
	if (!pid)
		_exit(0); /* says nothing, so costs nothing */
	check_child(pid);
}

static void test_forks(void **state)
{
	(void)state;
	server_run(&server, NULL, forks);
	assert_int_equal(server.process_count, 4);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "in the parent"), 1);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "around the fork"), 3);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "in the child"), 3);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "new in the child"), 3);
	assert_int_equal(server_count(&server, EVENT_END, NULL), 10);
	/* The child did not begin what it ended. */
	assert_int_equal(server_count(&server, EVENT_UNMATCHED, NULL), 3);
	for (uint32_t i = 1; i < 4; i++) {
		assert_ptr_equal(server.processes[i].parent, &server.processes[0]);
		assert_int_equal(server.processes[i].hello.inherited_domains, 1);
		assert_int_equal(server.processes[i].hello.inherited_strings, 2);
	}
}

static void grandchildren(void)
{
	pid_t pid;

	load();
	task("one");
	pid = fork();
	if (!pid) {
		pid = fork();
		if (!pid) {
			task("two");
			pid = fork();
			if (!pid) {
				task("one");
				task("two");
				task("three");
				_exit(0);
			}
		}
		check_child(pid);
		_exit(0);
	}
	check_child(pid);
}

static void test_grandchildren(void **state)
{
	(void)state;
	server_run(&server, NULL, grandchildren);
	/* The child between said nothing: its own child names the grandparent. */
	assert_int_equal(server.process_count, 3);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "one"), 2);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "two"), 2);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "three"), 1);
}

/* --- threads --- */

enum { BUSY = 2, BUSY_PAIRS = 20000, BUSY_FORKS = 30, CHILD_PAIRS = 100 };

static void *busy_main(void *arg)
{
	char name[32];

	(void)arg;
	for (int i = 0; i < BUSY_PAIRS; i++) {
		snprintf(name, sizeof(name), "busy %d", i % 5000);
		task(name);
		if (i % 1000 == 0)
			server_wait_drained();
	}
	return NULL;
}

/* Children are forked while other threads make names and record: nobody deadlocks, nothing is lost. */
static void fork_while_recording(void)
{
	pthread_t threads[BUSY];
	char name[32];

	load();
	for (int i = 0; i < BUSY; i++)
		if (pthread_create(&threads[i], NULL, busy_main, NULL))
			_exit(95);
	for (int i = 0; i < BUSY_FORKS; i++) {
		pid_t pid = i % 2 ? fork() : _Fork();

		if (!pid) {
			for (int k = 0; k < CHILD_PAIRS; k++) {
				snprintf(name, sizeof(name), "busy %d", k * 37);
				task(name);
			}
			_exit(0);
		}
		check_child(pid);
	}
	for (int i = 0; i < BUSY; i++)
		pthread_join(threads[i], NULL);
}

static void test_fork_while_recording(void **state)
{
	(void)state;
	server_run(&server, NULL, fork_while_recording);
	assert_int_equal(server_dropped(&server), 0);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL),
			 BUSY * BUSY_PAIRS + BUSY_FORKS * CHILD_PAIRS);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "busy 37"),
			 BUSY * BUSY_PAIRS / 5000 + BUSY_FORKS);
	assert_int_equal(server_unmatched(&server), 0);
}

static void *short_main(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++)
		task("short");
	return NULL;
}

enum { CHURN = 1000 };

static void churn(void)
{
	pthread_t threads[4];

	load();
	for (int i = 0; i < CHURN / 4; i++) {
		for (int k = 0; k < 4; k++)
			if (pthread_create(&threads[k], NULL, short_main, NULL))
				_exit(95);
		for (int k = 0; k < 4; k++)
			pthread_join(threads[k], NULL);
	}
}

static void test_churn(void **state)
{
	(void)state;
	server_run(&server, NULL, churn);
	assert_int_equal(server.segment_count, 1);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "short"), CHURN * 10);
	assert_int_equal(server_count(&server, EVENT_THREAD, NULL), CHURN);
	assert_int_equal(server_count(&server, EVENT_THREAD_END, NULL), CHURN);
	assert_true(server.processes[0].header->slots_used <= 16);
	assert_int_equal(server_dropped(&server), 0);
}

enum { CROWD = 200 };
static pthread_barrier_t barrier;

static void *crowd_main(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&barrier); /* all make their first call at once */
	task("crowd");
	pthread_barrier_wait(&barrier); /* and all are alive together */
	task("crowd");
	return NULL;
}

static void crowd(void)
{
	pthread_t threads[CROWD];
	pthread_attr_t attributes;

	load();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 128 << 10);
	pthread_barrier_init(&barrier, NULL, CROWD);
	for (int i = 0; i < CROWD; i++)
		if (pthread_create(&threads[i], &attributes, crowd_main, NULL))
			_exit(95);
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
}

static void test_crowd(void **state)
{
	(void)state;
	server_run(&server, NULL, crowd);
	assert_int_equal(server.process_count, 1);
	assert_true(server.segment_count >= 4);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "crowd"), 2 * CROWD);
	assert_int_equal(server.processes[0].header->lost_no_slot, 0);
}

static void *outliving_main(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	task("after main");
	_exit(0);
}

static void outliving(void)
{
	static pthread_t self;
	pthread_t thread;

	load();
	task("main");
	self = pthread_self();
	if (pthread_create(&thread, NULL, outliving_main, &self))
		_exit(95);
	pthread_exit(NULL);
}

static void test_outliving(void **state)
{
	(void)state;
	server_run(&server, NULL, outliving);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "after main"), 1);
	assert_int_equal(server_count(&server, EVENT_THREAD_END, NULL), 1);
}

static pthread_key_t late_key;

static void late_destructor(void *left)
{
	task("in a destructor");
	if (left != (void *)1)
		pthread_setspecific(late_key, (char *)left - 1);
}

static void *destructor_main(void *arg)
{
	(void)arg;
	pthread_setspecific(late_key, (void *)3);
	task("in the thread");
	return NULL;
}

static void destructors(void)
{
	pthread_t thread;

	load();
	pthread_key_create(&late_key, late_destructor);
	if (pthread_create(&thread, NULL, destructor_main, NULL))
		_exit(95);
	pthread_join(thread, NULL);
}

static void test_destructors(void **state)
{
	(void)state;
	server_run(&server, NULL, destructors);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "in the thread"), 1);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "in a destructor"), 3);
}

/* --- the static parts --- */

static void check_bound(bool active)
{
	for (struct itt_api_info *api = itt_api_list; api->name; api++) {
		void *bound = *api->func_ptr;

		if (bound == (void *)itt_thunk)
			_exit(80);
		/* With somebody listening every entry has a function; without, only those that must. */
		if (active && !bound)
			_exit(81);
		if (!active && !strcmp(api->name, "__itt_stack_caller_create") && bound)
			_exit(82);
	}
}

static void generations(void)
{
	static const unsigned int entries[] = {147, 149, 151, 154, 156};

	for (int i = 0; i < 5; i++) {
		itt_part_init(entries[i]);
		load();
		check_bound(true);
		task("generation");
	}
	load(); /* the same part again */
	itt_api_list[0].name = "__itt_from_the_future";
	itt_api_list[1].name = "not_itt";
	load();
}

static void test_generations(void **state)
{
	(void)state;
	server_run(&server, NULL, generations);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "generation"), 5);
	assert_int_equal(server.processes[0].string_count, 1);
}

static void wrong_calls(void)
{
	struct itt_global other = {0};
	void (*init)(struct itt_global *, int), (*fini)(struct itt_global *);

	load();
	*(void **)&init = dlsym(itt_global.lib, "__itt_api_init");
	*(void **)&fini = dlsym(itt_global.lib, "__itt_api_fini");
	init(NULL, 0);
	init(&other, 0);
	fini(NULL);
	if (itt_domain_create(NULL) || itt_string_handle_create(NULL))
		_exit(83);
	itt_thread_set_name(NULL);
	errno = 77;
	task("errno is kept");
	if (errno != 77)
		_exit(84);
}

static void test_wrong_calls(void **state)
{
	(void)state;
	server_run(&server, NULL, wrong_calls);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL), 1);
}

static void nobody_there(void)
{
	struct itt_string_handle *name;

	unsetenv("STRATA_SOCK");
	load();
	check_bound(false);
	name = itt_string_handle_create("x");
	if (!domain || !domain->flags || strcmp(domain->nameA, "d") || !name ||
	    name != itt_string_handle_create("x") || domain != itt_domain_create("d"))
		_exit(85);
	task("nowhere");
	itt_pause();
	itt_resume();
	itt_detach();
}

static void wrong_socket(void)
{
	setenv("STRATA_SOCK", "/nonexistent/s", 1);
	setenv("STRATA_ABS", "nobody-listens-here", 1);
	load();
	errno = 55;
	for (int i = 0; i < 1000; i++)
		task("nowhere");
	itt_pause();
	if (errno != 55)
		_exit(86);
}

static void disabled(void)
{
	setenv("STRATA_DISABLE", "1", 1);
	load();
	task("nowhere");
}

static void test_nobody_there(void **state)
{
	void (*const scenarios[])(void) = {nobody_there, wrong_socket, disabled};

	(void)state;
	for (int i = 0; i < 3; i++) {
		if (i)
			server_fini(&server);
		server_run(&server, NULL, scenarios[i]);
		assert_int_equal(server.segment_count, 0);
	}
}

/* --- the program is not disturbed --- */

static int lowest_fd(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

static void descriptors(void)
{
	int before;

	load();
	before = lowest_fd();
	task("hello");
	if (lowest_fd() != before)
		_exit(87);
	for (int fd = 0; fd < 64; fd++)
		close(fd);
	task("all closed");
	if (!fork()) {
		task("child without descriptors");
		_exit(lowest_fd());
	}
	wait(&before);
	_exit(before || lowest_fd());
}

static void test_descriptors(void **state)
{
	(void)state;
	server_run(&server, NULL, descriptors);
	assert_int_equal(server.process_count, 2);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL), 3);
}

/* Room for a small segment, not for a full one. */
static void little_memory(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	char line[128] = "";
	struct rlimit limit;

	load();
	if (!file || !fgets(line, sizeof(line), file))
		_exit(94);
	limit.rlim_cur = strtoul(line, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE) + (30u << 20);
	limit.rlim_max = limit.rlim_cur;
	setrlimit(RLIMIT_AS, &limit);
	task("squeezed");
}

static void test_little_memory(void **state)
{
	(void)state;
	server_run(&server, NULL, little_memory);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "squeezed"), 1);
	/* A sixteenth of it is ours. */
	assert_in_range(server.processes[0].header->slot_count, 1, 8);
}

__attribute__((destructor)) static void at_the_end(void)
{
	if (domain)
		task("in a static destructor");
}

static void orderly_exit(void)
{
	load();
	task("main");
	exit(0);
}

static void test_orderly_exit(void **state)
{
	(void)state;
	server_run(&server, NULL, orderly_exit);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "in a static destructor"), 1);
}

/* The other way to strata, for processes that do not see its folder. */
static void abstract(void)
{
	unsetenv("STRATA_SOCK");
	load();
	task("through the abstract name");
}

static void test_abstract(void **state)
{
	(void)state;
	server_init(&server);
	server_listen_abstract(&server);
	server_run_prepared(&server, abstract);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "through the abstract name"), 1);
}

/* strata pauses or stops the process from outside. */
static void controlled(void)
{
	load();
	itt_task_begin(domain, itt_string_handle_create("straddles"));
	server_wait_drained();
	task("hidden");
	itt_task_begin(domain, itt_string_handle_create("hidden"));
	itt_task_end(domain);
	itt_task_end(domain);
	itt_task_end(domain);
}

static void test_controlled(void **state)
{
	static const uint32_t bits[] = {ST_CONTROL_PAUSED_FAMILY, ST_CONTROL_STOPPED};

	(void)state;
	for (int i = 0; i < 2; i++) {
		if (i)
			server_fini(&server);
		server_init(&server);
		server.control_after_first = bits[i];
		server_run_prepared(&server, controlled);
		assert_int_equal(server_count(&server, EVENT_BEGIN, NULL), 1);
		assert_int_equal(server_count(&server, EVENT_BEGIN, "straddles"), 1);
		assert_int_equal(server_count(&server, EVENT_END, NULL), 1);
		assert_int_equal(server_unmatched(&server), 0);
	}
}

#define TEST(function) cmocka_unit_test_teardown(function, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_forks),	 TEST(test_grandchildren), TEST(test_fork_while_recording),
		TEST(test_churn),	 TEST(test_crowd),	   TEST(test_outliving),
		TEST(test_destructors),	 TEST(test_generations),   TEST(test_wrong_calls),
		TEST(test_nobody_there), TEST(test_descriptors),   TEST(test_little_memory),
		TEST(test_orderly_exit), TEST(test_abstract),	   TEST(test_controlled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
