// SPDX-License-Identifier: Apache-2.0
//
// Reports as text: chooses the layout, and shows losses below it.
#include "export/report/text.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/quality.h"
#include "base/buf.h"
#include "export/report/show.h"
#include "export/report/text_flow.h"

enum { SPILL_BYTES = 256 << 10 };

static const struct {
	enum st_status (*write)(struct st_text_job *job, struct st_error *err);
	bool has_notes; /* says itself what was lost, or is to look as another program's table */
} layouts[] = {
	[ST_LAYOUT_TABLE] = {st_text_table, false},
	[ST_LAYOUT_TREE] = {st_text_tree, false},
	[ST_LAYOUT_SUMMARY] = {st_text_summary, true},
	[ST_LAYOUT_TIMELINE] = {st_text_timeline, false},
	[ST_LAYOUT_INFO] = {st_text_info, true},
	[ST_LAYOUT_TORCH] = {st_text_torch, true},
	[ST_LAYOUT_FINDINGS] = {st_text_findings, false},
	[ST_LAYOUT_THREADING] = {st_text_threading, false},
};

enum st_status st_text_spill(struct st_text_job *job, struct st_error *err)
{
	enum st_status status;

	if (job->out->failed)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the report's text");
	if (job->out->size_bytes < SPILL_BYTES)
		return ST_OK;
	status = st_sink_write(job->sink, job->out->data, job->out->size_bytes, err);
	st_buf_clear(job->out);
	return status;
}

uint32_t *st_report_preorder(const struct st_report *report)
{
	uint32_t *order = malloc(((size_t)report->row_count + 1) * sizeof(*order));
	uint32_t *stack = malloc(((size_t)report->row_count + 1) * sizeof(*stack));
	uint32_t depth = 0, count = 0;

	if (!order || !stack) {
		free(order);
		free(stack);
		return NULL;
	}
	/* Rows to come, the next one on top. */
	for (uint32_t i = report->root_count; i-- > 0;)
		stack[depth++] = report->root_first + i;
	while (depth) {
		const struct st_report_row *row = &report->rows[stack[--depth]];

		order[count++] = stack[depth];
		for (uint32_t i = row->child_count; i-- > 0;)
			stack[depth++] = row->first_child + i;
	}
	free(stack);
	return order;
}

/* One line when the data is good; else what is not, each with a mark in front, and the notes of the report; note text may
 * come from anywhere. */
static void add_quality(struct st_text_job *job)
{
	static const char hint[] = "strata report quality";
	struct st_buf lines, shared;
	struct st_flow flow;
	const char *at, *end;

	st_buf_init(&lines, 1 << 20);
	st_buf_init(&shared, 256);
	if (!st_quality_flaws(job->result, &lines))
		job->out->failed = true;
	st_buf_append_u8(job->out, '\n');
	if (!lines.size_bytes) {
		bool is_shared = st_quality_shared(job->result, ST_MACHINE_SHARED, &shared);

		st_buf_printf(job->out, "data quality: good%s%.*s (%s)\n", is_shared ? "; " : "",
			      (int)shared.size_bytes, (const char *)shared.data, hint);
	} else {
		if (st_quality_shared(job->result, ST_MACHINE_SHARED, &lines))
			st_buf_append_u8(&lines, '\n');
		st_buf_printf(&lines, "all about the quality of the data: %s\n", hint);
	}
	for (uint32_t i = 0; i < job->report->note_count; i++)
		st_buf_printf(&lines, "%s\n", job->report->notes[i]);
	at = (const char *)lines.data;
	end = at + lines.size_bytes;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);

		st_buf_append_text(job->out, "note  ");
		st_flow_init(&flow, job->out, job->style->width, 6);
		st_flow_words(&flow, (struct st_text){at, length}, 0);
		st_flow_end(&flow);
		at += length + 1;
	}
	st_buf_fini(&shared);
	st_buf_fini(&lines);
}

static enum st_text_layout layout_of(const struct st_report *report)
{
	return report->as_table ? ST_LAYOUT_TABLE : report->layout;
}

enum st_status st_text_body(struct st_text_job *job, struct st_error *err)
{
	return layouts[layout_of(job->report)].write(job, err);
}

enum st_status st_report_write_text(const struct st_report *report, const struct st_result *result,
				    const struct st_text_style *style, struct st_sink *sink,
				    struct st_error *err)
{
	struct st_buf out;
	struct st_text_job job = {report, result, style, sink, &out};
	enum st_status status;

	st_buf_init(&out, SIZE_MAX / 4);
	status = st_text_body(&job, err);
	if (!status && !layouts[layout_of(report)].has_notes)
		add_quality(&job);
	if (!status && out.failed)
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the report's text");
	if (!status)
		status = st_sink_write(sink, out.data, out.size_bytes, err);
	st_buf_fini(&out);
	return status;
}
