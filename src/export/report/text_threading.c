// SPDX-License-Identifier: Apache-2.0
//
// Report "threading" without a grouping as text: one page, each part with the command that shows all of it.
#include <string.h>

#include "analyze/reports/report_threading.h"
#include "base/buf.h"
#include "export/report/show.h"
#include "export/report/text.h"
#include "export/report/text_flow.h"

enum { MARGIN = 10, NAME = 52, CLASS = 16, BAR = 24, TIME = 9, SHARE = 8, COUNT = 9, WIDTH = 100 };

struct part {
	const struct st_text_job *job;
	const char *section;
	uint32_t first, count; /* rows */
};

static struct part part_of(const struct st_text_job *job, const char *section)
{
	const struct st_report *report = job->report;
	struct part part = {.job = job, .section = section};

	for (uint32_t i = 0; i < report->row_count; i++) {
		if (!st_text_equals(report->rows[i].cells[ST_THREADING_SECTION].as.text, section))
			continue;
		if (!part.count++)
			part.first = i;
	}
	return part;
}

static const struct st_cell *row_of(const struct part *part, uint32_t index)
{
	return part->job->report->rows[part->first + index].cells;
}

static unsigned int page_width(const struct st_text_job *job)
{
	return job->style->width ? job->style->width : WIDTH;
}

/* "THREADS   what they did …                                     strata report thread-time" */
static void add_head(struct st_text_job *job, const char *word, const char *text,
		     const struct st_cell *details)
{
	static const char command[] = "strata report ";
	struct st_text tail = details->as.text;
	unsigned int width = MARGIN, size = (unsigned int)(sizeof(command) - 1 + tail.size_bytes);

	st_buf_append_text(job->out, word);
	st_show_pad(job->out, (unsigned int)strlen(word), MARGIN);
	width += st_show_text(job->out, (struct st_text){text, strlen(text)}, 0);
	if (width + 2 + size <= page_width(job)) {
		st_show_pad(job->out, width, page_width(job) - size);
	} else {
		st_show_end_line(job->out);
		st_show_pad(job->out, 0, page_width(job) > size ? page_width(job) - size : MARGIN);
	}
	st_buf_append_text(job->out, command);
	st_buf_append(job->out, tail.bytes, tail.size_bytes);
	st_show_end_line(job->out);
}

/* A name and, behind a comma, a place, in so many columns. */
static void add_name(struct st_text_job *job, const struct st_cell *row, unsigned int room)
{
	unsigned int width;

	st_show_pad(job->out, 0, MARGIN);
	width = st_show_name(job->out, &row[ST_THREADING_NAME], room);
	if (row[ST_THREADING_PLACE].kind == ST_CELL_TEXT && width + 8 < room) {
		st_buf_append_text(job->out, ", ");
		width += 2 + st_show_cell(job->out, &row[ST_THREADING_PLACE], "", room - width - 2);
	}
	st_show_pad(job->out, width, room);
}

static void add_time(struct st_text_job *job, const struct st_cell *row)
{
	st_show_right(job->out, &row[ST_THREADING_TIME], "ns", TIME);
	if (row[ST_THREADING_SHARE].kind == ST_CELL_DOUBLE)
		st_show_right(job->out, &row[ST_THREADING_SHARE], "ratio", SHARE);
}

/* Rows that are parts of a whole. */
static void add_bars(struct st_text_job *job, const struct part *part, uint32_t from)
{
	for (uint32_t i = from; i < part->count; i++) {
		const struct st_cell *row = row_of(part, i);
		unsigned int width;

		st_show_pad(job->out, 0, MARGIN);
		width = st_show_name(job->out, &row[ST_THREADING_NAME], CLASS);
		st_show_pad(job->out, width, CLASS + 1);
		st_show_bar(job->out, row[ST_THREADING_SHARE].as.number, BAR);
		add_time(job, row);
		if (row[ST_THREADING_PLACE].kind == ST_CELL_TEXT) {
			st_buf_append_text(job->out, "  ");
			st_show_cell(job->out, &row[ST_THREADING_PLACE], "", 0);
		}
		st_show_end_line(job->out);
	}
}

static void add_rows(struct st_text_job *job, const char *word, const char *text,
		     const char *section, const char *counted)
{
	struct part part = part_of(job, section);

	if (!part.count)
		return;
	add_head(job, word, text, &row_of(&part, 0)[ST_THREADING_DETAILS]);
	for (uint32_t i = 0; i < part.count; i++) {
		const struct st_cell *row = row_of(&part, i);

		add_name(job, row, NAME);
		add_time(job, row);
		if (row[ST_THREADING_COUNT].kind != ST_CELL_NONE && *counted) {
			st_show_right(job->out, &row[ST_THREADING_COUNT], "", COUNT);
			st_buf_printf(job->out, " %s%s", counted,
				      row[ST_THREADING_COUNT].as.u64 == 1 ? "" : "s");
		}
		st_show_end_line(job->out);
	}
}

static void add_run(struct st_text_job *job)
{
	struct part part = part_of(job, "run");
	const struct st_cell *row = row_of(&part, 0);

	st_buf_append_text(job->out, "strata    threading  ");
	st_show_command(job->out, row[ST_THREADING_NAME].as.text,
			page_width(job) > 60 ? page_width(job) - 45 : 20);
	st_buf_append_text(job->out, "   ");
	st_show_cell(job->out, &row[ST_THREADING_TIME], "ns", 0);
	st_buf_append_text(job->out, "   ");
	st_show_cell(job->out, &row[ST_THREADING_PLACE], "", 0);
	st_show_end_line(job->out);
}

/* "0.75 of 2 CPUs effective (37.6 %), spin and overhead 4.0 %" */
static void add_cpus(struct st_text_job *job)
{
	struct part part = part_of(job, "cpu"), levels = part_of(job, "concurrency");
	const struct st_cell *row = part.count ? row_of(&part, 0) : NULL;
	struct st_buf text;
	double share;

	if (!row)
		return;
	share = row[ST_THREADING_SHARE].as.number;
	st_buf_init(&text, 4096);
	st_buf_printf(&text, "effective %.1f %% (%.2f of %llu CPUs), spin and overhead %.1f %%%c",
		      share * 100.0, share * (double)row[ST_THREADING_COUNT].as.u64,
		      (unsigned long long)row[ST_THREADING_COUNT].as.u64,
		      row_of(&part, 1)[ST_THREADING_SHARE].as.number * 100.0, '\0');
	if (!text.failed)
		add_head(job, "CPUS", (const char *)text.data, &row[ST_THREADING_DETAILS]);
	st_buf_fini(&text);
	add_bars(job, &levels, 0);
	for (uint32_t i = 2; i < part.count; i++) {
		add_name(job, row_of(&part, i), CLASS + 1 + BAR);
		add_time(job, row_of(&part, i));
		st_show_end_line(job->out);
	}
}

static void add_threads(struct st_text_job *job)
{
	struct part part = part_of(job, "threads");
	struct st_buf text;

	if (!part.count)
		return;
	st_buf_init(&text, 4096);
	st_show_cell(&text, &row_of(&part, 0)[ST_THREADING_COUNT], "", 0);
	st_buf_append_text(&text, row_of(&part, 0)[ST_THREADING_COUNT].as.u64 == 1 ? " thread, "
										   : " threads, ");
	st_show_cell(&text, &row_of(&part, 0)[ST_THREADING_TIME], "ns", 0);
	st_buf_append_text(&text, " in all: running, or off the CPU and why");
	st_buf_append_u8(&text, '\0');
	if (!text.failed)
		add_head(job, "THREADS", (const char *)text.data,
			 &row_of(&part, 0)[ST_THREADING_DETAILS]);
	st_buf_fini(&text);
	add_bars(job, &part, 1);
}

/* Two facts of each thread. */
static void add_gil(struct st_text_job *job)
{
	struct part part = part_of(job, "gil");

	if (!part.count)
		return;
	add_head(job, "GIL", "Python's lock, and how much of the run",
		 &row_of(&part, 0)[ST_THREADING_DETAILS]);
	for (uint32_t i = 0; i + 1 < part.count; i += 2) {
		unsigned int width;

		st_show_pad(job->out, 0, MARGIN);
		width = st_show_cell(job->out, &row_of(&part, i)[ST_THREADING_PLACE], "", 32);
		st_show_pad(job->out, width, 32);
		st_buf_append_text(job->out, "  held");
		add_time(job, row_of(&part, i));
		st_buf_append_text(job->out, "   waited for");
		add_time(job, row_of(&part, i + 1));
		st_show_end_line(job->out);
	}
}

enum st_status st_text_threading(struct st_text_job *job, struct st_error *err)
{
	(void)err;
	add_run(job);
	add_cpus(job);
	add_threads(job);
	add_rows(job, "WAITS",
		 "from begin to end, without idle workers; share of all threads' time", "waits",
		 "wait");
	add_rows(job, "OBJECTS", "that threads waited for each other at, and mostly where",
		 "objects", "wait");
	add_gil(job);
	add_rows(job, "WHERE", "threads waited, for what; no idle workers", "where", "wait");
	add_rows(job, "LONGEST", "single waits", "longest", "");
	add_rows(job, "OPENMP", "elapsed time, and imbalance in it", "openmp", "time");
	if (!job->report->subject)
		return ST_OK;
	st_show_end_line(job->out);
	st_flow_lines(job->out, page_width(job), job->report->subject);
	return ST_OK;
}
