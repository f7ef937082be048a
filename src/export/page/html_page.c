// SPDX-License-Identifier: Apache-2.0
//
// A result as one HTML file that opens from disk. Sections are written one after the other; one that has nothing to show
// says why, and the largest, the flame graph, is left out where the file would become too large to be handed on.
#include <string.h>

#include "analyze/tables/report.h"
#include "export/exporters.h"
#include "export/markup.h"
#include "export/page/html_parts.h"
#include "export/stream.h"
#include "store/result.h"

enum { FILE_MAX_BYTES = 20 * 1000 * 1000, TABLE_ROWS = 500, TEXT_WIDTH = 110 };

struct page {
	const struct st_result *result;
	const struct st_export_options *options;
	struct st_buf *out;
};

struct section {
	const char *id, *title;
	const char *report; /* NULL: the timeline */
	bool as_table;
	const char *columns; /* those of the table that are shown; NULL: all */
};

static void begin_section(struct page *page, const char *id, const char *title)
{
	st_buf_printf(page->out, "<section id=\"%s\"><h2>%s</h2>\n", id, title);
}

static void end_section(struct page *page)
{
	st_buf_append_text(page->out, "</section>\n");
}

static void put_note(struct page *page, const char *text)
{
	st_buf_append_text(page->out, "<p class=\"left\">");
	st_markup_escape(page->out, text, strlen(text));
	st_buf_append_text(page->out, "</p>\n");
}

/* What cannot be shown of this result is no failure of the file. */
static enum st_status note_absence(struct page *page, enum st_status status, struct st_error *err)
{
	if (status != ST_EUSAGE && status != ST_ENOTFOUND && status != ST_EUNSUPPORTED)
		return status;
	put_note(page, err->text);
	return ST_OK;
}

static struct st_report_options report_options(const struct page *page)
{
	return (struct st_report_options){.view = page->options->view};
}

static enum st_status put_report_text(struct page *page, const struct st_report *report,
				      struct st_error *err)
{
	const struct st_text_style style = {.width = TEXT_WIDTH};
	struct st_sink *sink;
	struct st_buf text;
	enum st_status status;

	st_buf_init(&text, FILE_MAX_BYTES);
	status = st_sink_open_buf(&sink, &text, err);
	if (!status) {
		status = st_report_write_text(report, page->result, &style, sink, err);
		status = st_sink_finish(sink, status, err);
	}
	if (!status) {
		st_buf_append_text(page->out, "<pre tabindex=\"0\">");
		st_markup_escape(page->out, text.data, text.size_bytes);
		st_buf_append_text(page->out, "</pre>\n");
	}
	st_buf_fini(&text);
	return status;
}

/* A report as a table, or as the text that the command line prints. */
static enum st_status put_report(struct page *page, const struct section *section,
				 struct st_error *err)
{
	bool as_table = section->as_table;
	struct st_report_options options = report_options(page);
	struct st_report report = {0};
	enum st_status status =
		st_report_build(page->result, section->report, &options, &report, err);

	if (!status && section->columns)
		status = st_report_choose_columns(&report, section->columns, err);
	if (!status && as_table && report.root_count)
		st_html_table(page->out, &report, TABLE_ROWS);
	else if (!status && as_table)
		put_note(page, report.empty ? report.empty : "There are none in this result.");
	else if (!status)
		status = put_report_text(page, &report, err);
	st_report_fini(&report);
	return note_absence(page, status, err);
}

static enum st_status put_flames(struct page *page, struct st_error *err)
{
	struct st_export_options options = *page->options;
	struct st_sink *sink;
	struct st_buf text;
	enum st_status status;

	options.is_page = true;
	st_buf_init(&text, FILE_MAX_BYTES);
	status = st_sink_open_buf(&sink, &text, err);
	if (!status) {
		status = st_export_flamegraph(page->result, &options, sink, err);
		status = st_sink_finish(sink, status, err);
	}
	if (!status &&
	    page->out->size_bytes + text.size_bytes + text.size_bytes / 4 > FILE_MAX_BYTES) {
		put_note(page, "The flame graph is left out: the file would be larger than 20 MB. "
			       "Export it by itself: strata export flamegraph -o flame.html");
	} else if (!status) {
		st_buf_append_text(
			page->out,
			"<iframe title=\"Flame graph\" sandbox=\"allow-scripts\" srcdoc=\"");
		st_markup_escape(page->out, text.data, text.size_bytes);
		st_buf_append_text(page->out, "\"></iframe>\n");
	}
	st_buf_fini(&text);
	return note_absence(page, status, err);
}

static void put_fact(struct page *page, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	st_buf_printf(page->out, "<dt>%s</dt><dd>", name);
	st_markup_escape(page->out, value, strlen(value));
	st_buf_append_text(page->out, "</dd>");
}

static void put_head(struct page *page)
{
	const struct st_result_info *info = st_result_info(page->result);
	struct st_buf *out = page->out;

	st_buf_append_text(
		out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		     "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>");
	st_markup_escape(out, info->name, strlen(info->name));
	st_buf_append_text(out, " - strata</title>\n<style>\n");
	st_buf_append_text(out, st_page_css);
	st_buf_append_text(out, "</style></head><body>\n<header><h1>");
	st_markup_escape(out, info->name, strlen(info->name));
	st_buf_append_text(out, "</h1><dl>");
	put_fact(page, "Command", info->command);
	put_fact(page, "Started", info->started_at);
	put_fact(page, "Host", info->host);
	put_fact(page, "CPU", info->cpu);
	put_fact(page, "Strata", info->strata_version);
	st_buf_append_text(
		out, "</dl><nav aria-label=\"Sections\"><a href=\"#summary\">Summary</a> "
		     "<a href=\"#findings\">Findings</a> <a href=\"#timeline\">Timeline</a> "
		     "<a href=\"#operators\">Operators</a> <a href=\"#functions\">Functions</a> "
		     "<a href=\"#flame\">Flame graph</a> <a href=\"#quality\">Data quality</a>"
		     "</nav></header>\n<main>\n");
}

static enum st_status put_sections(struct page *page, struct st_error *err)
{
	static const struct section sections[] = {
		{"summary", "Summary", "summary", false, NULL},
		{"findings", "Findings", "findings", false, NULL},
		{"timeline", "Timeline", NULL, false, NULL},
		{"operators", "Operators", "operators", true, NULL},
		{"functions", "Functions by CPU time", "hotspots", true,
		 "cpu_self_ns,effective_ns,spin_ns,overhead_ns,cpu_total_ns,samples,module,source_"
		 "file"},
		{"quality", "Data quality", "quality", false, NULL},
	};
	enum st_status status = ST_OK;

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]) && !status; i++) {
		begin_section(page, sections[i].id, sections[i].title);
		status =
			sections[i].report
				? put_report(page, &sections[i], err)
				: note_absence(page, st_html_timeline(page->out, page->result, err),
					       err);
		end_section(page);
	}
	if (status)
		return status;
	begin_section(page, "flame", "Flame graph");
	status = put_flames(page, err);
	end_section(page);
	return status;
}

enum st_status st_export_html(const struct st_result *result,
			      const struct st_export_options *options, struct st_sink *sink,
			      struct st_error *err)
{
	struct st_stream stream;
	struct page page = {result, options, &stream.out};
	/* What is missing in the result is said on the page: the text is wanted, whoever calls. */
	struct st_error why = {0};
	enum st_status status;

	st_stream_init(&stream, sink, "the export");
	put_head(&page);
	status = put_sections(&page, &why);
	if (status)
		st_error_set(err, status, 0, "%s", why.text);
	st_buf_append_text(&stream.out,
			   "</main>\n<footer>This file holds names of functions, files "
			   "and the command line of the program. It was written by "
			   "strata export html and loads nothing.</footer>\n<script>\n");
	st_buf_append_text(&stream.out, st_page_js);
	st_buf_append_text(&stream.out, "</script></body></html>\n");
	return st_stream_end(&stream, status, err);
}
