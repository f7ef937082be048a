// SPDX-License-Identifier: Apache-2.0
//
// A filter means the same for every dataset. One result has three rows of each, with the same three names on two
// threads; every filter is tried on all of them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/datasets/dataset_rows.h"
#include "analyze/datasets/itt_values.h"
#include "analyze/operators/dataset_operators.h"
#include "analyze/operators/dataset_tasks.h"
#include "analyze/samples/sample_set.h"
#include "analyze/tables/report.h"
#include "base/buf.h"
#include "export/export.h"
#include "samples_result.h"

enum { NAMES = 3, WEIGHT_NS = 10, SLICE_NS = 100, REFUSED = 1000 };

/* As a pattern the first one would only match "x*". */
static const char *const names[NAMES] = {"x\\*", "xy", "z"};

enum source { SLICES, OPERATORS, SAMPLES, MEMORY, ROWS };

static const struct dataset {
	const char *name;
	enum source source;
	enum st_row_set set;
	enum st_grouping named, instance; /* whose texts are the names; which single rows are */
	enum st_grouping unknown;	  /* what such rows cannot know */
} datasets[] = {
	{"tasks", SLICES, 0, ST_BY_TASK_TYPE, ST_BY_TASK, ST_BY_INPUT_SHAPES},
	{"operators", OPERATORS, 0, ST_BY_OPERATOR, ST_BY_INSTANCE, ST_BY_ADDRESS},
	{"operators as tasks", OPERATORS, 0, ST_BY_TASK_TYPE, ST_BY_TASK, ST_BY_CALLER},
	{"operators by family", OPERATORS, 0, ST_BY_TASK_FAMILY, ST_BY_TASK, ST_BY_FUNCTION},
	{"samples", SAMPLES, 0, ST_BY_TASK_TYPE, ST_BY_TASK, ST_BY_CALLER},
	{"samples by operator", SAMPLES, 0, ST_BY_OPERATOR, ST_BY_TASK, ST_BY_INPUT_SHAPES},
	{"tasks by operator", SLICES, 0, ST_BY_OPERATOR, ST_BY_TASK, ST_BY_CPU_CLASS},
	{"memory", MEMORY, 0, ST_BY_OPERATOR, ST_BY_INSTANCE, ST_BY_ADDRESS},
	{"memory by task", MEMORY, 0, ST_BY_TASK_TYPE, ST_BY_TASK, ST_BY_CALLER},
	{"frames", ROWS, ST_ROWS_FRAMES, ST_BY_FRAME_DOMAIN, ST_BY_FRAME, ST_BY_TASK_TYPE},
	{"regions", ROWS, ST_ROWS_REGIONS, ST_BY_REGION, ST_BY_INSTANCE, ST_BY_TASK},
	{"overlapped", ROWS, ST_ROWS_OVERLAPPED, ST_BY_TASK_TYPE, ST_BY_TASK, ST_BY_STEP},
	{"markers", ROWS, ST_ROWS_MARKERS, ST_BY_MARKER, ST_BY_INSTANCE, ST_BY_OPERATOR},
	{"sync", ROWS, ST_ROWS_SYNC, ST_BY_SYNC_OBJECT, ST_BY_INSTANCE, ST_BY_DOMAIN},
	{"counters", ROWS, ST_ROWS_SAMPLES, ST_BY_COUNTER, ST_BY_SAMPLE, ST_BY_CATEGORY},
	{"relations", ROWS, ST_ROWS_RELATIONS, ST_BY_HEAD, ST_BY_INSTANCE, ST_BY_CATEGORY},
	{"metadata", ROWS, ST_ROWS_METADATA, ST_BY_TASK_TYPE, ST_BY_INSTANCE, ST_BY_NN_MODULE},
	{"histograms", ROWS, ST_ROWS_HISTOGRAMS, ST_BY_HISTOGRAM, ST_BY_INSTANCE, ST_BY_FRAME},
	{"heap", ROWS, ST_ROWS_HEAP, ST_BY_HEAP_FUNCTION, ST_BY_INSTANCE, ST_BY_REGION},
};
enum { DATASETS = sizeof(datasets) / sizeof(datasets[0]) };

static void add_spans(struct st_result *fake, uint16_t kind)
{
	for (uint32_t i = 0; i < NAMES; i++) {
		struct st_span span = {.kind = (uint8_t)kind,
				       .begin_ns = SLICE_NS * i,
				       .end_ns = SLICE_NS * i + 1,
				       .slice = ST_NO_ROW,
				       .event = ST_NO_ROW,
				       .object = ST_NO_ROW};

		span.begin_track = span.end_track = i / 2;
		span.name = fake_text(fake, names[i]);
		span.domain = kind == ST_SPAN_FRAME ? span.name : 0;
		if (kind == ST_SPAN_WAIT) {
			span.object = fake->sync_object_count;
			fake->sync_objects[fake->sync_object_count++] =
				(struct st_sync_object){.address = i + 1, .name = span.name};
		}
		fake_span(fake, span);
	}
}

static void add_events(struct st_result *fake, uint32_t i)
{
	static const struct {
		uint16_t kind;
		uint8_t object;
	} kinds[] = {{ST_EVENT_MARKER, 0},
		     {ST_EVENT_COUNTER_SET, ST_OBJECT_COUNTER},
		     {ST_EVENT_RELATION, 0},
		     {ST_EVENT_METADATA_TEXT, 0},
		     {ST_EVENT_HISTOGRAM, ST_OBJECT_HISTOGRAM},
		     {ST_EVENT_HEAP_ALLOCATE_END, ST_OBJECT_HEAP_FUNCTION}};

	for (size_t j = 0; j < sizeof(kinds) / sizeof(kinds[0]); j++) {
		struct st_event_row row = {.time_ns = SLICE_NS * i + (int64_t)j,
					   .track = i / 2,
					   .slice = i,
					   .object = ST_NO_ROW,
					   .kind = kinds[j].kind};

		row.name = kinds[j].kind == ST_EVENT_MARKER ? fake_text(fake, names[i]) : 0;
		if (kinds[j].object)
			row.object = fake_object(fake, kinds[j].object, ST_VALUE_U64, "", names[i]);
		fake_event(fake, row);
	}
}

static int setup(void **state)
{
	struct st_result *fake = fake_create();

	fake_process(fake, "python", 50);
	for (uint32_t i = 0; i < NAMES; i++) {
		if (i % 2 == 0)
			fake_track(fake, 0, i ? "pool" : "", 50 + i / 2);
		fake_slice(fake, fake_label(fake, "PyTorch", names[i]), SLICE_NS * i,
			   SLICE_NS * i + SLICE_NS / 2, ST_NO_ROW);
		fake_sample(fake, SLICE_NS * i + 1, WEIGHT_NS, 0, 0);
		fake->moments[fake->moment_count++] =
			(struct st_memory_moment){.time_ns = SLICE_NS * i + 1,
						  .track = i / 2,
						  .row = i,
						  .allocated = 1,
						  .address = i + 1};
		add_events(fake, i);
	}
	add_spans(fake, ST_SPAN_OVERLAPPED);
	add_spans(fake, ST_SPAN_REGION);
	add_spans(fake, ST_SPAN_FRAME);
	add_spans(fake, ST_SPAN_WAIT);
	fake_sampler(fake, 0, WEIGHT_NS);
	fake_finish(fake);
	*state = fake;
	return 0;
}

static int teardown(void **state)
{
	fake_destroy(*state);
	return 0;
}

static enum st_status ask_dataset(struct st_dataset *dataset, const struct st_question *question,
				  uint64_t *count, struct st_error *err)
{
	enum st_status status = st_dataset_prepare(dataset, question, err);
	struct st_answer answer;

	if (!status)
		status = st_dataset_ask(dataset, question, &answer, err);
	if (status)
		return status;
	*count = st_answer_value(&answer.total, ST_COUNT);
	st_answer_fini(&answer);
	return ST_OK;
}

static enum st_status ask_samples(const struct st_result *result,
				  const struct st_question *question, uint64_t *ns,
				  struct st_error *err)
{
	struct st_sample_set set;
	struct st_answer answer;
	enum st_status status;

	assert_int_equal(st_sample_set_open(&set, result, NULL, err), ST_OK);
	status = st_sample_ask(&set, question, &answer, err);
	if (!status)
		*ns = st_answer_value(&answer.total, ST_CPU_SELF);
	st_answer_fini(&answer);
	st_sample_set_close(&set);
	return status;
}

static enum st_status ask_memory(const struct st_result *result, const struct st_question *question,
				 uint64_t *count, struct st_error *err)
{
	struct st_report_options options = {.question = *question};
	struct st_report report;
	enum st_status status = st_report_build(result, "memory", &options, &report, err);

	if (status)
		return status;
	*count = 0;
	for (uint32_t i = 0; i < report.column_count; i++) {
		if (report.row_count && strcmp(report.columns[i].key, "count") == 0)
			*count = report.totals.cells[i].as.u64;
	}
	st_report_fini(&report);
	return ST_OK;
}

/* How many of the three rows pass, or REFUSED. */
static uint64_t passing(const struct dataset *of, const struct st_result *result,
			struct st_filter filter, struct st_error *err)
{
	struct st_question question = {.groupings = {ST_BY_PROCESS},
				       .grouping_count = 1,
				       .metrics = ST_SET(ST_COUNT, ST_CPU_SELF),
				       .filters = &filter,
				       .filter_count = 1};
	struct st_dataset dataset;
	enum st_status status;
	uint64_t count = 0;

	switch (of->source) {
	case SLICES:
		assert_int_equal(st_dataset_slices_init(&dataset, result, err), ST_OK);
		status = ask_dataset(&dataset, &question, &count, err);
		st_dataset_slices_fini(&dataset);
		break;
	case OPERATORS:
		assert_int_equal(st_dataset_operators_init(&dataset, result, false, err), ST_OK);
		status = ask_dataset(&dataset, &question, &count, err);
		st_dataset_operators_fini(&dataset);
		break;
	case SAMPLES:
		status = ask_samples(result, &question, &count, err);
		count /= WEIGHT_NS;
		break;
	case MEMORY:
		status = ask_memory(result, &question, &count, err);
		break;
	default:
		assert_int_equal(st_dataset_rows_init(&dataset, result, of->set, err), ST_OK);
		status = ask_dataset(&dataset, &question, &count, err);
		st_dataset_rows_fini(&dataset);
		break;
	}
	return status ? REFUSED : count;
}

static void check(const struct dataset *of, const struct st_result *result, struct st_filter filter,
		  uint64_t expected)
{
	struct st_error err = {0};
	uint64_t found = passing(of, result, filter, &err);

	if (found != expected)
		fail_msg("%s: %s%s%s: %llu rows, not %llu %s", of->name,
			 st_grouping_info(filter.grouping)->name, filter.negate ? "!=" : "=",
			 filter.pattern, (unsigned long long)found, (unsigned long long)expected,
			 err.text);
}

static void test_texts_and_patterns(void **state)
{
	static const struct {
		const char *pattern;
		uint64_t count;
	} cases[] = {{"x\\*", 1}, {"xy", 1}, {"x*", 2}, {"x?", 1},	 {"?", 1},
		     {"*", 3},	  {"", 0},   {"x", 0},	{"x\\\\\\*", 1}, {"x\\?", 0}};

	for (unsigned int i = 0; i < DATASETS; i++) {
		const struct dataset *of = &datasets[i];

		for (size_t j = 0; j < sizeof(cases) / sizeof(cases[0]); j++) {
			const char *pattern = cases[j].pattern;

			check(of, *state, (struct st_filter){of->named, false, pattern},
			      cases[j].count);
			check(of, *state, (struct st_filter){of->named, true, pattern},
			      NAMES - cases[j].count);
		}
	}
}

static void test_single_rows(void **state)
{
	for (unsigned int i = 0; i < DATASETS; i++) {
		const struct dataset *of = &datasets[i];

		check(of, *state, (struct st_filter){of->instance, false, "#1"}, 1);
		check(of, *state, (struct st_filter){of->instance, true, "#1"}, 2);
		check(of, *state, (struct st_filter){of->instance, false, "#9"}, 0);
		/* And by what they are. */
		check(of, *state, (struct st_filter){of->instance, false, "x\\*"}, 1);
		check(of, *state, (struct st_filter){of->instance, false, "x*"}, 2);
		check(of, *state, (struct st_filter){of->instance, true, "xy"}, 2);
		/* A frame is shown as its number in its domain. */
		check(of, *state, (struct st_filter){of->instance, false, "0"},
		      of->instance == ST_BY_FRAME ? 3 : 0);
	}
}

static void test_places(void **state)
{
	for (unsigned int i = 0; i < DATASETS; i++) {
		const struct dataset *of = &datasets[i];

		check(of, *state, (struct st_filter){ST_BY_PROCESS, false, "50"}, 3);
		check(of, *state, (struct st_filter){ST_BY_PROCESS, false, "python"}, 3);
		check(of, *state, (struct st_filter){ST_BY_PROCESS, false, "python (50)"}, 3);
		check(of, *state, (struct st_filter){ST_BY_PROCESS, true, "py*"}, 0);
		check(of, *state, (struct st_filter){ST_BY_THREAD, false, "51"}, 1);
		check(of, *state, (struct st_filter){ST_BY_THREAD, false, "pool"}, 1);
		check(of, *state, (struct st_filter){ST_BY_THREAD, false, "main"}, 2);
		check(of, *state, (struct st_filter){ST_BY_THREAD, true, "pool (51)"}, 2);
	}
}

static void test_unknown(void **state)
{
	for (unsigned int i = 0; i < DATASETS; i++) {
		const struct dataset *of = &datasets[i];
		const char *name = st_grouping_info(of->unknown)->name;
		struct st_error err = {0};
		struct st_filter filter = {of->unknown, false, "*"};

		if (passing(of, *state, filter, &err) != REFUSED || err.status != ST_EUSAGE)
			fail_msg("%s can be filtered by %s", of->name, name);
		if (!strstr(err.text, name))
			fail_msg("%s: %s: %s", of->name, name, err.text);
	}
}

/* What operators, samples and blocks are as tasks. */
static void test_as_tasks(void **state)
{
	for (unsigned int i = 0; i < DATASETS && datasets[i].source != ROWS; i++) {
		const struct dataset *of = &datasets[i];

		check(of, *state, (struct st_filter){ST_BY_TASK_DOMAIN, false, "PyTorch"}, 3);
		check(of, *state, (struct st_filter){ST_BY_TASK_DOMAIN, true, "Py*"}, 0);
		check(of, *state, (struct st_filter){ST_BY_CATEGORY, false, "task"}, 3);
		check(of, *state, (struct st_filter){ST_BY_TASK_FAMILY, false, "x*"}, 2);
		check(of, *state, (struct st_filter){ST_BY_TASK, false, "z"}, 1);
		check(of, *state, (struct st_filter){ST_BY_TASK, false, "#2"}, 1);
	}
}

/* Every filter there is, also where there is nothing: refused or answered with no row. */
static void test_empty(void **state)
{
	struct st_result *fake = fake_create();

	(void)state;
	fake_finish(fake);
	for (unsigned int i = 0; i < DATASETS; i++) {
		for (unsigned int j = 0; j < ST_GROUPINGS; j++) {
			struct st_filter filter = {(enum st_grouping)j, false, "*"};
			struct st_error err = {0};
			uint64_t found = passing(&datasets[i], fake, filter, &err);

			assert_true(found == 0 || (found == REFUSED && err.status == ST_EUSAGE));
		}
	}
	fake_destroy(fake);
}

static const char *export(const struct samples_result *made, struct st_buf *out, const char *format,
			  struct st_filter filter)
{
	struct st_question question = {.filters = &filter, .filter_count = 1};
	struct st_export_options options = {.question = &question};
	const struct st_exporter *exporter = st_exporters;
	struct st_sink *sink;

	while (strcmp(exporter->name, format) != 0)
		exporter++;
	st_buf_clear(out);
	assert_int_equal(st_sink_open_buf(&sink, out, NULL), ST_OK);
	assert_int_equal(st_export_write(exporter, made->fake, &options, sink, NULL), ST_OK);
	assert_int_equal(st_sink_close(sink, true, NULL), ST_OK);
	st_buf_append_u8(out, 0);
	return (const char *)out->data;
}

static uint64_t sum_of_lines(const char *at)
{
	uint64_t sum = 0;

	for (; *at; at = strchr(at, '\n') + 1) {
		const char *end = strchr(at, '\n');

		while (end[-1] != ' ')
			end--;
		sum += strtoull(end, NULL, 10);
	}
	return sum;
}

/* The same filters select the same samples in a question and in an export of stacks. */
static void test_frames_and_stacks(void **state)
{
	static const struct {
		struct st_filter filter;
		uint64_t ns;
	} cases[] = {
		{{ST_BY_FUNCTION, false, "dot"}, 20},
		{{ST_BY_FUNCTION, false, "jit*"}, 70},
		{{ST_BY_FUNCTION, true, "jit*"}, 30},
		{{ST_BY_MODULE, false, "libtorch_cpu.so"}, 20},
		{{ST_BY_PYTHON_LINE, false, "train.py:88"}, 90},
		{{ST_BY_PYTHON_LINE, false, "/srv/job/train.py:88"}, 90},
		{{ST_BY_PYTHON_LINE, false, "*train.py:9?"}, 5},
		{{ST_BY_TASK_TYPE, false, "aten::conv2d"}, 70},
		{{ST_BY_TASK, false, "#0"}, 70},
		{{ST_BY_TASK, true, "#0"}, 30},
		{{ST_BY_OPERATOR, false, "aten::*"}, 70},
		{{ST_BY_THREAD, false, "101"}, 5},
		{{ST_BY_THREAD, true, "pool"}, 95},
	};
	static const char *const others[] = {"flamegraph", "speedscope", "pprof"};
	struct samples_result made;
	struct st_buf out;

	(void)state;
	samples_create(&made);
	st_buf_init(&out, 64 << 20);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct st_filter filter = cases[i].filter;
		struct st_question question = {.groupings = {ST_BY_PROCESS},
					       .grouping_count = 1,
					       .metrics = ST_SET(ST_CPU_SELF),
					       .filters = &filter,
					       .filter_count = 1};
		uint64_t ns, folded = sum_of_lines(export(&made, &out, "folded", filter));

		assert_int_equal(ask_samples(made.fake, &question, &ns, NULL), ST_OK);
		if (ns != cases[i].ns || folded != ns)
			fail_msg("%s %s: %llu and %llu ns", st_grouping_info(filter.grouping)->name,
				 filter.pattern, (unsigned long long)ns,
				 (unsigned long long)folded);
	}
	/* The other exports of stacks leave the same functions out. */
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		export(&made, &out, others[i], cases[0].filter);
		assert_null(memmem(out.data, out.size_bytes, "jit_conv", 8));
		export(&made, &out, others[i], cases[1].filter);
		assert_non_null(memmem(out.data, out.size_bytes, "jit_conv", 8));
	}
	st_buf_fini(&out);
	samples_destroy(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_texts_and_patterns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_single_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_as_tasks, setup, teardown),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_frames_and_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
