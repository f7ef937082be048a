// SPDX-License-Identifier: Apache-2.0
//
// Report "threading": with a grouping it is a table of functions, lines, threads …; without one an overview of what other reports say in
// full. It computes nothing of its own.
#include "analyze/reports/report_threading.h"

#include <string.h>

#include "analyze/datasets/dataset_parts.h"
#include "analyze/datasets/dataset_rows.h"
#include "analyze/datasets/thread_time.h"
#include "analyze/reports/report_kinds.h"
#include "analyze/samples/sample_waits.h"
#include "analyze/samples/utilization.h"
#include "analyze/samples/wait_keys.h"
#include "analyze/tables/report_make.h"
#include "store/result.h"

enum { TYPES = 6, OBJECTS = 5, PLACES = 5, LONGEST = 5, THREADS = 4, CPUS_SHOWN = 4 };

/* Of the threads' time; what is less is in the reports. */
#define LEAST 0.0005

static const struct st_column columns[ST_THREADING_COLUMNS] = {
	[ST_THREADING_SECTION] = {"section", "Section", "", true},
	[ST_THREADING_NAME] = {"name", "Name", "", true},
	[ST_THREADING_PLACE] = {"place", "Place", "", true},
	[ST_THREADING_TIME] = {"time_ns", "Time", "ns", false},
	[ST_THREADING_SHARE] = {"share_ratio", "Share", "ratio", false},
	[ST_THREADING_COUNT] = {"count", "Count", "", false},
	[ST_THREADING_DETAILS] = {"details", "Details: strata report", "", true},
};

/* Why figures of different sections are not the same: they are not of the same time. */
static const char measures[] = "THREADS has each moment of a thread once: a wait counts there only "
			       "while the thread was off "
			       "the CPU, and what it could have run is Preempted. WAITS, OBJECTS "
			       "and WHERE have whole waits, "
			       "with the spinning and the preemption in them. Ready time is the "
			       "kernel's own count: it has "
			       "also the time from a wake-up until the thread ran, which may be "
			       "part of the wait in THREADS.";

struct page {
	const struct st_result *result;
	const struct st_report_options *options;
	struct st_report *out;
	struct st_sample_set set;
	struct st_error *err;
	uint64_t life_ns; /* of all threads */
};

static struct st_cell *add(const struct page *page, const char *section, const char *name,
			   const char *details)
{
	struct st_cell *cells = st_report_fact(page->out, section, name);

	cells[ST_THREADING_DETAILS] = st_cell_text(details);
	return cells;
}

static void set_time(struct st_cell *cells, uint64_t ns, uint64_t whole_ns)
{
	cells[ST_THREADING_TIME] = st_cell_u64(ns);
	if (whole_ns)
		cells[ST_THREADING_SHARE] = st_cell_double(st_share(ns, whole_ns));
}

/* CPUs ------------------------------------------------------------------------------------------------- */

static void add_concurrency(const struct page *page, const struct st_utilization *use)
{
	struct st_arena *arena = st_report_arena(page->out);

	for (uint32_t i = 0; use->cpu_count <= CPUS_SHOWN && i <= use->cpu_count; i++) {
		struct st_cell *cells = add(
			page, "concurrency",
			st_arena_printf(arena, "%u CPU%s", i, i == 1 ? "" : "s"), "utilization");

		set_time(cells, use->by_cpus[i], use->recorded_ns);
		cells[ST_THREADING_PLACE] =
			st_cell_text(st_utilization_names[st_utilization_level(i, use->cpu_count)]);
	}
	for (unsigned int i = 0; use->cpu_count > CPUS_SHOWN && i < ST_USE_LEVELS; i++)
		set_time(add(page, "concurrency", st_utilization_names[i], "utilization"),
			 use->by_level[i], use->recorded_ns);
}

/* Oversubscription: only where threads really queued. */
static void add_ready(const struct page *page, const struct st_utilization *use)
{
	set_time(add(page, "cpu", "more threads ready than CPUs", "utilization"),
		 use->oversubscribed_ns, use->watched_ns);
	set_time(add(page, "cpu", "ready, behind own threads", "utilization"), use->own_delay_ns,
		 0);
	set_time(add(page, "cpu", "ready, behind others or in short queues", "utilization"),
		 use->delay_ns - use->own_delay_ns, 0);
}

static void add_use(const struct page *page, const struct st_utilization *use)
{
	uint64_t all_ns = use->recorded_ns * use->cpu_count;
	struct st_cell *cells = add(page, "cpu", "effective", "utilization");

	set_time(cells, use->effective_ns, all_ns);
	cells[ST_THREADING_COUNT] = st_cell_u64(use->cpu_count);
	set_time(add(page, "cpu", "spin and overhead", "hotspots -group-by cpu-class,function"),
		 use->cpu_ns - use->effective_ns, all_ns);
	if (use->watched_ns)
		add_ready(page, use);
	add_concurrency(page, use);
}

static enum st_status add_cpus(struct page *page)
{
	struct st_utilization use;
	enum st_status status;

	if (!page->set.samples->count)
		return ST_OK;
	status = st_utilization_make(&use, &page->set, &page->options->question, page->err);
	if (status)
		return status;
	add_use(page, &use);
	st_utilization_fini(&use);
	return ST_OK;
}
/* Threads ---------------------------------------------------------------------------------------------- */

static void add_threads(struct page *page)
{
	const struct st_thread_times *times = st_dataset_waits_times(&page->set.waits);
	uint64_t running_ns = 0, class_ns[ST_WAIT_CLASSES] = {0}, threads = 0;
	struct st_cell *cells;

	for (uint32_t i = 0; i < times->count; i++) {
		const struct st_thread_time *time = &times->threads[i];

		if (!time->is_known)
			continue;
		threads++;
		page->life_ns += time->life_ns;
		running_ns += time->running_ns;
		for (unsigned int class = 0; class < ST_WAIT_CLASSES; class ++)
			class_ns[class] += time->class_ns[class];
	}
	cells = add(page, "threads", "all", "thread-time");
	set_time(cells, page->life_ns, 0);
	cells[ST_THREADING_COUNT] = st_cell_u64(threads);
	set_time(add(page, "threads", "Running", "thread-time"), running_ns, page->life_ns);
	for (unsigned int class = 0; class < ST_WAIT_CLASSES; class ++)
		if (class_ns[class] || class == ST_WAITS_UNEXPLAINED)
			set_time(add(page, "threads",
				     st_wait_class_word((enum st_wait_class) class), "thread-time"),
				 class_ns[class], page->life_ns);
}

/* Waits ------------------------------------------------------------------------------------------------ */

static bool is_told(struct st_text text)
{
	return text.size_bytes && text.bytes[0] != '[';
}

static struct st_text last_part(struct st_text path)
{
	const char *slash =
		st_text_begins(path, "/") ? memrchr(path.bytes, '/', path.size_bytes) : NULL;

	return slash ? (struct st_text){slash + 1,
					path.size_bytes - (size_t)(slash + 1 - path.bytes)}
		     : path;
}

/* The first of the levels below that has a name; their first rows are the largest. */
static struct st_text place_below(const struct st_answer *answer, const struct st_answer_row *row)
{
	while (row->child_count) {
		row = &answer->rows[row->first_child];
		if (is_told(row->text))
			return last_part(row->text);
	}
	return (struct st_text){"", 0};
}

/* "Thread.join (train.py:7)" names its place; so does a class that is called like the kind. */
static bool says(struct st_text name, struct st_text place)
{
	return (memchr(name.bytes, '(', name.size_bytes) &&
		memchr(name.bytes, ':', name.size_bytes)) ||
	       (name.size_bytes == place.size_bytes &&
		!memcmp(name.bytes, place.bytes, place.size_bytes));
}

struct asked {
	const char *section, *details;
	struct st_question question;
	bool skips_untold; /* rows without a name of their own say nothing here */
	uint32_t
		pairs; /* a row is a name with one of the names below it, at most so many; 0: a name with all */
};

/* A name, and whose figures are shown beside it. */
struct shown {
	const struct st_answer_row *name, *figures;
};

static void add_shown(const struct page *page, const struct asked *asked, struct shown shown,
		      struct st_text place)
{
	uint64_t ns = st_answer_value(shown.figures, ST_WAIT);
	struct st_cell *cells;

	if ((double)ns < LEAST * (double)page->life_ns)
		return;
	cells = add(page, asked->section, "", asked->details);
	cells[ST_THREADING_NAME] = st_report_text(page->out, last_part(shown.name->text));
	if (place.size_bytes && !says(shown.name->text, place))
		cells[ST_THREADING_PLACE] = st_report_text(page->out, place);
	set_time(cells, ns, page->life_ns);
	cells[ST_THREADING_COUNT] = st_cell_u64(st_answer_value(shown.figures, ST_WAIT_COUNT));
}

static bool is_shown(const struct asked *asked, const struct st_answer_row *row)
{
	return !row->is_others && (!asked->skips_untold || is_told(row->text));
}

/* The largest pairs of a name and one below it: a line may wait for things of several kinds. */
static void add_pairs(const struct page *page, const struct asked *asked,
		      const struct st_answer *answer)
{
	struct shown best[PLACES];
	uint32_t count = 0;

	for (uint32_t i = 0; i < answer->root_count; i++) {
		const struct st_answer_row *row = &answer->rows[answer->root_first + i];

		for (uint32_t j = 0; is_shown(asked, row) && j < row->child_count; j++) {
			const struct st_answer_row *below = &answer->rows[row->first_child + j];
			uint64_t ns = st_answer_value(below, ST_WAIT);
			uint32_t at;

			if (count == asked->pairs &&
			    st_answer_value(best[count - 1].figures, ST_WAIT) >= ns)
				continue;
			at = count < asked->pairs ? count++ : count - 1;
			for (; at && st_answer_value(best[at - 1].figures, ST_WAIT) < ns; at--)
				best[at] = best[at - 1];
			best[at] = (struct shown){row, below};
		}
	}
	for (uint32_t i = 0; i < count; i++)
		add_shown(page, asked, best[i], last_part(best[i].figures->text));
}

static void add_answer(const struct page *page, const struct asked *asked,
		       const struct st_answer *answer)
{
	for (uint32_t i = 0; i < answer->root_count; i++) {
		const struct st_answer_row *row = &answer->rows[answer->root_first + i];

		if (is_shown(asked, row))
			add_shown(page, asked, (struct shown){row, row}, place_below(answer, row));
	}
}

static enum st_status ask(struct page *page, struct asked *asked)
{
	struct st_answer answer;
	enum st_status status;

	asked->question.metrics = ST_SET(ST_WAIT, ST_WAIT_COUNT);
	if (!asked->question.sort_count)
		asked->question.sort[asked->question.sort_count++] = ST_WAIT;
	status = st_dataset_prepare(&page->set.waits, &asked->question, page->err);
	if (!status)
		status = st_dataset_ask(&page->set.waits, &asked->question, &answer, page->err);
	if (status)
		return status;
	if (asked->pairs)
		add_pairs(page, asked, &answer);
	else
		add_answer(page, asked, &answer);
	st_answer_fini(&answer);
	return ST_OK;
}

static enum st_status add_waits(struct page *page)
{
	struct st_filter sync = {ST_BY_WAIT_CLASS, false, st_wait_class_word(ST_WAITS_SYNC)};
	struct st_filter busy = {ST_BY_WAIT_CLASS, true, st_wait_class_word(ST_WAITS_IDLE)};
	struct asked asked[] = {
		{"waits",
		 "waits",
		 {.groupings = {ST_BY_SYNC_TYPE, ST_BY_WAIT_CLASS},
		  .grouping_count = 2,
		  .filters = &busy,
		  .filter_count = 1,
		  .limit = TYPES},
		 false,
		 0},
		{"objects",
		 "sync-objects",
		 {.groupings = {ST_BY_SYNC_OBJECT, ST_BY_PYTHON_LINE, ST_BY_FUNCTION},
		  .grouping_count = 3,
		  .filters = &sync,
		  .filter_count = 1,
		  .limit = OBJECTS},
		 true,
		 0},
		{"where",
		 "threading -group-by python-line",
		 {.groupings = {ST_BY_PYTHON_LINE, ST_BY_SYNC_TYPE},
		  .grouping_count = 2,
		  .filters = &busy,
		  .filter_count = 1},
		 true,
		 PLACES},
	};
	uint32_t before;
	enum st_status status = ST_OK;

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]) && !status; i++) {
		before = page->out->row_count;
		status = ask(page, &asked[i]);
	}
	/* A program without Python. */
	if (!status && page->out->row_count == before) {
		asked[2].details = "threading -group-by function";
		asked[2].question.groupings[0] = ST_BY_FUNCTION;
		status = ask(page, &asked[2]);
	}
	return status;
}

/* Who waits for Python's lock, and who has it. */
static enum st_status add_gil(struct page *page)
{
	static const char details[] = "waits -group-by wait-class,thread";
	struct st_filter gil = {ST_BY_WAIT_CLASS, false, st_wait_class_word(ST_WAITS_GIL)};
	struct st_question question = {.groupings = {ST_BY_THREAD},
				       .grouping_count = 1,
				       .filters = &gil,
				       .filter_count = 1,
				       .metrics = ST_SET(ST_WAIT, ST_WAIT_COUNT, ST_HOLD_TOTAL),
				       .sort = {ST_HOLD_TOTAL},
				       .sort_count = 1,
				       .limit = THREADS};
	uint64_t run_ns = (uint64_t)st_result_info(page->result)->elapsed_ns;
	struct st_answer answer;
	enum st_status status = st_dataset_prepare(&page->set.waits, &question, page->err);

	if (!status)
		status = st_dataset_ask(&page->set.waits, &question, &answer, page->err);
	if (status)
		return status;
	/* Where nobody waits for it, it does not matter who has it. */
	for (uint32_t i = 0; i < answer.root_count && st_answer_value(&answer.total, ST_WAIT);
	     i++) {
		const struct st_answer_row *row = &answer.rows[answer.root_first + i];
		struct st_cell *cells;

		if (row->is_others)
			continue;
		cells = add(page, "gil", "held", details);
		cells[ST_THREADING_PLACE] = st_report_text(page->out, row->text);
		set_time(cells, st_answer_value(row, ST_HOLD_TOTAL), run_ns);
		cells = add(page, "gil", "waited for", details);
		cells[ST_THREADING_PLACE] = st_report_text(page->out, row->text);
		set_time(cells, st_answer_value(row, ST_WAIT), run_ns);
		cells[ST_THREADING_COUNT] = st_cell_u64(st_answer_value(row, ST_WAIT_COUNT));
	}
	st_answer_fini(&answer);
	return ST_OK;
}

static struct st_text key_text(const struct page *page, enum st_grouping grouping, uint32_t row)
{
	const struct st_dataset *waits = &page->set.waits;

	return waits->text(waits, grouping, st_key_of(&waits->keys[grouping], row),
			   st_report_arena(page->out));
}

static bool is_idle(const struct page *page, uint32_t row)
{
	return st_text_equals(key_text(page, ST_BY_WAIT_CLASS, row),
			      st_wait_class_word(ST_WAITS_IDLE));
}

static void add_longest(const struct page *page)
{
	const struct st_dataset *waits = &page->set.waits;
	uint32_t best[LONGEST], count = 0;

	for (uint32_t i = 0; i < waits->row_count; i++) {
		uint32_t at;

		if (!st_row_is_counted(waits, i) ||
		    (count == LONGEST && waits->self_ns[best[count - 1]] >= waits->self_ns[i]) ||
		    is_idle(page, i))
			continue;
		at = count < LONGEST ? count++ : LONGEST - 1;
		for (; at && waits->self_ns[best[at - 1]] < waits->self_ns[i]; at--)
			best[at] = best[at - 1];
		best[at] = i;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct st_cell *cells =
			add(page, "longest", "", "waits -group-by instance -sort-desc wall-total");

		cells[ST_THREADING_NAME] = st_report_text(
			page->out, last_part(key_text(page, ST_BY_SYNC_OBJECT, best[i])));
		cells[ST_THREADING_PLACE] =
			st_report_text(page->out, key_text(page, ST_BY_THREAD, best[i]));
		set_time(cells, waits->self_ns[best[i]], 0);
	}
}

/* OpenMP ----------------------------------------------------------------------------------------------- */

static enum st_status add_openmp(struct page *page)
{
	struct st_question question = {.groupings = {ST_BY_REGION},
				       .grouping_count = 1,
				       .metrics = ST_SET(ST_WALL_TOTAL, ST_IMBALANCE, ST_COUNT),
				       .sort = {ST_IMBALANCE},
				       .sort_count = 1};
	struct st_dataset regions;
	struct st_answer answer;
	enum st_status status =
		st_dataset_rows_init(&regions, page->result, ST_ROWS_OPENMP, page->err);

	if (status)
		return status;
	if (regions.row_count)
		status = st_dataset_ask(&regions, &question, &answer, page->err);
	for (uint32_t i = 0; !status && regions.row_count && i < answer.root_count; i++) {
		const struct st_answer_row *row = &answer.rows[answer.root_first + i];
		uint64_t wall_ns = st_answer_value(row, ST_WALL_TOTAL);
		struct st_cell *cells;

		/* The worst of them, and what is none. */
		if (i >= 2 && !st_text_equals(row->text, st_openmp_serial))
			continue;
		cells = add(page, "openmp", "", "openmp");
		cells[ST_THREADING_NAME] = st_report_text(page->out, row->text);
		cells[ST_THREADING_TIME] = st_cell_u64(wall_ns);
		if (!st_text_equals(row->text, st_openmp_serial))
			cells[ST_THREADING_SHARE] = st_cell_double(
				st_share(st_answer_value(row, ST_IMBALANCE), wall_ns));
		cells[ST_THREADING_COUNT] = st_cell_u64(st_answer_value(row, ST_COUNT));
	}
	if (!status && regions.row_count)
		st_answer_fini(&answer);
	st_dataset_rows_fini(&regions);
	return status;
}

static void add_run(const struct page *page)
{
	const struct st_result_info *info = st_result_info(page->result);
	struct st_cell *cells = add(page, "run", info->command, "summary");

	cells[ST_THREADING_PLACE] = st_cell_text(info->name);
	set_time(cells, info->elapsed_ns > 0 ? (uint64_t)info->elapsed_ns : 0, 0);
}

static enum st_status build(struct page *page)
{
	enum st_status status;

	add_run(page);
	status = add_cpus(page);
	if (status || !st_sample_has_waits(page->result))
		return status;
	st_wait_keys_offer(&page->set);
	add_threads(page);
	status = add_waits(page);
	if (!status)
		status = add_gil(page);
	if (!status)
		add_longest(page);
	return status ? status : add_openmp(page);
}

static bool is_overview(const struct st_report_options *options)
{
	const struct st_question *question = &options->question;

	return !question->grouping_count && !question->filter_count && !question->sort_count &&
	       !question->limit && !question->has_time_range && !options->view.threshold_percent &&
	       options->view.show_as == ST_SHOW_VALUES;
}

enum st_status st_report_threading_build(const struct st_report_kind *kind,
					 const struct st_result *result,
					 const struct st_report_options *options,
					 struct st_report *out, struct st_error *err)
{
	struct page page = {.result = result, .options = options, .out = out, .err = err};
	enum st_status status;

	if (!is_overview(options))
		return st_report_samples_build(kind, result, options, out, err);
	st_report_columns(out, columns, ST_THREADING_COLUMNS);
	out->layout = ST_LAYOUT_THREADING;
	status = st_sample_set_open(&page.set, result, &options->view, err);
	if (status)
		return status;
	status = build(&page);
	st_sample_set_close(&page.set);
	out->subject = st_sample_has_waits(result)
			       ? measures
			       : "no waits were recorded; -collect threading records them";
	return status;
}
