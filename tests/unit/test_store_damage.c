// SPDX-License-Identifier: Apache-2.0
//
// Results that are not whole: torn, flipped, missing, of another version, in a folder that cannot be
// written. Each opens as far as it can and says what was lost, or is refused by name.
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

#include "format/chunk.h"
#include "result_maker.h"

struct fixture {
	struct result_maker m;
	struct st_result *result;
	struct st_error err;
	size_t chunk_at[4]; /* where each slice chunk begins, and the end of the last one */
	char *folder;
};

/* Three slice chunks of two slices each. */
static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	maker_init(&f->m);
	maker_usual(&f->m);
	for (uint32_t i = 0; i < 3; i++) {
		f->chunk_at[i] = f->m.trace.size_bytes;
		for (uint32_t j = 0; j < 2; j++) {
			st_slice_encoder_begin(&f->m.slices, 100 * i + 20 * j, 1, j + 1, 0);
			st_slice_encoder_end(&f->m.slices, 100 * i + 20 * j + 10, 1);
		}
		maker_chunk(&f->m, 1, 1);
	}
	f->chunk_at[3] = f->m.trace.size_bytes;
	maker_end(&f->m);
	f->folder = temporary_folder();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	st_result_close(f->result);
	maker_fini(&f->m);
	remove_folder(f->folder);
	free(f->folder);
	free(f);
	return 0;
}

static void reopen(struct fixture *f)
{
	st_result_close(f->result);
	f->result = NULL;
	memset(&f->err, 0, sizeof(f->err));
	if (maker_open(&f->m, &f->result, &f->err))
		fail_msg("%s", f->err.text);
}

static enum st_status open_folder(struct fixture *f)
{
	st_result_close(f->result);
	f->result = NULL;
	memset(&f->err, 0, sizeof(f->err));
	return st_result_open(&f->result, f->folder, NULL, &f->err);
}

static bool exists(struct fixture *f, const char *name)
{
	char path[512];
	struct stat about;

	snprintf(path, sizeof(path), "%s/%s", f->folder, name);
	return stat(path, &about) == 0;
}

static void drop(struct fixture *f, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", f->folder, name);
	assert_int_equal(unlink(path), 0);
}

/* Reads everything there is, so that a sanitizer sees whatever is out of bounds. */
static uint64_t read_all(const struct st_result *result)
{
	const struct st_slices *slices = st_result_slices(result);
	uint32_t tracks, labels;
	uint64_t sum = 0;

	st_result_tracks(result, &tracks);
	st_result_labels(result, &labels);
	for (uint32_t i = 0; i < slices->count; i++) {
		assert_true(slices->label[i] < labels);
		assert_true(slices->track[i] < tracks);
		assert_true(slices->end_ns[i] >= slices->begin_ns[i]);
		assert_true(slices->parent[i] == ST_NO_ROW || slices->parent[i] < i);
		sum += st_result_wall_ns(result, i) + slices->self_ns[i];
		sum += strlen(label_name(result, i)) + strlen(label_domain(result, i));
	}
	return sum;
}

static void test_torn_at_every_byte(void **state)
{
	struct fixture *f = *state;
	size_t whole = f->m.trace.size_bytes;

	for (size_t size = 0; size < whole; size++) {
		uint32_t chunks = 0;
		bool clean = size == 0 || size == f->chunk_at[0];

		while (chunks < 3 && f->chunk_at[chunks + 1] <= size)
			chunks++;
		for (uint32_t i = 0; i < 4; i++)
			clean |= size == f->chunk_at[i];
		f->m.trace.size_bytes = size;
		reopen(f);
		read_all(f->result);
		assert_int_equal(st_result_slices(f->result)->count, 2 * chunks);
		assert_int_equal(has_note(f->result, "trace.000.strata: truncated at byte"),
				 !clean);
		assert_int_equal(st_result_quality(f->result)->damaged_bytes == 0, clean);
	}
	f->m.trace.size_bytes = whole;
}

static void test_definitions_torn_at_every_byte(void **state)
{
	struct fixture *f = *state;
	size_t whole = f->m.definitions.size_bytes;

	for (size_t size = 0; size < whole; size++) {
		f->m.definitions.size_bytes = size;
		reopen(f);
		read_all(f->result);
		/* Slices are there in any case; whether they have names shows and is counted. */
		assert_int_equal(st_result_slices(f->result)->count, 6);
		if (strcmp(label_name(f->result, 0), "a") != 0) {
			assert_string_equal(label_name(f->result, 0), "[name 1 not recorded]");
			assert_int_equal(st_result_quality(f->result)->missing_names, 3);
		}
	}
	f->m.definitions.size_bytes = whole;
}

/* Every bit, one after the other: opens or is refused with a text, and says what it lost. */
static void flip_every_bit(struct fixture *f, struct st_buf *file)
{
	for (size_t bit = 0; bit < file->size_bytes * 8; bit++) {
		enum st_status status;

		file->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		st_result_close(f->result);
		f->result = NULL;
		memset(&f->err, 0, sizeof(f->err));
		status = maker_open(&f->m, &f->result, &f->err);
		if (status) {
			assert_int_equal(status, ST_EVERSION);
			assert_int_equal(f->err.status, status);
			assert_true(strlen(f->err.text) > 0);
		} else {
			const struct st_quality *quality = st_result_quality(f->result);

			read_all(f->result);
			assert_true(quality->damaged_chunks > 0);
			assert_true(quality->damaged_bytes > 0);
			assert_true(quality->note_count > 0);
			assert_true(st_result_slices(f->result)->count >= 4);
		}
		file->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void test_every_bit_of_the_trace_flipped(void **state)
{
	struct fixture *f = *state;

	flip_every_bit(f, &f->m.trace);
}

static void test_every_bit_of_the_definitions_flipped(void **state)
{
	struct fixture *f = *state;

	flip_every_bit(f, &f->m.definitions);
}

static void test_damage_in_the_middle(void **state)
{
	struct fixture *f = *state;
	const struct st_slices *slices;
	char note[128];

	memset(f->m.trace.data + f->chunk_at[1] + 10, 0x55, 40);
	reopen(f);
	slices = st_result_slices(f->result);
	assert_int_equal(slices->count, 4);
	assert_int_equal(slices->begin_ns[2], 200);
	assert_int_equal(st_result_quality(f->result)->damaged_chunks, 1);
	assert_int_equal(st_result_quality(f->result)->damaged_bytes,
			 f->chunk_at[2] - f->chunk_at[1]);
	snprintf(note, sizeof(note), "trace.000.strata: %zu bytes at byte %zu are damaged",
		 f->chunk_at[2] - f->chunk_at[1], f->chunk_at[1]);
	assert_true(has_note(f->result, note));
}

static void test_chunk_taken_out(void **state)
{
	struct fixture *f = *state;
	size_t hole = f->chunk_at[2] - f->chunk_at[1];

	memmove(f->m.trace.data + f->chunk_at[1], f->m.trace.data + f->chunk_at[2],
		f->m.trace.size_bytes - f->chunk_at[2]);
	f->m.trace.size_bytes -= hole;
	reopen(f);
	assert_int_equal(st_result_slices(f->result)->count, 4);
	assert_int_equal(st_result_quality(f->result)->damaged_chunks, 1);
	assert_true(has_note(f->result, "1 chunks are missing before byte"));
}

/* A chunk whose checksum holds but whose header promises more begins than there are. */
static void test_chunk_that_lies(void **state)
{
	struct fixture *f = *state;
	struct st_chunk_header header = {.type = ST_CHUNK_SLICES, .process = 1, .track = 1};
	struct st_buf payload;

	st_buf_init(&payload, 4096);
	st_slice_encoder_begin(&f->m.slices, 400, 1, 1, 0);
	st_slice_encoder_end(&f->m.slices, 480, 1);
	st_slice_encoder_mark(&f->m.slices, 481, ST_MARK_LOST, 1);
	st_slice_encoder_finish(&f->m.slices, &header, &payload);
	st_slice_encoder_clear(&f->m.slices);
	header.begin_count = 3;
	maker_raw_chunk(&f->m, header, payload.data, payload.size_bytes);
	header.begin_count = 0;
	maker_raw_chunk(&f->m, header, payload.data, payload.size_bytes);
	header.record_count = UINT32_MAX;
	maker_raw_chunk(&f->m, header, payload.data, payload.size_bytes);
	/* Another track behind it must not be moved about. */
	st_slice_encoder_begin(&f->m.slices, 500, 1, 2, 0);
	maker_chunk(&f->m, 1, 2);
	reopen(f);
	assert_int_equal(st_result_slices(f->result)->count, 8);
	read_all(f->result);
	assert_int_equal(st_result_slices(f->result)->begin_ns[7], 500);
	assert_int_equal(st_result_slices(f->result)->track[7], 1);
	assert_true(has_note(f->result, "more begins than its header says"));
	assert_true(has_note(f->result, "its counts are impossible"));
	st_buf_fini(&payload);
}

static void test_newer_major_is_refused(void **state)
{
	struct fixture *f = *state;

	f->m.trace.data[offsetof(struct st_chunk_header, major)] = 9;
	maker_write(&f->m, f->folder);
	assert_int_equal(open_folder(f), ST_EVERSION);
	assert_non_null(strstr(f->err.text, "trace.000.strata"));
	assert_non_null(strstr(f->err.text, "9.10"));
	assert_non_null(strstr(f->err.text, "1.10"));
	assert_non_null(strstr(f->err.text, f->folder));
	f->m.trace.data[offsetof(struct st_chunk_header, major)] = ST_FORMAT_MAJOR;
	f->m.json = "{\"schema\": \"strata.result/2\"}";
	maker_write(&f->m, f->folder);
	assert_int_equal(open_folder(f), ST_EVERSION);
	assert_non_null(strstr(f->err.text, "strata.result/2"));
	assert_non_null(strstr(f->err.text, "strata.result/1"));
}

static void test_not_a_result(void **state)
{
	struct fixture *f = *state;
	char path[512];

	assert_int_equal(open_folder(f), ST_ENOTFOUND);
	assert_non_null(strstr(f->err.text, "definitions.strata"));
	assert_non_null(strstr(f->err.text, f->folder));
	snprintf(path, sizeof(path), "%s/nothing", f->folder);
	assert_int_equal(st_result_open(&f->result, path, NULL, &f->err), ST_ENOTFOUND);
	assert_non_null(strstr(f->err.text, "no such result"));
	write_file(f->folder, "file", "x", 1);
	snprintf(path, sizeof(path), "%s/file", f->folder);
	assert_int_equal(st_result_open(&f->result, path, NULL, &f->err), ST_ENOTFOUND);
	assert_null(f->result);
}

static void test_missing_files(void **state)
{
	struct fixture *f = *state;

	maker_write(&f->m, f->folder);
	drop(f, "result.json");
	assert_int_equal(open_folder(f), ST_OK);
	assert_true(has_note(f->result, "result.json is missing"));
	assert_int_equal(st_result_slices(f->result)->count, 6);
	assert_string_equal(st_result_info(f->result)->state, "torn");
	drop(f, "definitions.strata");
	assert_int_equal(open_folder(f), ST_OK);
	assert_true(has_note(f->result, "definitions.strata is missing"));
	assert_string_equal(label_name(f->result, 0), "[name 1 not recorded]");
	maker_write(&f->m, f->folder);
	drop(f, "trace.000.strata");
	assert_int_equal(open_folder(f), ST_OK);
	assert_true(has_note(f->result, "trace.000.strata is missing"));
	assert_int_equal(st_result_slices(f->result)->count, 0);
	write_file(f->folder, "trace.002.strata", f->m.trace.data, f->m.trace.size_bytes);
	assert_int_equal(open_folder(f), ST_OK);
	assert_int_equal(st_result_quality(f->result)->missing_segments, 2);
	assert_true(has_note(f->result, "2 trace files before trace.002.strata are missing"));
	assert_int_equal(st_result_slices(f->result)->count, 6);
}

static void test_foreign_segment(void **state)
{
	struct fixture *f = *state;
	struct result_maker other;

	maker_write(&f->m, f->folder);
	maker_init_empty(&other);
	memset(other.head.result_id, 9, sizeof(other.head.result_id));
	maker_heads(&other);
	st_slice_encoder_begin(&other.slices, 1, 1, 1, 0);
	maker_chunk(&other, 1, 1);
	write_file(f->folder, "trace.001.strata", other.trace.data, other.trace.size_bytes);
	assert_int_equal(open_folder(f), ST_OK);
	assert_int_equal(st_result_slices(f->result)->count, 6);
	assert_true(has_note(f->result, "trace.001.strata belongs to a different result"));
	maker_fini(&other);
}

static void test_broken_json(void **state)
{
	static const char *const broken[] = {
		"",
		"{",
		"[]",
		"nonsense",
		"{\"schema\": 7, \"wait_status\": \"x\", \"errors\": 3}",
		"{\"schema\": \"strata.result/1\", \"cpu_count\": -5, \"elapsed_ns\": 1e300}"};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		f->m.json = broken[i];
		reopen(f);
		assert_int_equal(st_result_slices(f->result)->count, 6);
		assert_string_equal(st_result_info(f->result)->state, "torn");
		assert_int_equal(st_result_info(f->result)->cpu_count, 0);
		if (i < 5)
			assert_true(has_note(f->result, "result.json"));
	}
}

static void test_json_fields(void **state)
{
	struct fixture *f = *state;
	const struct st_result_info *info;

	f->m.json =
		"{\"schema\": \"strata.result/1\", \"state\": \"finished\", \"command\": \"x y\","
		"\"cpu_count\": 2, \"elapsed_ns\": 5000, \"wait_status\": 768,"
		"\"event_cost_ps\": 19300, \"fresh_mib_ns\": 64000, \"chunks_not_written\": 4,"
		"\"problem\": \"disk full\", \"errors\": [\"disk full\", 3, \"folder gone\"]}";
	reopen(f);
	info = st_result_info(f->result);
	assert_string_equal(info->command, "x y");
	assert_string_equal(info->host, "");
	assert_int_equal(info->cpu_count, 2);
	assert_int_equal(info->elapsed_ns, 5000);
	assert_true(info->has_exit);
	assert_int_equal(info->wait_status, 768);
	assert_int_equal(info->event_cost_ns_x1000, 19300);
	assert_int_equal(info->fresh_mib_ns, 64000);
	assert_int_equal(st_result_quality(f->result)->chunks_not_written, 4);
	assert_true(has_note(f->result, "disk full"));
	assert_true(has_note(f->result, "folder gone"));
	assert_int_equal(st_result_quality(f->result)->note_count, 2);
}

static uint64_t own_start_time(void)
{
	char text[1024] = "";
	FILE *file = fopen("/proc/self/stat", "re");
	const char *at;

	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	at = strrchr(text, ')');
	for (int i = 2; i < 22; i++)
		at = strchr(at + 1, ' ');
	return strtoull(at, NULL, 10);
}

static void test_running_and_torn(void **state)
{
	struct fixture *f = *state;
	char json[256];

	snprintf(json, sizeof(json),
		 "{\"schema\": \"strata.result/1\", \"state\": \"running\", \"strata_pid\": %ld, "
		 "\"strata_start_time\": %llu}",
		 (long)getpid(), (unsigned long long)own_start_time());
	f->m.json = json;
	/* Half a chunk at the end is being written, not damaged; and no index is left behind. */
	f->m.trace.size_bytes = f->chunk_at[2] + 30;
	maker_write(&f->m, f->folder);
	assert_int_equal(open_folder(f), ST_OK);
	assert_string_equal(st_result_info(f->result)->state, "running");
	assert_int_equal(st_result_slices(f->result)->count, 4);
	assert_int_equal(st_result_quality(f->result)->damaged_bytes, 0);
	assert_int_equal(st_result_quality(f->result)->note_count, 0);
	assert_false(exists(f, "index.strata"));
	snprintf(json, sizeof(json),
		 "{\"schema\": \"strata.result/1\", \"state\": \"running\", \"strata_pid\": %ld, "
		 "\"strata_start_time\": 1}",
		 (long)getpid());
	maker_write(&f->m, f->folder);
	assert_int_equal(open_folder(f), ST_OK);
	assert_string_equal(st_result_info(f->result)->state, "torn");
	assert_true(has_note(f->result, "truncated at byte"));
	assert_true(exists(f, "index.strata"));
}

static void test_index_is_kept_and_checked(void **state)
{
	struct fixture *f = *state;
	char path[512];
	struct stat before, after;
	uint64_t sum;
	FILE *file;

	maker_write(&f->m, f->folder);
	snprintf(path, sizeof(path), "%s/index.strata", f->folder);
	assert_int_equal(open_folder(f), ST_OK);
	sum = read_all(f->result);
	assert_int_equal(stat(path, &before), 0);
	/* The second time it is taken as it is. */
	assert_int_equal(open_folder(f), ST_OK);
	assert_int_equal(read_all(f->result), sum);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	/* Every byte of it flipped: it is built anew, and nobody notices. */
	for (long at = 0; at < before.st_size; at += at < 256 || at > 4000 ? 1 : 64) {
		file = fopen(path, "r+e");
		assert_non_null(file);
		fseek(file, at, SEEK_SET);
		int byte = fgetc(file);

		fseek(file, at, SEEK_SET);
		fputc(byte ^ 0x21, file);
		fclose(file);
		assert_int_equal(open_folder(f), ST_OK);
		assert_int_equal(read_all(f->result), sum);
		assert_int_equal(st_result_quality(f->result)->note_count, 0);
	}
	/* Cut short, or of another trace. */
	assert_int_equal(truncate(path, 5000), 0);
	assert_int_equal(open_folder(f), ST_OK);
	assert_int_equal(read_all(f->result), sum);
	st_slice_encoder_begin(&f->m.slices, 900, 1, 1, 0);
	maker_chunk(&f->m, 1, 1);
	maker_write(&f->m, f->folder);
	assert_int_equal(open_folder(f), ST_OK);
	assert_int_equal(st_result_slices(f->result)->count, 7);
}

/* Emptied, or cut exactly between two chunks: every chunk left is whole, only the closing one is
 * missing. */
static void test_closed_file_that_lost_its_end(void **state)
{
	struct fixture *f = *state;
	size_t cuts[] = {f->chunk_at[1], 0};

	for (unsigned int i = 0; i < 2; i++) {
		f->m.trace.size_bytes = cuts[i];
		maker_write(&f->m, f->folder);
		assert_int_equal(open_folder(f), ST_OK);
		assert_int_equal(st_result_quality(f->result)->damaged_chunks, 1);
		assert_true(has_note(f->result, "without its closing chunk"));
	}
}

static void test_index_keeps_what_was_said(void **state)
{
	struct fixture *f = *state;

	memset(f->m.trace.data + f->chunk_at[1] + 10, 0x55, 40);
	st_slice_encoder_begin(&f->m.slices, 900, 5, 99, 0);
	st_slice_encoder_mark(&f->m.slices, 950, ST_MARK_PAUSE, 0);
	st_slice_encoder_mark(&f->m.slices, 960, ST_MARK_RESUME, 0);
	st_slice_encoder_end(&f->m.slices, 970, 5);
	maker_chunk(&f->m, 1, 1);
	maker_write(&f->m, f->folder);
	for (int i = 0; i < 2; i++) {
		uint32_t count;

		assert_int_equal(open_folder(f), ST_OK);
		assert_int_equal(st_result_quality(f->result)->damaged_chunks, 1);
		assert_int_equal(st_result_quality(f->result)->missing_names, 2);
		assert_int_equal(st_result_quality(f->result)->clipped, 1);
		assert_true(has_note(f->result, "are damaged"));
		assert_string_equal(label_name(f->result, 4), "[name 99 not recorded]");
		assert_int_equal(st_result_wall_ns(f->result, 4), 60);
		st_result_pauses(f->result, &count);
		assert_int_equal(count, 1);
		/* Another result.json, or another place, does not change what the ids mean. */
		f->m.json = "{\"schema\": \"strata.result/1\", \"command\": \"zzz\"}";
		write_file(f->folder, "result.json", f->m.json, strlen(f->m.json));
	}
	assert_true(exists(f, "index.strata"));
}

static void test_folder_without_room_for_an_index(void **state)
{
	struct fixture *f = *state;

	maker_write(&f->m, f->folder);
	/* A folder of that name stands in for every reason why the file cannot be put there: root may
	 * write into read-only folders. */
	char path[512];

	snprintf(path, sizeof(path), "%s/index.strata", f->folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(open_folder(f), ST_OK);
	assert_int_equal(st_result_slices(f->result)->count, 6);
	assert_int_equal(rmdir(path), 0);
	/* And for those who are not root, the real thing. */
	assert_int_equal(chmod(f->folder, 0500), 0);
	assert_int_equal(open_folder(f), ST_OK);
	assert_int_equal(st_result_slices(f->result)->count, 6);
	read_all(f->result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(test_torn_at_every_byte),
		CASE(test_definitions_torn_at_every_byte),
		CASE(test_every_bit_of_the_trace_flipped),
		CASE(test_every_bit_of_the_definitions_flipped),
		CASE(test_damage_in_the_middle),
		CASE(test_chunk_taken_out),
		CASE(test_chunk_that_lies),
		CASE(test_newer_major_is_refused),
		CASE(test_not_a_result),
		CASE(test_missing_files),
		CASE(test_foreign_segment),
		CASE(test_broken_json),
		CASE(test_json_fields),
		CASE(test_running_and_torn),
		CASE(test_index_is_kept_and_checked),
		CASE(test_closed_file_that_lost_its_end),
		CASE(test_index_keeps_what_was_said),
		CASE(test_folder_without_room_for_an_index),
#undef CASE
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
