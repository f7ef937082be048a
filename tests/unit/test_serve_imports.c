/* SPDX-License-Identifier: Apache-2.0
 *
 * Imports of traces into the cache (serve/http/imports.h), with a script in place of strata import: those that end early
 * leave nothing behind.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "serve/http/answers.h"
#include "serve/http/imports.h"
#include "serve/http/server.h"
#include "serve/http/temporary.h"

static void nobody_told(void *arg, const struct st_job *job)
{
	(void)arg;
	(void)job;
}

static void make_file(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void make_folder(const char *folder, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(mkdir(path, 0777), 0);
}

/* Its words are: import FILE -r FOLDER. */
static const char writes_until_it_is_ended[] =
	"#!/bin/sh\n"
	"mkdir \"$4\" && echo part >\"$4/trace\" && echo \"$4\" >\"$BEGAN\" && exec sleep 600\n";

static void say_nothing(const char *line)
{
	(void)line;
}

/* A server that imports traces of its folder with a script in place of strata. */
struct importing {
	char folder[32], program[64], began[64];
	struct st_server server;
	const struct st_entry *trace;
};

static void begin_importing(struct importing *importing, const char *script)
{
	struct st_server *server = &importing->server;
	struct st_pool_config pool = {.workers_max = 1, .changed = nobody_told};
	struct st_error err = {0};
	char path[64], id[ST_ENTRY_ID];

	memset(importing, 0, sizeof(*importing));
	snprintf(importing->folder, sizeof(importing->folder), "/tmp/test-serve-XXXXXX");
	assert_non_null(mkdtemp(importing->folder));
	make_folder(importing->folder, "data");
	make_file(importing->folder, "data/run.pt.trace.json", "{}");
	make_file(importing->folder, "strata", script);
	snprintf(importing->program, sizeof(importing->program), "%s/strata", importing->folder);
	assert_int_equal(chmod(importing->program, 0700), 0);
	snprintf(importing->began, sizeof(importing->began), "%s/began", importing->folder);
	setenv("BEGAN", importing->began, 1);
	snprintf(path, sizeof(path), "%s/cache", importing->folder);
	setenv("STRATA_CACHE_DIR", path, 1);
	make_folder(importing->folder, "cache");
	make_folder(importing->folder, "cache/imports");
	make_folder(importing->folder, "cache/imports/.partial-left");
	make_file(importing->folder, "cache/imports/.partial-left/trace", "of a killed server");
	snprintf(path, sizeof(path), "%s/cache/imports", importing->folder);
	assert_int_equal(chmod(path, 0700), 0);

	server->config.program = importing->program;
	server->config.say = say_nothing;
	server->import_turns = (struct st_turns){.at_once = 1, .waiting_max = 1};
	assert_int_equal(st_loop_create(&server->loop, &err), ST_OK);
	pool.loop = server->loop;
	assert_int_equal(st_pool_create(&server->pool, &pool, &err), ST_OK);
	snprintf(path, sizeof(path), "%s/data", importing->folder);
	assert_int_equal(st_catalog_open(&server->catalog, path, &err), ST_OK);
	assert_int_equal(st_imports_create(&server->imports, server, &err), ST_OK);
	st_secret_digest("run.pt.trace.json", id, ST_ENTRY_ID - 1);
	importing->trace = st_catalog_find(&server->catalog, id);
	assert_non_null(importing->trace);
}

static void end_importing(struct importing *importing)
{
	struct st_server *server = &importing->server;

	server->import_turns.at_once = 0;
	st_pool_destroy(server->pool);
	st_imports_destroy(server->imports);
	st_catalog_close(&server->catalog);
	st_loop_destroy(server->loop);
	st_temporary_remove(importing->folder);
	unsetenv("STRATA_CACHE_DIR");
	unsetenv("BEGAN");
}

/* How many are in a folder below the test's own, of those with dots in front too. */
static unsigned int count_in(const struct importing *importing, const char *name)
{
	unsigned int count = 0;
	struct dirent *one;
	char path[64];
	DIR *list;

	snprintf(path, sizeof(path), "%s/%s", importing->folder, name);
	list = opendir(path);
	while (list && (one = readdir(list)))
		count += strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0;
	if (list)
		closedir(list);
	return count;
}

/* The folder that an import has begun to write; false: none has since the last one. */
static bool take_began(const struct importing *importing, char *path, size_t path_size)
{
	FILE *file = fopen(importing->began, "r");
	bool is_there = file && fgets(path, (int)path_size, file) && strchr(path, '\n');

	if (file)
		fclose(file);
	if (!is_there)
		return false;
	*strchr(path, '\n') = '\0';
	unlink(importing->began);
	return true;
}

/* One that is cancelled while it writes is in nobody's way, and nothing of it stays. */
static void test_cancelled_import(void **state)
{
	static struct importing importing;
	const struct st_subject subject = {.lane = ST_LANE_QUICK};
	char paths[2][128];
	struct st_job *job;

	(void)state;
	begin_importing(&importing, writes_until_it_is_ended);
	assert_int_equal(count_in(&importing, "cache/imports"), 1);
	assert_int_equal(count_in(&importing, "cache/imports/.partial-left"), 0);
	for (int i = 0; i < 2; i++) {
		job = st_imports_ask(importing.server.imports, importing.trace, &subject, "tracks",
				     "{}");
		assert_non_null(job);
		while (!take_began(&importing, paths[i], sizeof(paths[i])) && !st_job_is_done(job))
			st_loop_round(importing.server.loop, 1);
		assert_false(st_job_is_done(job));
		assert_int_equal(access(paths[i], F_OK), 0);
		st_job_cancel(job);
	}
	assert_string_not_equal(paths[0], paths[1]);
	while (access(paths[0], F_OK) == 0 || access(paths[1], F_OK) == 0)
		st_loop_round(importing.server.loop, 1);
	assert_int_equal(importing.server.import_turns.running, 0);
	end_importing(&importing);
}

/* Nor does half a result stay beside the trace. */
static void test_cancelled_result(void **state)
{
	static struct importing importing;
	static struct st_exchange exchange;
	struct st_route_parts parts = {0};
	char job_id[ST_JOB_ID], path[128];

	(void)state;
	begin_importing(&importing, writes_until_it_is_ended);
	exchange.server = &importing.server;
	st_reply_init(&exchange.reply);
	snprintf(parts.texts[0], sizeof(parts.texts[0]), "%s", importing.trace->id);
	st_post_import(&exchange, &parts, NULL);
	memcpy(job_id, exchange.job_id, sizeof(job_id));
	assert_non_null(st_pool_find(importing.server.pool, job_id));
	while (!take_began(&importing, path, sizeof(path)))
		st_loop_round(importing.server.loop, 1);
	st_job_cancel(st_pool_find(importing.server.pool, job_id));
	assert_int_equal(count_in(&importing, "data"), 1);
	assert_int_equal(importing.server.import_turns.running, 0);
	st_reply_fini(&exchange.reply);
	end_importing(&importing);
}

static void test_failed_import(void **state)
{
	static struct importing importing;
	const struct st_subject subject = {.lane = ST_LANE_QUICK};
	struct st_web_reply reply;
	struct st_job *job;

	(void)state;
	begin_importing(&importing, "#!/bin/sh\nmkdir \"$4\" && echo 'strata: error: no room' "
				    ">&2\nexit 1\n");
	job = st_imports_ask(importing.server.imports, importing.trace, &subject, "tracks", "{}");
	assert_non_null(job);
	while (!st_job_is_done(job))
		st_loop_round(importing.server.loop, 1);
	st_reply_init(&reply);
	st_job_take(job, &reply);
	assert_int_equal(reply.status, 422);
	st_buf_append_u8(&reply.body, '\0');
	assert_non_null(strstr((const char *)reply.body.data, "\"no room\""));
	st_reply_fini(&reply);
	/* The folder for those that are not whole yet, and nothing in it. */
	assert_int_equal(count_in(&importing, "cache/imports"), 1);
	assert_int_equal(importing.server.import_turns.running, 0);
	end_importing(&importing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cancelled_import),
		cmocka_unit_test(test_cancelled_result),
		cmocka_unit_test(test_failed_import),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
