/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer of result folders: what it writes can be read back, and what happens when it cannot.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "store/writer.h"

struct fixture {
	char base[64];
	char path[96];
	struct st_store_writer *writer;
};

static void open_writer(struct fixture *f, uint64_t limit_bytes, uint64_t segment_bytes)
{
	struct st_store_options options = {
		.path = f->path, .limit_bytes = limit_bytes, .segment_bytes = segment_bytes};
	struct st_error err = {0};

	options.head.start_ticks = 1000;
	options.head.ticks_per_second = 1000000000;
	assert_int_equal(st_store_writer_create(&f->writer, &options, &err), ST_OK);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->base, sizeof(f->base), "/tmp/strata-test-writer-XXXXXX");
	assert_non_null(mkdtemp(f->base));
	snprintf(f->path, sizeof(f->path), "%s/r", f->base);
	*state = f;
	return 0;
}

static void remove_folder(const char *path)
{
	DIR *stream = opendir(path);
	struct dirent *entry;

	if (!stream)
		return;
	while ((entry = readdir(stream)) != NULL)
		if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2)
			unlinkat(dirfd(stream), entry->d_name, 0);
	closedir(stream);
	rmdir(path);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	st_store_writer_close(f->writer);
	remove_folder(f->path);
	assert_int_equal(rmdir(f->base), 0); /* nothing else was left */
	free(f);
	return 0;
}

static size_t read_file(const struct fixture *f, const char *name, uint8_t *data, size_t size_bytes)
{
	char path[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", f->path, name);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	n = read(fd, data, size_bytes);
	close(fd);
	assert_true(n >= 0 && (size_t)n < size_bytes);
	return (size_t)n;
}

static bool exists(const struct fixture *f, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", f->path, name);
	return access(path, F_OK) == 0;
}

/* Walks a file to its last byte: every chunk whole, numbered, the last one the end. Counts one type. */
static uint32_t check_file(const struct fixture *f, const char *name, enum st_chunk_type type,
			   struct st_file_head *head)
{
	static uint8_t data[8 << 20];
	size_t size = read_file(f, name, data, sizeof(data)), at = 0;
	struct st_chunk_header header = {0};
	uint32_t sequence = 0, found = 0;
	struct st_unpacker *unpacker;
	struct st_error err = {0};
	struct st_buf raw;

	st_buf_init(&raw, ST_CHUNK_RAW_MAX);
	assert_int_equal(st_unpacker_create(&unpacker, &err), ST_OK);
	while (at < size) {
		assert_int_equal(st_chunk_check(data + at, size - at, &header, &err), ST_OK);
		assert_int_equal(header.sequence, sequence++);
		if (at == 0) {
			assert_int_equal(header.type, ST_CHUNK_FILE);
			assert_int_equal(st_unpacker_read(unpacker, &header, data + sizeof(header),
							  &raw, &err),
					 ST_OK);
			assert_int_equal(raw.size_bytes, sizeof(*head));
			memcpy(head, raw.data, sizeof(*head));
		}
		found += header.type == type;
		at += sizeof(header) + header.packed_bytes;
	}
	assert_int_equal(header.type, ST_CHUNK_END);
	st_unpacker_destroy(unpacker);
	st_buf_fini(&raw);
	return found;
}

/* A chunk whose payload does not compress. */
static void write_trace(struct fixture *f, size_t size_bytes)
{
	static uint64_t x = 88172645463325252u;
	struct st_chunk_header header = {.type = ST_CHUNK_SLICES, .process = 1, .track = 1};
	struct st_buf payload;

	st_buf_init(&payload, 1 << 20);
	for (size_t i = 0; i < size_bytes / 8; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		st_buf_append_u64(&payload, x);
	}
	st_store_writer_trace(f->writer, &header, &payload);
	st_buf_fini(&payload);
}

static void write_definition(struct fixture *f)
{
	struct st_buf payload;

	st_buf_init(&payload, 1024);
	st_buf_append_text(&payload, "definition");
	st_store_writer_definitions(f->writer, 1, 5, 1, &payload);
	st_buf_fini(&payload);
}

static void write_json(struct fixture *f, const char *text)
{
	struct st_buf json;

	st_buf_init(&json, 1 << 20);
	st_buf_append_text(&json, text);
	st_store_writer_result_json(f->writer, &json);
	st_buf_fini(&json);
}

static void test_round_trip(void **state)
{
	struct fixture *f = *state;
	struct st_file_head trace, definitions;
	uint8_t text[64] = {0};

	open_writer(f, 0, 0);
	st_store_writer_calibration(f->writer, 1, 2, 3);
	write_definition(f);
	for (int i = 0; i < 5; i++)
		write_trace(f, 4096);
	write_json(f, "{\"a\": 1}");
	write_json(f, "{\"a\": 2}");
	st_store_writer_close(f->writer);
	f->writer = NULL;
	assert_int_equal(check_file(f, "trace.000.strata", ST_CHUNK_SLICES, &trace), 5);
	assert_int_equal(check_file(f, "definitions.strata", ST_CHUNK_DEFINITIONS, &definitions),
			 1);
	assert_int_equal(trace.file_kind, ST_FILE_TRACE);
	assert_int_equal(definitions.file_kind, ST_FILE_DEFINITIONS);
	assert_int_equal(trace.start_ticks, 1000);
	assert_memory_equal(trace.result_id, definitions.result_id, 16);
	read_file(f, "result.json", text, sizeof(text));
	assert_string_equal((char *)text, "{\"a\": 2}");
	assert_false(exists(f, ".reserve"));
	assert_false(exists(f, "result.json.next"));
}

static void test_segments_follow_each_other(void **state)
{
	struct fixture *f = *state;
	struct st_file_head head;

	open_writer(f, 0, 10000);
	for (int i = 0; i < 5; i++)
		write_trace(f, 8192);
	st_store_writer_close(f->writer);
	f->writer = NULL;
	assert_int_equal(check_file(f, "trace.000.strata", ST_CHUNK_SLICES, &head), 2);
	assert_int_equal(head.segment, 0);
	assert_int_equal(check_file(f, "trace.001.strata", ST_CHUNK_SLICES, &head), 2);
	assert_int_equal(head.segment, 1);
	assert_int_equal(check_file(f, "trace.002.strata", ST_CHUNK_SLICES, &head), 1);
}

static void test_data_limit(void **state)
{
	struct fixture *f = *state;

	open_writer(f, 20000, 0);
	write_trace(f, 8192);
	assert_false(st_store_writer_over_limit(f->writer));
	write_trace(f, 8192);
	write_trace(f, 8192);
	assert_true(st_store_writer_over_limit(f->writer));
	assert_true(st_store_writer_bytes(f->writer) >= 24576);
}

static void test_existing_folder(void **state)
{
	struct fixture *f = *state;
	struct st_store_options options = {.path = f->path};
	struct st_store_writer *second = NULL;
	struct st_error err = {0};

	open_writer(f, 0, 0);
	assert_int_equal(st_store_writer_create(&second, &options, &err), ST_EEXIST);
	assert_null(second);
	assert_non_null(strstr(err.text, f->path));
}

static void test_no_parent(void **state)
{
	struct fixture *f = *state;
	struct st_store_options options = {0};
	struct st_store_writer *writer = NULL;
	struct st_error err = {0};
	char path[160];

	snprintf(path, sizeof(path), "%s/no/such", f->base);
	options.path = path;
	assert_int_equal(st_store_writer_create(&writer, &options, &err), ST_EIO);
	assert_non_null(strstr(err.text, path));
}

static void test_discard_leaves_nothing(void **state)
{
	struct fixture *f = *state;

	open_writer(f, 0, 4096);
	for (int i = 0; i < 4; i++)
		write_trace(f, 8192);
	write_definition(f);
	write_json(f, "{}");
	st_store_writer_log(f->writer, "a line");
	st_store_writer_discard(f->writer);
	f->writer = NULL;
	assert_int_not_equal(access(f->path, F_OK), 0);
}

/* A file size limit stands for a full disk: the write stops in the middle of a chunk. */
static void test_full(void **state)
{
	struct fixture *f = *state;
	struct rlimit before, limit;
	struct st_file_head head;
	struct st_error err = {0};

	signal(SIGXFSZ, SIG_IGN);
	open_writer(f, 0, 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 30000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (int i = 0; i < 6; i++)
		write_trace(f, 8192);
	assert_int_equal(st_store_writer_health(f->writer, &err), ST_EIO);
	assert_non_null(strstr(err.text, "trace.000.strata"));
	assert_int_equal(st_store_writer_lost_chunks(f->writer), 3);
	write_definition(f); /* how processes ended still fits into what was kept back */
	write_json(f, "{\"full\": true}");
	st_store_writer_close(f->writer);
	f->writer = NULL;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	/* The part of a chunk that did get written is cut off again: the file ends in order. */
	assert_int_equal(check_file(f, "trace.000.strata", ST_CHUNK_SLICES, &head), 3);
	assert_int_equal(check_file(f, "definitions.strata", ST_CHUNK_DEFINITIONS, &head), 1);
	assert_true(exists(f, "result.json"));
}

static void test_deleted_folder(void **state)
{
	struct fixture *f = *state;
	struct st_error err = {0};

	open_writer(f, 0, 0);
	write_trace(f, 4096);
	assert_int_equal(st_store_writer_health(f->writer, &err), ST_OK);
	remove_folder(f->path);
	assert_int_equal(st_store_writer_health(f->writer, &err), ST_EIO);
	assert_non_null(strstr(err.text, "deleted"));
	write_trace(f, 4096);
	assert_int_equal(st_store_writer_lost_chunks(f->writer), 1);
	write_json(f, "{}");
}

static void test_finish_keeps_result_json_open(void **state)
{
	struct fixture *f = *state;
	struct st_file_head head;
	uint8_t text[64] = {0};

	open_writer(f, 0, 0);
	write_trace(f, 4096);
	st_store_writer_finish(f->writer);
	write_trace(f, 4096);
	assert_int_equal(st_store_writer_lost_chunks(f->writer), 1);
	write_json(f, "{\"late\": 1}");
	assert_int_equal(check_file(f, "trace.000.strata", ST_CHUNK_SLICES, &head), 1);
	read_file(f, "result.json", text, sizeof(text));
	assert_string_equal((char *)text, "{\"late\": 1}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_segments_follow_each_other, setup, teardown),
		cmocka_unit_test_setup_teardown(test_data_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_existing_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_parent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_discard_leaves_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deleted_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_finish_keeps_result_json_open, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
