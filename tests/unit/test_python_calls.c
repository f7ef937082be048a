// SPDX-License-Identifier: Apache-2.0
//
// Calls of Python functions in an open result, and the report about them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/tables/report.h"
#include "format/varint.h"
#include "open_fixture.h"
#include "store/python_calls.h"

static void define(struct fixture *f, uint32_t id, uint32_t line, const char *file,
		   const char *name)
{
	size_t begin = st_definition_begin(&f->m.records, ST_DEF_PYTHON_FUNCTION);

	st_buf_append_u32(&f->m.records, id);
	st_buf_append_u32(&f->m.records, line);
	st_definition_text(&f->m.records, file, strlen(file));
	st_definition_text(&f->m.records, name, strlen(name));
	st_definition_end(&f->m.records, begin);
	f->m.record_count++;
}

struct numbers {
	uint64_t id, calls, primitive, own, total;
};

static void calls(struct fixture *f, uint32_t tid, uint32_t said, const struct numbers *rows,
		  uint32_t count)
{
	size_t begin = st_definition_begin(&f->m.records, ST_DEF_PYTHON_CALLS);

	st_buf_append_u32(&f->m.records, tid);
	st_buf_append_u32(&f->m.records, said);
	st_buf_append_u64(&f->m.records, 100);
	st_buf_append_u64(&f->m.records, 1);
	for (uint32_t i = 0; i < count * 5; i++) {
		uint8_t bytes[ST_VARINT64_MAX_BYTES];

		st_buf_append(&f->m.records, bytes,
			      (size_t)(st_varint_put(bytes, ((const uint64_t *)rows)[i]) - bytes));
	}
	st_definition_end(&f->m.records, begin);
	f->m.record_count++;
}

static void open_result(struct fixture *f)
{
	maker_define(&f->m, 1);
	fixture_open(f);
}

static void test_differences_add_up(void **state)
{
	struct fixture *f = *state;
	const struct st_python_calls *rows;
	const struct st_python_function *functions;
	uint32_t count;

	/* The name comes after the first figures; another thread; a function that has no place. */
	calls(f, 7, 1, (const struct numbers[]){{2, 10, 1, 500, 900}}, 1);
	define(f, 2, 12, "a.py", "f");
	calls(f, 7, 2, (const struct numbers[]){{2, 5, 0, 100, 100}, {0, 3, 3, 1, 1}}, 2);
	calls(f, 8, 1, (const struct numbers[]){{2, 1, 1, 2, 2}}, 1);
	open_result(f);
	rows = st_result_python_calls(f->result, &count);
	assert_int_equal(count, 3);
	functions = st_result_python_functions(f->result, &count);
	assert_int_equal(count, 2);
	assert_int_equal(rows[0].tid, 7);
	assert_int_equal(rows[0].calls, 15);
	assert_int_equal(rows[0].primitive, 1);
	assert_int_equal(rows[0].own_ns, 600);
	assert_int_equal(rows[0].total_ns, 1000);
	assert_int_equal(functions[rows[0].function].line, 12);
	assert_string_equal(st_result_text(f->result, functions[rows[0].function].name).bytes, "f");
	assert_int_equal(rows[1].calls, 3);
	assert_int_equal(st_result_text(f->result, functions[rows[1].function].name).size_bytes, 0);
	assert_int_equal(rows[2].tid, 8);
	assert_int_equal(rows[2].function, rows[0].function);
	assert_int_equal(st_result_python_calls_lost(f->result), 3);
}

/* What stands before the damage is believed. */
static void test_cut_rows(void **state)
{
	struct fixture *f = *state;
	const struct st_python_calls *rows;
	uint32_t count;

	calls(f, 7, 1000000, (const struct numbers[]){{2, 10, 1, 500, 900}}, 1);
	calls(f, 7, 1, (const struct numbers[]){{1ull << 40, 10, 1, 500, 900}}, 1);
	open_result(f);
	rows = st_result_python_calls(f->result, &count);
	assert_int_equal(count, 1);
	assert_int_equal(rows[0].calls, 10);
}

static const char *text_of(const struct st_report *report, uint32_t row, uint32_t column)
{
	return report->rows[row].cells[column].as.text.bytes;
}

static void test_report(void **state)
{
	struct fixture *f = *state;
	struct st_report_options options = {0};
	struct st_report report;

	define(f, 1, 12, "a.py", "f");
	define(f, 2, 0, "~", "<built-in method builtins.len>");
	define(f, 3, 0, "~", "odd");
	calls(f, 7, 3,
	      (const struct numbers[]){
		      {1, 10, 1, 500, 900}, {2, 4, 4, 300, 300}, {3, 1, 1, 400, 400}},
	      3);
	calls(f, 8, 1, (const struct numbers[]){{1, 2, 2, 100, 100}}, 1);
	open_result(f);
	assert_int_equal(st_report_build(f->result, "python-calls", &options, &report, &f->err),
			 ST_OK);
	assert_int_equal(report.row_count, 3);
	assert_string_equal(text_of(&report, 0, 0), "a.py:12(f)");
	assert_string_equal(text_of(&report, 0, 1), "12/3");
	assert_int_equal(report.rows[0].cells[2].as.u64, 600);
	assert_int_equal(report.rows[0].cells[3].as.u64, 50);
	assert_int_equal(report.rows[0].cells[4].as.u64, 1000);
	assert_int_equal(report.rows[0].cells[5].as.u64, 333);
	assert_string_equal(text_of(&report, 1, 0), "odd");
	assert_string_equal(text_of(&report, 2, 0), "{built-in method builtins.len}");
	assert_string_equal(text_of(&report, 2, 1), "4");
	assert_string_equal(report.subject,
			    "17 function calls (8 primitive calls) in 0.000 seconds of 2 threads, "
			    "in a run of 0.000 seconds");
	assert_int_equal(report.note_count, 1);
	st_report_fini(&report);
	options.question.limit = 1;
	options.question.sort[0] = ST_COUNT;
	options.question.sort_count = 1;
	options.question.sort_ascending = true;
	assert_int_equal(st_report_build(f->result, "python-calls", &options, &report, &f->err),
			 ST_OK);
	assert_int_equal(report.row_count, 2);
	assert_string_equal(text_of(&report, 0, 0), "odd");
	assert_string_equal(text_of(&report, 1, 0), "[Others]");
	assert_int_equal(report.rows[1].cells[6].as.u64, 16);
	assert_int_equal(report.rows[1].cells[7].as.u64, 7);
	st_report_fini(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_differences_add_up, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_cut_rows, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_report, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
