// SPDX-License-Identifier: Apache-2.0
//
// Report "disassembly": the instructions of a function with the CPU time of each, or of each basic block or source
// line of it. A return address counts for the call before it.
#include "analyze/reports/report_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "analyze/samples/code_figures.h"
#include "analyze/reports/report_samples.h"
#include "resolve/disassembly.h"
#include "resolve/search.h"
#include "store/result.h"

enum column { ADDRESS, TEXT, SOURCE, LINE, SELF, TOTAL, SAMPLES, COLUMNS };

static const struct st_column columns[COLUMNS] = {
	[ADDRESS] = {"address", "Address", "", true},
	[TEXT] = {"instruction", "Instruction", "", true},
	[SOURCE] = {"source_file", "Source File", "", true},
	[LINE] = {"line", "Line", "", false},
	[SELF] = {"cpu_self_ns", "CPU Time", "ns", false},
	[TOTAL] = {"cpu_total_ns", "CPU Time:Total", "ns", false},
	[SAMPLES] = {"samples", "Samples", "", false},
};

struct job {
	const struct st_report_options *options;
	struct st_report *report;
	struct st_sample_set set;
	struct st_sample_rows rows;
	struct st_search search;
	uint32_t function;
	uint64_t all;		   /* CPU time of all that is looked at, in this function or not */
	enum st_grouping grouping; /* ST_BY_ADDRESS, ST_BY_BASIC_BLOCK or ST_BY_SOURCE_LINE */
	struct st_disassembly code;
	uint32_t *bucket_of; /* by instruction: the first one of its group */
	struct st_source_text *text;
	const char *text_path; /* whose text that is */
};

static uint32_t instruction_at(const struct job *job, uint64_t address)
{
	uint32_t low = ST_SEARCH(i, 0, job->code.count, job->code.items[i].address <= address);

	if (!low ||
	    address - job->code.items[low - 1].address >= job->code.items[low - 1].size_bytes)
		return ST_NO_ROW;
	return low - 1;
}

static uint32_t bucket_of(const void *arg, const struct st_named *named, uint32_t frame)
{
	const struct job *job = arg;
	const struct st_named_frame *its = &named->frames[frame];
	const struct st_named_function *function = &named->functions[its->function];
	uint32_t at;

	if (function->kind != ST_FUNCTION_NATIVE ||
	    function->module != named->functions[job->function].module)
		return ST_NO_ROW;
	at = instruction_at(job, its->address);
	return at == ST_NO_ROW ? at : job->bucket_of[at];
}

static bool same_line(const struct st_instruction *a, const struct st_instruction *b)
{
	return a->line == b->line && strcmp(a->source, b->source) == 0;
}

/* Each instruction is of the group of the first one like it. Lines of one function are few: a walk back
 * finds the first soon enough, and is not taken for other groups. */
static void make_groups(struct job *job)
{
	const struct st_instruction *items = job->code.items;

	for (uint32_t i = 0; i < job->code.count; i++) {
		job->bucket_of[i] = i;
		if (job->grouping == ST_BY_BASIC_BLOCK && i && !items[i].starts_block)
			job->bucket_of[i] = job->bucket_of[i - 1];
		if (job->grouping != ST_BY_SOURCE_LINE)
			continue;
		if (i && same_line(&items[i], &items[i - 1])) {
			job->bucket_of[i] = job->bucket_of[i - 1];
			continue;
		}
		for (uint32_t j = 0; j < i; j++)
			if (job->bucket_of[j] == j && same_line(&items[i], &items[j])) {
				job->bucket_of[i] = j;
				break;
			}
	}
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The text of a source line, copied; NULL: not known. */
static const char *line_text(struct job *job, const struct st_instruction *item)
{
	struct st_error ignored;
	struct st_text text;

	if (!item->line)
		return NULL;
	if (!job->text_path || strcmp(job->text_path, item->source) != 0) {
		st_source_text_close(job->text);
		job->text_path = item->source;
		job->text = st_source_text_open(&job->search.options, NULL, item->source, &ignored);
	}
	if (!job->text)
		return NULL;
	text = st_source_text_line(job->text, item->line);
	while (text.size_bytes && (*text.bytes == ' ' || *text.bytes == '\t')) {
		text.bytes++;
		text.size_bytes--;
	}
	return st_arena_copy(st_report_arena(job->report), text.bytes, text.size_bytes);
}

static void place_cells(struct job *job, struct st_cell *cells, const struct st_instruction *item)
{
	if (!item->line)
		return;
	cells[SOURCE] =
		st_cell_text(st_arena_copy(st_report_arena(job->report), last_part(item->source),
					   strlen(last_part(item->source))));
	cells[LINE] = st_cell_u64(item->line);
}

/* Between instructions: the source line that the next ones are of. */
static void add_source_line(struct job *job, const struct st_instruction *item)
{
	const char *text = line_text(job, item);
	struct st_cell *cells;

	if (!item->line)
		return;
	cells = st_report_add(job->report, 0);
	place_cells(job, cells, item);
	cells[TEXT] = st_cell_text(
		st_arena_printf(st_report_arena(job->report), "; %s", text ? text : "-"));
}

static const char *group_text(struct job *job, uint32_t first)
{
	const struct st_instruction *item = &job->code.items[first];
	uint32_t count = 0;
	const char *text;

	if (job->grouping == ST_BY_ADDRESS)
		return st_arena_copy(st_report_arena(job->report), item->text, strlen(item->text));
	if (job->grouping == ST_BY_SOURCE_LINE) {
		text = line_text(job, item);
		return text ? text : "[unknown source line]";
	}
	for (uint32_t i = first; i < job->code.count && job->bucket_of[i] == first; i++)
		count++;
	return st_arena_printf(st_report_arena(job->report), "%u instruction%s from: %s", count,
			       count == 1 ? "" : "s", item->text);
}

static void add_figures(struct st_cell *cells, const struct st_code_figures *figures)
{
	if (!figures->total && !figures->self)
		return;
	cells[SELF] = st_cell_u64(figures->self);
	cells[TOTAL] = st_cell_u64(figures->total);
	cells[SAMPLES] = st_cell_u64(figures->samples);
}

static void add_rows(struct job *job, const struct st_code_count *count)
{
	for (uint32_t i = 0; i < job->code.count; i++) {
		const struct st_instruction *item = &job->code.items[i];
		struct st_cell *cells;

		if (job->bucket_of[i] != i)
			continue;
		if (job->grouping == ST_BY_ADDRESS && (!i || !same_line(item, item - 1)))
			add_source_line(job, item);
		cells = st_report_add(job->report, 0);
		cells[ADDRESS] = st_cell_text(st_arena_printf(
			st_report_arena(job->report), "0x%llx", (unsigned long long)item->address));
		cells[TEXT] = st_cell_text(group_text(job, i));
		place_cells(job, cells, item);
		add_figures(cells, &count->figures[i]);
	}
	job->report->totals.cells = st_report_new_cells(job->report);
	add_figures(job->report->totals.cells, &count->whole);
}

static enum st_status add_code(struct job *job, struct st_error *err)
{
	struct st_code_count count = {.bucket_of = bucket_of, .arg = job};
	const struct st_named_function *function = &job->set.named->functions[job->function];
	enum st_status status = st_disassembly_open(&job->code, job->set.named, job->function,
						    &job->search.options, err);

	if (status)
		return status;
	count.count = job->code.count;
	count.figures = calloc((size_t)count.count + 1, sizeof(*count.figures));
	job->bucket_of = calloc((size_t)count.count + 1, sizeof(*job->bucket_of));
	if (count.figures && job->bucket_of) {
		make_groups(job);
		st_code_count(&count, &job->rows);
		job->all = count.all;
		add_rows(job, &count);
		job->report->subject = st_arena_printf(
			st_report_arena(job->report), "%s in %s", function->full.bytes,
			job->set.named->modules[function->module].path.bytes);
		job->report->totals.cells[TEXT] = st_cell_text(
			st_arena_copy(st_report_arena(job->report), function->full.bytes,
				      function->full.size_bytes));
	} else {
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the report");
	}
	free(count.figures);
	free(job->bucket_of);
	st_source_text_close(job->text);
	st_disassembly_close(&job->code);
	return status;
}

/* The function whose code a frame is in, also where another one is inlined there. */
static uint32_t function_bucket(const void *arg, const struct st_named *named, uint32_t frame)
{
	const struct st_named_function *function;

	(void)arg;
	while (named->frames[frame].flags & ST_NAMED_INLINED)
		frame = named->frames[frame].parent;
	function = &named->functions[named->frames[frame].function];
	return function->kind == ST_FUNCTION_NATIVE && function->end ? named->frames[frame].function
								     : ST_NO_ROW;
}

/* The function that most samples of an inlined one are in; 0: it has code of its own. */
static uint32_t host_of(struct job *job)
{
	const struct st_named *named = job->set.named;
	struct st_code_count count = {.bucket_of = function_bucket, .count = named->function_count};
	uint32_t best = 0;

	if (named->functions[job->function].end ||
	    named->functions[job->function].kind != ST_FUNCTION_NATIVE)
		return 0;
	count.figures = calloc((size_t)named->function_count + 1, sizeof(*count.figures));
	for (uint32_t i = 0; count.figures && i < job->rows.count; i++) {
		uint32_t frame = job->rows.rows[i].frame, host;

		while (frame && named->frames[frame].function != job->function)
			frame = st_sample_caller(&job->set, frame);
		host = frame ? function_bucket(NULL, named, frame) : ST_NO_ROW;
		if (host == ST_NO_ROW)
			continue;
		count.figures[host].total += job->rows.rows[i].weight;
		if (count.figures[host].total > count.figures[best].total)
			best = host;
	}
	free(count.figures);
	return best;
}

/* What has no instructions of its own to show: why, and where to look instead. */
static enum st_status check_function(struct job *job, struct st_error *err)
{
	const struct st_named *named = job->set.named;
	const struct st_named_function *function = &named->functions[job->function];
	uint32_t host = host_of(job);

	if (function->kind == ST_FUNCTION_PYTHON)
		return st_error_set(err, ST_ENOTFOUND, 0,
				    "%.200s is a Python function; use strata report source "
				    "-source-object function=%.200s to see its lines",
				    function->name.bytes, function->name.bytes);
	if (function->kind == ST_FUNCTION_JIT)
		return st_error_set(
			err, ST_ENOTFOUND, 0,
			"%.200s is JIT-compiled code without a file: nothing to disassemble (use "
			"-group-by function,address to see its hot addresses)",
			function->name.bytes);
	if (host)
		return st_error_set(err, ST_ENOTFOUND, 0,
				    "%.200s is inlined, mostly into %.200s; use strata report "
				    "disassembly '%.200s'",
				    function->name.bytes, named->functions[host].name.bytes,
				    named->functions[host].name.bytes);
	return ST_OK;
}

/* Nobody named one: the function with code that took most. */
static enum st_status hottest(struct job *job, struct st_error *err)
{
	const struct st_named *named = job->set.named;
	struct st_code_count count = {.bucket_of = function_bucket, .count = named->function_count};
	uint32_t best = 0;

	count.figures = calloc((size_t)named->function_count + 1, sizeof(*count.figures));
	if (!count.figures)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the report");
	st_code_count(&count, &job->rows);
	for (uint32_t i = 1; i < named->function_count; i++)
		if (count.figures[i].self > count.figures[best].self)
			best = i;
	free(count.figures);
	job->function = best;
	if (!best)
		return st_error_set(err, ST_ENOTFOUND, 0,
				    "no samples in functions whose code is in a file");
	return ST_OK;
}

static enum st_status build(struct job *job, struct st_error *err)
{
	struct st_question question = job->options->question;
	enum st_status status;

	question.grouping_count = 0;
	status = st_sample_rows_make(&job->rows, &job->set, &question, err);
	if (status)
		return status;
	st_report_columns(job->report, columns, COLUMNS);
	if (!job->set.samples->count)
		status = ST_OK;
	else if (job->options->object.function)
		status = st_code_find_function(&job->rows, &job->options->object, &job->function,
					       err);
	else
		status = hottest(job, err);
	if (!status && job->function)
		status = check_function(job, err);
	if (!status && job->function)
		status = add_code(job, err);
	st_sample_rows_fini(&job->rows);
	return status;
}

enum st_status st_report_disassembly_build(const struct st_report_kind *kind,
					   const struct st_result *result,
					   const struct st_report_options *options,
					   struct st_report *out, struct st_error *err)
{
	struct job job = {.options = options, .report = out, .grouping = ST_BY_ADDRESS};
	enum st_status status;

	(void)kind;
	if (options->object.source_file)
		return st_error_set(
			err, ST_EUSAGE, 0,
			"report disassembly requires a function: -source-object function=NAME");
	if (options->question.grouping_count > 1)
		return st_error_set(err, ST_EUSAGE, 0,
				    "report disassembly takes one grouping: address, basic-block "
				    "or source-line");
	if (options->question.grouping_count)
		job.grouping = options->question.groupings[0];
	status = st_sample_set_open(&job.set, result, &options->view, err);
	if (!status) {
		status = st_search_init(&job.search, result, options->view.naming)
				 ? build(&job, err)
				 : st_error_set(err, ST_ENOMEM, 0, "out of memory for the report");
		st_search_fini(&job.search);
		st_report_add_notes(out, &job.set);
		st_sample_set_close(&job.set);
	}
	if (!status)
		st_report_show_as(out, options->view.show_as, job.all);
	return status;
}
