// SPDX-License-Identifier: Apache-2.0
//
// Every report and export with the n-th allocation failing, for every n until all succeed: never a crash
// or a leak (under the sanitizers), always an error or a whole output.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/tables/report.h"
#include "base/buf.h"
#include "events_result.h"
#include "export/export.h"
#include "fail_alloc.h"
#include "nasty_result.h"
#include "operators_result.h"
#include "samples_result.h"

static enum st_status write_report(const struct st_report *report, const struct st_result *fake,
				   int format, struct st_sink *sink)
{
	struct st_text_style style = {.width = 100};

	if (format == 0)
		return st_report_write_text(report, fake, &style, sink, NULL);
	if (format == 1)
		return st_report_write_csv(report, fake, ',', sink, NULL);
	return st_report_write_json(report, fake, sink, NULL);
}

static enum st_status build_and_write(const struct st_result *fake, const char *name,
				      const struct st_report_options *options, struct st_buf *outs)
{
	struct st_report report;
	enum st_status status = st_report_build(fake, name, options, &report, NULL);

	for (int format = 0; format < 3 && !status; format++) {
		struct st_sink *sink;

		status = st_sink_open_buf(&sink, &outs[format], NULL);
		if (status)
			break;
		status = write_report(&report, fake, format, sink);
		if (st_sink_close(sink, true, NULL) && !status)
			status = ST_ENOMEM;
	}
	st_report_fini(&report);
	return status;
}

/* Runs until an attempt passes without a failure; every one before must say ENOMEM or be whole. */
static void try_report(const struct st_result *fake, const char *name,
		       const struct st_report_options *options)
{
	struct st_buf whole[3], outs[3];

	for (int i = 0; i < 3; i++) {
		st_buf_init(&whole[i], 64 << 20);
		st_buf_init(&outs[i], 64 << 20);
	}
	assert_int_equal(build_and_write(fake, name, options, whole), ST_OK);
	failed = true;
	for (long n = 0; failed; n++) {
		enum st_status status;

		for (int i = 0; i < 3; i++)
			st_buf_fini(&outs[i]), st_buf_init(&outs[i], 64 << 20);
		failed = false;
		fail_after = n;
		status = build_and_write(fake, name, options, outs);
		fail_after = -1;
		assert_true(n < 100000);
		if (status) {
			assert_int_equal(status, ST_ENOMEM);
			continue;
		}
		for (int i = 0; i < 3; i++) {
			assert_int_equal(outs[i].size_bytes, whole[i].size_bytes);
			assert_memory_equal(outs[i].data, whole[i].data, whole[i].size_bytes);
		}
	}
	for (int i = 0; i < 3; i++) {
		st_buf_fini(&whole[i]);
		st_buf_fini(&outs[i]);
	}
}

static void test_reports(void **state)
{
	struct st_result *fake = nasty_create();
	struct st_report_options options = {.bin_count = 10, .question.limit = 1};

	(void)state;
	nasty_events(fake);
	try_report(fake, "timeline", &options);
	options = (struct st_report_options){0};
	for (const struct st_report_kind *kind = st_report_kinds; kind->name; kind++)
		try_report(fake, kind->name, &options);
	fake_destroy(fake);
}

static void test_groupings_with_everything(void **state)
{
	static const struct st_filter filters[] = {{ST_BY_PROCESS, false, "*"}};
	static const enum st_grouping dear[] = {ST_BY_STEP, ST_BY_CALLER, ST_BY_PYTHON_LINE,
						ST_BY_CATEGORY};
	struct st_result *fake = nasty_create();
	struct st_report_options options = {.question = {.groupings = {ST_BY_THREAD, ST_BY_TASK},
							 .grouping_count = 2,
							 .filters = filters,
							 .filter_count = 1,
							 .has_time_range = true,
							 .time_begin_ns = 500,
							 .time_end_ns = 7000,
							 .limit = 2}};

	(void)state;
	nasty_events(fake);
	try_report(fake, "tasks", &options);
	for (size_t i = 0; i < sizeof(dear) / sizeof(dear[0]); i++) {
		options.question.groupings[1] = dear[i];
		try_report(fake, "tasks", &options);
	}
	options.question.groupings[1] = ST_BY_TASK_STACK;
	try_report(fake, "tasks", &options);
	options.question.groupings[1] = ST_BY_TASK_TYPE;
	try_report(fake, "tasks", &options);
	options.question.groupings[1] = ST_BY_FRAME;
	try_report(fake, "frames", &options);
	options.question.groupings[1] = ST_BY_INSTANCE;
	try_report(fake, "sync", &options);
	options.question.groupings[1] = ST_BY_SAMPLE;
	try_report(fake, "counters", &options);
	fake_destroy(fake);
}

static enum st_status export(const struct st_exporter *exporter, const struct st_result *fake,
			     const struct st_export_options *options, struct st_buf *out) {
	struct st_sink *sink; enum st_status status = st_sink_open_buf(&sink, out, NULL);

	if (status) return status;
	status = st_export_write(exporter, fake, options, sink, NULL);
	if (st_sink_close(sink, true, NULL) && !status) status = ST_ENOMEM;
	return status;
}

/* Tasks that each outlive the one they began in. */
static void add_overlaps(struct st_result *fake)
{
	uint32_t row = ST_NO_ROW;

	for (int i = 0; i < 12; i++)
		row = fake_slice(fake, 0, 20000 + i, 20100 + i, row);
	fake_finish(fake);
}

static void try_export(const struct st_exporter *exporter, const struct st_result *fake,
		       const struct st_export_options *options)
{
	struct st_buf whole, out;

	st_buf_init(&whole, 64 << 20);
	assert_int_equal(export(exporter, fake, options, &whole), ST_OK);
	failed = true;
	for (long n = 0; failed; n++) {
		enum st_status status;

		st_buf_init(&out, 64 << 20);
		failed = false;
		fail_after = n;
		status = export(exporter, fake, options, &out);
		fail_after = -1;
		assert_true(n < 100000);
		assert_true(status == ST_OK || status == ST_ENOMEM);
		/* A rule of the findings that has no memory finds nothing, and the page shows those that do. */
		if (!status && strcmp(exporter->name, "html") != 0) {
			assert_int_equal(out.size_bytes, whole.size_bytes);
			assert_memory_equal(out.data, whole.data, whole.size_bytes);
		}
		st_buf_fini(&out);
	}
	st_buf_fini(&whole);
}

static void try_exports(const struct st_result *fake, const struct st_export_options *options)
{
	for (const struct st_exporter *exporter = st_exporters; exporter->name; exporter++)
		if (options || !(exporter->flags & ST_EXPORT_TAKES_SAMPLES))
			try_export(exporter, fake, options);
}

static void test_traces(void **state)
{
	struct st_result *fake = nasty_create();

	(void)state;
	add_overlaps(fake);
	try_exports(fake, NULL);
	fake_destroy(fake);
}

static void test_traces_with_events(void **state)
{
	struct st_result *fake = events_create();

	(void)state;
	try_exports(fake, NULL);
	fake_destroy(fake);
}

static void test_traces_of_operators(void **state)
{
	struct st_result *fake = operators_create();
	const struct st_exporter *exporter = st_exporters;
	struct st_export_options options = {.is_page = true};

	(void)state;
	try_exports(fake, NULL);
	while (strcmp(exporter->name, "memory-timeline") != 0)
		exporter++;
	try_export(exporter, fake, &options);
	options = (struct st_export_options){.is_raw = true};
	try_export(exporter, fake, &options);
	fake_destroy(fake);
}

static void test_samples(void **state)
{
	struct samples_result made;
	struct st_export_options options = {0};

	(void)state;
	samples_create(&made);
	try_exports(made.fake, &options);
	options.reverse = true;
	try_exports(made.fake, &options);
	samples_destroy(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reports),
		cmocka_unit_test(test_groupings_with_everything),
		cmocka_unit_test(test_traces),
		cmocka_unit_test(test_traces_with_events),
		cmocka_unit_test(test_traces_of_operators),
		cmocka_unit_test(test_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
