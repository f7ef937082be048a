// SPDX-License-Identifier: Apache-2.0
//
// Report "summary" as text: at most 40 lines of 100 columns, or of fewer when the reader has fewer. Each block has a word in front, and
// is not there when it has nothing to say. What does not fit is counted ("and 12 more").
#include "export/report/text.h"

#include <string.h>

#include "analyze/summary/report_summary.h"
#include "base/buf.h"
#include "base/quote.h"
#include "export/report/show.h"
#include "export/report/text_flow.h"
#include "export/report/text_summary.h"

enum {
	LINES_MAX = 40,
	LINE_WIDTH = 100,
	MARGIN = ST_SUMMARY_MARGIN,
	BAR_WIDTH = 20,
	NAME_WIDTH = 36,
	NAME_WIDTH_MIN = 12,
	FIGURES_WIDTH = 42, /* of a row: what is neither name nor bar */
	COMMAND_WIDTH_MIN = 16,
	QUALITY_LINES_MAX = 10,
	TASKS_MIN = 3,
};

#define QUALITY_HINT "strata report quality"

/* How many rows the long blocks may have: what users look at first gives way last. */
struct room {
	uint32_t tasks, places, steps, kinds, programs, samples, fixes;
};

/* The first that fits is taken; the last one, if none does. */
static const struct room rooms[] = {
	{9, 4, 6, 6, 2, 5, 3}, {5, 3, 6, 6, 2, 5, 3}, {4, 2, 6, 4, 1, 5, 3}, {3, 0, 4, 4, 1, 5, 3},
	{0, 0, 4, 4, 1, 5, 3}, {0, 0, 2, 4, 1, 4, 3}, {0, 0, 2, 4, 1, 3, 3}, {0, 0, 2, 2, 1, 2, 3},
	{0, 0, 2, 2, 1, 2, 2}, {0, 0, 2, 2, 1, 2, 1}, {0, 0, 2, 2, 1, 1, 1},
};

unsigned int st_summary_width(const struct st_text_job *job)
{
	unsigned int width = job->style->width;

	return width && width < LINE_WIDTH ? width : LINE_WIDTH;
}

/* Names and bars share what the figures of a row leave; below a certain width rows are just too long. */
static unsigned int bar_width(const struct st_text_job *job)
{
	unsigned int width = st_summary_width(job), most = BAR_WIDTH + NAME_WIDTH;

	if (width >= FIGURES_WIDTH + most)
		return BAR_WIDTH;
	return width > FIGURES_WIDTH + NAME_WIDTH_MIN ? (width - FIGURES_WIDTH) * BAR_WIDTH / most
						      : 0;
}

static unsigned int name_width(const struct st_text_job *job)
{
	unsigned int used = FIGURES_WIDTH + bar_width(job), width = st_summary_width(job);

	if (width < used + NAME_WIDTH_MIN)
		return NAME_WIDTH_MIN;
	return width - used < NAME_WIDTH ? width - used : NAME_WIDTH;
}

static bool in_section(const struct st_report_row *row, const char *section)
{
	struct st_text text = row->cells[ST_SUMMARY_SECTION].as.text;

	return text.size_bytes == strlen(section) &&
	       memcmp(text.bytes, section, text.size_bytes) == 0;
}

uint32_t st_summary_count(const struct st_text_job *job, const char *section)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < job->report->row_count; i++)
		count += in_section(&job->report->rows[i], section);
	return count;
}

const struct st_cell *st_summary_row(const struct st_text_job *job, const char *section,
				     uint32_t index)
{
	for (uint32_t i = 0; i < job->report->row_count; i++) {
		if (in_section(&job->report->rows[i], section) && index-- == 0)
			return job->report->rows[i].cells;
	}
	return NULL;
}

const struct st_cell *st_summary_fact(const struct st_text_job *job, const char *section,
				      const char *name)
{
	static const struct st_cell none = {.kind = ST_CELL_NONE};

	for (uint32_t i = 0; i < job->report->row_count; i++) {
		const struct st_report_row *row = &job->report->rows[i];
		struct st_text text = row->cells[ST_SUMMARY_NAME].as.text;

		if (in_section(row, section) && text.size_bytes == strlen(name) &&
		    memcmp(text.bytes, name, text.size_bytes) == 0)
			return &row->cells[ST_SUMMARY_VALUE];
	}
	return &none;
}

void st_summary_margin(struct st_text_job *job, const char *word)
{
	st_buf_append_text(job->out, word);
	st_show_pad(job->out, (unsigned int)strlen(word), MARGIN);
}

void st_summary_begin(struct st_text_job *job, struct st_flow *flow, const char *word)
{
	st_summary_margin(job, word);
	st_flow_init(flow, job->out, st_summary_width(job), MARGIN);
}

void st_summary_sentence(struct st_text_job *job, const char *word, struct st_text text)
{
	struct st_flow flow;

	st_summary_begin(job, &flow, word);
	st_flow_words(&flow, text, 0);
	st_flow_end(&flow);
}

/* "strata  tasks  COMMAND     12.4 s  exit 0     r000ta  38 MB"; the second half gets a line of its own
 * when the command would have no room. */
void st_summary_add_head(struct st_text_job *job)
{
	struct st_buf tail, *out = job->out;
	unsigned int width = MARGIN, limit = st_summary_width(job), tail_width;
	const struct st_cell *end = st_summary_fact(job, "run", "end");

	st_buf_init(&tail, 4096);
	st_show_cell(&tail, st_summary_fact(job, "run", "elapsed_ns"), "ns", 0);
	st_buf_append_text(&tail, "  ");
	st_show_cell(&tail, end->kind == ST_CELL_NONE ? st_summary_fact(job, "run", "state") : end,
		     "", 20);
	st_buf_append_text(&tail, "  ");
	tail_width = (unsigned int)tail.size_bytes +
		     st_show_cell(&tail, st_summary_fact(job, "run", "result"), "", 24);
	st_buf_append_text(&tail, "  ");
	tail_width +=
		2 + st_show_cell(&tail, st_summary_fact(job, "run", "size_bytes"), "bytes", 0);
	st_summary_margin(job, "strata");
	width += st_show_cell(out, st_summary_fact(job, "run", "type"), "", 20) + 2;
	st_buf_append_text(out, "  ");
	if (width + COMMAND_WIDTH_MIN + 2 + tail_width <= limit) {
		width += st_show_cell(out, st_summary_fact(job, "run", "command"), "",
				      limit - 2 - width - tail_width);
		st_show_pad(out, width, limit - tail_width);
	} else {
		st_show_cell(out, st_summary_fact(job, "run", "command"), "",
			     limit > width + COMMAND_WIDTH_MIN ? limit - width : COMMAND_WIDTH_MIN);
		st_buf_append_u8(out, '\n');
		st_summary_margin(job, "");
	}
	st_show_move(out, &tail);
	st_show_end_line(job->out);
}

/* "1,204 operators and 3 other tasks" */
static void add_task_count(struct st_text_job *job, struct st_buf *piece)
{
	const struct st_cell *operators = st_summary_fact(job, "cost", "operators");
	const struct st_cell *all = st_summary_fact(job, "cost", "tasks");
	struct st_cell others = *all;
	const char *other = "";

	if (operators->kind == ST_CELL_U64 && operators->as.u64 <= all->as.u64) {
		st_show_cell(piece, operators, "", 0);
		st_buf_append_text(piece, operators->as.u64 == 1 ? " operator" : " operators");
		others.as.u64 -= operators->as.u64;
		if (!others.as.u64)
			return;
		st_buf_append_text(piece, ", ");
		other = " other";
	}
	st_show_cell(piece, &others, "", 0);
	st_buf_append_text(piece, other);
	st_buf_append_text(piece, others.as.u64 == 1 ? " task" : " tasks");
}

static void add_source(struct st_text_job *job)
{
	const struct st_cell *source = st_summary_fact(job, "run", "source");
	const struct st_cell *count = st_summary_fact(job, "cost", "tasks");
	const struct st_cell *copies = st_summary_fact(job, "cost", "copies");
	struct st_buf counts;
	struct st_flow flow;

	st_buf_init(&counts, 4096);
	st_summary_begin(job, &flow, "source");
	if (source->kind != ST_CELL_NONE) {
		st_flow_words(&flow, source->as.text, 0);
		st_flow_mark(&flow, ",");
	}
	/* Of a program that marks no tasks samples are all there is. */
	if (!st_summary_add_sample_count(job, &counts, count->as.u64 != 0))
		add_task_count(job, &counts);
	if (copies->kind == ST_CELL_U64) {
		st_buf_append_text(&counts, " and ");
		st_show_cell(&counts, copies, "", 0);
		st_buf_append_text(&counts,
				   copies->as.u64 == 1 ? " worker copy" : " worker copies");
	}
	st_buf_append_text(&counts, " recorded");
	st_flow_words(&flow, (struct st_text){(char *)counts.data, counts.size_bytes}, 0);
	st_flow_end(&flow);
	job->out->failed |= counts.failed;
	st_buf_fini(&counts);
}

static void add_cost(struct st_text_job *job)
{
	const struct st_cell *ratio = st_summary_fact(job, "cost", "estimate_ratio");
	const struct st_cell *error = st_summary_fact(job, "cost", "measured_error_ratio");
	const struct st_cell *why = st_summary_fact(job, "cost", "not_measured");
	const struct st_cell *without = st_summary_fact(job, "cost", "not_in_it");
	const struct st_cell *cpu = st_summary_fact(job, "cost", "strata_cpu_ns");
	struct st_flow flow;

	/* What another profiler recorded cost nothing that is known here. */
	if (ratio->kind != ST_CELL_DOUBLE && why->kind == ST_CELL_NONE &&
	    (cpu->kind != ST_CELL_U64 || !cpu->as.u64))
		return;
	st_summary_begin(job, &flow, "cost");
	if (ratio->kind == ST_CELL_DOUBLE) {
		double percent = ratio->as.number * 100.0;

		if (error->kind == ST_CELL_DOUBLE)
			st_buf_printf(&flow.piece, "+%.1f %% \302\261 %.1f (measured)", percent,
				      error->as.number * 100.0);
		else
			st_buf_printf(&flow.piece, "at least +%.*f %%", percent < 0.01 ? 0 : 2,
				      percent);
		st_flow_piece(&flow, "");
	}
	if (without->kind != ST_CELL_NONE)
		st_flow_words(&flow, without->as.text, 0);
	if (why->kind != ST_CELL_NONE) {
		st_flow_words(&flow, (struct st_text){"(not measured:", 14}, 0);
		st_flow_words(&flow, why->as.text, 0);
		st_flow_mark(&flow, ")");
	}
	if (cpu->kind == ST_CELL_U64 && cpu->as.u64)
		st_flow_cell(&flow, "   ", "strata's own CPU ", cpu, "ns");
	st_flow_end(&flow);
}

/* What matters of the quality: figures first, so that they are all there; of the long sentences about files the last
 * ones may not fit. False when there is nothing. */
static bool add_flaws(struct st_text_job *job, struct st_flow *flow)
{
	static const char name[] = ST_SUMMARY_FLAW;
	const struct st_cell *row;
	bool fits = true, any = false;

	for (uint32_t i = 0; fits && (row = st_summary_row(job, "quality", i)); i++) {
		struct st_text text = row[ST_SUMMARY_NAME].as.text;

		if (text.size_bytes != sizeof(name) - 1)
			continue;
		if (any)
			st_flow_mark(flow, ";");
		fits = st_flow_words(flow, row[ST_SUMMARY_VALUE].as.text, QUALITY_LINES_MAX);
		any = true;
	}
	if (!fits)
		st_buf_append_text(job->out, " …");
	return any;
}

/* "data quality: good   lost 0   stacks complete 99.9 %   strata report quality"; what is not good is said in full. */
void st_summary_add_quality(struct st_text_job *job)
{
	static const char words[] = "data quality:", but[] = "but times are disturbed:";
	const struct st_cell *unwritten = st_summary_fact(job, "cost", "chunks_not_written");
	const struct st_cell *shared = st_summary_fact(job, "cost", "machine_shared");
	struct st_flow flow;

	st_flow_init(&flow, job->out, st_summary_width(job), MARGIN);
	st_buf_append_text(job->out, words);
	flow.at = (unsigned int)strlen(words);
	if (!add_flaws(job, &flow)) {
		st_buf_append_text(&flow.piece, "good");
		st_flow_piece(&flow, " ");
		if (shared->kind == ST_CELL_TEXT) {
			st_flow_mark(&flow, ",");
			st_flow_words(&flow, (struct st_text){but, sizeof(but) - 1}, 0);
		}
	} else if (shared->kind == ST_CELL_TEXT) {
		st_flow_mark(&flow, ";");
	}
	if (shared->kind == ST_CELL_TEXT)
		st_flow_words(&flow, shared->as.text, 0);
	st_buf_append_text(&flow.piece, "lost ");
	st_show_cell(&flow.piece, st_summary_fact(job, "cost", "lost"), "", 0);
	if (unwritten->kind == ST_CELL_U64) {
		st_buf_append_text(&flow.piece, " plus ");
		st_show_cell(&flow.piece, unwritten, "", 0);
		st_buf_append_text(&flow.piece, " chunks not written");
	}
	st_flow_piece(&flow, "   ");
	st_summary_add_stacks(job, &flow);
	st_buf_append_text(&flow.piece, QUALITY_HINT);
	st_flow_piece(&flow, "   ");
	st_flow_end(&flow);
}

static void add_duration(struct st_text_job *job, const struct st_cell *cell)
{
	st_show_right(job->out, cell, "ns", 10);
}

static void add_percent(struct st_text_job *job, const struct st_cell *cell)
{
	st_show_right(job->out, cell, "ratio", 8);
}

/* "  12 tasks", or just the number. */
static void add_count(struct st_text_job *job, const struct st_cell *cell, bool with_word)
{
	st_show_right(job->out, cell, "", 11);
	if (with_word)
		st_buf_append_text(job->out, cell->as.u64 == 1 ? " task" : " tasks");
}

/* "  12 tasks", or "  48 copies" of a worker that has no tasks of its own. */
static void add_place_count(struct st_text_job *job, const struct st_cell *place)
{
	const struct st_cell *copies = &place[ST_SUMMARY_COPIES];

	if (place[ST_SUMMARY_COUNT].as.u64 || copies->kind != ST_CELL_U64) {
		add_count(job, &place[ST_SUMMARY_COUNT], true);
		return;
	}
	st_show_right(job->out, copies, "", 11);
	st_buf_append_text(job->out, copies->as.u64 == 1 ? " copy" : " copies");
}

static void add_name(struct st_text_job *job, const struct st_cell *cell)
{
	unsigned int columns = name_width(job), width;

	st_buf_append_text(job->out, "  ");
	width = st_show_name(job->out, cell, columns);
	st_show_pad(job->out, width, columns + 1);
}

/* "  name   ####      12.3 ms   45.6 %": the beginning of a row; the share may be unknown. */
static void add_share(struct st_text_job *job, const struct st_cell *row,
		      const struct st_cell *duration)
{
	bool has_share = row[ST_SUMMARY_RATIO].kind != ST_CELL_NONE;

	add_name(job, &row[ST_SUMMARY_NAME]);
	st_show_bar(job->out, has_share ? row[ST_SUMMARY_RATIO].as.number : 0.0, bar_width(job));
	add_duration(job, duration);
	if (has_share)
		add_percent(job, &row[ST_SUMMARY_RATIO]);
}

static void add_more(struct st_text_job *job, uint32_t count, const char *where)
{
	st_buf_printf(job->out, "  and %u more: %s\n", count, where);
}

static struct st_cell mean_of(const struct st_cell *total, const struct st_cell *step)
{
	uint64_t count = step[ST_SUMMARY_COUNT].as.u64;

	return (struct st_cell){ST_CELL_U64, {.u64 = count ? total->as.u64 / count : 0}};
}

static void add_warm_up(struct st_buf *out, const struct st_cell *warm_up)
{
	st_buf_printf(out, " (%llu warm-up of ",
		      (unsigned long long)warm_up[ST_SUMMARY_COUNT].as.u64);
	st_show_duration(out, warm_up[ST_SUMMARY_TOTAL].as.u64);
	st_buf_append_text(out, " excluded)");
}

static void add_step_head(struct st_text_job *job, const struct st_cell *step)
{
	static const char *const words[] = {"p50 ", "p95 ", "p99 "};
	static const unsigned int columns[] = {ST_SUMMARY_MEDIAN, ST_SUMMARY_P95, ST_SUMMARY_P99};
	const struct st_cell *warm_up = st_summary_row(job, "step_warm_up", 0);
	const struct st_cell mean = mean_of(&step[ST_SUMMARY_TOTAL], step);
	struct st_flow flow;

	st_summary_begin(job, &flow, "STEP");
	st_show_cell(&flow.piece, &step[ST_SUMMARY_COUNT], "", 0);
	if (warm_up) {
		st_buf_append_text(&flow.piece,
				   step[ST_SUMMARY_COUNT].as.u64 == 1 ? " step" : " steps");
		if (warm_up[ST_SUMMARY_COUNT].as.u64)
			add_warm_up(&flow.piece, warm_up);
	} else {
		st_buf_append_text(&flow.piece, " x ");
		st_show_cell(&flow.piece, &step[ST_SUMMARY_NAME], "", name_width(job));
	}
	st_flow_piece(&flow, "");
	st_flow_cell(&flow, "   ", "mean ", &mean, "ns");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		st_flow_cell(&flow, "   ", words[i], &step[columns[i]], "ns");
	st_flow_end(&flow);
	if (warm_up)
		st_summary_sentence(job, "", step[ST_SUMMARY_VALUE].as.text);
}

/* What the figures below are of, when that is not the whole run. */
static void add_scope(struct st_text_job *job)
{
	uint32_t count = st_summary_count(job, "only");
	struct st_flow flow;

	if (!count)
		return;
	st_summary_begin(job, &flow, "only");
	for (uint32_t i = 0; i < count; i++) {
		st_show_cell(&flow.piece, &st_summary_row(job, "only", i)[ST_SUMMARY_VALUE], "",
			     st_summary_width(job) - MARGIN);
		st_flow_piece(&flow, ", ");
	}
	st_flow_end(&flow);
}

/* The average step, part by part. All are shown that are not nothing, so that they add up. */
static void add_training_parts(struct st_text_job *job, const struct st_cell *step)
{
	const char *words = "  mean of a step";
	const struct st_cell *part;

	for (uint32_t i = 0; (part = st_summary_row(job, "step_part", i)); i++) {
		struct st_cell average = mean_of(&part[ST_SUMMARY_TOTAL], step);

		if (!part[ST_SUMMARY_TOTAL].as.u64)
			continue;
		add_share(job, part, &average);
		st_buf_append_text(job->out, words);
		words = "";
		st_show_end_line(job->out);
	}
}

static void add_steps(struct st_text_job *job, uint32_t rows)
{
	const struct st_cell *step = st_summary_row(job, "step", 0);

	if (!step)
		return;
	add_step_head(job, step);
	st_summary_show_start_up(job);
	if (st_summary_row(job, "step_warm_up", 0)) {
		add_training_parts(job, step);
		return;
	}
	for (uint32_t i = 0; i < rows; i++) {
		const struct st_cell *part = st_summary_row(job, "step_part", i);

		if (!part)
			return;
		add_share(job, part, &part[ST_SUMMARY_TOTAL]);
		if (part[ST_SUMMARY_COUNT].kind != ST_CELL_NONE)
			add_count(job, &part[ST_SUMMARY_COUNT], true);
		st_show_end_line(job->out);
	}
}

void st_summary_add_steps(struct st_text_job *job)
{
	add_steps(job, rooms[0].steps);
}

static const char self_figures[] = "      self   share     total      count\n";
static const char total_figures[] = "     total   share    median      count\n";

static void add_head(struct st_text_job *job, const char *word, const char *text,
		     const char *figures)
{
	size_t used = (strlen(word) > MARGIN ? strlen(word) : MARGIN) + strlen(text);

	st_summary_margin(job, word);
	st_buf_append_text(job->out, text);
	st_show_pad(job->out, (unsigned int)used, 3 + name_width(job) + bar_width(job));
	st_buf_append_text(job->out, figures);
}

static void add_rows(struct st_text_job *job, const char *section, uint32_t shown,
		     const enum st_summary_column figures[2])
{
	for (uint32_t i = 0; i < shown; i++) {
		const struct st_cell *task = st_summary_row(job, section, i);

		add_share(job, task, &task[figures[0]]);
		add_duration(job, &task[figures[1]]);
		add_count(job, &task[ST_SUMMARY_COUNT], false);
		st_show_end_line(job->out);
	}
}

static const enum st_summary_column of_self[] = {ST_SUMMARY_SELF, ST_SUMMARY_TOTAL};
static const enum st_summary_column of_total[] = {ST_SUMMARY_TOTAL, ST_SUMMARY_MEDIAN};

/* How they were recorded, then those with most time. */
static void add_operators(struct st_text_job *job, const struct room *room)
{
	static const char word[] = "OPERATORS  ";
	const struct st_cell *all = st_summary_row(job, "operators", 0);
	uint32_t count = st_summary_count(job, "operator");
	struct st_text how = {"", 0};
	bool fits;

	if (!all)
		return;
	if (all[ST_SUMMARY_VALUE].kind == ST_CELL_TEXT)
		how = all[ST_SUMMARY_VALUE].as.text;
	fits = strlen(word) + how.size_bytes <= 3 + name_width(job) + bar_width(job);
	if (count)
		add_head(job, word, fits ? how.bytes : "", self_figures);
	if (how.size_bytes && (!fits || !count))
		st_summary_sentence(job, count ? "" : word, how);
	add_rows(job, "operator", count < room->samples ? count : room->samples, of_self);
	if (count)
		st_buf_append_text(job->out, "  and more: strata report operators\n");
}

static void add_kernels(struct st_text_job *job, const struct room *room)
{
	uint32_t count = st_summary_count(job, "kernel");

	if (!count)
		return;
	add_head(job, "KERNELS", " on devices, by time", self_figures);
	add_rows(job, "kernel", count < room->samples ? count : room->samples, of_self);
}

/* "MEMORY  peak 45.3 MB at 1.234 s, in 17 blocks; held by aten::addmm 60.1 %": one line, with as many as fit. */
static void add_memory(struct st_text_job *job)
{
	const struct st_cell *memory = st_summary_row(job, "memory", 0), *holder;
	struct st_text peak;
	struct st_flow flow;
	const char *more;

	if (!memory)
		return;
	/* What follows the peak is in the report. */
	peak = memory[ST_SUMMARY_VALUE].as.text;
	more = memchr(peak.bytes, ';', peak.size_bytes);
	if (more)
		peak.size_bytes = (uint32_t)(more - peak.bytes);
	st_summary_begin(job, &flow, "MEMORY");
	st_flow_words(&flow, peak, 0);
	for (uint32_t i = 0; (holder = st_summary_row(job, "memory_holder", i)); i++) {
		st_buf_append_text(&flow.piece, i ? ", " : "; held by ");
		st_show_name(&flow.piece, &holder[ST_SUMMARY_NAME], NAME_WIDTH);
		st_buf_append_text(&flow.piece, " ");
		st_show_cell(&flow.piece, &holder[ST_SUMMARY_RATIO], "ratio", 0);
		if (flow.at + flow.piece.size_bytes > st_summary_width(job))
			break;
		st_flow_piece(&flow, "");
	}
	st_flow_end(&flow);
}

static void add_tasks(struct st_text_job *job, const struct room *room)
{
	uint32_t count = st_summary_count(job, "task"), most = room->tasks;
	bool has_operators = st_summary_count(job, "operator");
	uint32_t shown;

	/* Without operators they are what the summary is about. */
	if (!has_operators && most < TASKS_MIN)
		most = TASKS_MIN;
	if (!count || !most)
		return;
	shown = count <= most ? count : most - 1;
	if (has_operators) {
		add_head(job, "TASKS", "other than operators, by time", total_figures);
		add_rows(job, "task", shown, of_total);
	} else {
		add_head(job, "TASKS", "by self time", self_figures);
		add_rows(job, "task", shown, of_self);
	}
	if (shown < count)
		st_buf_append_text(job->out, "  and more: strata report tasks\n");
}

static void add_places(struct st_text_job *job, const char *section, const char *word,
		       const char *where, uint32_t limit)
{
	uint32_t count = st_summary_count(job, section);
	uint32_t shown = count <= limit || !limit ? count : limit - 1;
	bool has_copies = false;

	if (!count || !limit)
		return;
	st_summary_margin(job, word);
	for (uint32_t i = 0; i < count && !has_copies; i++)
		has_copies = st_summary_row(job, section, i)[ST_SUMMARY_COPIES].kind == ST_CELL_U64;
	st_buf_append_text(job->out, has_copies ? "by time in tasks and their worker copies\n"
						: "by time in tasks\n");
	for (uint32_t i = 0; i < shown; i++) {
		const struct st_cell *place = st_summary_row(job, section, i);

		add_share(job, place, &place[ST_SUMMARY_TOTAL]);
		add_place_count(job, place);
		st_show_end_line(job->out);
	}
	if (shown < count)
		st_buf_printf(job->out, "  and more: %s\n", where);
}

/* "FRAMES  1,200 of 2 domains   total 20.1 s   p50 16.6 ms   p95 17.1 ms   p99 30.2 ms   render, audio" */
static void add_kind(struct st_text_job *job, const struct st_cell *cells, const char *word)
{
	static const struct {
		const char *word;
		unsigned int column;
	} figures[] = {{"total ", ST_SUMMARY_TOTAL},
		       {"p50 ", ST_SUMMARY_MEDIAN},
		       {"p95 ", ST_SUMMARY_P95},
		       {"p99 ", ST_SUMMARY_P99}};
	unsigned int used = MARGIN, limit = st_summary_width(job), width;
	struct st_buf line;

	st_summary_margin(job, word);
	st_buf_init(&line, 4096);
	st_show_cell(&line, &cells[ST_SUMMARY_COUNT], "", 0);
	st_buf_append_text(&line, " of ");
	st_show_cell(&line, &cells[ST_SUMMARY_NAME], "", 0);
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		if (cells[figures[i].column].kind == ST_CELL_NONE)
			continue;
		st_buf_append_text(&line, "   ");
		st_buf_append_text(&line, figures[i].word);
		st_show_cell(&line, &cells[figures[i].column], "ns", 0);
	}
	/* One line each: what does not fit is in the report of that kind. */
	width = limit > MARGIN ? limit - MARGIN : NAME_WIDTH_MIN;
	used += st_show_text(job->out, (struct st_text){(char *)line.data, line.size_bytes}, width);
	if (line.failed)
		job->out->failed = true;
	st_buf_fini(&line);
	if (used + 3 + NAME_WIDTH_MIN <= limit) {
		st_buf_append_text(job->out, "   ");
		st_show_cell(job->out, &cells[ST_SUMMARY_VALUE], "", limit - used - 3);
	}
	st_show_end_line(job->out);
}

static void add_kinds(struct st_text_job *job, const struct room *room)
{
	uint32_t shown = 0;

	static const struct {
		const char *section, *word;
	} kinds[] = {{"frames", "FRAMES"},    {"overlapped", "OVERLAP"}, {"waits", "WAITS"},
		     {"counters", "COUNTER"}, {"regions", "REGIONS"},	 {"markers", "MARKERS"}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct st_cell *cells = st_summary_row(job, kinds[i].section, 0);

		if (cells && shown++ < room->kinds)
			add_kind(job, cells, kinds[i].word);
	}
}

static void add_pid(struct st_buf *out, const struct st_cell *program)
{
	st_buf_printf(out, "(pid %llu", (unsigned long long)program[ST_SUMMARY_PID].as.u64);
	if (program[ST_SUMMARY_COUNT].kind == ST_CELL_U64 && program[ST_SUMMARY_COUNT].as.u64 > 1) {
		st_buf_append_text(out, ", ");
		st_buf_append_count(out, program[ST_SUMMARY_COUNT].as.u64);
		st_buf_append_text(out, " times");
	}
	st_buf_append_u8(out, ')');
}

/* Programs under a heading: name, pid and, when there is one, the reason. A path is cut at its front, a
 * command line at its end: both keep the program's name. */
static void add_programs(struct st_text_job *job, const char *section, const char *word,
			 const struct room *room)
{
	uint32_t count = st_summary_count(job, section);
	unsigned int indent = (unsigned int)strlen(word) + 2, limit = st_summary_width(job);

	for (uint32_t i = 0; i < count && i < room->programs; i++) {
		const struct st_cell *program = st_summary_row(job, section, i);
		bool has_reason = program[ST_SUMMARY_VALUE].kind == ST_CELL_TEXT;
		unsigned int columns =
			limit > indent + NAME_WIDTH_MIN ? limit - indent : NAME_WIDTH_MIN;
		struct st_flow flow;

		if (i == 0)
			st_buf_append_text(job->out, word);
		st_show_pad(job->out, i ? 0 : indent - 2, indent);
		st_flow_init(&flow, job->out, limit, indent);
		if (has_reason)
			st_show_path(&flow.piece, program[ST_SUMMARY_NAME].as.text,
				     columns < 48 ? columns : 48);
		else
			st_show_command(&flow.piece, program[ST_SUMMARY_NAME].as.text,
					columns < 60 ? columns : 60);
		st_flow_piece(&flow, "");
		add_pid(&flow.piece, program);
		if (has_reason)
			st_buf_append_u8(&flow.piece, ':');
		st_flow_piece(&flow, " ");
		if (has_reason)
			st_flow_cell(&flow, " ", "", &program[ST_SUMMARY_VALUE], "");
		st_flow_end(&flow);
	}
	if (count > room->programs)
		add_more(job, count - room->programs, "strata report info");
}

static void add_advice(struct st_text_job *job)
{
	uint32_t count = st_summary_count(job, "next");
	struct st_flow flow;

	for (uint32_t i = 0; i < st_summary_count(job, "empty"); i++)
		st_summary_sentence(job, i ? "" : "EMPTY",
				    st_summary_row(job, "empty", i)[ST_SUMMARY_VALUE].as.text);
	if (!count)
		return;
	/* A command is copied by the reader: it is never cut, and alone on its line. */
	for (uint32_t i = 0; i < count; i++) {
		struct st_cell command = st_summary_row(job, "next", i)[ST_SUMMARY_VALUE];

		st_summary_begin(job, &flow, i ? "" : "next");
		if (job->style->program) {
			st_quote_word(&flow.piece, job->style->program);
			command.as.text.bytes += strlen("strata");
			command.as.text.size_bytes -= strlen("strata");
		}
		st_flow_cell(&flow, "", "", &command, "");
		st_flow_end(&flow);
	}
}

/* In the order in which a user asks: how long, of what, what to change, where in my code, where below it; then how the
 * machine was used, and last how far the figures can be trusted. */
static void add_all(struct st_text_job *job, const struct room *room)
{
	st_summary_add_head(job);
	add_scope(job);
	add_steps(job, room->steps);
	st_summary_add_findings(job, room->fixes);
	st_summary_add_lines(job, room->samples);
	add_operators(job, room);
	st_summary_add_hotspots(job, room->samples);
	st_summary_show_devices(job);
	add_kernels(job, room);
	st_summary_add_cpu(job);
	st_summary_show_thread_time(job, room->samples);
	st_summary_show_processes(job, room->samples);
	add_memory(job);
	add_tasks(job, room);
	if (st_summary_count(job, "process") > 1)
		add_places(job, "process", "PROCESS", "strata report tasks -group-by process",
			   room->places);
	add_places(job, "thread", "THREADS", "strata report tasks -group-by process,thread",
		   room->places);
	add_kinds(job, room);
	add_programs(job, "not_entered", "NOT RECORDED", room);
	add_programs(job, "left_running", "LEFT RUNNING", room);
	st_summary_add_quality(job);
	add_source(job);
	add_cost(job);
	add_advice(job);
}

enum st_status st_text_summary(struct st_text_job *job, struct st_error *err)
{
	(void)err;
	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		unsigned int lines = 0;

		st_buf_clear(job->out);
		add_all(job, &rooms[i]);
		for (size_t j = 0; j < job->out->size_bytes; j++)
			lines += job->out->data[j] == '\n';
		if (lines <= LINES_MAX || job->out->failed)
			break;
	}
	return ST_OK;
}
