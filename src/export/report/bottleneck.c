// SPDX-License-Identifier: Apache-2.0
//
// The page of strata bottleneck. Every figure is one of a report; here they are only chosen and laid out, for 100
// columns. Python functions have the columns and digits of cProfile, operators those of torch's table.
#include "export/report/bottleneck.h"

#include <string.h>

#include "base/buf.h"
#include "base/quote.h"
#include "export/report/show.h"
#include "export/report/text_summary.h"
#include "store/operators.h"
#include "store/result.h"

enum {
	WIDTH = 100,
	MARGIN = ST_SUMMARY_MARGIN,
	LINES_MAX = 60,
	LINES_AFTER = 8, /* kept for what follows the findings: notes and commands */
	FUNCTIONS = 8,
	OPERATORS = 10,
	CALLS_WIDTH = 13,
	NAME_WIDTH = 36,
	FINDINGS_MAX_BYTES = 1 << 20,
};

struct page {
	const struct st_bottleneck *facts;
	struct st_text_job *job; /* its report is the summary */
};

typedef enum st_status (*add_part)(struct page *page, const struct st_report *report,
				   struct st_error *err);

static bool is_report(const char *name)
{
	for (const struct st_report_kind *kind = st_report_kinds; kind->name; kind++)
		if (strcmp(kind->name, name) == 0)
			return true;
	return false;
}

/* A report as a part of the page. */
static enum st_status add_report(struct page *page, const char *name,
				 const struct st_report_options *options, add_part add,
				 struct st_error *err)
{
	struct st_report report = {0};
	enum st_status status = st_report_build(page->job->result, name, options, &report, err);

	if (status)
		return status;
	status = add(page, &report, err);
	st_report_fini(&report);
	return status;
}

static const struct st_cell *cell_of(const struct st_report *report, uint32_t row, const char *key)
{
	static const struct st_cell none = {.kind = ST_CELL_NONE};

	for (uint32_t i = 0; i < report->column_count; i++)
		if (strcmp(report->columns[i].key, key) == 0)
			return &report->rows[row].cells[i];
	return &none;
}

/* A sentence behind a word. */
static void add_words(struct page *page, const char *word, const char *text)
{
	st_summary_sentence(page->job, word, (struct st_text){text, strlen(text)});
}

/* The framework of the first process that has one. */
static struct st_text framework_of(const struct st_result *result)
{
	uint32_t count;
	const struct st_operator_source *sources = st_result_operator_sources(result, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct st_text text = st_result_text(result, sources[i].framework);

		if (text.size_bytes)
			return text;
	}
	return (struct st_text){"PyTorch not loaded", 18};
}

static void show_string(struct st_buf *out, const char *text, unsigned int max_width)
{
	st_show_text(out, (struct st_text){text, strlen(text)}, max_width);
}

static void add_environment(struct page *page)
{
	struct st_text_job *job = page->job;
	const struct st_result_info *info = st_result_info(job->result);
	const struct st_cell *threads = st_summary_fact(job, "cpu", "threads");
	struct st_text framework = framework_of(job->result);
	struct st_flow flow;

	st_summary_begin(job, &flow, "WITH");
	show_string(&flow.piece, page->facts->python, 40);
	st_flow_piece(&flow, "");
	st_show_text(&flow.piece, framework, 40);
	st_flow_piece(&flow, "   ");
	st_buf_printf(&flow.piece, "%u %s ", info->cpu_count,
		      info->cpu_count == 1 ? "CPU" : "CPUs");
	show_string(&flow.piece, info->cpu, 40);
	st_flow_piece(&flow, "   ");
	if (threads->kind == ST_CELL_U64) {
		st_show_cell(&flow.piece, threads, "", 0);
		st_buf_append_text(&flow.piece,
				   threads->as.u64 == 1 ? " thread ran" : " threads ran");
		st_flow_piece(&flow, "   ");
	}
	st_buf_append_text(&flow.piece, "OMP_NUM_THREADS");
	if (page->facts->omp_threads) {
		st_buf_append_u8(&flow.piece, '=');
		show_string(&flow.piece, page->facts->omp_threads, 20);
	} else {
		st_buf_append_text(&flow.piece, " not set");
	}
	st_flow_piece(&flow, "   ");
	st_flow_end(&flow);
}

static void add_seconds(struct st_buf *out, const struct st_cell *cell)
{
	st_buf_printf(out, "%9.3f", cell->kind == ST_CELL_U64 ? (double)cell->as.u64 / 1e9 : 0.0);
}

static void add_function(struct st_buf *out, const struct st_report *report, uint32_t row)
{
	static const char *const keys[] = {"tottime_ns", "tottime_percall_ns", "cumtime_ns",
					   "cumtime_percall_ns"};
	struct st_text name = cell_of(report, row, "python_function")->as.text;
	unsigned int room = WIDTH - CALLS_WIDTH - 4 * 9 - 1;

	st_show_right(out, cell_of(report, row, "ncalls"), "", CALLS_WIDTH);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		add_seconds(out, cell_of(report, row, keys[i]));
	st_buf_append_u8(out, ' ');
	/* The name is at the end of a path and its line, and at the front of what has none. */
	if (name.size_bytes && name.bytes[0] == '{')
		st_show_text(out, name, room);
	else
		st_show_path(out, name, room);
	st_show_end_line(out);
}

static enum st_status add_functions(struct page *page, const struct st_report *report,
				    struct st_error *err)
{
	struct st_buf *out = page->job->out;

	(void)err;
	st_buf_append_u8(out, '\n');
	if (!report->row_count) {
		add_words(page, "PYTHON", "No Python function calls were counted.");
		return ST_OK;
	}
	add_words(page, "PYTHON", report->subject ? report->subject : "");
	st_buf_printf(out, "%*s  tottime  percall  cumtime  percall filename:lineno(function)\n",
		      CALLS_WIDTH, "ncalls");
	for (uint32_t i = 0; i < report->row_count; i++)
		if (cell_of(report, i, "ncalls")->kind == ST_CELL_TEXT)
			add_function(out, report, i);
	return ST_OK;
}

static void add_time(struct st_buf *out, const struct st_cell *us)
{
	const struct st_cell ns = {.kind = ST_CELL_U64,
				   .as.u64 = (uint64_t)(us->as.number * 1000 + 0.5)};

	st_show_right(out, &ns, "ns", 11);
}

static void add_operator(struct st_buf *out, const struct st_cell *cells, double all_us)
{
	double self_us = cells[ST_TORCH_SELF_CPU].as.number;
	const struct st_cell share = {.kind = ST_CELL_DOUBLE,
				      .as.number = all_us > 0 ? self_us / all_us : 0};
	unsigned int width;

	st_buf_append_text(out, "  ");
	width = st_show_name(out, &cells[ST_TORCH_KEY], NAME_WIDTH);
	st_show_pad(out, width, NAME_WIDTH);
	st_show_right(out, &share, "ratio", 11);
	add_time(out, &cells[ST_TORCH_SELF_CPU]);
	add_time(out, &cells[ST_TORCH_CPU_TOTAL]);
	add_time(out, &cells[ST_TORCH_CPU_TIME]);
	st_show_right(out, &cells[ST_TORCH_SELF_MEMORY], "bytes", 10);
	st_show_right(out, &cells[ST_TORCH_COUNT], "", 8);
	st_show_end_line(out);
}

static enum st_status add_operators(struct page *page, const struct st_report *report,
				    struct st_error *err)
{
	struct st_buf *out = page->job->out;
	double all_us = report->torch ? report->torch->self_us : 0;
	uint32_t count;

	(void)err;
	st_buf_append_u8(out, '\n');
	if (!report->row_count) {
		st_result_operator_sources(page->job->result, &count);
		add_words(page, "OPERATORS  ",
			  count ? "The program ran no operators."
				: "None: the program did not load PyTorch, or used it in a process "
				  "that was not recorded.");
		return ST_OK;
	}
	st_buf_printf(out, "%-*s%11s%11s%11s%11s%10s%8s\n", NAME_WIDTH + 2,
		      "OPERATORS  by self CPU time", "Self CPU %", "Self CPU", "CPU total",
		      "CPU avg", "Self Mem", "Calls");
	for (uint32_t i = 0; i < report->root_count && i < OPERATORS; i++)
		add_operator(out, report->rows[report->root_first + i].cells, all_us);
	if (report->root_count > OPERATORS)
		st_buf_printf(out, "  and %u more: strata report torch-averages\n",
			      report->root_count - OPERATORS);
	return ST_OK;
}

static enum st_status add_holders(struct page *page, const struct st_report *report,
				  struct st_error *err)
{
	(void)err;
	if (report->row_count && report->subject)
		add_words(page, "", report->subject);
	return ST_OK;
}

static enum st_status add_memory(struct page *page, struct st_error *err)
{
	const struct st_report_options options = {.question.limit = 1};
	struct st_buf *out = page->job->out;

	st_buf_append_u8(out, '\n');
	st_summary_margin(page->job, "MEMORY");
	if (page->facts->resident_bytes) {
		st_buf_append_text(out, "process peak ");
		st_show_bytes(out, page->facts->resident_bytes);
		st_buf_append_text(out, " (resident)");
	} else {
		st_buf_append_text(out, "unknown");
	}
	st_show_end_line(out);
	return is_report("memory") ? add_report(page, "memory", &options, add_holders, err) : ST_OK;
}

static unsigned int count_lines(const uint8_t *bytes, size_t size_bytes)
{
	unsigned int lines = 0;

	for (size_t i = 0; i < size_bytes; i++)
		lines += bytes[i] == '\n';
	return lines;
}

/* Whole paragraphs, the heading and the first finding in any case, as long as the page has room; how many were left out. */
static unsigned int add_paragraphs(struct st_buf *out, const struct st_buf *text)
{
	const char *at = (const char *)text->data, *end = at + text->size_bytes;
	unsigned int lines = count_lines(out->data, out->size_bytes) + LINES_AFTER, left_out = 0;
	unsigned int number = 0;

	while (at < end) {
		const char *gap = memmem(at, (size_t)(end - at), "\n\n", 2);
		size_t bytes = gap ? (size_t)(gap + 2 - at) : (size_t)(end - at);
		unsigned int more = count_lines((const uint8_t *)at, bytes);

		if (number < 2 || (!left_out && lines + more <= LINES_MAX)) {
			st_buf_append(out, at, bytes);
			lines += more;
		} else {
			left_out++;
		}
		number++;
		at += bytes;
	}
	return left_out;
}

static enum st_status add_findings(struct page *page, const struct st_report *report,
				   struct st_error *err)
{
	struct st_text_job job = *page->job;
	struct st_buf text;
	unsigned int left_out;
	enum st_status status;

	st_buf_init(&text, FINDINGS_MAX_BYTES);
	job.report = report;
	job.out = &text;
	status = st_text_body(&job, err);
	if (!status) {
		st_buf_append_text(page->job->out, "\nFINDINGS  ");
		left_out = add_paragraphs(page->job->out, &text);
		if (left_out)
			st_buf_printf(page->job->out, "and %u more: strata report findings\n",
				      left_out);
		page->job->out->failed |= text.failed;
	}
	st_buf_fini(&text);
	return status;
}

static void add_next(struct page *page)
{
	static const char *const reports[] = {"summary", "operators", "python-calls"};
	const char *result = st_result_info(page->job->result)->path;
	struct st_flow flow;

	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		char *argv[] = {(char *)"strata", (char *)"report", (char *)reports[i],
				(char *)"-r", (char *)result};

		st_summary_begin(page->job, &flow, i ? "" : "next");
		st_quote_command(&flow.piece, sizeof(argv) / sizeof(argv[0]), argv);
		st_flow_piece(&flow, "");
		st_flow_end(&flow);
	}
}

static enum st_status add_all(struct page *page, struct st_error *err)
{
	const struct st_report_options calls = {.question.limit = FUNCTIONS,
						.working_threads = true};
	const struct st_report_options averages = {
		.torch = {.given = true, .profile_memory = true, .sort_by = "self_cpu_time_total"}};
	const struct st_report_options findings = {0};
	struct st_text_job *job = page->job;
	enum st_status status;

	st_summary_add_head(job);
	add_environment(page);
	st_summary_add_cpu(job);
	status = add_report(page, "python-calls", &calls, add_functions, err);
	if (!status)
		status = add_report(page, "torch-averages", &averages, add_operators, err);
	if (!status)
		status = add_memory(page, err);
	if (status)
		return status;
	if (st_summary_count(job, "step"))
		st_buf_append_u8(job->out, '\n');
	st_summary_add_steps(job);
	if (is_report("findings"))
		status = add_report(page, "findings", &findings, add_findings, err);
	else
		st_summary_add_findings(job, UINT32_MAX);
	st_buf_append_u8(job->out, '\n');
	st_summary_add_quality(job);
	add_next(page);
	return status;
}

enum st_status st_bottleneck_write(const struct st_result *result,
				   const struct st_bottleneck *facts, struct st_sink *sink,
				   struct st_error *err)
{
	const struct st_report_options options = {0};
	const struct st_text_style style = {.width = WIDTH};
	struct st_report summary = {0};
	struct st_buf out;
	struct st_text_job job = {&summary, result, &style, sink, &out};
	struct page page = {facts, &job};
	enum st_status status = st_report_build(result, "summary", &options, &summary, err);

	if (status)
		return status;
	st_buf_init(&out, SIZE_MAX / 4);
	status = add_all(&page, err);
	if (!status && out.failed)
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the page");
	if (!status)
		status = st_sink_write(sink, out.data, out.size_bytes, err);
	st_buf_fini(&out);
	st_report_fini(&summary);
	return status;
}
