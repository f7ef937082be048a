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

static const char of_steps[] = "LINES, HOT and LOOK AT are of the steps alone";

enum {
	LOOKS_MAX = 3,
	START_LINE_ROOM = 48,
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
	const struct st_cell *lost = st_summary_fact(job, "cost", "samples_lost");

	if (complete->kind != ST_CELL_DOUBLE)
		return;
	if (number(lost) > 0)
		st_flow_cell(flow, "   ", "samples lost ", lost, "");
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

/* Of a part of the tasks: "CPU     CPU time 2.31 s   effective 98.2 %   spin 1.8 %", which are shares of that time. */
static void add_filtered_cpu(struct st_text_job *job, struct st_flow *flow, double total)
{
	st_flow_cell(flow, "", "CPU time ", st_summary_fact(job, "cpu", "cpu_ns"), "ns");
	if (total > 0) {
		add_part(flow, "effective", fact_number(job, "effective_ns") / total);
		add_part(flow, "spin", fact_number(job, "spin_ns") / total);
		add_part(flow, "overhead", fact_number(job, "overhead_ns") / total);
	}
	st_flow_end(flow);
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
	if (st_summary_fact(job, "cpu", "cpus")->kind == ST_CELL_NONE) {
		add_filtered_cpu(job, &flow, total);
		return;
	}
	/* Lines above are shares of the CPU time that was used, in the steps. */
	st_buf_printf(&flow.piece, "%.0f allowed; of their time%s:", fact_number(job, "cpus"),
		      st_summary_count(job, "steady") ? " in the whole run" : "");
	st_flow_piece(&flow, "");
	if (total > 0) {
		add_part(&flow, "effective", busy * fact_number(job, "effective_ns") / total);
		add_part(&flow, "spin", busy * fact_number(job, "spin_ns") / total);
		add_part(&flow, "overhead", busy * fact_number(job, "overhead_ns") / total);
	}
	add_rest(job, &flow, busy);
	if (total > 0) {
		st_buf_append_text(&flow.piece, "CPU time ");
		st_show_cell(&flow.piece, cpu, "ns", 0);
		st_buf_printf(&flow.piece, " of %.0f thread%s", fact_number(job, "threads"),
			      fact_number(job, "threads") > 1 ? "s" : "");
	} else {
		st_buf_append_text(&flow.piece, "no sample: too little CPU time");
	}
	st_flow_piece(&flow, "   ");
	for (uint32_t i = 0; total > 0 && i < st_summary_count(job, "utilization"); i++) {
		const struct st_cell *level = st_summary_row(job, "utilization", i);

		if (i == 0)
			st_buf_append_text(&flow.piece, "the program's effective work by time: ");
		st_show_cell(&flow.piece, &level[ST_SUMMARY_NAME], "", 0);
		st_buf_printf(&flow.piece, " %.0f %%", number(&level[ST_SUMMARY_RATIO]) * 100.0);
		st_flow_piece(&flow, i ? " " : "   ");
	}
	if (fact_number(job, "oversubscribed_ratio") > 0.005)
		add_part(&flow, "oversubscribed", fact_number(job, "oversubscribed_ratio"));
	if (total > 0 && fact_number(job, "gc_ns") / total > 0.005) {
		const struct st_cell *steps = st_summary_fact(job, "cpu", "gc_of_steps_ratio");

		st_buf_printf(&flow.piece, "garbage collection %.1f %% of the run's CPU time",
			      fact_number(job, "gc_ns") / total * 100.0);
		if (steps->kind == ST_CELL_DOUBLE)
			st_buf_printf(&flow.piece, ", %.1f %% of the steps'",
				      number(steps) * 100.0);
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

/* What a start-up is mostly about: "; most of that is train.py:3 import torch (92 %)". */
static void add_start_line(struct st_text_job *job, struct st_flow *flow)
{
	const struct st_cell *line = st_summary_row(job, "start_up", 2);
	const struct st_cell *cpu = st_summary_fact(job, "start_up", "cpu_ns");
	const struct st_cell *gc = st_summary_fact(job, "start_up", "gc_ns");
	struct st_buf words;

	st_buf_init(&words, 1 << 16);
	if (line && line[ST_SUMMARY_RATIO].kind == ST_CELL_DOUBLE) {
		st_flow_mark(flow, ";");
		st_buf_printf(&words, "%.0f %% of that is ",
			      number(&line[ST_SUMMARY_RATIO]) * 100.0);
		st_show_cell(&words, &line[ST_SUMMARY_VALUE], "", START_LINE_ROOM);
	}
	if (number(gc) > number(cpu) / 10) {
		st_flow_mark(flow, words.size_bytes ? "" : ";");
		st_buf_printf(&words, "%s%.0f %% is garbage collection",
			      words.size_bytes ? ", " : "", number(gc) / number(cpu) * 100.0);
	}
	st_flow_words(flow, (struct st_text){(char *)words.data, words.size_bytes}, 0);
	job->out->failed |= words.failed;
	st_buf_fini(&words);
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
		add_start_line(job, &flow);
	}
	st_flow_end(&flow);
	if (st_summary_count(job, "steady"))
		st_summary_sentence(job, "", (struct st_text){of_steps, strlen(of_steps)});
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

/* "  1 about 55.6 ms      use float32: 72 ms in operators on float64" */
static void add_fixes(struct st_text_job *job, uint32_t most)
{
	uint32_t count = st_summary_count(job, "fix");
	const struct st_cell *cells = st_summary_row(job, "fix", 0);
	struct st_flow flow;

	st_buf_append_text(job->out, cells[ST_SUMMARY_COUNT].as.u64
					     ? "FIX FIRST, by what the mean step would save"
					     : "FIX FIRST, by what it would save");
	st_buf_append_text(job->out, "; details: strata report findings\n");
	for (uint32_t i = 0; i < count && i < most; i++) {
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

/* Garbage collection that no step pays for: the line about the start-up has it. */
static bool is_before_steps(struct st_text_job *job, const struct st_cell *row)
{
	static const char name[] = "garbage_collection";
	const struct st_cell *steps = st_summary_fact(job, "cpu", "gc_of_steps_ratio");
	struct st_text text = row[ST_SUMMARY_NAME].as.text;

	return st_summary_count(job, "steady") && steps->kind == ST_CELL_DOUBLE &&
	       number(steps) < ST_GC_MATTERS && text.size_bytes == sizeof(name) - 1 &&
	       !memcmp(text.bytes, name, text.size_bytes);
}

static void add_looks(struct st_text_job *job)
{
	uint32_t count = st_summary_count(job, "finding"), shown = 0;

	for (uint32_t i = 0; i < count && shown < LOOKS_MAX; i++) {
		const struct st_cell *row = st_summary_row(job, "finding", i);

		if (is_before_steps(job, row))
			continue;
		st_summary_sentence(job, shown++ ? "" : "LOOK AT", row[ST_SUMMARY_VALUE].as.text);
	}
}

void st_summary_add_findings(struct st_text_job *job, uint32_t fixes)
{
	const struct st_cell *batch = st_summary_fact(job, "finding", "batch");

	/* What can be fixed says more than what is remarkable; but how much work a step is, no figure of it tells. */
	if (!st_summary_count(job, "fix")) {
		add_looks(job);
		return;
	}
	add_fixes(job, fixes);
	if (batch->kind == ST_CELL_TEXT)
		st_summary_sentence(job, "LOOK AT", batch->as.text);
}

/* "WAITS   Queue.get (train.py:88)      8.39 s      218 waits"; of steps "… 40.7 ms  81.1 %  of a step" */
static void add_wait(struct st_text_job *job, const struct st_cell *row, const char *word)
{
	unsigned int names = name_room(job) - 1, width;
	bool of_step = row[ST_SUMMARY_RATIO].kind == ST_CELL_DOUBLE;

	st_summary_margin(job, word);
	width = st_show_cell(job->out, &row[ST_SUMMARY_NAME], "", names);
	if (row[ST_SUMMARY_VALUE].kind == ST_CELL_TEXT && names > width + 8) {
		st_buf_append_text(job->out, ", ");
		width += 2;
		width += st_show_cell(job->out, &row[ST_SUMMARY_VALUE], "", names - width);
	}
	st_show_pad(job->out, width, names);
	st_buf_append_text(job->out, "  wait");
	st_show_right(job->out, &row[ST_SUMMARY_TOTAL], "ns", 9);
	if (of_step) {
		st_show_right(job->out, &row[ST_SUMMARY_RATIO], "ratio", 8);
		st_buf_append_text(job->out, "  of a step");
	} else {
		st_show_right(job->out, &row[ST_SUMMARY_COUNT], "", 8);
		st_buf_append_text(job->out,
				   number(&row[ST_SUMMARY_COUNT]) > 1 ? " waits" : " wait");
	}
	st_show_end_line(job->out);
}

static void add_waits(struct st_text_job *job, uint32_t rows)
{
	for (uint32_t i = 0; i < rows && i < st_summary_count(job, "waits_for"); i++)
		add_wait(job, st_summary_row(job, "waits_for", i), i ? "" : "WAITS");
}

/* "OPENMP  30 regions, 212 ms   imbalance 45.2 ms (21.3 %), most in solve (grid.c:41)   outside regions 80.1 ms" */
static void add_openmp(struct st_text_job *job)
{
	const struct st_cell *regions = st_summary_row(job, "openmp", 0);
	struct st_flow flow;

	if (!regions)
		return;
	st_summary_begin(job, &flow, "OPENMP");
	st_show_cell(&flow.piece, &regions[ST_SUMMARY_COUNT], "", 0);
	st_buf_append_text(&flow.piece, " regions, ");
	st_show_cell(&flow.piece, &regions[ST_SUMMARY_TOTAL], "ns", 0);
	st_flow_piece(&flow, "");
	st_buf_append_text(&flow.piece, "imbalance ");
	st_show_cell(&flow.piece, &st_summary_row(job, "openmp", 1)[ST_SUMMARY_TOTAL], "ns", 0);
	st_buf_printf(&flow.piece, " (%.1f %%)",
		      number(&st_summary_row(job, "openmp", 1)[ST_SUMMARY_RATIO]) * 100.0);
	if (number(&st_summary_row(job, "openmp", 3)[ST_SUMMARY_TOTAL]) > 0) {
		st_buf_append_text(&flow.piece, ", most in ");
		st_show_cell(&flow.piece, &st_summary_row(job, "openmp", 3)[ST_SUMMARY_VALUE], "",
			     60);
	}
	st_flow_piece(&flow, "   ");
	st_buf_append_text(&flow.piece, "outside regions ");
	st_show_cell(&flow.piece, &st_summary_row(job, "openmp", 2)[ST_SUMMARY_TOTAL], "ns", 0);
	st_flow_piece(&flow, "   ");
	st_flow_end(&flow);
}

/* "THREADS 12 for 1.90 s   running 3.0 %   Synchronization 48.2 %   I/O 8.1 %   not classified 5.0 %" */
void st_summary_show_thread_time(struct st_text_job *job, uint32_t rows)
{
	const struct st_cell *all = st_summary_row(job, "thread_time", 0);
	struct st_flow flow;

	add_waits(job, rows);
	add_openmp(job);
	if (!all)
		return;
	st_summary_begin(job, &flow, "WAITING");
	st_buf_printf(&flow.piece, "%.0f thread%s for ", number(&all[ST_SUMMARY_COUNT]),
		      number(&all[ST_SUMMARY_COUNT]) > 1 ? "s" : "");
	st_show_cell(&flow.piece, &all[ST_SUMMARY_TOTAL], "ns", 0);
	st_flow_piece(&flow, "");
	for (uint32_t i = 1; i < st_summary_count(job, "thread_time"); i++) {
		const struct st_cell *part = st_summary_row(job, "thread_time", i);

		st_show_cell(&flow.piece, &part[ST_SUMMARY_NAME], "", 0);
		st_buf_printf(&flow.piece, " %.1f %%", number(&part[ST_SUMMARY_RATIO]) * 100.0);
		st_flow_piece(&flow, "   ");
	}
	st_flow_end(&flow);
}
