// SPDX-License-Identifier: Apache-2.0
//
// The part of the summary's text that samples tell.
#include "export/report/text_summary.h"

#include <string.h>

#include "analyze/summary/report_summary.h"
#include "base/buf.h"
#include "export/report/show.h"
#include "resolve/short_name.h"

#define WORTH_SAYING 0.005

enum {
	LOOKS_MAX = 3,
	FIX_INDENT = 23, /* "  1 about 241.8 ms" */
	NAME_ROOM = 47,
};

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
	st_flow_cell(flow, "   ", "samples lost ", st_summary_fact(job, "cost", "samples_lost"),
		     "");
	st_buf_append_text(&flow->piece, "stacks complete ");
	show_share(&flow->piece, complete->as.number);
	st_flow_piece(flow, "   ");
}

static void add_part(struct st_flow *flow, const char *word, double share)
{
	st_buf_printf(&flow->piece, "%s %.1f %%", word, share * 100.0);
	st_flow_piece(flow, "   ");
}

/* What was left of the CPUs, and who had the rest. Where other CPUs were counted than those allowed, their share is no
 * part of these. */
static void add_rest(struct st_text_job *job, struct st_flow *flow, double busy)
{
	double others = fact_number(job, "others_ratio"), stolen = fact_number(job, "stolen_ratio");
	double machine = fact_number(job, "machine_cpus"), rest = 1.0 - busy;
	bool has_others =
		machine > 0 && (machine == fact_number(job, "cpus") || others < WORTH_SAYING);

	if (machine > 0 && machine == fact_number(job, "cpus")) {
		if (others >= WORTH_SAYING)
			add_part(flow, "other programs", others);
		if (stolen >= WORTH_SAYING)
			add_part(flow, "other virtual machines", stolen);
		rest -= others + stolen;
	} else if (others >= WORTH_SAYING) {
		st_buf_printf(&flow->piece, "other programs %.1f %% of the machine's %.0f CPUs",
			      others * 100.0, machine);
		st_flow_piece(flow, "   ");
	}
	add_part(flow, has_others ? "idle" : "idle or other programs", rest > 0 ? rest : 0.0);
	if (fact_number(job, "cpu_limit") <= 0)
		return;
	st_buf_printf(&flow->piece, "control group: at most %.3g CPUs, held back ",
		      fact_number(job, "cpu_limit"));
	st_show_cell(&flow->piece, st_summary_fact(job, "cpu", "throttled_ns"), "ns", 0);
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
	add_rest(job, &flow, busy);
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
	if (total > 0 && fact_number(job, "gc_ns") / total > 0.005) {
		st_buf_printf(&flow.piece, "garbage collection %.1f %% of CPU time",
			      fact_number(job, "gc_ns") / total * 100.0);
		st_flow_piece(&flow, "   ");
	}
	st_flow_end(&flow);
}

static unsigned int name_room(const struct st_text_job *job)
{
	unsigned int limit = st_summary_width(job);

	return limit > NAME_ROOM + 16 ? limit - NAME_ROOM : 16;
}

/* Which programs used the CPU, where there are several. */
void st_summary_show_processes(struct st_text_job *job, uint32_t rows)
{
	uint32_t count = st_summary_count(job, "process_cpu"), shown = 0;

	if (count < 2 || number(&st_summary_row(job, "process_cpu", 1)[ST_SUMMARY_RATIO]) < 0.05)
		return;
	for (uint32_t i = 0; i < count; i++) {
		const struct st_cell *row = st_summary_row(job, "process_cpu", i);
		unsigned int width;

		if (number(&row[ST_SUMMARY_RATIO]) < 0.01 || shown == rows)
			continue;
		st_summary_margin(job, shown++ ? "" : "PROGRAM");
		width = st_show_cell(job->out, &row[ST_SUMMARY_NAME], "", name_room(job));
		st_show_pad(job->out, width, name_room(job));
		st_buf_append_text(job->out, "  CPU");
		st_show_right(job->out, &row[ST_SUMMARY_CPU_SELF], "ns", 9);
		st_show_right(job->out, &row[ST_SUMMARY_RATIO], "ratio", 8);
		st_show_end_line(job->out);
	}
	if (shown < count)
		st_buf_append_text(job->out,
				   "        and more: strata report hotspots -group-by process\n");
}

/* "start-up 4.70 s before the first step: 83.4 % of the run, 97.5 % of its CPU time" */
void st_summary_show_start_up(struct st_text_job *job)
{
	const struct st_cell *row = st_summary_row(job, "start_up", 0);
	const struct st_cell *cpu = st_summary_row(job, "start_up", 1);
	struct st_flow flow;

	if (!row)
		return;
	st_summary_begin(job, &flow, "");
	st_buf_append_text(&flow.piece, "start-up ");
	st_show_cell(&flow.piece, &row[ST_SUMMARY_VALUE], "ns", 0);
	st_buf_append_text(&flow.piece, " before the first step:");
	st_flow_piece(&flow, "");
	st_buf_printf(&flow.piece, "%.1f %% of the run%s", number(&row[ST_SUMMARY_RATIO]) * 100.0,
		      cpu ? "," : "");
	st_flow_piece(&flow, " ");
	if (cpu) {
		st_buf_printf(&flow.piece, "%.1f %% of its CPU time",
			      number(&cpu[ST_SUMMARY_RATIO]) * 100.0);
		st_flow_piece(&flow, " ");
	}
	st_flow_end(&flow);
}

static void add_row(struct st_text_job *job, const struct st_cell *row, struct st_text name,
		    const char *word)
{
	unsigned int names = name_room(job), width;
	bool is_path = row[ST_SUMMARY_VALUE].kind != ST_CELL_TEXT;
	const struct st_cell cell = {.kind = ST_CELL_TEXT, .as.text = name};

	st_summary_margin(job, word);
	/* A path is known by its end. */
	width = is_path ? st_show_path(job->out, name, names)
			: st_show_name(job->out, &cell, names);
	st_show_pad(job->out, width, names);
	st_buf_append_text(job->out, " self");
	st_show_right(job->out, &row[ST_SUMMARY_CPU_SELF], "ns", 9);
	st_show_right(job->out, &row[ST_SUMMARY_RATIO], "ratio", 8);
	if (!is_path) {
		st_buf_append_text(job->out, "  ");
		st_show_cell(job->out, &row[ST_SUMMARY_VALUE], "",
			     st_summary_width(job) > 90 ? 15 : 8);
	} else {
		st_buf_append_text(job->out, " total");
		st_show_right(job->out, &row[ST_SUMMARY_CPU_TOTAL], "ns", 9);
	}
	st_show_end_line(job->out);
}

/* Functions by a name that can be read; reports have the full one. A function that only waits is said to. */
void st_summary_add_hotspots(struct st_text_job *job, uint32_t rows)
{
	uint32_t count = st_summary_count(job, "hotspot");

	for (uint32_t i = 0; i < count && i < rows; i++) {
		const struct st_cell *row = st_summary_row(job, "hotspot", i);
		struct st_buf name;

		st_buf_init(&name, 1 << 20);
		st_short_name(row[ST_SUMMARY_NAME].as.text, &name);
		if (number(&row[ST_SUMMARY_SPIN]) > number(&row[ST_SUMMARY_CPU_SELF]) / 2)
			st_buf_append_text(&name, " (busy waiting)");
		if (name.size_bytes == 15 && memcmp(name.data, "gc_collect_main", 15) == 0)
			st_buf_append_text(&name, " (garbage collection)");
		add_row(job, row, (struct st_text){(char *)name.data, name.size_bytes},
			i ? "" : "HOT");
		job->out->failed |= name.failed;
		st_buf_fini(&name);
	}
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

/* What the own lines explain of the time. */
static double own_share(struct st_text_job *job, uint32_t own)
{
	double share = 0;

	for (uint32_t i = 0; i < own; i++)
		share += number(&st_summary_row(job, "own_line", i)[ST_SUMMARY_RATIO]);
	return share;
}

static void add_own_line(struct st_text_job *job, const struct st_cell *row, const char *word)
{
	unsigned int names = name_room(job) - 1, width;

	st_summary_margin(job, word);
	width = st_show_path(job->out, last_part(row[ST_SUMMARY_NAME].as.text), names / 2);
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

/* Lines of the program's own code, with their text. Where these do not explain half of the time, also the lines in
 * which it was spent, whoever's they are. */
void st_summary_add_lines(struct st_text_job *job, uint32_t rows)
{
	uint32_t own = st_summary_count(job, "own_line"), lines, shown = 0;

	lines = st_summary_count(job, "python_line");
	own = own < rows ? own : rows;
	for (; shown < own; shown++)
		add_own_line(job, st_summary_row(job, "own_line", shown), shown ? "" : "LINES");
	if (own_share(job, own) > 0.5)
		return;
	for (uint32_t i = 0; i < lines && shown < rows; i++) {
		const struct st_cell *row = st_summary_row(job, "python_line", i);

		if (is_shown(job, row, own))
			continue;
		add_row(job, row, row[ST_SUMMARY_NAME].as.text, shown ? "" : "LINES");
		shown++;
	}
}

/* "  1 about 55.6 ms      72 ms in operators on float64": the report has the remedy. */
static void add_fixes(struct st_text_job *job)
{
	uint32_t count = st_summary_count(job, "fix");
	const struct st_cell *cells = st_summary_row(job, "fix", 0);
	struct st_flow flow;

	st_buf_append_text(job->out, cells[ST_SUMMARY_COUNT].as.u64
					     ? "FIX FIRST, by what a step would save"
					     : "FIX FIRST, by what it would save");
	st_buf_append_text(job->out, "; details: strata report findings\n");
	for (uint32_t i = 0; i < count; i++) {
		uint64_t high, low;

		cells = st_summary_row(job, "fix", i);
		high = cells[ST_SUMMARY_TOTAL].as.u64;
		low = cells[ST_SUMMARY_SELF].as.u64;
		st_flow_init(&flow, job->out, st_summary_width(job), FIX_INDENT);
		st_buf_printf(&flow.piece, "  %u %s ", i + 1, high == low ? "about" : "up to");
		st_show_duration(&flow.piece, high);
		st_show_pad(&flow.piece, (unsigned int)flow.piece.size_bytes, FIX_INDENT);
		st_show_move(job->out, &flow.piece);
		st_buf_init(&flow.piece, 1 << 20);
		st_flow_words(&flow, cells[ST_SUMMARY_VALUE].as.text, 0);
		st_flow_end(&flow);
	}
}

static void add_looks(struct st_text_job *job)
{
	uint32_t count = st_summary_count(job, "finding");

	for (uint32_t i = 0; i < count && i < LOOKS_MAX; i++)
		st_summary_sentence(job, i ? "" : "LOOK AT",
				    st_summary_row(job, "finding", i)[ST_SUMMARY_VALUE].as.text);
}

void st_summary_add_findings(struct st_text_job *job)
{
	/* What can be fixed says more than what is remarkable. */
	if (st_summary_count(job, "fix"))
		add_fixes(job);
	else
		add_looks(job);
}
