// SPDX-License-Identifier: Apache-2.0
//
// Blocks of memory from the moment they are given out to the moment they are taken back, what is held when, and who
// holds it at the peak.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/operators/memory_blocks.h"
#include "analyze/tables/report.h"
#include "fake_result.h"

enum { A = 0x1000, B = 0x2000, C = 0x3000 };

/* bytes below 0: taken back. */
static void moment(struct st_result *fake, int64_t time_ns, uint64_t address, int64_t bytes,
		   uint32_t row)
{
	fake->moments[fake->moment_count++] =
		(struct st_memory_moment){.time_ns = time_ns,
					  .track = fake->track_count - 1,
					  .row = row,
					  .allocated = bytes > 0 ? (uint64_t)bytes : 0,
					  .freed = bytes < 0 ? (uint64_t)-bytes : 0,
					  .address = address};
}

static struct st_result *create(void)
{
	struct st_result *fake = fake_create();

	fake_track(fake, fake_process(fake, "train.py", 100), "main", 100);
	return fake;
}

static void test_blocks(void **state)
{
	struct st_result *fake = create();
	struct st_memory_blocks blocks;

	(void)state;
	moment(fake, 10, A, 100, ST_NO_ROW);
	moment(fake, 20, B, 30, ST_NO_ROW);
	moment(fake, 30, C, -5, ST_NO_ROW); /* nobody saw it given out */
	moment(fake, 40, A, -100, ST_NO_ROW);
	moment(fake, 50, A, 7, ST_NO_ROW);
	moment(fake, 60, B, 40, ST_NO_ROW); /* nobody saw it taken back */
	/* Another process has addresses of its own. */
	fake_track(fake, fake_process(fake, "worker.py", 200), "main", 200);
	moment(fake, 70, A, -7, ST_NO_ROW);
	assert_true(st_memory_blocks_make(&blocks, fake));
	assert_int_equal(blocks.count, 4);
	assert_int_equal(blocks.items[0].end_ns, 40);
	assert_int_equal(blocks.items[1].end_ns, 60);
	assert_int_equal(blocks.items[1].bytes, 30);
	assert_true(blocks.items[2].end_ns == INT64_MAX && blocks.items[2].bytes == 7);
	assert_true(blocks.items[3].end_ns == INT64_MAX && blocks.items[3].bytes == 40);
	assert_int_equal(blocks.unknown_count, 2);
	assert_int_equal(blocks.unknown_bytes, 12);
	assert_int_equal(blocks.again_count, 1);
	st_memory_blocks_fini(&blocks);
	fake_destroy(fake);
}

/* More than the first table has room for, and every place used again and again. */
static void test_many_blocks(void **state)
{
	struct st_result *fake = create();
	struct st_memory_blocks blocks;
	struct st_memory_change *changes;
	uint32_t count;

	(void)state;
	for (int i = 0; i + 1 < FAKE_SMALL; i += 2) {
		moment(fake, i, (uint64_t)A + 64u * (unsigned int)(i % 7), 8, ST_NO_ROW);
		moment(fake, i + 1, (uint64_t)A + 64u * (unsigned int)(i % 7), -8, ST_NO_ROW);
	}
	assert_true(st_memory_blocks_make(&blocks, fake));
	assert_int_equal(blocks.count, FAKE_SMALL / 2);
	assert_int_equal(blocks.unknown_count + blocks.again_count, 0);
	changes = st_memory_changes(&blocks, &count);
	assert_int_equal(count, 2 * blocks.count);
	assert_int_equal(st_memory_peak(changes, count, 0, INT64_MAX).bytes, 8);
	assert_int_equal(changes[count - 1].held, 0);
	assert_int_equal(changes[count - 1].taken, 8 * blocks.count);
	free(changes);
	st_memory_blocks_fini(&blocks);
	fake_destroy(fake);
}

static void test_peak(void **state)
{
	struct st_result *fake = create();
	struct st_memory_blocks blocks;
	struct st_memory_change *changes;
	struct st_memory_peak peak;
	uint32_t count;

	(void)state;
	moment(fake, 10, A, 100, ST_NO_ROW);
	moment(fake, 20, B, 50, ST_NO_ROW);
	moment(fake, 30, A, -100, ST_NO_ROW);
	moment(fake, 30, C, 100, ST_NO_ROW); /* of one moment: no more was held than before */
	moment(fake, 40, B, -50, ST_NO_ROW);
	moment(fake, 50, A, 60, ST_NO_ROW);
	assert_true(st_memory_blocks_make(&blocks, fake));
	changes = st_memory_changes(&blocks, &count);
	peak = st_memory_peak(changes, count, 0, INT64_MAX);
	assert_true(peak.bytes == 160 && peak.time_ns == 50);
	peak = st_memory_peak(changes, count, 0, 45);
	assert_true(peak.bytes == 150 && peak.time_ns == 20);
	peak = st_memory_peak(changes, count, 25, 29); /* nothing changes */
	assert_true(peak.bytes == 150 && peak.time_ns == 25);
	assert_int_equal(st_memory_held(changes, count, 9), 0);
	assert_int_equal(st_memory_held(changes, count, 10), 100);
	assert_int_equal(st_memory_held(changes, count, 45), 100);
	free(changes);
	st_memory_blocks_fini(&blocks);
	fake_destroy(fake);
}

static uint32_t add(struct st_result *fake, const char *name, enum st_operator_scope scope,
		    const int64_t times[2], uint32_t parent)
{
	const char *domain = scope == ST_SCOPE_USER	? ST_RANGE_DOMAIN
			     : scope == ST_SCOPE_MODULE ? ST_MODULE_DOMAIN
							: ST_OPERATOR_DOMAIN;
	uint32_t row = fake_slice(fake, fake_label(fake, domain, name), times[0], times[1], parent);

	fake->signatures[fake->signature_count] = (struct st_signature){
		.name = fake_text(fake, name), .scope = scope, .inputs = (const uint8_t *)""};
	fake->operators[fake->operator_count++] = (struct st_operator){
		.row = row, .signature = fake->signature_count++, .sequence = ST_NO_SEQUENCE};
	return row;
}

#define AT(begin, end) ((const int64_t[2]){begin, end})

/* Steps of a range; in each a module whose operator takes memory by an operator of its own; a backward node. */
static struct st_result *create_program(void)
{
	struct st_result *fake = create();

	for (int64_t i = 0; i < 4; i++) {
		int64_t at = 1000 * i;
		char name[] = "step 0";
		uint32_t step, module, inner, node;

		name[5] = (char)('0' + i);
		step = add(fake, name, ST_SCOPE_USER, AT(at, at + 900), ST_NO_ROW);
		module = add(fake, "net.fc", ST_SCOPE_MODULE, AT(at + 10, at + 300), step);
		inner = add(fake, "aten::linear", ST_SCOPE_FUNCTION, AT(at + 20, at + 200), module);
		inner = add(fake, "aten::empty", ST_SCOPE_FUNCTION, AT(at + 30, at + 40), inner);
		node = add(fake, "autograd::engine::evaluate_function: AddmmBackward0",
			   ST_SCOPE_FUNCTION, AT(at + 400, at + 700), step);
		node = add(fake, "AddmmBackward0", ST_SCOPE_BACKWARD, AT(at + 410, at + 690), node);
		node = add(fake, "aten::mm", ST_SCOPE_FUNCTION, AT(at + 420, at + 600), node);
		moment(fake, at + 35, A, 1000, inner);
		moment(fake, at + 430, B, 300, node);
		moment(fake, at + 800, A, -1000, step);
		moment(fake, at + 805, B, -300, step);
		/* One of each step stays. */
		moment(fake, at + 810, C + 64 * (uint64_t)i, 50, step);
	}
	fake->info.elapsed_ns = 5000;
	fake_finish(fake);
	return fake;
}

static struct st_report ask(struct st_result *fake, const char *name,
			    struct st_report_options options)
{
	struct st_report report;
	struct st_error err = {.status = ST_OK};

	if (st_report_build(fake, name, &options, &report, &err))
		fail_msg("%s", err.text);
	return report;
}

static uint32_t column(const struct st_report *report, const char *key)
{
	uint32_t at = 0;

	while (at < report->column_count && strcmp(report->columns[at].key, key) != 0)
		at++;
	if (at == report->column_count)
		fail_msg("no column %s", key);
	return at;
}

static void expect(const struct st_report *report, uint32_t row, const char *name, uint64_t held)
{
	const struct st_cell *cells = report->rows[row].cells;
	struct st_text text = cells[report->rows[row].level].as.text;

	if (text.size_bytes != strlen(name) || memcmp(text.bytes, name, text.size_bytes) != 0)
		fail_msg("row %u is %.*s, not %s", row, (int)text.size_bytes, text.bytes, name);
	assert_int_equal(cells[column(report, "held_bytes")].as.u64, held);
}

static void test_holders(void **state)
{
	struct st_result *fake = create_program();
	struct st_report report = ask(fake, "memory", (struct st_report_options){0});

	(void)state;
	/* Of the last step: 1000 and 300, and 50 of each step before. */
	assert_int_equal(report.root_count, 2);
	expect(&report, 0, "net.fc", 1000);
	expect(&report, 1, "[no module]", 450);
	assert_int_equal(report.totals.cells[column(&report, "held_bytes")].as.u64, 1450);
	assert_int_equal(report.totals.cells[column(&report, "kept_bytes")].as.u64, 150);
	expect(&report, 2, "aten::linear", 1000); /* not aten::empty */
	expect(&report, 3, "AddmmBackward0", 300);
	expect(&report, 4, "step 0", 50);
	assert_string_equal(report.subject,
			    "peak 1.45 kB at 0.000 s (step 3), in 5 blocks; 200 B at the end; "
			    "+50 B per step (4 steps)");
	st_report_fini(&report);
	/* The largest first, then cut. */
	report = ask(fake, "memory",
		     (struct st_report_options){.question = {.groupings = {ST_BY_OPERATOR},
							     .grouping_count = 1,
							     .limit = 1}});
	expect(&report, 0, "aten::linear", 1000);
	expect(&report, 1, "[Others]", 450);
	st_report_fini(&report);
	/* The peak of a time. */
	report = ask(fake, "memory",
		     (struct st_report_options){.question = {.has_time_range = true,
							     .time_begin_ns = 900,
							     .time_end_ns = 1100}});
	assert_int_equal(report.totals.cells[column(&report, "held_bytes")].as.u64, 1050);
	st_report_fini(&report);
	fake_destroy(fake);
}

static void test_timeline(void **state)
{
	struct st_result *fake = create_program();
	struct st_report report =
		ask(fake, "memory-timeline", (struct st_report_options){.bin_count = 5});
	uint32_t held = column(&report, "held_end_bytes"), peak = column(&report, "peak_bytes");
	uint32_t growth, taken, given;

	(void)state;
	assert_int_equal(report.row_count, 5);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(report.rows[i].cells[held].as.u64, 50 * (i + 1));
		assert_int_equal(report.rows[i].cells[peak].as.u64, 1300 + 50 * i);
	}
	assert_int_equal(report.rows[4].cells[peak].as.u64, 200);
	st_report_fini(&report);
	report = ask(fake, "memory-timeline",
		     (struct st_report_options){
			     .question = {.groupings = {ST_BY_STEP}, .grouping_count = 1}});
	growth = column(&report, "growth_bytes");
	taken = column(&report, "allocated_bytes");
	given = column(&report, "freed_bytes");
	assert_int_equal(report.row_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(report.rows[i].cells[growth].as.i64, 50);
		assert_int_equal(report.rows[i].cells[taken].as.u64, 1350);
		assert_int_equal(report.rows[i].cells[given].as.u64, 1300);
	}
	st_report_fini(&report);
	fake_destroy(fake);
}

static void test_nothing(void **state)
{
	struct st_result *fake = create();
	struct st_report report;
	struct st_error err = {.status = ST_OK};
	struct st_report_options options = {
		.question = {.groupings = {ST_BY_OPERATOR}, .grouping_count = 1}};

	(void)state;
	fake_finish(fake);
	report = ask(fake, "memory", (struct st_report_options){0});
	assert_int_equal(report.row_count, 0);
	assert_null(report.subject);
	st_report_fini(&report);
	report = ask(fake, "memory-timeline", (struct st_report_options){0});
	assert_int_equal(report.row_count, 0);
	st_report_fini(&report);
	assert_int_equal(st_report_build(fake, "memory-timeline", &options, &report, &err),
			 ST_EUSAGE);
	fake_destroy(fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),	 cmocka_unit_test(test_many_blocks),
		cmocka_unit_test(test_peak),	 cmocka_unit_test(test_holders),
		cmocka_unit_test(test_timeline), cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
