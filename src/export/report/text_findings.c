// SPDX-License-Identifier: Apache-2.0
//
// Report "findings" as text: a paragraph for each, because sentences make no columns.
#include "analyze/findings/findings.h"

#include <string.h>

#include "base/buf.h"
#include "export/report/show.h"
#include "export/report/text.h"
#include "export/report/text_flow.h"

enum { MARGIN = 10 };

static void add_saving(struct st_buf *out, const struct st_cell *cells, bool per_step)
{
	uint64_t high = cells[ST_FINDING_SAVING].as.u64, low = cells[ST_FINDING_SAVING_LOW].as.u64;

	st_buf_append_text(out, low == high ? "saves about " : low ? "saves " : "saves up to ");
	if (low && low != high) {
		st_show_duration(out, low);
		st_buf_append_text(out, " to ");
	}
	st_show_duration(out, high);
	st_buf_append_text(out, per_step ? " per step" : "");
}

static void add_line(struct st_text_job *job, const char *word, const struct st_cell *cell)
{
	unsigned int width = st_show_text(job->out, (struct st_text){word, strlen(word)}, MARGIN);
	struct st_flow flow;

	st_show_pad(job->out, width, MARGIN);
	st_flow_init(&flow, job->out, job->style->width, MARGIN);
	st_flow_words(&flow, cell->as.text, 0);
	st_flow_end(&flow);
}

enum st_status st_text_findings(struct st_text_job *job, struct st_error *err)
{
	const struct st_report *report = job->report;
	/* The subject says it. */
	bool per_step = report->subject && !strncmp(report->subject, "per step", 8);

	(void)err;
	if (report->subject)
		st_flow_lines(job->out, job->style->width, report->subject);
	if (!report->row_count)
		st_flow_lines(job->out, job->style->width, report->empty);
	for (uint32_t i = 0; i < report->row_count; i++) {
		const struct st_cell *cells = report->rows[i].cells;

		st_buf_printf(job->out, "\n%u  ", i + 1);
		st_show_cell(job->out, &cells[ST_FINDING_RULE], "", 0);
		st_buf_append_text(job->out, "  ");
		add_saving(job->out, cells, per_step);
		st_show_end_line(job->out);
		add_line(job, "   found", &cells[ST_FINDING_WHAT]);
		if (cells[ST_FINDING_WHERE].as.text.size_bytes)
			add_line(job, "   in", &cells[ST_FINDING_WHERE]);
		add_line(job, "   do", &cells[ST_FINDING_REMEDY]);
		add_line(job, "   see", &cells[ST_FINDING_COMMAND]);
	}
	return ST_OK;
}
