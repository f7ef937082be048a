/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer of a ring buffer: when a new file is due, which files go, and what is counted.
 */
#include <dirent.h>
#include <fcntl.h>
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

#include "base/buf.h"
#include "store/writer.h"

/* One tick is a nanosecond; the window is 4 s, so that a file lasts half a second. */
static const uint64_t second = 1000000000u, start = 5000000000u;

struct fixture {
	char base[64];
	char path[96];
	struct st_store_writer *writer;
};

static void open_writer(struct fixture *f, uint64_t ring_ticks, uint64_t limit_bytes,
			uint64_t segment_bytes)
{
	struct st_store_options options = {.path = f->path,
					   .ring_ticks = ring_ticks,
					   .limit_bytes = limit_bytes,
					   .segment_bytes = segment_bytes};
	struct st_error err = {0};

	options.head.start_ticks = start;
	options.head.ticks_per_second = second;
	assert_int_equal(st_store_writer_create(&f->writer, &options, &err), ST_OK);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->base, sizeof(f->base), "/tmp/strata-test-ring-XXXXXX");
	assert_non_null(mkdtemp(f->base));
	snprintf(f->path, sizeof(f->path), "%s/r", f->base);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	DIR *stream;
	struct dirent *entry;

	st_store_writer_close(f->writer);
	stream = opendir(f->path);
	assert_non_null(stream);
	while ((entry = readdir(stream)) != NULL)
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(stream), entry->d_name, 0);
	closedir(stream);
	assert_int_equal(rmdir(f->path), 0);
	assert_int_equal(rmdir(f->base), 0);
	free(f);
	return 0;
}

/* 100 records whose newest is of that time; the bytes do not matter to the writer. */
static void write_records(struct fixture *f, uint64_t time, size_t size_bytes)
{
	struct st_chunk_header header = {.type = ST_CHUNK_SLICES,
					 .process = 1,
					 .track = 1,
					 .record_count = 100,
					 .first_time = time,
					 .last_time = time};
	struct st_buf payload;
	uint32_t noise = 1;

	st_buf_init(&payload, 1 << 20);
	for (size_t i = 0; i < size_bytes; i++) {
		noise = noise * 1664525u + 1013904223u;
		st_buf_append_u8(&payload, (uint8_t)(noise >> 24));
	}
	st_store_writer_trace(f->writer, &header, &payload);
	st_buf_fini(&payload);
}

static bool exists(const struct fixture *f, unsigned int segment, struct stat *about)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/trace.%03u.strata", f->path, segment);
	return stat(path, about) == 0;
}

static uint64_t trace_bytes(const struct fixture *f, unsigned int last)
{
	uint64_t sum = 0;
	struct stat about;

	for (unsigned int i = 0; i <= last; i++)
		if (exists(f, i, &about))
			sum += (uint64_t)about.st_size;
	return sum;
}

/* A file each half second for 10 s: those with a record of the last 4 s are there, and no other. */
static void test_old_files_are_deleted(void **state)
{
	struct fixture *f = *state;
	struct st_store_dropped dropped;
	struct stat about;

	open_writer(f, 4 * second, 0, 0);
	for (unsigned int i = 0; i < 20; i++) {
		uint64_t now = start + (i + 1) * second / 2;

		write_records(f, now - 1, 1000);
		assert_false(st_store_writer_wants_file(f->writer, now - 1));
		assert_true(st_store_writer_wants_file(f->writer, now));
		st_store_writer_rotate(f->writer, now);
		assert_true(exists(f, i + 1, &about));
		dropped = st_store_writer_dropped(f->writer);
		/* File k has a record of (k + 1) / 2 s - 1 ns. */
		assert_int_equal(dropped.files, i < 9 ? 0 : i - 8);
		assert_int_equal(dropped.records, 100 * dropped.files);
		for (unsigned int k = 0; k <= i; k++)
			assert_int_equal(exists(f, k, &about), k >= dropped.files);
	}
	dropped = st_store_writer_dropped(f->writer);
	assert_true(dropped.bytes > 11 * 1000 && dropped.bytes < 11 * 2000);
}

static void test_bytes_are_those_of_what_is_kept(void **state)
{
	struct fixture *f = *state;
	uint64_t definitions;

	open_writer(f, 4 * second, 40000, 0);
	definitions = st_store_writer_bytes(f->writer) - trace_bytes(f, 0);
	for (unsigned int i = 0; i < 40; i++) {
		write_records(f, start + (i + 1) * second / 2, 2000);
		assert_int_equal(st_store_writer_bytes(f->writer) - definitions, trace_bytes(f, i));
		assert_false(st_store_writer_over_limit(f->writer)); /* 80 KB came, 20 are kept */
		st_store_writer_rotate(f->writer, start + (i + 1) * second / 2);
		assert_int_equal(st_store_writer_bytes(f->writer) - definitions,
				 trace_bytes(f, i + 1));
	}
	for (unsigned int i = 0; i < 20; i++)
		write_records(f, start + 21 * second, 2000);
	assert_true(st_store_writer_over_limit(f->writer));
}

/* The window lies before the newest record: waiting loses nothing. */
static void test_silence_keeps_what_is_there(void **state)
{
	struct fixture *f = *state;
	struct stat about;

	open_writer(f, 4 * second, 0, 0);
	write_records(f, start + 1, 1000);
	st_store_writer_rotate(f->writer, start + second);
	for (uint64_t i = 2; i < 100; i++) {
		st_store_writer_calibration(f->writer, start + i * second, i, 1);
		assert_false(st_store_writer_wants_file(f->writer, start + i * second));
	}
	write_records(f, start + 100 * second, 1000);
	assert_true(exists(f, 0, &about));
	assert_true(st_store_writer_wants_file(f->writer, start + 100 * second));
	st_store_writer_rotate(f->writer, start + 100 * second);
	assert_false(exists(f, 0, &about));
	assert_true(exists(f, 1, &about));
}

static void test_size_makes_a_new_file_too(void **state)
{
	struct fixture *f = *state;

	open_writer(f, 4 * second, 0, 10000);
	for (int i = 0; i < 9; i++)
		write_records(f, start + 1, 1000);
	assert_false(st_store_writer_wants_file(f->writer, start + 2));
	write_records(f, start + 1, 1000);
	assert_true(st_store_writer_wants_file(f->writer, start + 2));
}

static void test_short_windows_have_files_of_a_quarter_second(void **state)
{
	struct fixture *f = *state;

	open_writer(f, second / 10, 0, 0);
	write_records(f, start + 1, 1000);
	assert_false(st_store_writer_wants_file(f->writer, start + second / 4 - 1));
	assert_true(st_store_writer_wants_file(f->writer, start + second / 4));
}

/* Every file says what it is a part of. */
static void test_heads_say_ring_buffer(void **state)
{
	struct fixture *f = *state;
	struct st_chunk_header header;
	struct st_unpacker *unpacker;
	struct st_error err = {0};
	struct st_file_head head;
	struct st_buf raw;
	uint8_t data[4096] = {0};
	char path[160];
	int fd;

	open_writer(f, 4 * second, 0, 0);
	st_store_writer_rotate(f->writer, start + second);
	snprintf(path, sizeof(path), "%s/trace.001.strata", f->path);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_true(read(fd, data, sizeof(data)) > 0);
	close(fd);
	assert_int_equal(st_chunk_check(data, sizeof(data), &header, &err), ST_OK);
	assert_int_equal(header.type, ST_CHUNK_FILE);
	assert_int_equal(st_unpacker_create(&unpacker, &err), ST_OK);
	st_buf_init(&raw, ST_CHUNK_RAW_MAX);
	assert_int_equal(st_unpacker_read(unpacker, &header, data + sizeof(header), &raw, &err),
			 ST_OK);
	memcpy(&head, raw.data, sizeof(head));
	st_buf_fini(&raw);
	st_unpacker_destroy(unpacker);
	assert_int_equal(head.segment, 1);
	assert_int_equal(head.flags, ST_FILE_RING_BUFFER);
}

static void test_without_a_ring_buffer_nothing_goes(void **state)
{
	struct fixture *f = *state;
	struct stat about;

	open_writer(f, 0, 0, 10000);
	for (uint64_t i = 0; i < 30; i++) {
		write_records(f, start + i * second, 1000);
		assert_false(st_store_writer_wants_file(f->writer, start + i * second));
		st_store_writer_rotate(f->writer, start + i * second);
	}
	assert_true(exists(f, 0, &about) && exists(f, 1, &about) && exists(f, 2, &about));
	assert_int_equal(st_store_writer_dropped(f->writer).files, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_old_files_are_deleted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bytes_are_those_of_what_is_kept, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_silence_keeps_what_is_there, setup, teardown),
		cmocka_unit_test_setup_teardown(test_size_makes_a_new_file_too, setup, teardown),
		cmocka_unit_test_setup_teardown(test_short_windows_have_files_of_a_quarter_second,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_heads_say_ring_buffer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_a_ring_buffer_nothing_goes, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
