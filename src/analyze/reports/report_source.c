// SPDX-License-Identifier: Apache-2.0
//
// Report "source": a source file, Python or native, with the CPU time of each line.
#include "analyze/reports/report_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/samples/code_figures.h"
#include "analyze/samples/frame_class.h"
#include "analyze/reports/report_samples.h"
#include "resolve/search.h"
#include "store/result.h"

enum { TRIES_MAX = 100 }; /* files that are looked for before one is shown without its text */
enum column { LINE, TEXT, SELF, TOTAL, SAMPLES, COLUMNS };

static const struct st_column columns[COLUMNS] = {
	[LINE] = {"line", "Line", "", false},
	[TEXT] = {"source", "Source", "", true},
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
	uint32_t source;   /* index into sources of the names */
	uint32_t function; /* only frames of this one; 0: all */
	uint32_t last_line;
	uint64_t all; /* CPU time of all that is looked at, in this file or not */
	struct st_source_text *text;
	bool is_refused; /* the text is there, but not to be shown */
};

static uint32_t line_bucket(const void *arg, const struct st_named *named, uint32_t frame)
{
	const struct job *job = arg;
	const struct st_named_frame *its = &named->frames[frame];

	if (its->source != job->source || !its->line || its->line > job->last_line ||
	    (job->function && its->function != job->function))
		return ST_NO_ROW;
	return its->line;
}

static uint32_t source_bucket(const void *arg, const struct st_named *named, uint32_t frame)
{
	(void)arg;
	return named->frames[frame].source ? named->frames[frame].source : ST_NO_ROW;
}

static enum st_status two_files(const struct st_named *named, uint32_t a, uint32_t b,
				struct st_error *err)
{
	return st_error_set(err, ST_EUSAGE, 0,
			    "several files of that name have samples, such as %.150s and %.150s; "
			    "give more of the path",
			    named->sources[a].bytes, named->sources[b].bytes);
}

static bool can_be_read(const struct job *job, uint32_t source)
{
	struct st_error ignored;
	struct st_source_text *text =
		st_source_text_open(&job->search.options, job->set.named,
				    job->set.named->sources[source].bytes, &ignored);

	st_source_text_close(text);
	return text != NULL;
}

/* The program's own Python file with most time, its own and that of what it called; 0: there is none. */
static uint32_t own_script(const struct job *job, const struct st_code_figures *figures)
{
	const struct st_named *named = job->set.named;
	uint32_t best = 0;

	for (uint32_t i = 1; i < named->frame_count; i++) {
		uint32_t source = named->frames[i].source;

		if (named->functions[named->frames[i].function].kind == ST_FUNCTION_PYTHON &&
		    figures[source].total > figures[best].total &&
		    !st_path_is_library(named->sources[source]))
			best = source;
	}
	return best;
}

/* Nobody named one, and there is no script: the file with most self time of those whose text is here; of any when none
 * is. Files that cannot be read lose their time, so that the next one is found. */
static uint32_t hottest_source(const struct job *job, struct st_code_figures *figures)
{
	uint32_t count = job->set.named->source_count, first = 0;

	for (unsigned int tries = 0;; tries++) {
		uint32_t best = 0;

		for (uint32_t i = 1; i < count; i++)
			if (figures[i].total && (!best || figures[i].self > figures[best].self))
				best = i;
		first = first ? first : best;
		if (!best || tries == TRIES_MAX)
			return first;
		if (can_be_read(job, best))
			return best;
		figures[best].total = 0;
	}
}

/* The file that is asked for; without a word for it, the program's own script, or else the one with most self time. */
static enum st_status find_source(struct job *job, struct st_error *err)
{
	const struct st_named *named = job->set.named;
	const char *typed = job->options->object.source_file;
	struct st_code_count count = {.count = named->source_count, .bucket_of = source_bucket};
	uint32_t best = 0, other = 0;
	bool exact = false;

	count.figures = calloc((size_t)named->source_count + 1, sizeof(*count.figures));
	if (!count.figures)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the report");
	st_code_count(&count, &job->rows);
	if (!typed)
		best = own_script(job, count.figures);
	if (!typed && !best)
		best = hottest_source(job, count.figures);
	for (uint32_t i = 1; typed && i < named->source_count; i++) {
		bool whole = named->sources[i].size_bytes == strlen(typed);

		if (!count.figures[i].total || exact ||
		    !st_code_path_fits(named->sources[i], typed))
			continue;
		if (best && !whole)
			other = i;
		if (!best || whole)
			best = i;
		exact = whole;
	}
	free(count.figures);
	job->source = best;
	if (typed && other && !exact)
		return two_files(named, best, other, err);
	if (best)
		return ST_OK;
	return st_error_set(
		err, ST_ENOTFOUND, 0, "no samples in a known source file%s%.200s (%s)",
		typed ? " " : "", typed ? typed : "",
		"use strata report hotspots -group-by source-file, or python-line, to list them");
}

/* The file that most lines of a function's frames are in: its own, unless all of it is a macro's. */
static enum st_status source_of_function(struct job *job, struct st_error *err)
{
	const struct st_named *named = job->set.named;

	job->source = named->functions[job->function].source;
	for (uint32_t i = 1; i < named->frame_count && !job->source; i++)
		if (named->frames[i].function == job->function)
			job->source = named->frames[i].source;
	if (job->source)
		return ST_OK;
	return st_error_set(err, ST_ENOTFOUND, 0,
			    "the source of %.200s is unknown: its file has no line information "
			    "(use strata report disassembly to see its instructions)",
			    named->functions[job->function].name.bytes);
}

/* Only code made at run time has a file and yet no line. */
static enum st_status no_lines(const struct job *job, struct st_error *err)
{
	const struct st_named *named = job->set.named;

	return st_error_set(err, ST_ENOTFOUND, 0, "no samples in any line of %.300s",
			    job->function ? named->functions[job->function].name.bytes
					  : named->sources[job->source].bytes);
}

static enum st_status find_object(struct job *job, struct st_error *err)
{
	enum st_status status;

	if (!job->options->object.function)
		return find_source(job, err);
	status = st_code_find_function(&job->rows, &job->options->object, &job->function, err);
	return status ? status : source_of_function(job, err);
}

/* The last line that is looked at, of the file or of what samples know of it. */
static void find_last_line(struct job *job, uint32_t *first, uint32_t *last)
{
	const struct st_named *named = job->set.named;
	uint32_t low = UINT32_MAX, high = 0;

	for (uint32_t i = 1; i < named->frame_count; i++) {
		const struct st_named_frame *frame = &named->frames[i];

		if (frame->source != job->source || !frame->line ||
		    (job->function && frame->function != job->function))
			continue;
		low = frame->line < low ? frame->line : low;
		high = frame->line > high ? frame->line : high;
	}
	job->last_line = high;
	*first = 1;
	*last = high;
	if (job->function) {
		*first = named->functions[job->function].line;
		if (!*first || *first > low)
			*first = low;
	} else if (job->text && st_source_text_count(job->text) > high) {
		*last = job->last_line = st_source_text_count(job->text);
	}
}

/* Tabs as blanks: a table knows no tab stops. */
static struct st_cell text_cell(struct job *job, uint32_t line)
{
	struct st_text text;
	size_t at = 0, tabs = 0;
	char *copy;

	if (!job->text)
		return st_cell_text(job->is_refused ? "[source not shown]" : "[source not found]");
	text = st_source_text_line(job->text, line);
	for (size_t i = 0; i < text.size_bytes; i++)
		tabs += text.bytes[i] == '\t';
	copy = st_arena_alloc(st_report_arena(job->report), text.size_bytes + 8 * tabs + 1);
	for (size_t i = 0; copy && i < text.size_bytes; i++) {
		if (text.bytes[i] != '\t') {
			copy[at++] = text.bytes[i];
			continue;
		}
		do
			copy[at++] = ' ';
		while (at % 8);
	}
	return st_cell_bytes((struct st_text){copy ? copy : "", copy ? at : 0});
}

static void add_figures(struct st_cell *cells, const struct st_code_figures *figures)
{
	if (!figures->total && !figures->self)
		return;
	cells[SELF] = st_cell_u64(figures->self);
	cells[TOTAL] = st_cell_u64(figures->total);
	cells[SAMPLES] = st_cell_u64(figures->samples);
}

/* "train.py", "matrix.c, function multiply", "matrix.c: not found, -source-search-dir tells where it is" */
static const char *subject(struct job *job)
{
	static const char refused[] =
		": not shown, because it is no Python file and no module of the result on this "
		"machine names it in its debug information; to show it, give its folder to strata "
		"serve by -source-search-dir";
	const struct st_named *named = job->set.named;

	return st_arena_printf(
		st_report_arena(job->report), "%s%s%s%s", named->sources[job->source].bytes,
		job->function ? ", function " : "",
		job->function ? named->functions[job->function].name.bytes : "",
		job->text	  ? ""
		: job->is_refused ? refused
				  : ": not found; use -source-search-dir to locate it");
}

static enum st_status add_lines(struct job *job, struct st_error *err)
{
	struct st_code_count count = {.bucket_of = line_bucket, .arg = job};
	uint32_t first, last;

	find_last_line(job, &first, &last);
	if (!last)
		return no_lines(job, err);
	count.count = job->last_line + 1;
	count.figures = calloc((size_t)count.count + 1, sizeof(*count.figures));
	if (!count.figures)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the report");
	st_code_count(&count, &job->rows);
	job->all = count.all;
	for (uint32_t line = first; line <= last; line++) {
		struct st_cell *cells;

		if (!job->text && !count.figures[line].total)
			continue;
		cells = st_report_add(job->report, 0);
		cells[LINE] = st_cell_u64(line);
		cells[TEXT] = text_cell(job, line);
		add_figures(cells, &count.figures[line]);
	}
	job->report->totals.cells = st_report_new_cells(job->report);
	job->report->totals.cells[TEXT] = st_cell_text(st_arena_copy(
		st_report_arena(job->report), job->set.named->sources[job->source].bytes,
		job->set.named->sources[job->source].size_bytes));
	add_figures(job->report->totals.cells, &count.whole);
	job->report->subject = subject(job);
	free(count.figures);
	return ST_OK;
}

static enum st_status build(struct job *job, struct st_error *err)
{
	struct st_error trouble;
	enum st_status status =
		st_sample_rows_make(&job->rows, &job->set, &job->options->question, err);

	if (status)
		return status;
	st_report_columns(job->report, columns, COLUMNS);
	status = job->set.samples->count ? find_object(job, err) : ST_OK;
	if (!status && job->source) {
		job->text =
			st_source_text_open(&job->search.options, job->set.named,
					    job->set.named->sources[job->source].bytes, &trouble);
		job->is_refused = !job->text && trouble.status == ST_EUNSUPPORTED;
		status = add_lines(job, err);
		st_source_text_close(job->text);
	}
	st_sample_rows_fini(&job->rows);
	return status;
}

enum st_status st_report_source_build(const struct st_report_kind *kind,
				      const struct st_result *result,
				      const struct st_report_options *options,
				      struct st_report *out, struct st_error *err)
{
	struct job job = {.options = options, .report = out};
	enum st_status status = st_sample_set_open(&job.set, result, &options->view, err);

	(void)kind;
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
