// SPDX-License-Identifier: Apache-2.0
//
// Report "summary" as text: at most 40 lines of 100 columns. Each block has a word in front, and is not
// there when it has nothing to say. What does not fit is counted ("and 12 more").
#include "export/text.h"

#include <string.h>

#include "analyze/report_summary.h"
#include "base/buf.h"
#include "export/show.h"

enum {
	LINES_MAX = 40,
	LINE_WIDTH = 100,
	MARGIN = 8,
	BAR_WIDTH = 20,
	NAME_WIDTH = 36,
	STEP_PARTS_MAX = 5,
	PROGRAMS_MAX = 2,
	QUALITY_LINES_MAX = 6,
};

/* How many rows the long blocks may have. */
struct room {
	uint32_t tasks, places;
};

static const struct room full_room = {9, 4}, tight_room = {5, 3};

static bool in_section(const struct st_report_row *row, const char *section)
{
	struct st_text text = row->cells[ST_SUMMARY_SECTION].as.text;

	return text.size_bytes == strlen(section) &&
	       memcmp(text.bytes, section, text.size_bytes) == 0;
}

static uint32_t section_count(const struct st_text_job *job, const char *section)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < job->report->row_count; i++)
		count += in_section(&job->report->rows[i], section);
	return count;
}

/* The index-th row of a section, or NULL. */
static const struct st_cell *section_row(const struct st_text_job *job, const char *section,
					 uint32_t index)
{
	for (uint32_t i = 0; i < job->report->row_count; i++) {
		if (in_section(&job->report->rows[i], section) && index-- == 0)
			return job->report->rows[i].cells;
	}
	return NULL;
}

/* The value of a named fact; an empty cell when it is not there. */
static const struct st_cell *fact(const struct st_text_job *job, const char *section,
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

static void add_margin(struct st_text_job *job, const char *word)
{
	st_buf_append_text(job->out, word);
	st_show_pad(job->out, (unsigned int)strlen(word), MARGIN);
}

static void end_line(struct st_text_job *job)
{
	struct st_buf *out = job->out;

	while (out->size_bytes && out->data[out->size_bytes - 1] == ' ')
		out->size_bytes--;
	st_buf_append_u8(out, '\n');
}

/* "strata  tasks  COMMAND     12.4 s  exit 0     r000ta  38 MB" */
static void add_head(struct st_text_job *job)
{
	struct st_buf tail, *out = job->out;
	unsigned int width = MARGIN, tail_width;
	const struct st_cell *end = fact(job, "run", "end");

	st_buf_init(&tail, 4096);
	st_show_cell(&tail, fact(job, "run", "elapsed_ns"), "ns", 0);
	st_buf_append_text(&tail, "  ");
	st_show_cell(&tail, end->kind == ST_CELL_NONE ? fact(job, "run", "state") : end, "", 20);
	st_buf_append_text(&tail, "  ");
	tail_width = (unsigned int)tail.size_bytes +
		     st_show_cell(&tail, fact(job, "run", "result"), "", 24);
	st_buf_append_text(&tail, "  ");
	tail_width += 2 + st_show_cell(&tail, fact(job, "run", "size_bytes"), "bytes", 0);
	add_margin(job, "strata");
	width += st_show_cell(out, fact(job, "run", "type"), "", 20) + 2;
	st_buf_append_text(out, "  ");
	width += st_show_cell(out, fact(job, "run", "command"), "",
			      LINE_WIDTH - 2 - width - tail_width);
	st_show_pad(out, width, LINE_WIDTH - tail_width);
	st_show_move(out, &tail);
	end_line(job);
}

static void add_source(struct st_text_job *job)
{
	const struct st_cell *source = fact(job, "run", "source");

	add_margin(job, "source");
	if (source->kind != ST_CELL_NONE) {
		st_show_cell(job->out, source, "", 60);
		st_buf_append_text(job->out, ", ");
	}
	st_show_cell(job->out, fact(job, "cost", "tasks"), "", 0);
	st_buf_append_text(job->out, " tasks recorded\n");
}

static void add_cost(struct st_text_job *job)
{
	const struct st_cell *ratio = fact(job, "cost", "estimate_ratio");
	const struct st_cell *cpu = fact(job, "cost", "strata_cpu_ns");

	add_margin(job, "cost");
	if (ratio->kind == ST_CELL_DOUBLE) {
		double percent = ratio->as.number * 100.0;

		if (percent < 0.01)
			st_buf_append_text(job->out, "under +0.01 % (estimate)   ");
		else
			st_buf_printf(job->out, "+%.2f %% (estimate)   ", percent);
	}
	if (cpu->kind == ST_CELL_U64 && cpu->as.u64) {
		st_buf_append_text(job->out, "strata's own CPU ");
		st_show_cell(job->out, cpu, "ns", 0);
		st_buf_append_text(job->out, "   ");
	}
	st_buf_append_text(job->out, "lost ");
	st_show_cell(job->out, fact(job, "cost", "lost"), "", 0);
	end_line(job);
}

/* A duration, right-aligned in ten columns. */
static void add_duration(struct st_text_job *job, const struct st_cell *cell)
{
	struct st_buf scratch;

	st_buf_init(&scratch, 256);
	st_show_cell(&scratch, cell, "ns", 0);
	st_show_pad(job->out, (unsigned int)scratch.size_bytes, 10);
	st_show_move(job->out, &scratch);
}

static void add_percent(struct st_text_job *job, const struct st_cell *cell)
{
	struct st_buf scratch;

	st_buf_init(&scratch, 256);
	st_show_cell(&scratch, cell, "ratio", 0);
	st_show_pad(job->out, (unsigned int)scratch.size_bytes, 8);
	st_show_move(job->out, &scratch);
}

static void add_count(struct st_text_job *job, const struct st_cell *cell, const char *tail)
{
	struct st_buf scratch;

	st_buf_init(&scratch, 256);
	st_show_cell(&scratch, cell, "", 0);
	st_show_pad(job->out, (unsigned int)scratch.size_bytes, 11);
	st_show_move(job->out, &scratch);
	st_buf_append_text(job->out, tail);
}

static void add_name(struct st_text_job *job, const struct st_cell *cell, unsigned int columns)
{
	unsigned int width;

	st_buf_append_text(job->out, "  ");
	width = st_show_name(job->out, cell, columns);
	st_show_pad(job->out, width, columns + 1);
}

static void add_more(struct st_text_job *job, uint32_t count, const char *where)
{
	st_buf_printf(job->out, "  and %u more: %s\n", count, where);
}

static void add_steps(struct st_text_job *job)
{
	const struct st_cell *step = section_row(job, "step", 0);

	if (!step)
		return;
	add_margin(job, "STEP");
	st_show_cell(job->out, &step[ST_SUMMARY_COUNT], "", 0);
	st_buf_append_text(job->out, " x ");
	st_show_cell(job->out, &step[ST_SUMMARY_NAME], "", NAME_WIDTH);
	st_buf_append_text(job->out, "   p50 ");
	st_show_cell(job->out, &step[ST_SUMMARY_MEDIAN], "ns", 0);
	st_buf_append_text(job->out, "   p95 ");
	st_show_cell(job->out, &step[ST_SUMMARY_P95], "ns", 0);
	st_buf_append_text(job->out, "   p99 ");
	st_show_cell(job->out, &step[ST_SUMMARY_P99], "ns", 0);
	st_buf_append_u8(job->out, '\n');
	for (uint32_t i = 0; i <= STEP_PARTS_MAX; i++) {
		const struct st_cell *part = section_row(job, "step_part", i);

		if (!part)
			return;
		add_name(job, &part[ST_SUMMARY_NAME], NAME_WIDTH);
		st_show_bar(job->out, part[ST_SUMMARY_RATIO].as.number, BAR_WIDTH);
		add_duration(job, &part[ST_SUMMARY_TOTAL]);
		add_percent(job, &part[ST_SUMMARY_RATIO]);
		if (part[ST_SUMMARY_COUNT].kind != ST_CELL_NONE)
			add_count(job, &part[ST_SUMMARY_COUNT], " tasks");
		end_line(job);
	}
}

static void add_tasks(struct st_text_job *job, const struct room *room)
{
	uint32_t count = section_count(job, "task");
	uint32_t shown = count <= room->tasks ? count : room->tasks - 1;

	if (!count)
		return;
	add_margin(job, "TASKS");
	st_buf_append_text(job->out, "by self time");
	st_show_pad(job->out, MARGIN + 12, 2 + NAME_WIDTH + 1 + BAR_WIDTH);
	st_buf_append_text(job->out, "      self   share     total      count\n");
	for (uint32_t i = 0; i < shown; i++) {
		const struct st_cell *task = section_row(job, "task", i);

		add_name(job, &task[ST_SUMMARY_NAME], NAME_WIDTH);
		st_show_bar(job->out, task[ST_SUMMARY_RATIO].as.number, BAR_WIDTH);
		add_duration(job, &task[ST_SUMMARY_SELF]);
		add_percent(job, &task[ST_SUMMARY_RATIO]);
		add_duration(job, &task[ST_SUMMARY_TOTAL]);
		add_count(job, &task[ST_SUMMARY_COUNT], "");
		end_line(job);
	}
	if (shown < count)
		st_buf_append_text(job->out, "  and more: strata report tasks\n");
}

static void add_places(struct st_text_job *job, const char *section, const char *word,
		       const char *where, uint32_t limit)
{
	uint32_t count = section_count(job, section);
	uint32_t shown = count <= limit ? count : limit - 1;

	if (!count)
		return;
	add_margin(job, word);
	st_buf_append_text(job->out, "by time with a task open\n");
	for (uint32_t i = 0; i < shown; i++) {
		const struct st_cell *place = section_row(job, section, i);
		bool has_share = place[ST_SUMMARY_RATIO].kind != ST_CELL_NONE;

		add_name(job, &place[ST_SUMMARY_NAME], NAME_WIDTH);
		st_show_bar(job->out, has_share ? place[ST_SUMMARY_RATIO].as.number : 0.0,
			    BAR_WIDTH);
		add_duration(job, &place[ST_SUMMARY_TOTAL]);
		if (has_share)
			add_percent(job, &place[ST_SUMMARY_RATIO]);
		add_count(job, &place[ST_SUMMARY_COUNT], " tasks");
		end_line(job);
	}
	if (shown < count)
		st_buf_printf(job->out, "  and more: %s\n", where);
}

static void add_programs(struct st_text_job *job)
{
	uint32_t count = section_count(job, "not_entered");

	for (uint32_t i = 0; i < count && i < PROGRAMS_MAX; i++) {
		const struct st_cell *program = section_row(job, "not_entered", i);

		st_buf_append_text(job->out, i ? "             " : "NOT ENTERED  ");
		st_show_path(job->out, program[ST_SUMMARY_NAME].as.text, 48);
		st_buf_printf(job->out, " (pid %llu",
			      (unsigned long long)program[ST_SUMMARY_PID].as.u64);
		if (program[ST_SUMMARY_COUNT].as.u64 > 1)
			st_buf_printf(job->out, ", %llu times",
				      (unsigned long long)program[ST_SUMMARY_COUNT].as.u64);
		st_buf_append_text(job->out, "): ");
		st_show_cell(job->out, &program[ST_SUMMARY_VALUE], "", 0);
		st_buf_append_u8(job->out, '\n');
	}
	if (count > PROGRAMS_MAX)
		add_more(job, count - PROGRAMS_MAX, "strata report info");
	count = section_count(job, "left_running");
	for (uint32_t i = 0; i < count && i < PROGRAMS_MAX; i++) {
		const struct st_cell *program = section_row(job, "left_running", i);

		st_buf_append_text(job->out, i ? "              " : "LEFT RUNNING  ");
		st_show_cell(job->out, &program[ST_SUMMARY_NAME], "", 60);
		st_buf_printf(job->out, " (pid %llu)\n",
			      (unsigned long long)program[ST_SUMMARY_PID].as.u64);
	}
	if (count > PROGRAMS_MAX)
		add_more(job, count - PROGRAMS_MAX, "strata report info");
}

/* A place in a block of running text. */
struct wrap {
	unsigned int at, lines;
};

/* One word, on this line or the next; false when there is no line left for it. */
static bool add_word(struct st_text_job *job, struct wrap *wrap, struct st_text word)
{
	struct st_buf shown;
	/* Three columns are kept for a semicolon and an ellipsis. */
	unsigned int width;

	st_buf_init(&shown, 1 << 16);
	width = st_show_text(&shown, word, LINE_WIDTH - MARGIN - 3);
	if (wrap->at > MARGIN && wrap->at + 1 + width + 3 > LINE_WIDTH) {
		if (wrap->lines == QUALITY_LINES_MAX) {
			st_buf_fini(&shown);
			return false;
		}
		st_buf_append_u8(job->out, '\n');
		add_margin(job, "");
		wrap->at = MARGIN;
		wrap->lines++;
	} else if (wrap->at > MARGIN) {
		st_buf_append_u8(job->out, ' ');
		wrap->at++;
	}
	st_show_move(job->out, &shown);
	wrap->at += width;
	return true;
}

static bool add_note(struct st_text_job *job, struct wrap *wrap, struct st_text note)
{
	const char *at = note.bytes, *end = note.bytes + note.size_bytes;

	while (at < end) {
		const char *blank = memchr(at, ' ', (size_t)(end - at));
		const char *stop = blank ? blank : end;

		/* A figure stays with the word behind it. */
		if (at == note.bytes && blank && *at >= '0' && *at <= '9') {
			blank = memchr(blank + 1, ' ', (size_t)(end - blank - 1));
			stop = blank ? blank : end;
		}
		if (stop > at && !add_word(job, wrap, (struct st_text){at, (size_t)(stop - at)}))
			return false;
		at = stop + 1;
	}
	return true;
}

/* Notes one behind the other as running text. The figures come first, so that they are all there; of
 * the long sentences about files the last ones may not fit. */
static void add_quality(struct st_text_job *job)
{
	uint32_t count = section_count(job, "quality");
	struct wrap wrap = {MARGIN, 1};
	bool fits = true;

	if (!count)
		return;
	add_margin(job, "NOTE");
	for (uint32_t i = 0; i < count && fits; i++) {
		struct st_text note = section_row(job, "quality", i)[ST_SUMMARY_VALUE].as.text;

		if (i) {
			st_buf_append_u8(job->out, ';');
			wrap.at++;
		}
		fits = add_note(job, &wrap, note);
	}
	st_buf_append_text(job->out, fits ? "\n" : " …\n  the rest: strata report info\n");
}

static void add_advice(struct st_text_job *job)
{
	unsigned int at = MARGIN;

	for (uint32_t i = 0; i < section_count(job, "empty"); i++) {
		const struct st_cell *line = &section_row(job, "empty", i)[ST_SUMMARY_VALUE];

		add_margin(job, i ? "" : "EMPTY");
		st_show_cell(job->out, line, "", LINE_WIDTH - MARGIN);
		st_buf_append_u8(job->out, '\n');
	}
	for (uint32_t i = 0; i < section_count(job, "next"); i++) {
		const struct st_cell *line = &section_row(job, "next", i)[ST_SUMMARY_VALUE];
		unsigned int width = (unsigned int)line->as.text.size_bytes;

		if (i == 0) {
			add_margin(job, "next");
		} else if (at + 3 + width > LINE_WIDTH) {
			st_buf_append_u8(job->out, '\n');
			add_margin(job, "");
			at = MARGIN;
		} else {
			st_buf_append_text(job->out, " | ");
			at += 3;
		}
		/* A command is copied by the reader: it is never cut. */
		at += st_show_cell(job->out, line, "", 0);
	}
	if (section_count(job, "next"))
		st_buf_append_u8(job->out, '\n');
}

static void add_all(struct st_text_job *job, const struct room *room)
{
	add_head(job);
	add_source(job);
	add_cost(job);
	add_steps(job);
	add_tasks(job, room);
	if (section_count(job, "process") > 1)
		add_places(job, "process", "PROCESS", "strata report tasks -group-by process",
			   room->places);
	add_places(job, "thread", "THREADS", "strata report tasks -group-by process,thread",
		   room->places);
	add_programs(job);
	add_quality(job);
	add_advice(job);
}

enum st_status st_text_summary(struct st_text_job *job, struct st_error *err)
{
	unsigned int lines = 0;

	(void)err;
	add_all(job, &full_room);
	for (size_t i = 0; i < job->out->size_bytes; i++)
		lines += job->out->data[i] == '\n';
	if (lines > LINES_MAX && !job->out->failed) {
		st_buf_clear(job->out);
		add_all(job, &tight_room);
	}
	return ST_OK;
}
