// SPDX-License-Identifier: Apache-2.0
//
// Report "python-calls": functions of Python with the figures and names that cProfile and pstats give them, of all
// threads and processes together; the table python_calls of strata query has them apart.
#include "analyze/reports/report_python_calls.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/names.h"
#include "analyze/reports/report_kinds.h"
#include "analyze/tables/report_make.h"
#include "base/map.h"
#include "store/python_calls.h"
#include "store/samples.h"

enum {
	FUNCTION,
	NCALLS,
	OWN,
	OWN_PER_CALL,
	TOTAL,
	TOTAL_PER_CALL,
	CALLS,
	PRIMITIVE,
	COLUMNS,
	NAME_WIDTH = 40,
	/* A thread only waits that has less than such a part of its own time on a CPU, and such a part of all CPU time:
	 * where other programs take the CPUs, the first is true of threads that do the work. */
	WAITS_FACTOR = 10,
	WAITS_OF_ALL = 50,
};

static const struct st_column columns[COLUMNS] = {
	[FUNCTION] = {"python_function", "Function", "", true},
	[NCALLS] = {"ncalls", "ncalls", "", false},
	[OWN] = {"tottime_ns", "tottime", "ns", false},
	[OWN_PER_CALL] = {"tottime_percall_ns", "percall", "ns", false},
	[TOTAL] = {"cumtime_ns", "cumtime", "ns", false},
	[TOTAL_PER_CALL] = {"cumtime_percall_ns", "percall", "ns", false},
	[CALLS] = {"calls", "Calls", "", false},
	[PRIMITIVE] = {"primitive_calls", "Primitive Calls", "", false},
};

/* A function, whichever processes and threads have called it. */
struct row {
	st_string_id file, name;
	uint32_t line;
	uint64_t calls, primitive, own_ns, total_ns;
};

static int by_function(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static uint64_t value_of(const struct row *row, enum st_metric metric)
{
	switch ((int)metric) {
	case ST_COUNT:
		return row->calls;
	case ST_WALL_TOTAL:
		return row->total_ns;
	default:
		return row->own_ns;
	}
}

static int by_metrics(const void *left, const void *right, void *arg)
{
	const struct st_question *question = arg;
	int order = question->sort_ascending ? -1 : 1;

	for (unsigned int i = 0; i < question->sort_count; i++) {
		uint64_t a = value_of(left, question->sort[i]);
		uint64_t b = value_of(right, question->sort[i]);

		if (a != b)
			return a < b ? order : -order;
	}
	return by_function(left, right);
}

static void add_row(struct row *to, const struct row *more)
{
	to->calls += more->calls;
	to->primitive += more->primitive;
	to->own_ns += more->own_ns;
	to->total_ns += more->total_ns;
}

/* One row for each function; how many. */
static uint32_t merge(struct row *rows, uint32_t count)
{
	uint32_t merged = 0;

	qsort(rows, count, sizeof(*rows), by_function);
	for (uint32_t i = 0; i < count; i++) {
		if (merged && by_function(&rows[merged - 1], &rows[i]) == 0)
			add_row(&rows[merged - 1], &rows[i]);
		else
			rows[merged++] = rows[i];
	}
	return merged;
}

/* A thread with calls. */
struct thread {
	uint32_t process, tid;
	uint64_t python_ns, cpu_ns;
	bool only_waits;
};

struct threads {
	struct st_pair_map keys; /* (process, tid) */
	struct thread *items;
	uint32_t counted, waiting;
};

static void threads_fini(struct threads *threads)
{
	st_pair_map_fini(&threads->keys);
	free(threads->items);
}

static void add_cpu_time(struct threads *threads, const struct st_result *result)
{
	const struct st_samples *samples = st_result_samples(result);
	uint32_t count;
	const struct st_track *tracks = st_result_tracks(result, &count);

	for (uint32_t i = 0; i < samples->count; i++) {
		const struct st_track *track = &tracks[samples->track[i]];
		uint32_t known = threads->keys.count, at;

		if (samples->flags[i] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE))
			continue;
		at = st_pair_map_add(&threads->keys, track->process, track->tid);
		if (at < known && at < threads->counted)
			threads->items[at].cpu_ns += samples->weight_ns[i];
	}
}

/* A thread that helps (the feeder of a queue, the one that hands over files) waits nearly all of its time, and would
 * fill the first rows with that. The program's main thread is shown in any case. */
static void judge(struct threads *threads, const struct st_result *result)
{
	uint32_t count;
	const struct st_process *processes = st_result_processes(result, &count);
	uint64_t all_ns = 0;

	if (!st_result_samples(result)->count)
		return;
	for (uint32_t i = 0; i < threads->counted; i++)
		all_ns += threads->items[i].cpu_ns;
	for (uint32_t i = 0; i < threads->counted; i++) {
		struct thread *thread = &threads->items[i];
		bool is_main = thread->process == 0 && count && thread->tid == processes[0].pid;

		thread->only_waits = !is_main &&
				     thread->cpu_ns < thread->python_ns / WAITS_FACTOR &&
				     thread->cpu_ns < all_ns / WAITS_OF_ALL;
		threads->waiting += thread->only_waits;
	}
}

static bool find_threads(struct threads *threads, const struct st_result *result)
{
	uint32_t count, function_count;
	const struct st_python_function *functions =
		st_result_python_functions(result, &function_count);
	const struct st_python_calls *calls = st_result_python_calls(result, &count);

	threads->items = calloc((size_t)count + 1, sizeof(*threads->items));
	for (uint32_t i = 0; threads->items && i < count; i++) {
		uint32_t process = functions[calls[i].function].process;
		uint32_t at = st_pair_map_add(&threads->keys, process, calls[i].tid);

		if (at >= count)
			return false;
		threads->items[at].process = process;
		threads->items[at].tid = calls[i].tid;
		threads->items[at].python_ns += calls[i].own_ns;
	}
	threads->counted = threads->keys.count;
	if (!threads->items || threads->keys.failed)
		return false;
	add_cpu_time(threads, result);
	judge(threads, result);
	return true;
}

static struct row *load(const struct st_result *result, struct threads *threads, bool working,
			uint32_t *count)
{
	uint32_t kept = 0;
	uint32_t function_count;
	const struct st_python_function *functions =
		st_result_python_functions(result, &function_count);
	const struct st_python_calls *calls = st_result_python_calls(result, count);
	struct row *rows = calloc((size_t)*count + 1, sizeof(*rows));

	for (uint32_t i = 0; rows && i < *count; i++) {
		const struct st_python_function *function = &functions[calls[i].function];
		uint32_t at = st_pair_map_add(&threads->keys, function->process, calls[i].tid);

		if (working && threads->items[at].only_waits)
			continue;
		rows[kept++] = (struct row){
			.file = function->file,
			.name = function->name,
			.line = function->line,
			.calls = calls[i].calls,
			.primitive = calls[i].primitive,
			.own_ns = calls[i].own_ns,
			.total_ns = calls[i].total_ns,
		};
	}
	if (rows)
		*count = merge(rows, kept);
	return rows;
}

struct st_text st_python_function_label(const struct st_result *result, st_string_id file_id,
					uint32_t line, st_string_id name_id, struct st_arena *arena)
{
	struct st_text file = st_result_text(result, file_id);
	struct st_text name = st_result_text(result, name_id);
	const char *text;

	if (!file.size_bytes && !name.size_bytes)
		text = "(functions without a name: too many)";
	else if (line || file.size_bytes != 1 || file.bytes[0] != '~')
		text = st_arena_printf(arena, "%.*s:%u(%.*s)", (int)file.size_bytes, file.bytes,
				       line, (int)name.size_bytes, name.bytes);
	else if (name.size_bytes > 1 && name.bytes[0] == '<' &&
		 name.bytes[name.size_bytes - 1] == '>')
		text = st_arena_printf(arena, "{%.*s}", (int)name.size_bytes - 2, name.bytes + 1);
	else
		return name;
	return (struct st_text){text ? text : "", text ? strlen(text) : 0};
}

static struct st_cell per_call(uint64_t ns, uint64_t calls)
{
	return calls ? st_cell_u64((ns + calls / 2) / calls) : (struct st_cell){ST_CELL_NONE};
}

static void set_cells(struct st_report *report, struct st_cell *cells, const struct row *row,
		      bool is_sum)
{
	const char *calls =
		st_arena_printf(st_report_arena(report), "%llu", (unsigned long long)row->calls);

	if (row->calls != row->primitive)
		calls = st_arena_printf(st_report_arena(report), "%llu/%llu",
					(unsigned long long)row->calls,
					(unsigned long long)row->primitive);
	if (!is_sum)
		cells[NCALLS] = st_cell_text(calls);
	cells[OWN] = st_cell_u64(row->own_ns);
	cells[CALLS] = st_cell_u64(row->calls);
	cells[PRIMITIVE] = st_cell_u64(row->primitive);
	if (is_sum)
		return; /* the times of callers and of what they call do not add up */
	cells[OWN_PER_CALL] = per_call(row->own_ns, row->calls);
	cells[TOTAL] = st_cell_u64(row->total_ns);
	cells[TOTAL_PER_CALL] = per_call(row->total_ns, row->primitive);
}

static void add_rows(struct st_report *report, const struct st_result *result,
		     const struct row *rows, uint32_t count, uint64_t limit)
{
	uint32_t shown = limit && limit < count ? (uint32_t)limit : count;
	struct row total = {0}, others = {0};

	for (uint32_t i = 0; i < count; i++) {
		struct st_cell *cells;

		add_row(&total, &rows[i]);
		if (i >= shown) {
			add_row(&others, &rows[i]);
			continue;
		}
		cells = st_report_add(report, 0);
		cells[FUNCTION] = st_cell_bytes(st_python_function_label(
			result, rows[i].file, rows[i].line, rows[i].name, st_report_arena(report)));
		set_cells(report, cells, &rows[i], false);
	}
	if (shown < count) {
		struct st_cell *cells = st_report_add(report, 0);

		cells[FUNCTION] = st_cell_text("[Others]");
		set_cells(report, cells, &others, true);
	}
	report->totals.cells = st_report_new_cells(report);
	set_cells(report, report->totals.cells, &total, true);
	if (total.calls)
		report->subject = st_arena_printf(
			st_report_arena(report),
			"%llu function calls (%llu primitive calls) in %.3f seconds",
			(unsigned long long)total.calls, (unsigned long long)total.primitive,
			(double)total.own_ns / 1e9);
}

/* Threads work, and wait, at the same time: what they come to together is no time that went by. */
static void tell_threads(struct st_report *report, const struct st_result *result,
			 const struct threads *threads, bool working)
{
	uint32_t shown = threads->counted - (working ? threads->waiting : 0);
	struct st_arena *arena = st_report_arena(report);
	const char *text = report->subject;

	if (text && shown > 1)
		text = st_arena_printf(arena, "%s of %u threads, in a run of %.3f seconds", text,
				       shown, (double)st_result_info(result)->elapsed_ns / 1e9);
	if (text && working && threads->waiting)
		text = st_arena_printf(arena, "%s; without %u thread%s that only wait%s", text,
				       threads->waiting, threads->waiting > 1 ? "s" : "",
				       threads->waiting > 1 ? "" : "s");
	if (text)
		report->subject = text;
}

static void add_notes(struct st_report *report, const struct st_result *result)
{
	struct st_arena *arena = st_report_arena(report);
	uint64_t lost = st_result_python_calls_lost(result);
	const char **notes = lost ? st_arena_calloc(arena, 1, sizeof(*notes)) : NULL;

	if (!notes)
		return;
	notes[0] = st_arena_printf(
		arena, "%llu calls were nested too deep to distinguish; not counted in any row",
		(unsigned long long)lost);
	report->notes = notes;
	report->note_count = notes[0] ? 1 : 0;
}

enum st_status st_report_python_calls_build(const struct st_report_kind *kind,
					    const struct st_result *result,
					    const struct st_report_options *options,
					    struct st_report *out, struct st_error *err)
{
	struct st_question question = options->question;
	struct threads threads = {0};
	struct row *rows;
	uint32_t count;

	(void)kind;
	if (!question.sort_count)
		question.sort[question.sort_count++] = ST_WALL_SELF;
	rows = find_threads(&threads, result)
		       ? load(result, &threads, options->working_threads, &count)
		       : NULL;
	if (!rows)
		threads_fini(&threads);
	if (!rows)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for report python-calls");
	qsort_r(rows, count, sizeof(*rows), by_metrics, &question);
	st_report_columns(out, columns, COLUMNS);
	out->group_by[out->group_by_count++] = "python-function";
	add_rows(out, result, rows, count, question.limit);
	tell_threads(out, result, &threads, options->working_threads);
	threads_fini(&threads);
	free(rows);
	add_notes(out, result);
	out->name_width = NAME_WIDTH;
	return ST_OK;
}

uint64_t st_python_calls_count(const struct st_result *result)
{
	uint32_t count;
	const struct st_python_calls *calls = st_result_python_calls(result, &count);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += calls[i].calls;
	return sum;
}

bool st_python_calls_metric(struct st_text text, enum st_metric *out)
{
	static const struct {
		const char *word;
		enum st_metric metric;
	} words[] = {
		{"ncalls", ST_COUNT},	      {"calls", ST_COUNT},
		{"tottime", ST_WALL_SELF},    {"time", ST_WALL_SELF},
		{"cumtime", ST_WALL_TOTAL},   {"cumulative", ST_WALL_TOTAL},
		{"tottime_ns", ST_WALL_SELF}, {"cumtime_ns", ST_WALL_TOTAL},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (st_name_equal(text.bytes, text.size_bytes, words[i].word)) {
			*out = words[i].metric;
			return true;
		}
	}
	return false;
}
