/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports that show code: samples in a library that is loaded here, at places whose lines and instructions
 * are known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/tables/report.h"
#include "named_fixture.h"

static const struct st_cell *cell(const struct st_report *report, uint32_t row, const char *key)
{
	for (uint32_t i = 0; i < report->column_count; i++)
		if (strcmp(report->columns[i].key, key) == 0)
			return &report->rows[row].cells[i];
	fail();
	return NULL;
}

static uint64_t number(const struct st_report *report, uint32_t row, const char *key)
{
	const struct st_cell *found = cell(report, row, key);

	return found->kind == ST_CELL_U64 ? found->as.u64 : 0;
}

static uint64_t sum(const struct st_report *report, const char *key)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < report->row_count; i++)
		total += number(report, i, key);
	return total;
}

static bool has_text(const struct st_report *report, uint32_t row, const char *key,
		     const char *part)
{
	const struct st_cell *found = cell(report, row, key);

	return found->kind == ST_CELL_TEXT &&
	       memmem(found->as.text.bytes, found->as.text.size_bytes, part, strlen(part));
}

static uint32_t row_with(const struct st_report *report, const char *key, const char *part)
{
	for (uint32_t i = 0; i < report->row_count; i++)
		if (has_text(report, i, key, part))
			return i;
	fail_msg("no row with %s", part);
	return 0;
}

/* The instruction itself, not a source line that speaks of it. */
static uint32_t row_of_instruction(const struct st_report *report, const char *text)
{
	for (uint32_t i = 0; i < report->row_count; i++)
		if (has_text(report, i, "instruction", text) &&
		    cell(report, i, "instruction")->as.text.size_bytes == strlen(text))
			return i;
	fail_msg("no instruction %s", text);
	return 0;
}

static struct st_report build(const struct fixture *f, const char *name,
			      const struct st_report_options *options)
{
	struct st_report report;
	struct st_error err = {0};

	fake_finish(f->fake);
	assert_int_equal(st_report_build(f->fake, name, options, &report, &err), ST_OK);
	return report;
}

/* 30 ns in part_plain, called from part_outer's line by 20 of them; 5 ns where part_innermost is inlined. */
static void add_samples(struct fixture *f)
{
	uint32_t outer, called, alone, inner;

	map_part(f, f->process, PART_PATH);
	outer = fake_node(f->fake, 0, ST_FRAME_CALL, place(f, "part_in_innermost") + 1);
	called = fake_node(f->fake, outer, ST_FRAME_EXACT, place(f, "part_in_plain"));
	alone = leaf(f, "part_in_plain");
	inner = leaf(f, "part_in_innermost");
	fake_sample(f->fake, 1, 20, called, 0);
	fake_sample(f->fake, 2, 10, alone, 0);
	fake_sample(f->fake, 3, 5, inner, 0);
}

static void test_source(void **state)
{
	const struct st_report_options options = {.object = {.source_file = "unit/named_part.c"}};
	struct fixture *f = *state;
	struct st_report report;
	uint32_t plain = line_of("line of plain") - 1, outer = line_of("line of outer") - 1;
	uint32_t innermost = line_of("line of innermost") - 1;

	add_samples(f);
	report = build(f, "source", &options);
	assert_int_equal(number(&report, plain, "line"), plain + 1);
	assert_true(has_text(&report, plain, "source", "MARK(part_in_plain)"));
	assert_int_equal(number(&report, plain, "cpu_self_ns"), 30);
	assert_int_equal(number(&report, plain, "cpu_total_ns"), 30);
	assert_int_equal(number(&report, plain, "samples"), 2);
	assert_int_equal(number(&report, innermost, "cpu_self_ns"), 5);
	assert_int_equal(number(&report, innermost, "cpu_total_ns"), 25);
	assert_int_equal(number(&report, outer, "cpu_self_ns"), 0);
	assert_int_equal(number(&report, outer, "cpu_total_ns"), 25);
	assert_int_equal(sum(&report, "cpu_self_ns"), 35);
	st_report_fini(&report);
}

static void test_source_of_function(void **state)
{
	const struct st_report_options options = {.object = {.function = "part_plain"}};
	struct fixture *f = *state;
	struct st_report report;

	add_samples(f);
	report = build(f, "source", &options);
	/* From its declaration to the last line that was seen, and nothing of others. */
	assert_int_equal(number(&report, 0, "line"), line_of("int part_plain(int x)"));
	assert_int_equal(number(&report, report.row_count - 1, "line"), line_of("line of plain"));
	assert_int_equal(sum(&report, "cpu_self_ns"), 30);
	st_report_fini(&report);
}

static void test_source_python(void **state)
{
	struct st_report_options options = {0};
	struct fixture *f = *state;
	char *folder = temporary_folder();
	const char *search[] = {folder};
	const struct st_named_options naming = {.source_search = search, .source_search_count = 1};
	uint32_t code, outer, inner;
	struct st_report report;

	write_file(folder, "train.py", "import x\n\tloss()\nstep()\n", 24);
	code = fake_python_code(f->fake, f->process, "/gone/train.py", "main", 1);
	outer = fake_python_node(f->fake, 0, code, 3);
	inner = fake_python_node(f->fake, outer, code, 2);
	fake_sample(f->fake, 1, 7, inner, 0);
	fake_sample(f->fake, 2, 4, outer, 0);
	options.view.naming = &naming;
	report = build(f, "source", &options); /* the only file there is */
	assert_int_equal(report.row_count, 3);
	assert_true(has_text(&report, 1, "source", "        loss()"));
	assert_int_equal(number(&report, 1, "cpu_self_ns"), 7);
	assert_int_equal(number(&report, 2, "cpu_self_ns"), 4);
	assert_int_equal(number(&report, 2, "cpu_total_ns"), 11);
	st_report_fini(&report);
	/* Without the text the lines with time are left. */
	options.view.naming = NULL;
	report = build(f, "source", &options);
	assert_int_equal(report.row_count, 2);
	assert_true(has_text(&report, 0, "source", "[source not found]"));
	st_report_fini(&report);
	remove_folder(folder);
	free(folder);
}

static void test_what_is_not_there(void **state)
{
	static const struct {
		const char *report;
		struct st_report_options options;
		const char *says;
	} cases[] = {
		{"source", {.object = {.source_file = "no.c"}}, "no.c"},
		{"source", {.object = {.function = "no_such"}}, "no_such"},
		{"disassembly", {.object = {.function = "no_such"}}, "no_such"},
		{"disassembly",
		 {.object = {.function = "part_plain", .module = "other.so"}},
		 "other.so"},
		{"disassembly", {.object = {.source_file = "named_part.c"}}, "function="},
		{"tasks", {.object = {.function = "x"}}, "source-object"},
	};
	struct fixture *f = *state;

	add_samples(f);
	fake_finish(f->fake);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct st_report report;
		struct st_error err = {0};

		assert_true(st_report_build(f->fake, cases[i].report, &cases[i].options, &report,
					    &err) != ST_OK);
		assert_non_null(strstr(err.text, cases[i].says));
	}
}

static void add_spinning(struct fixture *f)
{
	map_part(f, f->process, PART_PATH);
	fake_sample(f->fake, 1, 9, leaf(f, "part_at_pause"), 0);
	fake_sample(f->fake, 2, 1, leaf(f, "part_behind_pause"), 0);
	fake_sample(f->fake, 3, 1, leaf(f, "part_in_plain"), 0);
}

static void test_disassembly(void **state)
{
	const struct st_report_options options = {.object = {.function = "part_spin"}};
	struct fixture *f = *state;
	struct st_report report;
	uint32_t pause;

	add_spinning(f);
	report = build(f, "disassembly", &options);
	pause = row_of_instruction(&report, "pause");
	assert_int_equal(number(&report, pause, "cpu_self_ns"), 9);
	assert_int_equal(number(&report, pause, "samples"), 1);
	assert_int_equal(number(&report, pause + 1, "cpu_self_ns"), 1);
	assert_int_equal(sum(&report, "cpu_self_ns"), 10);
	/* The loop jumps inside the function. */
	row_with(&report, "instruction", "<+0x");
	assert_true(has_text(&report, 0, "instruction", "; "));
	st_report_fini(&report);
}

static void test_disassembly_of_calls(void **state)
{
	const struct st_report_options options = {.object = {.function = "part_calls"}};
	struct fixture *f = *state;
	struct st_report report;
	uint32_t call;

	map_part(f, f->process, PART_PATH);
	fake_sample(
		f->fake, 1, 3,
		fake_node(f->fake,
			  fake_node(f->fake, 0, ST_FRAME_CALL, place(f, "part_call_of_stub") + 5),
			  ST_FRAME_EXACT, place(f, "part_in_plain")),
		0);
	report = build(f, "disassembly", &options);
	call = row_with(&report, "instruction", "<getppid@plt>");
	assert_int_equal(number(&report, call, "cpu_self_ns"), 0);
	assert_int_equal(number(&report, call, "cpu_total_ns"), 3);
	st_report_fini(&report);
}

static void test_disassembly_groups(void **state)
{
	struct st_report_options options = {.object = {.function = "part_spin"}};
	struct fixture *f = *state;
	struct st_report report;
	uint32_t by_address, by_block;

	add_spinning(f);
	report = build(f, "disassembly", &options);
	by_address = report.row_count;
	st_report_fini(&report);
	options.question.grouping_count = 1;
	options.question.groupings[0] = ST_BY_BASIC_BLOCK;
	report = build(f, "disassembly", &options);
	by_block = report.row_count;
	assert_true(by_block > 1 && by_block < by_address);
	assert_int_equal(sum(&report, "cpu_self_ns"), 10);
	st_report_fini(&report);
	options.question.groupings[0] = ST_BY_SOURCE_LINE;
	report = build(f, "disassembly", &options);
	assert_true(report.row_count > 1 && report.row_count < by_address);
	assert_int_equal(sum(&report, "cpu_self_ns"), 10);
	assert_int_equal(number(&report, row_with(&report, "instruction", "__asm__ volatile"),
				"cpu_self_ns"),
			 10);
	st_report_fini(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_source, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_source_of_function, named_setup,
						named_teardown),
		cmocka_unit_test_setup_teardown(test_source_python, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_what_is_not_there, named_setup,
						named_teardown),
		cmocka_unit_test_setup_teardown(test_disassembly, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_disassembly_of_calls, named_setup,
						named_teardown),
		cmocka_unit_test_setup_teardown(test_disassembly_groups, named_setup,
						named_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
