// SPDX-License-Identifier: Apache-2.0
//
// Operators as torch's profiler gives them: which are in a window, how they fold and add up, in which order they stand.
// The tables of texts are those that torch's own code made of the same rows.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/tables/report_make.h"
#include "analyze/torch/report_torch.h"
#include "base/buf.h"
#include "export/export.h"
#include "fake_result.h"

static struct st_result *begin(void)
{
	struct st_result *fake = fake_create();

	fake_process(fake, "train.py", 100);
	fake_track(fake, 0, "", 100);
	return fake;
}

static uint32_t add(struct st_result *fake, const char *name, int64_t begin_ns, int64_t end_ns,
		    uint32_t parent)
{
	bool is_range = strncmp(name, "range", 5) == 0 || strncmp(name, "ProfilerStep", 12) == 0;
	uint32_t scope = is_range ? ST_SCOPE_USER : ST_SCOPE_FUNCTION;
	const char *domain = is_range ? ST_RANGE_DOMAIN : ST_OPERATOR_DOMAIN;
	uint32_t row = fake_slice(fake, fake_label(fake, domain, name), begin_ns, end_ns, parent);

	if (strstr(name, "Backward") && strchr(name, ':') == NULL)
		scope = ST_SCOPE_BACKWARD;
	fake->signatures[fake->signature_count] =
		(struct st_signature){.name = fake_text(fake, name), .scope = scope};
	fake->operators[fake->operator_count++] = (struct st_operator){
		.row = row, .signature = fake->signature_count++, .sequence = ST_NO_SEQUENCE};
	return row;
}

static struct st_operator *operator_of(struct st_result *fake, uint32_t row)
{
	for (uint32_t i = 0; i < fake->operator_count; i++)
		if (fake->operators[i].row == row)
			return &fake->operators[i];
	return NULL;
}

static void memory_at(struct st_result *fake, int64_t time_ns, uint32_t row, uint64_t allocated,
		      uint64_t freed)
{
	fake->moments[fake->moment_count++] =
		(struct st_memory_moment){.time_ns = time_ns,
					  .track = fake->track_count - 1,
					  .row = row,
					  .allocated = allocated,
					  .freed = freed};
	if (row != ST_NO_ROW) {
		operator_of(fake, row)->allocated += allocated;
		operator_of(fake, row)->freed += freed;
	}
}

static struct st_report_options window(int64_t begin_ns, int64_t end_ns)
{
	return (struct st_report_options){.question = {.has_time_range = true,
						       .time_begin_ns = begin_ns,
						       .time_end_ns = end_ns}};
}

/* Keys with their counts, and the cells of one of them. */
static void ask(const struct st_result *fake, const char *name,
		const struct st_report_options *options, struct st_report *out)
{
	struct st_error err = {0};

	if (st_report_build(fake, name, options, out, &err))
		fail_msg("%s", err.text);
}

static bool is_text(const struct st_cell *cell, const char *text)
{
	return cell->kind == ST_CELL_TEXT && cell->as.text.size_bytes == strlen(text) &&
	       memcmp(cell->as.text.bytes, text, strlen(text)) == 0;
}

static void assert_keys(const struct st_report *report, const char *const *names, uint32_t count)
{
	for (uint32_t i = 0; i < report->row_count && i < count; i++) {
		struct st_text key = report->rows[i].cells[ST_TORCH_KEY].as.text;

		if (!is_text(&report->rows[i].cells[ST_TORCH_KEY], names[i]))
			fail_msg("row %u is %.*s, not %s", i, (int)key.size_bytes, key.bytes,
				 names[i]);
	}
	assert_int_equal(report->row_count, count);
}

#define KEYS(report, ...)                                                                          \
	assert_keys(report, (const char *const[]){__VA_ARGS__},                                    \
		    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Only what began and ended inside; what is around it is not there, so its children are outermost. */
static void test_window(void **state)
{
	struct st_result *fake = begin();
	struct st_report_options options = window(100, 200);
	struct st_report report;
	uint32_t outer = add(fake, "range outer", 50, 300, ST_NO_ROW);
	uint32_t inner;

	(void)state;
	add(fake, "aten::before", 90, 110, outer);
	inner = add(fake, "aten::inside", 110, 150, outer);
	add(fake, "aten::child", 120, 130, inner);
	add(fake, "aten::edge", 190, 200, outer);
	add(fake, "aten::late", 195, 201, outer);
	fake->flags[add(fake, "aten::open", 199, 200, outer)] |= ST_SLICE_UNFINISHED;
	fake_finish(fake);
	ask(fake, "torch-events", &options, &report);
	KEYS(&report, "aten::inside", "aten::child", "aten::edge");
	assert_int_equal(report.rows[0].cells[ST_TORCH_PARENT].kind, ST_CELL_NONE);
	assert_int_equal(report.rows[1].cells[ST_TORCH_PARENT].as.u64, inner);
	assert_true(report.rows[0].cells[ST_TORCH_START].as.number == 0.01);
	assert_true(report.rows[0].cells[ST_TORCH_SELF_CPU].as.number == 0.03);
	st_report_fini(&report);
	fake_destroy(fake);
}

/* An only child of its own name goes into its parent, steps are one, helpers are none; ranges are no operators. */
static void test_folds_and_groups(void **state)
{
	struct st_result *fake = begin();
	struct st_report_options options = {.bin_count = 0};
	struct st_report report;
	uint32_t step = add(fake, "ProfilerStep#1", 0, 100, ST_NO_ROW), up;

	(void)state;
	up = add(fake, "aten::add", 10, 40, step);
	up = add(fake, "aten::add", 12, 38, up);
	add(fake, "aten::fill", 15, 20, up);
	add(fake, "profiler::_record_function_enter_new", 50, 51, step);
	add(fake, "range x", 60, 70, step);
	add(fake, "ProfilerStep#2", 100, 150, ST_NO_ROW);
	fake_finish(fake);
	ask(fake, "torch-averages", &options, &report);
	KEYS(&report, "ProfilerStep*", "aten::add", "aten::fill", "range x");
	assert_int_equal(report.rows[0].cells[ST_TORCH_COUNT].as.u64, 2);
	assert_true(report.rows[0].cells[ST_TORCH_CPU_TOTAL].as.number == 0.15);
	assert_true(report.rows[0].cells[ST_TORCH_CPU_TIME].as.number == 0.075);
	assert_true(report.rows[0].cells[ST_TORCH_USER].as.truth);
	assert_int_equal(report.rows[1].cells[ST_TORCH_COUNT].as.u64, 1);
	assert_true(report.rows[1].cells[ST_TORCH_SELF_CPU].as.number == 0.025);
	assert_false(report.rows[1].cells[ST_TORCH_USER].as.truth);
	assert_true(report.totals.cells[ST_TORCH_SELF_CPU].as.number > 0.1499 &&
		    report.totals.cells[ST_TORCH_SELF_CPU].as.number < 0.1501);
	assert_int_equal(report.totals.cells[ST_TORCH_COUNT].as.u64, 5);
	st_report_fini(&report);
	fake_destroy(fake);
}

/* Groups stand where their first event does, whatever the thread; equal ones keep that order when sorted. */
static void test_order(void **state)
{
	struct st_result *fake = begin();
	struct st_report_options options = {.bin_count = 0};
	struct st_report report;

	(void)state;
	add(fake, "aten::b", 10, 20, ST_NO_ROW);
	add(fake, "aten::d", 30, 50, ST_NO_ROW);
	fake_track(fake, 0, "", 101);
	add(fake, "aten::a", 5, 6, ST_NO_ROW);
	add(fake, "aten::c", 10, 30, ST_NO_ROW);
	add(fake, "aten::b", 40, 50, ST_NO_ROW);
	fake_finish(fake);
	ask(fake, "torch-averages", &options, &report);
	KEYS(&report, "aten::a", "aten::c", "aten::b", "aten::d");
	st_report_fini(&report);
	options.torch = (struct st_torch_options){.given = true, .sort_by = "cpu_time_total"};
	ask(fake, "torch-averages", &options, &report);
	KEYS(&report, "aten::c", "aten::b", "aten::d", "aten::a");
	st_report_fini(&report);
	options.torch.sort_by = "self_xpu_time_total";
	ask(fake, "torch-averages", &options, &report);
	KEYS(&report, "aten::a", "aten::c", "aten::b", "aten::d");
	st_report_fini(&report);
	options.torch.rows = "3,0";
	options.torch.sort_by = NULL;
	ask(fake, "torch-averages", &options, &report);
	KEYS(&report, "aten::d", "aten::a");
	assert_int_equal(report.totals.cells[ST_TORCH_COUNT].as.u64, 2);
	st_report_fini(&report);
	options.torch.rows = NULL;
	options.question.filters =
		(const struct st_filter[]){{.grouping = ST_BY_THREAD, .pattern = "101"}};
	options.question.filter_count = 1;
	ask(fake, "torch-averages", &options, &report);
	KEYS(&report, "aten::a", "aten::c", "aten::b");
	st_report_fini(&report);
	fake_destroy(fake);
}

static void test_refuses(void **state)
{
	static const char *const wrong_rows[] = {"x", "0,", "7", "0,0,0,0", "-1", "0;1"};
	struct st_result *fake = begin();
	struct st_report_options options = {.torch = {.given = true, .sort_by = "nonsense"}};
	struct st_report report;
	struct st_error err = {0};

	(void)state;
	add(fake, "aten::a", 5, 6, ST_NO_ROW);
	add(fake, "aten::b", 6, 7, ST_NO_ROW);
	fake_finish(fake);
	assert_int_equal(st_report_build(fake, "torch-averages", &options, &report, &err),
			 ST_EUSAGE);
	assert_non_null(strstr(err.text, "nonsense"));
	options.torch.sort_by = "self_cuda_xpu_privateuse1_cuda_xpu_privateuse1_cuda_time_total";
	assert_int_equal(st_report_build(fake, "torch-averages", &options, &report, &err),
			 ST_EUSAGE);
	options.torch.sort_by = NULL;
	for (size_t i = 0; i < sizeof(wrong_rows) / sizeof(wrong_rows[0]); i++) {
		options.torch.rows = wrong_rows[i];
		assert_int_equal(st_report_build(fake, "torch-averages", &options, &report, &err),
				 ST_EUSAGE);
	}
	options.torch.rows = NULL;
	assert_int_equal(st_report_build(fake, "operators", &options, &report, &err), ST_EUSAGE);
	fake_destroy(fake);
}

/* Totals hold what is inside; what moves outside of all rows is a record of its own each time. */
static void test_memory(void **state)
{
	struct st_result *fake = begin();
	struct st_report_options options = window(100, 200);
	struct st_report report;
	uint32_t outer = add(fake, "range outer", 50, 300, ST_NO_ROW), up, primitive;

	(void)state;
	options.torch = (struct st_torch_options){.given = true, .profile_memory = true};
	up = add(fake, "aten::linear", 110, 150, outer);
	primitive = fake_slice(fake, fake_label(fake, "dnnl::primitive", "matmul"), 112, 114, up);
	fake->operators[fake->operator_count++] = (struct st_operator){
		.row = primitive, .signature = ST_NO_ROW, .sequence = ST_NO_SEQUENCE};
	memory_at(fake, 60, outer, 1000, 0);
	memory_at(fake, 105, outer, 8, 0);
	memory_at(fake, 106, outer, 0, 24);
	memory_at(fake, 113, primitive, 5, 0);
	up = add(fake, "aten::addmm", 120, 140, up);
	memory_at(fake, 130, up, 64, 16);
	memory_at(fake, 145, primitive, 2, 0);
	memory_at(fake, 199, ST_NO_ROW, 0, 300);
	memory_at(fake, 201, ST_NO_ROW, 0, 77);
	fake_finish(fake);
	ask(fake, "torch-averages", &options, &report);
	KEYS(&report, "[memory]", "aten::linear", "aten::addmm");
	assert_int_equal(report.rows[0].cells[ST_TORCH_COUNT].as.u64, 3);
	assert_int_equal(report.rows[0].cells[ST_TORCH_MEMORY].as.i64, 8 - 24 - 300);
	assert_int_equal(report.rows[1].cells[ST_TORCH_MEMORY].as.i64, 7 + 48);
	assert_int_equal(report.rows[1].cells[ST_TORCH_SELF_MEMORY].as.i64, 7);
	assert_int_equal(report.rows[2].cells[ST_TORCH_SELF_MEMORY].as.i64, 48);
	st_report_fini(&report);
	ask(fake, "torch-events", &options, &report);
	KEYS(&report, "[memory]", "[memory]", "aten::linear", "aten::addmm", "[memory]");
	assert_int_equal(report.rows[1].cells[ST_TORCH_MEMORY].as.i64, -24);
	st_report_fini(&report);
	fake_destroy(fake);
}

/* What the engine wraps around a node has the node's number; the thread is that of the forward operator. */
static void test_links(void **state)
{
	struct st_result *fake = begin();
	struct st_report_options options = {.bin_count = 0};
	struct st_report report;
	uint32_t up;

	(void)state;
	operator_of(fake, add(fake, "aten::mul", 10, 20, ST_NO_ROW))->sequence = 4;
	fake_track(fake, 0, "", 101);
	up = add(fake, "autograd::engine::evaluate_function: MulBackward0", 30, 40, ST_NO_ROW);
	up = add(fake, "MulBackward0", 32, 38, up);
	operator_of(fake, up)->sequence = 4;
	add(fake, "aten::neg", 33, 34, up);
	fake_finish(fake);
	ask(fake, "torch-events", &options, &report);
	for (uint32_t i = 0; i < 4; i++) {
		const struct st_cell *cells = report.rows[i].cells;

		assert_int_equal(cells[ST_TORCH_SEQUENCE].as.i64, i < 3 ? 4 : -1);
		assert_int_equal(cells[ST_TORCH_FORWARD_THREAD].as.u64, i == 1 || i == 2 ? 100 : 0);
		assert_int_equal(cells[ST_TORCH_SCOPE].as.u64, i == 2);
	}
	st_report_fini(&report);
	fake_destroy(fake);
}

static void add_line(struct st_report *report, const char *key, double self_us, double total_us,
		     int64_t memory)
{
	struct st_cell *cells = st_report_add(report, 0);
	uint64_t count = report->row_count == 1 ? 3 : report->row_count == 2 ? 1 : 2;

	cells[ST_TORCH_KEY] = st_cell_text(key);
	cells[ST_TORCH_OVERLOAD] = cells[ST_TORCH_SHAPES] = cells[ST_TORCH_STACK] =
		st_cell_text("");
	cells[ST_TORCH_COUNT] = st_cell_u64(count);
	cells[ST_TORCH_SELF_CPU] = st_cell_double(self_us);
	cells[ST_TORCH_CPU_TOTAL] = st_cell_double(total_us);
	cells[ST_TORCH_CPU_TIME] = st_cell_double(total_us / (double)count);
	cells[ST_TORCH_MEMORY] = cells[ST_TORCH_SELF_MEMORY] = st_cell_i64(memory);
	cells[ST_TORCH_FLOPS] = st_cell_u64(0);
}

static char *render(const struct st_result *fake, const struct st_report_options *options)
{
	struct st_column columns[ST_TORCH_AVERAGE_COLUMNS] = {{NULL, NULL, NULL, false}};
	const struct st_text_style style = {.width = 40}; /* torch's table keeps its own width */
	struct st_report report;
	struct st_sink *sink;
	struct st_buf out;

	assert_int_equal(st_report_begin(&report, "torch-averages", fake, NULL), ST_OK);
	report.layout = ST_LAYOUT_TORCH;
	st_report_columns(&report, columns, ST_TORCH_AVERAGE_COLUMNS);
	add_line(&report, "aten::mm", 1500.5, 2000000.25, -3221225472);
	report.rows[0].cells[ST_TORCH_FLOPS] = st_cell_u64(1234567);
	report.rows[0].cells[ST_TORCH_STACK] = st_cell_text(
		"train.py(12): forward\na/very/long/path/to/some/module/that/does/not/fit/the/"
		"column/of/torch.py(1234): call");
	add_line(&report, "größe", 0, 12, 1536);
	add_line(&report, "x", 999.9996, 999.9996, -5);
	report.rows[2].cells[ST_TORCH_FLOPS] = st_cell_u64(5000000);
	report.rows[2].cells[ST_TORCH_STACK] = st_cell_text("b.py(1): f");
	assert_int_equal(st_torch_lay_out(&report, options, NULL), ST_OK);
	st_buf_init(&out, 1 << 20);
	assert_int_equal(st_sink_open_buf(&sink, &out, NULL), ST_OK);
	assert_int_equal(st_report_write_text(&report, fake, &style, sink, NULL), ST_OK);
	assert_int_equal(st_sink_close(sink, true, NULL), ST_OK);
	assert_true(st_buf_append_u8(&out, 0));
	st_report_fini(&report);
	return (char *)out.data;
}

/* With operations and stacks torch writes each below the other's title. */
static void test_table_with_stacks(void **state)
{
	struct st_result *fake = begin();
	struct st_report_options options = {.torch = {.given = true,
						      .with_flops = true,
						      .source_width = 20,
						      .name_width = 8,
						      .has_row_limit = true,
						      .row_limit = 2}};
	char *text;

	(void)state;
	fake_finish(fake);
	text = render(fake, &options);
	assert_string_equal(
		text,
		"--------  ------------  ------------  ------------  ------------  ------------  "
		"------------  --------------------  ------------  \n"
		"    Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    "
		"# of Calls  Source Location       Total MFLOPs  \n"
		"--------  ------------  ------------  ------------  ------------  ------------  "
		"------------  --------------------  ------------  \n"
		"aten:...        60.01%       1.500ms     79984.03%        2.000s     666.667ms    "
		"         3     1.235              ...n.py(12): forward  \n"
		"                                                                                  "
		"                                  ...ch.py(1234): call  \n"
		"                                                                                  "
		"                                                \n"
		"größe...         0.00%       0.000us         0.48%      12.000us      12.000us    "
		"         1  --                                  \n"
		"                                                                                  "
		"                                                \n"
		"--------  ------------  ------------  ------------  ------------  ------------  "
		"------------  --------------------  ------------  \n"
		"Self CPU time total: 2.500ms\n");
	free(text);
	fake_destroy(fake);
}

static void test_table_with_memory(void **state)
{
	struct st_result *fake = begin();
	struct st_report_options options = {.torch = {.given = true,
						      .profile_memory = true,
						      .source_width = 20,
						      .name_width = 8,
						      .has_row_limit = true,
						      .row_limit = 3}};
	char *text;

	(void)state;
	fake_finish(fake);
	text = render(fake, &options);
	assert_non_null(
		strstr(text, "aten:...        60.01%       1.500ms     79984.03%        2.000s     "
			     "666.667ms      -3.00 GB      -3.00 GB             3  "
			     "...n.py(12): forward  \n"));
	assert_non_null(strstr(
		text, "größe...         0.00%       0.000us         0.48%      12.000us      "
		      "12.000us       1.50 KB       1.50 KB             1                   "
		      "     \n"));
	assert_non_null(strstr(text, "    1000.000us     500.000us          -5 B          -5 B    "
				     "         2  b.py(1): f            \n"));
	free(text);
	fake_destroy(fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_folds_and_groups),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_table_with_stacks),
		cmocka_unit_test(test_table_with_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
