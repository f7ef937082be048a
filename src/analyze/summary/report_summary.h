/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of report "summary": facts in sections, in the order in which they are shown. Columns that
 * do not concern a fact stay empty. Sections, in order: run, cost, only, step, step_warm_up (of
 * steps with parts of training), step_part, task,
 * process, thread, operators, operator, device, kernel, memory, memory_holder, frames, overlapped, regions, waits, waits_for, openmp, counters, markers, not_entered, left_running,
 * steady (what the lines and functions are of, where that is the steps rather than the run), hotspot, own_line, python_line, task_cpu, cpu, utilization, finding (of samples), fix, quality (what is not perfect; ST_SUMMARY_FLAW is the
 * name of what of it matters), empty, next.
 */
#ifndef ST_ANALYZE_SUMMARY_REPORT_SUMMARY_H
#define ST_ANALYZE_SUMMARY_REPORT_SUMMARY_H

#define ST_SUMMARY_FLAW "flaw"

enum st_summary_column {
	ST_SUMMARY_SECTION,
	ST_SUMMARY_NAME,
	ST_SUMMARY_VALUE,
	ST_SUMMARY_COUNT,
	ST_SUMMARY_TOTAL,
	ST_SUMMARY_SELF,
	ST_SUMMARY_MEDIAN,
	ST_SUMMARY_P95,
	ST_SUMMARY_P99,
	ST_SUMMARY_RATIO, /* task: self of all self, or, besides operators, total of all total; step_part: of the
			     steps' time; thread: busy */
	ST_SUMMARY_PID,
	ST_SUMMARY_COPIES,   /* process, thread: tasks that repeat those of other threads */
	ST_SUMMARY_CPU_SELF, /* hotspot, python_line, task_cpu */
	ST_SUMMARY_CPU_TOTAL,
	ST_SUMMARY_CPU_INHERITED,
	ST_SUMMARY_SPIN,
	ST_SUMMARY_COLUMNS
};

#include "analyze/tables/report_make.h"

/* From the first step to the last; zeros where there are none. */
struct st_summary_loop {
	int64_t begin_ns, end_ns;
	int64_t steady_ns;     /* where the first step begins that is no warm-up */
	uint32_t step_count;   /* without warm-up */
	uint64_t step_wall_ns; /* of all of these */
	uint32_t track;	       /* of the thread of the first ones: these are counted */
	bool is_steady; /* the program is that loop: lines and functions are of it, without what comes before and behind */
};

struct st_step_list;

/* What every part of it needs. */
struct st_summary {
	struct st_report *report;
	const struct st_result *result;
	const struct st_report_options *options;
	const struct st_question *scope; /* the question of the options */
	struct st_error *err;
	struct st_summary_loop *loop; /* known once the steps are there */
	struct st_step_list *steps;   /* the same; empty where the scope is a part of the run */
};

/* Columns from ST_SUMMARY_COUNT to ST_SUMMARY_P99 out of a row of an answer. */
void st_summary_values(struct st_cell *cells, const struct st_answer_row *row,
		       enum st_summary_column first, enum st_summary_column last);
/* The scope, grouped and sorted. */
struct st_question st_summary_question(const struct st_summary *summary, enum st_grouping grouping,
				       enum st_metric sort);

/* The scope, or where the loop is known that: start-up has a section of its own. */
struct st_question st_summary_steady(const struct st_summary *summary);

/* The sections frames … markers: one row each, when the result has such a thing. */
enum st_status st_summary_add_rows(const struct st_summary *summary);
/* The sections operators and operator. */
enum st_status st_summary_add_operators(const struct st_summary *summary);
/* The sections device (busy of its span, as self of total) and kernel. */
void st_summary_add_devices(const struct st_summary *summary);
/* The sections memory and memory_holder: the peak in words, and who held most of it (bytes as value). */
enum st_status st_summary_add_memory(const struct st_summary *summary);
/* The section thread_time: what all threads did, running and waiting by class, where waits were recorded. */
enum st_status st_summary_add_thread_time(const struct st_summary *summary);
/* The section waits_for: objects with most wait time, with their place as value; of the steps per step, with their share. */
enum st_status st_summary_add_wait_places(const struct st_summary *summary);
/* The section openmp: regions, imbalance, serial, worst (its region as value). */
enum st_status st_summary_add_openmp(const struct st_summary *summary);
/* The sections of samples. */
enum st_status st_summary_add_samples(const struct st_summary *summary);
/* The section fix: findings, with what they save as total, and at least as self. */
enum st_status st_summary_add_fixes(const struct st_summary *summary);
/* The section own_line: lines of Python that are no library's, each with the time of what it called; and the one that most
 * of the start-up is in. */
struct st_sample_set;
enum st_status st_summary_add_own_lines(const struct st_summary *summary,
					struct st_sample_set *set);
/* The section process_cpu: programs by CPU time, and what no sample has. */
enum st_status st_summary_add_processes(const struct st_summary *summary,
					struct st_sample_set *set);
/* Of the time from its first sample to its last, as far as it lies in the scope, the share in which a thread was not on a CPU;
 * of threads with a part in the CPU time that matters. */
double st_summary_off_cpu(const struct st_summary *summary);
/* CPU time, and that of garbage collection, by when it was. */
enum st_phase { ST_PHASE_START, ST_PHASE_LOOP, ST_PHASE_END, ST_PHASES };
struct st_phases {
	uint64_t cpu_ns[ST_PHASES], gc_ns[ST_PHASES];
};
/* The share of a loop from which its garbage collection is worth changing something. */
#define ST_GC_MATTERS 0.05
void st_summary_phases(const struct st_summary *summary, const struct st_sample_set *set,
		       struct st_phases *out);
double st_phases_loop_share(const struct st_phases *phases);
/* A sentence with what to do. */
const char *st_phases_words(const struct st_summary *summary, const struct st_phases *phases);
/* Section finding: that each step is a batch of one, where that is so. */
enum st_status st_summary_add_batch(const struct st_summary *summary,
				    const struct st_step_list *list);
/* The section start_up: time and CPU time before the first step. */
void st_summary_add_start_up(const struct st_summary *summary, const struct st_step_list *list);

#endif
