// SPDX-License-Identifier: Apache-2.0
//
// The exports that are JSON, read back with a strict parser, and the sink they are written through.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "export/export.h"
#include "nasty_result.h"

static const struct st_exporter *find_exporter(const char *name)
{
	for (const struct st_exporter *exporter = st_exporters; exporter->name; exporter++) {
		if (strcmp(exporter->name, name) == 0)
			return exporter;
	}
	fail_msg("no exporter %s", name);
	return NULL;
}

static struct json_object *export_as(const char *name, const struct st_result *fake,
				     struct st_buf *out)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *trace;
	struct st_sink *sink;

	st_buf_init(out, 64 << 20);
	assert_int_equal(st_sink_open_buf(&sink, out, NULL), ST_OK);
	assert_int_equal(st_export_write(find_exporter(name), fake, NULL, sink, NULL), ST_OK);
	assert_int_equal(st_sink_close(sink, true, NULL), ST_OK);
	st_buf_append_u8(out, 0);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	trace = json_tokener_parse_ex(tokener, (char *)out->data, (int)out->size_bytes);
	assert_non_null(trace);
	json_tokener_free(tokener);
	return trace;
}

static struct json_object *export_parsed(const struct st_result *fake, struct st_buf *out)
{
	return export_as("chrome", fake, out);
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	assert_true(json_object_object_get_ex(object, key, &value));
	return value;
}

static int64_t number(struct json_object *object, const char *key)
{
	return json_object_get_int64(member(object, key));
}

/* The number as it was written, three decimals and all. */
static void check_us(struct json_object *event, const char *key, int64_t ns)
{
	char expected[40];

	snprintf(expected, sizeof(expected), "%lld.%03lld", (long long)(ns / 1000),
		 (long long)(ns % 1000));
	assert_string_equal(json_object_get_string(member(event, key)), expected);
}

static void check_event(const struct st_result *fake, struct json_object *event)
{
	struct json_object *args = member(event, "args");
	uint32_t row = (uint32_t)number(args, "row");
	struct st_text name = fake->texts[fake->labels[fake->label[row]].name];

	assert_true(row < fake->slices.count);
	check_us(event, "ts", fake->begin_ns[row]);
	check_us(event, "dur", fake->end_ns[row] - fake->begin_ns[row]);
	if (fake->parent[row] == ST_NO_ROW)
		assert_false(json_object_object_get_ex(args, "parent", NULL));
	else
		assert_int_equal(number(args, "parent"), fake->parent[row]);
	/* Names that are UTF-8 come back byte by byte. */
	if (fake->label[row] != 3)
		assert_memory_equal(json_object_get_string(member(event, "name")), name.bytes,
				    name.size_bytes);
	if (fake->track[row] == 1) {
		assert_int_equal(number(args, "pid"), 77);
		assert_int_equal(number(args, "tid"), 77);
		assert_int_not_equal(number(event, "pid"), 77);
		assert_int_not_equal(number(event, "tid"), 77);
	} else {
		assert_int_equal(number(event, "pid"), 77);
		assert_int_equal(number(event, "tid"), 77);
	}
	assert_string_equal(json_object_get_string(member(event, "cat")),
			    fake->label[row] == NASTY_NAMES ? "cpu_op" : "user_annotation");
}

static void test_every_task_is_there_once(void **state)
{
	struct st_result *fake = nasty_create();
	struct st_buf out;
	struct json_object *trace, *events;
	uint8_t *seen = calloc(fake->slices.count, 1);
	uint32_t count = 0, metadata = 0;

	(void)state;
	/* Times with every digit in use, and one before the start. */
	fake->begin_ns[0] = 123456789;
	fake->end_ns[0] = 987654321987;
	trace = export_parsed(fake, &out);
	assert_int_equal(number(member(trace, "distributedInfo"), "rank"), 0);
	events = member(trace, "traceEvents");
	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *event = json_object_array_get_idx(events, i);
		const char *kind = json_object_get_string(member(event, "ph"));

		if (strcmp(kind, "M") == 0) {
			metadata++;
			continue;
		}
		assert_string_equal(kind, "X");
		check_event(fake, event);
		assert_false(seen[number(member(event, "args"), "row")]++);
		count++;
	}
	assert_int_equal(count, fake->slices.count);
	assert_int_equal(metadata, fake->process_count + fake->track_count);
	json_object_put(trace);
	st_buf_fini(&out);
	free(seen);
	fake_destroy(fake);
}

static void test_flags_are_told(void **state)
{
	struct st_result *fake = nasty_create();
	struct st_buf out;
	struct json_object *trace = export_parsed(fake, &out);

	(void)state;
	assert_non_null(strstr((char *)out.data, "\"flags\":\"unfinished,mismatched\""));
	json_object_put(trace);
	st_buf_fini(&out);
	fake_destroy(fake);
}

static void test_empty_trace_parses(void **state)
{
	struct st_result *fake = fake_create();
	struct st_buf out;
	struct json_object *trace = export_parsed(fake, &out);

	(void)state;
	assert_int_equal(json_object_array_length(member(trace, "traceEvents")), 0);
	json_object_put(trace);
	st_buf_fini(&out);
	fake_destroy(fake);
}

static void test_rows_as_objects(void **state)
{
	struct st_result *fake = nasty_create();
	struct st_buf out;
	struct json_object *rows = export_as("json", fake, &out);

	(void)state;
	assert_int_equal(json_object_array_length(rows), fake->slices.count);
	for (uint32_t i = 0; i < fake->slices.count; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		struct st_text name = fake->texts[fake->labels[fake->label[i]].name];
		bool has_parent = fake->parent[i] != ST_NO_ROW;

		assert_int_equal(number(row, "row"), i);
		assert_int_equal(number(row, "start_ns"), fake->begin_ns[i]);
		assert_int_equal(number(row, "wall_total_ns"), fake->end_ns[i] - fake->begin_ns[i]);
		assert_int_equal(json_object_object_get_ex(row, "parent", NULL), has_parent);
		if (fake->label[i] != 3)
			assert_memory_equal(json_object_get_string(member(row, "task")), name.bytes,
					    name.size_bytes);
		assert_string_equal(json_object_get_string(member(row, "process")),
				    fake->track[i] ? "after\nexec (77, exec 1)" : "before (77)");
	}
	json_object_put(rows);
	st_buf_fini(&out);
	fake_destroy(fake);
}

static void test_no_rows(void **state)
{
	struct st_result *fake = fake_create();
	struct st_buf out;
	struct json_object *rows = export_as("json", fake, &out);

	(void)state;
	assert_int_equal(json_object_array_length(rows), 0);
	json_object_put(rows);
	st_buf_fini(&out);
	fake_destroy(fake);
}

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/st_sink_XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	(void)state;
	while (dir && (entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	return rmdir(folder);
}

static unsigned int file_count(void)
{
	DIR *dir = opendir(folder);
	unsigned int count = 0;
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void test_file_appears_whole_or_not_at_all(void **state)
{
	char path[128], content[16] = "";
	struct st_sink *sink;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/out.json", folder);
	assert_int_equal(st_sink_open(&sink, path, NULL), ST_OK);
	assert_int_equal(st_sink_write(sink, "hello", 5, NULL), ST_OK);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(st_sink_close(sink, false, NULL), ST_OK);
	assert_int_equal(file_count(), 0);
	assert_int_equal(st_sink_open(&sink, path, NULL), ST_OK);
	assert_int_equal(st_sink_write(sink, "hello", 5, NULL), ST_OK);
	assert_int_equal(st_sink_close(sink, true, NULL), ST_OK);
	assert_int_equal(file_count(), 1);
	fd = open(path, O_RDONLY);
	assert_int_equal(read(fd, content, sizeof(content)), 5);
	assert_string_equal(content, "hello");
	close(fd);
}

static void test_gz_is_chosen_by_name(void **state)
{
	char path[128], *content = malloc(1 << 20);
	struct st_sink *sink;
	gzFile file;

	(void)state;
	snprintf(path, sizeof(path), "%s/out.json.gz", folder);
	assert_int_equal(st_sink_open(&sink, path, NULL), ST_OK);
	for (int i = 0; i < 50000; i++)
		assert_int_equal(st_sink_write(sink, "0123456789", 10, NULL), ST_OK);
	assert_int_equal(st_sink_close(sink, true, NULL), ST_OK);
	file = gzopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(gzread(file, content, 1 << 20), 500000);
	assert_int_equal(gzdirect(file), 0);
	assert_memory_equal(content + 499990, "0123456789", 10);
	gzclose(file);
	free(content);
}

static void test_refused_places(void **state)
{
	char path[128];
	struct st_sink *sink;
	struct st_error err;

	(void)state;
	assert_int_equal(st_sink_open(&sink, folder, &err), ST_EUSAGE);
	snprintf(path, sizeof(path), "%s/none/out", folder);
	assert_int_equal(st_sink_open(&sink, path, &err), ST_EIO);
	assert_int_equal(err.code, ENOENT);
	assert_null(sink);
	/* A device is written in place, and not replaced. */
	assert_int_equal(st_sink_open(&sink, "/dev/null", &err), ST_OK);
	assert_int_equal(st_sink_write(sink, "x", 1, &err), ST_OK);
	assert_int_equal(st_sink_close(sink, true, &err), ST_OK);
	assert_int_equal(access("/dev/null", W_OK), 0);
}

static void test_full_disk_and_closed_pipe_are_told(void **state)
{
	static char block[1 << 20];
	char path[128];
	struct st_sink *sink;
	struct st_error err;
	int reader;

	(void)state;
	if (access("/dev/full", W_OK) == 0) {
		assert_int_equal(st_sink_open(&sink, "/dev/full", &err), ST_OK);
		assert_int_equal(st_sink_write(sink, block, sizeof(block), &err), ST_EIO);
		assert_int_equal(err.code, ENOSPC);
		assert_int_equal(st_sink_write(sink, "x", 1, NULL), ST_EIO);
		assert_int_equal(st_sink_close(sink, true, NULL), ST_EIO);
	}
	signal(SIGPIPE, SIG_IGN);
	snprintf(path, sizeof(path), "%s/pipe", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	assert_int_equal(st_sink_open(&sink, path, &err), ST_OK);
	close(reader);
	assert_int_equal(st_sink_write(sink, block, sizeof(block), &err), ST_EIO);
	assert_int_equal(err.code, EPIPE);
	st_sink_close(sink, false, NULL);
	assert_int_equal(access(path, F_OK), 0); /* the pipe is the user's */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_task_is_there_once),
		cmocka_unit_test(test_flags_are_told),
		cmocka_unit_test(test_empty_trace_parses),
		cmocka_unit_test(test_rows_as_objects),
		cmocka_unit_test(test_no_rows),
		cmocka_unit_test_setup_teardown(test_file_appears_whole_or_not_at_all, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_gz_is_chosen_by_name, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_refused_places, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_full_disk_and_closed_pipe_are_told,
						make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
