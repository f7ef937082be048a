// SPDX-License-Identifier: Apache-2.0
//
// What the threads did all the time, where waits in functions of the C library were recorded: running, and waiting by class.
#include "analyze/datasets/dataset_rows.h"
#include "analyze/datasets/thread_time.h"
#include "analyze/datasets/wait_sites.h"
#include "analyze/summary/report_summary.h"
#include "format/analysis.h"

static void add_part(const struct st_summary *summary, const char *name, uint64_t part_ns,
		     uint64_t whole_ns)
{
	struct st_cell *cells = st_report_fact(summary->report, "thread_time", "");

	cells[ST_SUMMARY_NAME] = st_cell_text(name);
	cells[ST_SUMMARY_TOTAL] = st_cell_u64(part_ns);
	cells[ST_SUMMARY_RATIO] = st_cell_double(st_share(part_ns, whole_ns));
}

/* Of all threads together. */
static struct st_thread_time sum_of(const struct st_thread_times *times, uint64_t *threads)
{
	struct st_thread_time sum = {0};

	*threads = 0;
	for (uint32_t i = 0; i < times->count; i++) {
		const struct st_thread_time *time = &times->threads[i];

		if (!time->is_known)
			continue;
		++*threads;
		sum.life_ns += time->life_ns;
		sum.running_ns += time->running_ns;
		for (unsigned int class = 0; class < ST_WAIT_CLASSES; class ++)
			sum.class_ns[class] += time->class_ns[class];
	}
	return sum;
}

enum st_status st_summary_add_thread_time(const struct st_summary *summary)
{
	struct st_thread_times times;
	struct st_thread_time sum;
	struct st_wait_sites sites;
	enum st_status status;
	struct st_cell *cells;
	uint64_t threads;
	bool is_made;

	/* Of pieces of threads nobody knows how long they are; and ITT tells of some waits only. */
	if (summary->scope->has_time_range || summary->scope->filter_count ||
	    !st_analysis_is_for(st_result_info(summary->result)->type, ST_RECORDS_WAITS))
		return ST_OK;
	status = st_wait_sites_init(&sites, summary->result, NULL, summary->err);
	if (status)
		return status;
	is_made = st_thread_times_make(&times, &sites, NULL);
	st_wait_sites_fini(&sites);
	if (!is_made)
		return st_error_set(summary->err, ST_ENOMEM, 0, "out of memory for the threads");
	sum = sum_of(&times, &threads);
	st_thread_times_fini(&times);
	cells = st_report_fact(summary->report, "thread_time", "threads");
	cells[ST_SUMMARY_COUNT] = st_cell_u64(threads);
	cells[ST_SUMMARY_TOTAL] = st_cell_u64(sum.life_ns);
	add_part(summary, "Running", sum.running_ns, sum.life_ns);
	for (unsigned int class = 0; class < ST_WAIT_CLASSES; class ++)
		if (sum.class_ns[class] || class == ST_WAITS_UNEXPLAINED)
			add_part(summary, st_wait_class_word((enum st_wait_class) class),
				 sum.class_ns[class], sum.life_ns);
	return ST_OK;
}
