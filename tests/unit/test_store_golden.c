// SPDX-License-Identifier: Apache-2.0
//
// The golden results: tests/data/result_v1 of format version 1, tests/data/result_v1_5 of version 1.5: kept for ever, and every later reader
// must still give these answers. The first was written by this program ("test_store_golden write FOLDER") when
// the version was fixed; the test proves that the kept bytes and what the present writer makes of the
// same records read alike. Expected values are written out by hand from write_records below.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/rt/clock.h"
#include "format/definitions.h"
#include "format/ring_record.h"
#include "result_maker.h"
#include "store/events.h"
#include "store/operators.h"
#include "store/samples.h"

static const char golden_json[] = "{\n"
				  "\t\"schema\": \"strata.result/1\",\n"
				  "\t\"state\": \"finished\",\n"
				  "\t\"type\": \"tasks\",\n"
				  "\t\"command\": \"python3 train.py\",\n"
				  "\t\"source\": \"ITT tasks\",\n"
				  "\t\"cpu_count\": 2,\n"
				  "\t\"elapsed_ns\": 3000000000,\n"
				  "\t\"wait_status\": 0\n"
				  "}\n";

enum { TICKS_PER_US = 2000 };

/* Microseconds since the start, in ticks of a 2 GHz counter. */
static uint64_t us(uint64_t time_us)
{
	return 10000000000ull + time_us * TICKS_PER_US;
}

static void write_definitions(struct result_maker *m)
{
	static const char command[] = "python3\0train.py";

	maker_process_as(m, 4000, command, sizeof(command) - 1, "/usr/bin/python3.11");
	maker_text(m, ST_DEF_DOMAIN, 1, "PyTorch");
	maker_text(m, ST_DEF_DOMAIN, 2, "app");
	maker_text(m, ST_DEF_STRING, 1, "iteration_0");
	maker_text(m, ST_DEF_STRING, 2, "iteration_1");
	maker_text(m, ST_DEF_STRING, 3, "aten::linear");
	maker_bytes(m, ST_DEF_STRING, 4, "quote\"\n\xff", 8);
	maker_numbers(m, ST_DEF_THREAD, "448", 1u, 4000u, us(0));
	maker_numbers(m, ST_DEF_THREAD, "448", 2u, 4001u, us(100));
	maker_text(m, ST_DEF_THREAD_NAME, 4001, "loader");
	maker_define(m, 1);
	maker_process(m, 4010, 1, ST_PROCESS_FORKED, us(1000));
	maker_numbers(m, ST_DEF_INHERIT, "444", 1u, 3u, 1u);
	maker_numbers(m, ST_DEF_THREAD, "448", 1u, 4010u, us(1000));
	maker_define(m, 2);
	maker_process_end(m, us(3000000), ST_END_EXITED, 0);
	maker_numbers(m, ST_DEF_LOSS, "4888888", 0u, (uint64_t)11, (uint64_t)0, (uint64_t)0,
		      (uint64_t)1, (uint64_t)0, (uint64_t)0);
	maker_define(m, 1);
	maker_process_end(m, us(2500000), ST_END_GONE, 0);
	maker_define(m, 2);
}

static void write_records(struct result_maker *m)
{
	maker_init_empty(m);
	m->head.clock = ST_CLOCK_TSC;
	m->head.start_ticks = us(0);
	m->head.start_mono_raw_ns = 77000000000ull;
	m->head.start_wall_ns = 1700000000000000000ull;
	m->head.ticks_per_second = 2000100000; /* a little wrong: the pairs know better */
	m->json = golden_json;
	maker_heads(m);
	write_definitions(m);
	maker_calibration(m, us(0), 77000000000ull);
	st_slice_encoder_begin(&m->slices, us(10), 1, 1, 0);
	st_slice_encoder_begin(&m->slices, us(20), 1, 3, 0);
	st_slice_encoder_end(&m->slices, us(50), 1);
	st_slice_encoder_end(&m->slices, us(110), 1);
	maker_chunk(m, 1, 1);
	st_slice_encoder_begin(&m->slices, us(200), 2, 4, 0);
	st_slice_encoder_begin(&m->slices, us(210), 1, 3, ST_BEGIN_CLIPPED);
	st_slice_encoder_end(&m->slices, us(230), 2);
	st_slice_encoder_end(&m->slices, us(240), 1);
	st_slice_encoder_mark(&m->slices, us(250), ST_MARK_UNMATCHED_END, 1);
	st_slice_encoder_mark(&m->slices, us(260), ST_MARK_TRACK_END, 1);
	maker_chunk(m, 1, 2);
	maker_calibration(m, us(1000000), 78000000000ull);
	st_slice_encoder_mark(&m->slices, us(1000100), ST_MARK_PAUSE, 0);
	st_slice_encoder_mark(&m->slices, us(1000300), ST_MARK_RESUME, 0);
	st_slice_encoder_begin(&m->slices, us(1000400), 1, 2, 0);
	maker_chunk(m, 2, 1);
	st_slice_encoder_begin(&m->slices, us(2000000), 1, 2, 0);
	st_slice_encoder_mark(&m->slices, us(2000001), ST_MARK_LOST, 11);
	maker_chunk(m, 1, 1);
	maker_calibration(m, us(3000000), 80000000000ull);
	maker_end(m);
}

struct expected {
	const char *domain, *name;
	int64_t begin_us, end_us;
	uint64_t self_us;
	uint32_t track, parent, flags;
};

static const struct expected rows[] = {
	{"PyTorch", "iteration_0", 10, 110, 70, 0, ST_NO_ROW, 0},
	{"PyTorch", "aten::linear", 20, 50, 30, 0, 0, 0},
	{"PyTorch", "iteration_1", 2000000, 3000000, 1000000, 0, ST_NO_ROW, ST_SLICE_UNFINISHED},
	{"app", "quote\"\n\xff", 200, 230, 10, 1, ST_NO_ROW, ST_SLICE_MISMATCHED},
	{"PyTorch", "aten::linear", 210, 240, 30, 1, 3, ST_SLICE_CLIPPED},
	{"PyTorch", "iteration_1", 1000400, 2500000, 1499600, 2, ST_NO_ROW, ST_SLICE_UNFINISHED},
};

static void check_time(int64_t ns, int64_t time_us)
{
	/* A slope of 44 bits rounds down by less than a nanosecond. */
	assert_in_range(time_us * 1000 - ns, 0, 1);
}

static void check_processes(const struct st_result *result)
{
	uint32_t count;
	const struct st_process *processes = st_result_processes(result, &count);

	assert_int_equal(count, 2);
	assert_int_equal(processes[0].pid, 4000);
	assert_string_equal(st_result_text(result, processes[0].name).bytes, "train.py");
	assert_string_equal(st_result_text(result, processes[0].command_line).bytes,
			    "python3 train.py");
	assert_int_equal(processes[0].end, ST_END_EXITED);
	assert_int_equal(processes[0].loss.slices_dropped, 11);
	assert_int_equal(processes[0].loss.labels_cut, 1);
	assert_int_equal(processes[1].parent, 0);
	assert_int_equal(processes[1].end, ST_END_GONE);
	check_time(processes[1].last_ns, 2500000);
	const struct st_track *tracks = st_result_tracks(result, &count);

	assert_int_equal(count, 3);
	assert_int_equal(tracks[1].tid, 4001);
	assert_string_equal(st_result_text(result, tracks[1].name).bytes, "loader");
	check_time(tracks[1].first_ns, 100);
	check_time(tracks[1].last_ns, 260);
	assert_int_equal(tracks[1].loss.unmatched_ends, 1);
	assert_int_equal(tracks[2].process, 1);
}

static void check_result(const struct st_result *result)
{
	const struct st_slices *slices = st_result_slices(result);
	const struct st_quality *quality = st_result_quality(result);
	uint32_t count;

	assert_int_equal(quality->note_count, 0);
	assert_int_equal(slices->count, sizeof(rows) / sizeof(rows[0]));
	for (uint32_t i = 0; i < slices->count; i++) {
		assert_string_equal(label_domain(result, i), rows[i].domain);
		assert_string_equal(label_name(result, i), rows[i].name);
		check_time(slices->begin_ns[i], rows[i].begin_us);
		check_time(slices->end_ns[i], rows[i].end_us);
		assert_in_range(slices->self_ns[i], rows[i].self_us * 1000 - 2,
				rows[i].self_us * 1000 + 2);
		assert_int_equal(slices->track[i], rows[i].track);
		assert_int_equal(slices->parent[i], rows[i].parent);
		assert_int_equal(slices->flags[i], rows[i].flags);
	}
	check_processes(result);
	assert_int_equal(quality->unfinished, 2);
	assert_int_equal(quality->mismatched, 1);
	assert_int_equal(quality->clipped, 1);
	assert_int_equal(quality->loss.slices_dropped, 11);
	assert_int_equal(quality->loss.unmatched_ends, 1);
	assert_int_equal(quality->missing_names, 0);
	const struct st_pause_window *windows = st_result_pauses(result, &count);

	assert_int_equal(count, 1);
	assert_int_equal(windows[0].process, 1);
	check_time(windows[0].begin_ns, 1000100);
	check_time(windows[0].end_ns, 1000300);
	assert_string_equal(st_result_info(result)->command, "python3 train.py");
	assert_int_equal(st_result_info(result)->elapsed_ns, 3000000000);
	assert_true(st_result_info(result)->has_exit);
}

static void test_present_writer(void **state)
{
	struct result_maker m;
	struct st_result *result;
	struct st_error err = {0};

	(void)state;
	write_records(&m);
	if (maker_open(&m, &result, &err))
		fail_msg("%s", err.text);
	check_result(result);
	st_result_close(result);
	maker_fini(&m);
}

/* A file that is not there is not copied. */
static void copy_file(const char *from, const char *name, const char *folder)
{
	static char data[1 << 20];
	char path[512];
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), ST_TEST_SOURCE_DIR "/tests/data/%s/%s", from, name);
	file = fopen(path, "re");
	if (!file)
		return;
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	write_file(folder, name, data, size);
}

/* From a copy, so that no index is left in the source tree; twice, so that the kept index answers too. An index of
 * an older version that lies in the folder is stale. */
static void check_golden(const char *from, void (*check)(const struct st_result *))
{
	char *folder = temporary_folder();
	struct st_error err = {0};

	copy_file(from, "definitions.strata", folder);
	copy_file(from, "trace.000.strata", folder);
	copy_file(from, "result.json", folder);
	copy_file(from, "index.strata", folder);
	for (int i = 0; i < 2; i++) {
		struct st_result *result;

		if (st_result_open(&result, folder, NULL, &err))
			fail_msg("%s", err.text);
		check(result);
		st_result_close(result);
	}
	remove_folder(folder);
	free(folder);
}

static void test_golden_version_1(void **state)
{
	(void)state;
	check_golden("result_v1", check_result);
}

/* Results of version 1.5, from before labels had a category; figures are those that the version itself gave. */
static void check_categories(const struct st_result *result, const uint32_t expected[ST_CATEGORIES])
{
	const struct st_slices *slices = st_result_slices(result);
	uint32_t found[ST_CATEGORIES] = {0}, count, tracks;
	const struct st_label *labels = st_result_labels(result, &count);

	for (uint32_t i = 0; i < slices->count; i++)
		found[labels[slices->label[i]].category]++;
	assert_memory_equal(found, expected, sizeof(found));
	for (uint32_t i = 0; i < count; i++)
		assert_false(labels[i].from_itt);
	st_result_tracks(result, &tracks);
	assert_true(tracks >= 1);
	assert_true(st_result_info(result)->has_exit);
}

static void check_old_tasks(const struct st_result *result)
{
	uint32_t count, kinds[ST_SPAN_KINDS] = {0};
	const struct st_span *spans = st_result_spans(result, &count);

	check_categories(result, (const uint32_t[ST_CATEGORIES]){[ST_CATEGORY_TASK] = 4});
	for (uint32_t i = 0; i < count; i++)
		kinds[spans[i].kind]++;
	assert_int_equal(count, 13);
	assert_int_equal(kinds[ST_SPAN_OVERLAPPED], 3);
	assert_int_equal(kinds[ST_SPAN_FRAME], 3);
	assert_int_equal(kinds[ST_SPAN_WAIT], 2);
}

static void check_old_samples(const struct st_result *result)
{
	const struct st_samples *samples = st_result_samples(result);
	uint64_t weight_ns = 0;

	check_categories(result, (const uint32_t[ST_CATEGORIES]){0});
	assert_int_equal(samples->count, 30);
	for (uint32_t i = 0; i < samples->count; i++)
		weight_ns += samples->weight_ns[i];
	assert_int_equal(weight_ns, 298389599);
}

static void check_old_operators(const struct st_result *result)
{
	const struct st_slices *slices = st_result_slices(result);
	uint32_t count;
	const struct st_label *labels = st_result_labels(result, &count);
	uint64_t self_ns = 0;

	check_categories(result, (const uint32_t[ST_CATEGORIES]){[ST_CATEGORY_OPERATOR] = 126,
								 [ST_CATEGORY_RANGE] = 6,
								 [ST_CATEGORY_MODULE] = 6});
	for (uint32_t i = 0; i < slices->count; i++)
		if (labels[slices->label[i]].category == ST_CATEGORY_OPERATOR)
			self_ns += slices->self_ns[i];
	assert_int_equal(self_ns, 62613965);
	st_result_operators(result, &count);
	assert_int_equal(count, 138);
}

static void test_golden_version_1_5(void **state)
{
	(void)state;
	check_golden("result_v1_5/tasks", check_old_tasks);
	check_golden("result_v1_5/samples", check_old_samples);
	check_golden("result_v1_5/operators", check_old_operators);
}

static void test_categories(void **state)
{
	static const struct {
		const char *domain, *name, *word;
		enum st_category category;
		bool from_itt;
	} cases[] = {
		{"torch.operator", "aten::mm", "op", ST_CATEGORY_OPERATOR, false},
		{"torch.range", "train", "task", ST_CATEGORY_RANGE, false},
		{"torch.range", "ProfilerStep#7", "task", ST_CATEGORY_STEP, false},
		{"torch.module", "Net", "nn-module", ST_CATEGORY_MODULE, false},
		{"PyTorch", "aten::mm", "op", ST_CATEGORY_OPERATOR, true},
		{"PyTorch", "train", "task", ST_CATEGORY_RANGE, true},
		{"PyTorch", "ProfilerStep#7", "task", ST_CATEGORY_STEP, true},
		{"dnnl::primitive::execute", "conv", "primitive", ST_CATEGORY_PRIMITIVE, false},
		{"dnnl::primitive::create", "conv", "primitive", ST_CATEGORY_PRIMITIVE_CREATE,
		 false},
		{"dnnl::primitive", "conv", "primitive", ST_CATEGORY_PRIMITIVE_OLD, false},
		{"dnnl::primitive::other", "conv", "primitive", ST_CATEGORY_PRIMITIVE_STAGE, false},
		{"torch", "aten::mm", "task", ST_CATEGORY_TASK, false},
		{"", "ProfilerStep#7", "task", ST_CATEGORY_TASK, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct st_text domain = {cases[i].domain, strlen(cases[i].domain)};
		struct st_text name = {cases[i].name, strlen(cases[i].name)};
		bool from_itt;

		assert_int_equal(st_category_of(domain, name, &from_itt), cases[i].category);
		assert_int_equal(from_itt, cases[i].from_itt);
		assert_string_equal(st_category_name(cases[i].category), cases[i].word);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_present_writer),
		cmocka_unit_test(test_golden_version_1),
		cmocka_unit_test(test_golden_version_1_5),
		cmocka_unit_test(test_categories),
	};

	if (argc == 3 && strcmp(argv[1], "write") == 0) {
		struct result_maker m;

		write_records(&m);
		mkdir(argv[2], 0777);
		maker_write(&m, argv[2]);
		maker_fini(&m);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
