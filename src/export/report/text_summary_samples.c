// SPDX-License-Identifier: Apache-2.0
//
// The part of the summary's text that samples tell.
#include "export/report/text_summary.h"

#include <string.h>

#include "analyze/summary/report_summary.h"
#include "base/buf.h"
#include "export/report/show.h"

#define FIX_HINT "details: strata report findings"

enum { FINDINGS_MAX = 3, NAME_ROOM = 47, MODULE_WIDTH = 26 };

static double number(const struct st_cell *cell)
{
	if (cell->kind == ST_CELL_DOUBLE)
		return cell->as.number;
	return cell->kind == ST_CELL_U64 ? (double)cell->as.u64 : 0.0;
}

static double fact_number(struct st_text_job *job, const char *name)
{
	return number(st_summary_fact(job, "cpu", name));
}

bool st_summary_add_sample_count(struct st_text_job *job, struct st_buf *piece, bool more)
{
	const struct st_cell *samples = st_summary_fact(job, "cpu", "samples");

	if (samples->kind != ST_CELL_U64 || (!samples->as.u64 && !more))
		return false;
	st_show_cell(piece, samples, "", 0);
	st_buf_append_text(piece, samples->as.u64 == 1 ? " sample" : " samples");
	if (more)
		st_buf_append_text(piece, ", ");
	return !more;
}

/* A share of stacks: full precision where it matters, near its ends. */
static void show_share(struct st_buf *out, double share)
{
	double percent = share * 100.0;

	if (percent > 99.9 && percent < 100.0)
		st_buf_append_text(out, "over 99.9 %");
	else
		st_buf_printf(out, "%.1f %%", percent);
}

void st_summary_add_stacks(struct st_text_job *job, struct st_flow *flow)
{
	const struct st_cell *complete = st_summary_fact(job, "cost", "stacks_complete_ratio");

	if (complete->kind != ST_CELL_DOUBLE)
		return;
	st_buf_append_text(&flow->piece, "stacks complete ");
	show_share(&flow->piece, complete->as.number);
	st_buf_append_text(&flow->piece, ", recovered ");
	show_share(&flow->piece, number(st_summary_fact(job, "cost", "stacks_recovered_ratio")));
	st_flow_piece(flow, "   ");
	st_flow_cell(flow, ", ", "samples lost ", st_summary_fact(job, "cost", "samples_lost"), "");
}

static void add_part(struct st_flow *flow, const char *word, double share)
{
	st_buf_printf(&flow->piece, "%s %.1f %%", word, share * 100.0);
	st_flow_piece(flow, "   ");
}

/* "CPU     2 CPUs   effective 61.2 %   spin 17.0 %   overhead 3.0 %   idle 18.8 %" */
void st_summary_add_cpu(struct st_text_job *job)
{
	const struct st_cell *cpu = st_summary_fact(job, "cpu", "cpu_ns");
	double total = number(cpu), busy = fact_number(job, "cpu_utilization_ratio");
	struct st_flow flow;

	if (cpu->kind != ST_CELL_U64)
		return;
	st_summary_begin(job, &flow, "CPU");
	st_buf_printf(&flow.piece, "%.0f allowed", fact_number(job, "cpus"));
	st_flow_piece(&flow, "");
	if (total > 0) {
		add_part(&flow, "effective", busy * fact_number(job, "effective_ns") / total);
		add_part(&flow, "spin", busy * fact_number(job, "spin_ns") / total);
		add_part(&flow, "overhead", busy * fact_number(job, "overhead_ns") / total);
	}
	add_part(&flow, "idle", busy < 1.0 ? 1.0 - busy : 0.0);
	st_buf_append_text(&flow.piece, "CPU time ");
	st_show_cell(&flow.piece, cpu, "ns", 0);
	st_buf_printf(&flow.piece, " of %.0f thread%s", fact_number(job, "threads"),
		      fact_number(job, "threads") > 1 ? "s" : "");
	st_flow_piece(&flow, "   ");
	for (uint32_t i = 0; i < st_summary_count(job, "utilization"); i++) {
		const struct st_cell *level = st_summary_row(job, "utilization", i);

		if (i == 0)
			st_buf_append_text(&flow.piece, "time ");
		st_show_cell(&flow.piece, &level[ST_SUMMARY_NAME], "", 0);
		st_buf_printf(&flow.piece, " %.0f %%", number(&level[ST_SUMMARY_RATIO]) * 100.0);
		st_flow_piece(&flow, i ? " " : "   ");
	}
	if (fact_number(job, "oversubscribed_ratio") > 0.005)
		add_part(&flow, "oversubscribed", fact_number(job, "oversubscribed_ratio"));
	st_flow_end(&flow);
}

static unsigned int name_room(const struct st_text_job *job)
{
	unsigned int limit = st_summary_width(job);

	return limit > NAME_ROOM + 16 ? limit - NAME_ROOM : 16;
}

static void add_row(struct st_text_job *job, const struct st_cell *row, const char *word,
		    bool is_path)
{
	unsigned int names = name_room(job), width;

	st_summary_margin(job, word);
	/* A path is known by its end. */
	width = is_path ? st_show_path(job->out, row[ST_SUMMARY_NAME].as.text, names)
			: st_show_name(job->out, &row[ST_SUMMARY_NAME], names);
	st_show_pad(job->out, width, names);
	st_buf_append_text(job->out, " self");
	st_show_right(job->out, &row[ST_SUMMARY_CPU_SELF], "ns", 9);
	st_show_right(job->out, &row[ST_SUMMARY_RATIO], "ratio", 8);
	if (row[ST_SUMMARY_VALUE].kind == ST_CELL_TEXT) {
		st_buf_append_text(job->out, "  ");
		st_show_cell(job->out, &row[ST_SUMMARY_VALUE], "",
			     st_summary_width(job) > 90 ? 15 : 8);
	} else {
		st_buf_append_text(job->out, " total");
		st_show_right(job->out, &row[ST_SUMMARY_CPU_TOTAL], "ns", 9);
	}
	st_show_end_line(job->out);
}

static void add_rows(struct st_text_job *job, const char *section, const char *word, uint32_t rows)
{
	uint32_t count = st_summary_count(job, section);

	for (uint32_t i = 0; i < count && i < rows; i++)
		add_row(job, st_summary_row(job, section, i), i ? "" : word, false);
}

/* Among the first lines of the program's own code. */
static bool is_shown(struct st_text_job *job, const struct st_cell *line, uint32_t own)
{
	struct st_text name = line[ST_SUMMARY_NAME].as.text;

	for (uint32_t i = 0; i < own; i++) {
		struct st_text other = st_summary_row(job, "own_line", i)[ST_SUMMARY_NAME].as.text;

		if (other.size_bytes == name.size_bytes &&
		    memcmp(other.bytes, name.bytes, name.size_bytes) == 0)
			return true;
	}
	return false;
}

static struct st_text last_part(struct st_text path)
{
	const char *slash = memrchr(path.bytes, '/', path.size_bytes);
	size_t before = slash ? (size_t)(slash + 1 - path.bytes) : 0;

	return (struct st_text){path.bytes + before, path.size_bytes - before};
}

/* Lines of the program's own code, with their text, and then those in which the time was spent. */
static void add_lines(struct st_text_job *job, uint32_t rows)
{
	uint32_t own = st_summary_count(job, "own_line"), lines, most, shown = 0;
	unsigned int names = name_room(job) - 1, places = names / 2;

	lines = st_summary_count(job, "python_line");
	most = lines && rows > 1 ? rows - 1 : rows;
	own = own < most ? own : most;
	for (uint32_t i = 0; i < own; i++, shown++) {
		const struct st_cell *row = st_summary_row(job, "own_line", i);
		unsigned int width;

		st_summary_margin(job, shown ? "" : "LINES");
		width = st_show_path(job->out, last_part(row[ST_SUMMARY_NAME].as.text), places);
		st_buf_append_text(job->out, "  ");
		width += 2;
		if (row[ST_SUMMARY_VALUE].kind == ST_CELL_TEXT)
			width += st_show_cell(job->out, &row[ST_SUMMARY_VALUE], "", names - width);
		st_show_pad(job->out, width, names);
		st_buf_append_text(job->out, " total");
		st_show_right(job->out, &row[ST_SUMMARY_CPU_TOTAL], "ns", 9);
		st_show_right(job->out, &row[ST_SUMMARY_RATIO], "ratio", 8);
		st_show_end_line(job->out);
	}
	for (uint32_t i = 0; i < lines && shown < rows; i++) {
		const struct st_cell *row = st_summary_row(job, "python_line", i);

		if (is_shown(job, row, own))
			continue;
		add_row(job, row, shown ? "" : "LINES", true);
		shown++;
	}
}

void st_summary_add_hotspots(struct st_text_job *job, uint32_t rows)
{
	add_rows(job, "hotspot", "HOT", rows);
	add_lines(job, rows);
	add_rows(job, "task_cpu", "IN TASK", rows);
}

/* "1 72 ms in operators on float64      about -55.6 ms per step": the report has the remedy. */
static void add_fixes(struct st_text_job *job)
{
	uint32_t count = st_summary_count(job, "fix");
	struct st_flow flow;

	for (uint32_t i = 0; i < count; i++) {
		const struct st_cell *cells = st_summary_row(job, "fix", i);
		uint64_t high = cells[ST_SUMMARY_TOTAL].as.u64, low = cells[ST_SUMMARY_SELF].as.u64;

		st_summary_begin(job, &flow, i ? "" : "FIX");
		st_buf_append_text(&flow.piece, high == low ? "about -" : "up to -");
		st_show_duration(&flow.piece, high);
		st_buf_append_text(&flow.piece,
				   cells[ST_SUMMARY_COUNT].as.u64 ? " per step:" : ":");
		st_flow_piece(&flow, "");
		st_flow_words(&flow, cells[ST_SUMMARY_VALUE].as.text, 0);
		st_flow_end(&flow);
	}
	if (count)
		st_summary_sentence(job, "", (struct st_text){FIX_HINT, sizeof(FIX_HINT) - 1});
}

static void add_looks(struct st_text_job *job)
{
	uint32_t count = st_summary_count(job, "finding");

	for (uint32_t i = 0; i < count && i < FINDINGS_MAX; i++)
		st_summary_sentence(job, i ? "" : "LOOK AT",
				    st_summary_row(job, "finding", i)[ST_SUMMARY_VALUE].as.text);
}

void st_summary_add_findings(struct st_text_job *job)
{
	add_fixes(job);
	add_looks(job);
}
