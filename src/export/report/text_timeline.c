// SPDX-License-Identifier: Apache-2.0
//
// Report "timeline" as text: a strip of characters for each thread, one per bin. A letter stands for
// the task type that had most of the bin to itself: a capital when the thread was busy for at least
// half of the bin, small when less; a dot when there was no task at all. A thread without tasks is drawn by how long it
// ran on a CPU.
#include "export/report/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "export/report/show.h"

enum {
	PROCESS,
	THREAD,
	START_NS,
	END_NS,
	BUSY_NS,
	TASK_TYPE,
	COUNT,
	CPU_NS
}; /* columns of the report */
enum { NAME_WIDTH = 24, LETTERS = 26, STRIP_MAX = 100000 };

struct legend {
	struct st_text type;
	uint64_t busy_ns;
};

struct strips {
	struct st_text_job *job;
	int64_t begin_ns, end_ns;
	uint32_t bin_count;
	struct legend letters[LETTERS];
	unsigned int letter_count;
	bool has_star; /* some bin belongs to none of the letters */
	bool has_cpu;  /* some thread is drawn by its CPU time */
};

static bool equal(struct st_text a, struct st_text b)
{
	return a.size_bytes == b.size_bytes && memcmp(a.bytes, b.bytes, a.size_bytes) == 0;
}

/* The letters go to the types with the largest share; the rest is '*'. Candidates are counted in a
 * growing list: there are never more types than rows. */
static bool choose_letters(struct strips *strips)
{
	const struct st_report *report = strips->job->report;
	struct legend *all = calloc((size_t)report->row_count + 1, sizeof(*all));
	uint32_t count = 0;

	if (!all)
		return false;
	for (uint32_t i = 0; i < report->row_count; i++) {
		const struct st_cell *cells = report->rows[i].cells;
		uint32_t at = 0;

		if (cells[TASK_TYPE].kind != ST_CELL_TEXT)
			continue;
		while (at < count && !equal(all[at].type, cells[TASK_TYPE].as.text))
			at++;
		if (at == count) {
			if (count == 4096) /* enough to choose 26 from */
				continue;
			all[count++].type = cells[TASK_TYPE].as.text;
		}
		all[at].busy_ns += cells[BUSY_NS].as.u64;
	}
	for (uint32_t i = 0; i < count; i++) {
		unsigned int at = strips->letter_count;

		while (at > 0 && strips->letters[at - 1].busy_ns < all[i].busy_ns)
			at--;
		if (at == LETTERS)
			continue;
		if (strips->letter_count < LETTERS)
			strips->letter_count++;
		memmove(&strips->letters[at + 1], &strips->letters[at],
			(strips->letter_count - at - 1) * sizeof(strips->letters[0]));
		strips->letters[at] = all[i];
	}
	free(all);
	return true;
}

static char letter_of(const struct strips *strips, const struct st_cell *cells)
{
	uint64_t length_ns = (uint64_t)(cells[END_NS].as.i64 - cells[START_NS].as.i64);
	bool busy = cells[BUSY_NS].as.u64 * 2 >= length_ns;

	for (unsigned int i = 0; i < strips->letter_count; i++) {
		if (cells[TASK_TYPE].kind == ST_CELL_TEXT &&
		    equal(strips->letters[i].type, cells[TASK_TYPE].as.text))
			return (char)((busy ? 'A' : 'a') + (int)i);
	}
	return '*';
}

/* How long of the bin the thread ran. */
static char level_of(const struct st_cell *cells)
{
	double length = (double)(cells[END_NS].as.i64 - cells[START_NS].as.i64);
	double share = length > 0.0 ? (double)cells[CPU_NS].as.u64 / length : 0.0;

	return share >= 2.0 / 3.0 ? '#' : share >= 1.0 / 3.0 ? '=' : share >= 0.01 ? '-' : '.';
}

static bool same_thread(const struct st_cell *a, const struct st_cell *b)
{
	/* Rows of one thread share their texts; equal texts of two threads are two threads. */
	return a[THREAD].as.text.bytes == b[THREAD].as.text.bytes &&
	       a[PROCESS].as.text.bytes == b[PROCESS].as.text.bytes;
}

/* A row of the thread, or none when it has nothing of the kind. */
static char mark_of(const struct strips *strips, const struct st_cell *cells, bool by_tasks)
{
	if (!by_tasks)
		return cells[CPU_NS].kind == ST_CELL_U64 ? level_of(cells) : '.';
	return cells[BUSY_NS].as.u64 || cells[COUNT].as.u64 ? letter_of(strips, cells) : '.';
}

struct sums {
	uint64_t busy_ns, count, cpu_ns;
};

/* Draws the thread whose rows begin with first; returns the row behind it. */
static uint32_t draw(struct strips *strips, uint32_t first, char *strip, bool by_tasks,
		     struct sums *sums)
{
	const struct st_report *report = strips->job->report;
	const struct st_cell *head = report->rows[first].cells;
	uint32_t row = first;

	memset(sums, 0, sizeof(*sums));
	memset(strip, '.', strips->bin_count);
	for (; row < report->row_count && same_thread(head, report->rows[row].cells); row++) {
		const struct st_cell *cells = report->rows[row].cells;
		/* The middle of a bin is safe from rounding of its ends. */
		int64_t middle_ns = cells[START_NS].as.i64 +
				    (cells[END_NS].as.i64 - cells[START_NS].as.i64) / 2;
		int64_t bin = (int64_t)((__int128)(middle_ns - strips->begin_ns) *
					strips->bin_count / (strips->end_ns - strips->begin_ns));

		if (bin >= 0 && bin < strips->bin_count) {
			strip[bin] = mark_of(strips, cells, by_tasks);
			strips->has_star |= strip[bin] == '*';
		}
		sums->cpu_ns += cells[CPU_NS].kind == ST_CELL_U64 ? cells[CPU_NS].as.u64 : 0;
		sums->busy_ns += cells[BUSY_NS].as.u64;
		sums->count += cells[COUNT].as.u64;
	}
	return row;
}

static void add_line(struct strips *strips, const struct st_cell *name, const char *strip,
		     uint64_t time_ns)
{
	struct st_buf *out = strips->job->out;

	st_show_pad(out, st_show_cell(out, name, "", NAME_WIDTH), NAME_WIDTH);
	st_buf_append_text(out, " |");
	st_buf_append(out, strip, strips->bin_count);
	st_buf_append_text(out, "| ");
	st_show_percent(out, (double)time_ns / (double)(strips->end_ns - strips->begin_ns));
}

/* One thread from row first on, by its tasks, by its CPU time, or by both; returns the row behind it. */
static uint32_t add_strip(struct strips *strips, uint32_t first, char *strip)
{
	static const struct st_cell nameless = {.kind = ST_CELL_TEXT, .as.text = {"", 0}};
	const struct st_cell *head = strips->job->report->rows[first].cells;
	struct st_buf *out = strips->job->out;
	struct sums sums;
	uint32_t behind = draw(strips, first, strip, true, &sums);
	bool has_tasks = sums.busy_ns || sums.count;

	if (has_tasks) {
		add_line(strips, &head[THREAD], strip, sums.busy_ns);
		st_buf_append_text(out, "  ");
		st_buf_append_count(out, sums.count);
		st_buf_append_text(out, sums.count == 1 ? " task\n" : " tasks\n");
	}
	if (sums.cpu_ns) {
		draw(strips, first, strip, false, &sums);
		add_line(strips, has_tasks ? &nameless : &head[THREAD], strip, sums.cpu_ns);
		st_buf_append_text(out, " on a CPU\n");
		strips->has_cpu = true;
	}
	return behind;
}

static void add_legend(struct strips *strips)
{
	struct st_buf *out = strips->job->out;

	if (strips->has_cpu)
		st_buf_append_text(out,
				   "\n'#' on a CPU for two thirds of the bin or more; '=' one "
				   "third; '-' less;\n'.' not at all: waiting, or not there\n");
	if (!strips->letter_count && !strips->has_star)
		return;
	st_buf_append_text(
		out,
		"\nUpper case: busy for half of the bin or more; lower case: less; '.': no task");
	st_buf_append_text(out, strips->has_star ? "; '*': other types\n" : "\n");
	for (unsigned int i = 0; i < strips->letter_count; i++) {
		st_buf_printf(out, "  %c  ", 'A' + (int)i);
		st_show_text(out, strips->letters[i].type, 80);
		st_buf_append_u8(out, '\n');
	}
}

/* The number of bins is not in the report: it is told by the length of any of them. */
static void set_scale(struct strips *strips)
{
	const struct st_report *report = strips->job->report;
	const struct st_cell *first = report->rows[0].cells;
	int64_t bin_ns = first[END_NS].as.i64 - first[START_NS].as.i64;
	int64_t bins;

	strips->begin_ns = report->totals.cells[START_NS].as.i64;
	strips->end_ns = report->totals.cells[END_NS].as.i64;
	if (bin_ns < 1)
		bin_ns = 1;
	bins = (strips->end_ns - strips->begin_ns + bin_ns / 2) / bin_ns;
	strips->bin_count = bins < 1 ? 1 : bins > STRIP_MAX ? STRIP_MAX : (uint32_t)bins;
}

enum st_status st_text_timeline(struct st_text_job *job, struct st_error *err)
{
	struct strips strips = {.job = job};
	const struct st_report *report = job->report;
	const struct st_cell *previous = NULL;
	enum st_status status = ST_OK;
	char *strip;

	if (!report->row_count) {
		st_buf_append_text(job->out, "No tasks and no samples match.\n");
		return ST_OK;
	}
	set_scale(&strips);
	strip = malloc(strips.bin_count);
	if (!strip || !choose_letters(&strips)) {
		free(strip);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the timeline");
	}
	st_buf_append_text(job->out, "From ");
	st_show_cell(job->out, &report->totals.cells[START_NS], "ns", 0);
	st_buf_append_text(job->out, " to ");
	st_show_cell(job->out, &report->totals.cells[END_NS], "ns", 0);
	st_buf_printf(job->out, ", %u bins\n", strips.bin_count);
	for (uint32_t row = 0; row < report->row_count && !status;) {
		const struct st_cell *cells = report->rows[row].cells;

		if (!previous || !equal(previous[PROCESS].as.text, cells[PROCESS].as.text)) {
			st_show_cell(job->out, &cells[PROCESS], "", 0);
			st_buf_append_u8(job->out, '\n');
		}
		previous = cells;
		row = add_strip(&strips, row, strip);
		status = st_text_spill(job, err);
	}
	add_legend(&strips);
	free(strip);
	return status;
}
