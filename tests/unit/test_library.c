/* SPDX-License-Identifier: Apache-2.0
 *
 * libstrata.so as a stranger's process has it: loaded by its path, asked through the functions it shows, from several
 * threads, with answers whose truth is the result that was made by hand.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "library/strata.h"
#include "result_maker.h"

static struct {
	unsigned int (*abi_version)(void);
	const char *(*version)(void);
	int (*open)(const char *path, struct strata_result **out, char **error);
	void (*close)(struct strata_result *result);
	int (*query_json)(struct strata_result *result, const char *sql, unsigned int memory_mb,
			  const int *stop, char **out);
	int (*report_json)(struct strata_result *result, const char *const *words, size_t count,
			   char **out);
	int (*report_text)(struct strata_result *result, const char *const *words, size_t count,
			   char **out);
	char *(*schema)(void);
	void (*free)(void *text);
} lib;

static char *folder;
static struct strata_result *result;

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found)
		fail_msg("%s is missing", name);
	return found;
}

static void load(void)
{
	void *library = dlopen(ST_TEST_BUILD_DIR "/python/strata/libstrata.so", RTLD_NOW);

	if (!library)
		fail_msg("%s", dlerror());
	*(void **)&lib.abi_version = symbol(library, "strata_abi_version");
	*(void **)&lib.version = symbol(library, "strata_version");
	*(void **)&lib.open = symbol(library, "strata_open");
	*(void **)&lib.close = symbol(library, "strata_close");
	*(void **)&lib.query_json = symbol(library, "strata_query_json");
	*(void **)&lib.report_json = symbol(library, "strata_report_json");
	*(void **)&lib.report_text = symbol(library, "strata_report_text");
	*(void **)&lib.schema = symbol(library, "strata_schema");
	*(void **)&lib.free = symbol(library, "strata_free");
	/* What is inside stays inside. */
	assert_null(dlsym(library, "st_result_open"));
}

/* Three tasks "a" of 10 ns each, the second with a "b" of 4 ns inside. */
static void make_result(void)
{
	struct result_maker m;

	maker_init(&m);
	maker_usual(&m);
	for (uint64_t i = 0; i < 3; i++) {
		st_slice_encoder_begin(&m.slices, 100 * i, 1, 1, 0);
		if (i == 1) {
			st_slice_encoder_begin(&m.slices, 100 * i + 2, 1, 2, 0);
			st_slice_encoder_end(&m.slices, 100 * i + 6, 1);
		}
		st_slice_encoder_end(&m.slices, 100 * i + 10, 1);
	}
	maker_chunk(&m, 1, 1);
	maker_end(&m);
	folder = temporary_folder();
	maker_write(&m, folder);
	maker_fini(&m);
}

static int set_up(void **state)
{
	char *error = NULL;

	(void)state;
	load();
	make_result();
	if (lib.open(folder, &result, &error))
		fail_msg("%s", error);
	assert_null(error);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	lib.close(result);
	lib.close(NULL);
	remove_folder(folder);
	free(folder);
	return 0;
}

static void expect(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("'%s' is not in %s", part, text ? text : "nothing");
}

static void test_versions(void **state)
{
	char *schema = lib.schema();

	(void)state;
	assert_int_equal(lib.abi_version(), STRATA_ABI);
	assert_string_equal(lib.version(), ST_VERSION);
	expect(schema, "slices");
	lib.free(schema);
	lib.free(NULL);
}

static void test_query(void **state)
{
	char *out = NULL;

	(void)state;
	assert_int_equal(lib.query_json(result,
					"SELECT count(*) AS n, sum(self_ns) AS own_ns FROM slices",
					0, NULL, &out),
			 STRATA_OK);
	expect(out, "\"schema\":\"strata.report/1\"");
	expect(out, "\"n\":4");
	expect(out, "\"own_ns\":30");
	lib.free(out);
}

static void test_report(void **state)
{
	const char *const words[] = {"tasks", "-group-by", "task-type", "-sort-desc=count"};
	char *out = NULL;

	(void)state;
	assert_int_equal(lib.report_json(result, words, 4, &out), STRATA_OK);
	expect(out, "\"report\":\"tasks\"");
	expect(out, "\"task_type\":\"a\"");
	expect(out, "\"count\":3");
	lib.free(out);
	assert_int_equal(lib.report_text(result, words, 4, &out), STRATA_OK);
	expect(out, "Task Type");
	lib.free(out);
}

static void expect_refused(const char *const *words, size_t count, const char *part)
{
	char *out = NULL;

	assert_int_equal(lib.report_json(result, words, count, &out), STRATA_USAGE);
	expect(out, part);
	lib.free(out);
}

static void test_errors(void **state)
{
	const char *const unknown[] = {"taskz"}, *const group[] = {"tasks", "-group-by", "nothing"};
	const char *const form[] = {"tasks", "-format", "csv"}, *const place[] = {"tasks", "-r",
										  "."};
	const char *const word[] = {"tasks", "."};
	struct strata_result *none = (void *)1;
	char *out = NULL;

	(void)state;
	expect_refused(unknown, 1, "'tasks'");
	expect_refused(group, 3, "nothing");
	expect_refused(form, 3, "-format");
	expect_refused(place, 3, "-result-dir");
	expect_refused(word, 2, "unexpected argument");
	expect_refused(NULL, 0, "report requires a name");
	assert_int_equal(lib.query_json(result, "SELECT nothing FROM slices", 0, NULL, &out),
			 STRATA_USAGE);
	expect(out, "nothing");
	lib.free(out);
	assert_int_not_equal(lib.open("/nonexistent/result", &none, &out), STRATA_OK);
	assert_null(none);
	expect(out, "/nonexistent/result");
	lib.free(out);
	assert_int_not_equal(lib.open("/nonexistent/result", &none, NULL), STRATA_OK);
}

static const char endless[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
			      "SELECT count(*) FROM n";

static void *stop_it(void *stop)
{
	__atomic_store_n((int *)stop, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Without the stop this one would not come back. */
static void test_stop(void **state)
{
	pthread_t thread;
	char *out = NULL;
	int stop = 0;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, stop_it, &stop), 0);
	assert_int_equal(lib.query_json(result, endless, 0, &stop, &out), STRATA_IO);
	expect(out, "stopped");
	lib.free(out);
	pthread_join(thread, NULL);
}

static void *ask_often(void *failures)
{
	for (int i = 0; i < 50; i++) {
		const char *const words[] = {"tasks"};
		struct strata_result *own = NULL;
		char *out = NULL;
		bool good = lib.query_json(result, "SELECT count(*) AS n FROM slices", 0, NULL,
					   &out) == STRATA_OK &&
			    strstr(out, "\"n\":4");

		lib.free(out);
		good = good && lib.open(folder, &own, NULL) == STRATA_OK &&
		       lib.report_json(own, words, 1, &out) == STRATA_OK &&
		       strstr(out, "\"count\":3");
		lib.free(out);
		lib.close(own);
		if (!good)
			__atomic_fetch_add((int *)failures, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void test_threads(void **state)
{
	enum { THREADS = 4 };
	pthread_t threads[THREADS];
	int failures = 0;

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &failures), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(failures, 0);
}

/* The caller's signal mask is as before, whatever was asked. */
static void test_mask(void **state)
{
	sigset_t before, after;
	char *out = NULL;

	(void)state;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	lib.query_json(result, "SELECT 1", 0, NULL, &out);
	lib.free(out);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int i = 1; i < NSIG; i++)
		assert_int_equal(sigismember(&before, i), sigismember(&after, i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions), cmocka_unit_test(test_query),
		cmocka_unit_test(test_report),	 cmocka_unit_test(test_errors),
		cmocka_unit_test(test_stop),	 cmocka_unit_test(test_threads),
		cmocka_unit_test(test_mask),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
