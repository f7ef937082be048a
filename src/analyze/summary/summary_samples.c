// SPDX-License-Identifier: Apache-2.0
//
// The part of the summary that samples tell: what the CPU time was good for, where it went, how well the
// CPUs were used, and what is worth looking at.
#include "analyze/summary/report_summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/datasets/quality.h"
#include "analyze/samples/input_cpu.h"
#include "analyze/samples/sample_set.h"
#include "analyze/samples/utilization.h"
#include "base/buf.h"
#include "resolve/short_name.h"
#include "store/result.h"
#include "format/analysis.h"

enum { ROWS_SHOWN = 5, SAMPLES_FEW = 100 };

/* CPU time by kind, and how the CPUs were used. */
struct part {
	struct st_utilization use;
	uint64_t cpu[ST_CPU_METRICS];
};

struct job {
	const struct st_summary *summary;
	struct st_sample_set *set;
	struct part whole;  /* all in scope */
	struct part steady; /* of the steps where they are known, else the same */
	const char *of;	    /* "CPU time", or that of the steps */
	double hottest;	    /* share of the first function that does work */
	struct st_text hottest_name, hottest_module;
	double python; /* share of interpreted Python */
	struct st_phases phases;
	double others; /* share of the CPUs that other programs used */
};

static uint64_t sum_of(const struct part *part, enum st_metric metric)
{
	return part->cpu[metric - ST_WALL_METRICS];
}

static uint64_t total(const struct job *job, enum st_metric metric)
{
	return sum_of(&job->whole, metric);
}

static void add_ratio(const struct job *job, const char *section, const char *name, double value)
{
	st_report_fact(job->summary->report, section, name)[ST_SUMMARY_VALUE] =
		st_cell_double(value);
}

/* Of all CPU time, with what is in no sample. */
static uint64_t scaled(const struct job *job, enum st_metric metric)
{
	return (uint64_t)((double)total(job, metric) * job->whole.use.scale);
}

/* By the kernel's count, and how much of it samples stand for. */
static void add_seen(struct job *job)
{
	struct st_cpu_seen cpu;

	if (!st_quality_cpu_seen(job->summary->result, &cpu))
		return;
	st_report_fact_number(job->summary->report, "cpu", "cpu_used_ns", cpu.used_ns);
	add_ratio(job, "cpu", "cpu_sampled_ratio",
		  cpu.seen_ns + cpu.handler_ns < cpu.used_ns
			  ? st_share(cpu.seen_ns + cpu.handler_ns, cpu.used_ns)
			  : 1.0);
}

/* CPU time and its parts; of these only the ones that are there. */
static void add_times(struct job *job)
{
	st_report_fact_number(job->summary->report, "cpu", "cpu_ns", scaled(job, ST_CPU_SELF));
	for (unsigned int i = ST_CPU_EFFECTIVE; i <= ST_OVERHEAD_OTHER; i++) {
		enum st_metric metric = (enum st_metric)i;
		bool is_kind = metric == ST_CPU_EFFECTIVE || metric == ST_CPU_SPIN ||
			       metric == ST_CPU_OVERHEAD;

		if (is_kind || total(job, metric))
			st_report_fact_number(job->summary->report, "cpu",
					      st_metric_info(metric)->key, scaled(job, metric));
	}
	if (total(job, ST_CPU_INHERITED))
		st_report_fact_number(job->summary->report, "cpu", "cpu_inherited_ns",
				      total(job, ST_CPU_INHERITED));
	if (total(job, ST_WAIT))
		st_report_fact_number(job->summary->report, "cpu", "wait_ns", total(job, ST_WAIT));
	st_report_fact_number(job->summary->report, "cpu", "samples", total(job, ST_SAMPLES));
}

static void add_utilization(struct job *job)
{
	const struct st_utilization *use = &job->whole.use;
	uint64_t capacity = use->recorded_ns * use->cpu_count;

	st_report_fact_number(job->summary->report, "cpu", "threads", use->threads);
	st_report_fact_number(job->summary->report, "cpu", "cpus", use->cpu_count);
	if (!capacity)
		return;
	add_ratio(job, "cpu", "effective_utilization_ratio", st_share(use->effective_ns, capacity));
	add_ratio(job, "cpu", "cpu_utilization_ratio", st_share(use->cpu_ns, capacity));
	add_ratio(job, "cpu", "off_cpu_ratio", st_summary_off_cpu(job->summary));
	if (use->oversubscribed_ns)
		add_ratio(job, "cpu", "oversubscribed_ratio",
			  st_share(use->oversubscribed_ns, use->watched_ns));
	for (unsigned int i = 0; i < ST_USE_LEVELS; i++) {
		struct st_cell *cells = st_report_fact(job->summary->report, "utilization",
						       st_utilization_names[i]);

		cells[ST_SUMMARY_VALUE] = st_cell_u64(use->by_level[i]);
		cells[ST_SUMMARY_RATIO] =
			st_cell_double(st_share(use->by_level[i], use->recorded_ns));
	}
}

/* It is counted for all of the run: of a part of it nothing is known. */
static void add_machine(struct job *job)
{
	const struct st_machine_info *machine = &st_result_info(job->summary->result)->machine;
	struct st_machine_shares use;

	if (machine->cpu_limit > 0) {
		add_ratio(job, "cpu", "cpu_limit", machine->cpu_limit);
		st_report_fact_number(job->summary->report, "cpu", "throttled_ns",
				      machine->throttled_ns);
	}
	if (!st_quality_machine(job->summary->result, &use) ||
	    job->whole.use.recorded_ns < use.whole_ns / use.cpu_count / 10 * 9)
		return;
	job->others = use.others;
	st_report_fact_number(job->summary->report, "cpu", "machine_cpus", use.cpu_count);
	add_ratio(job, "cpu", "others_ratio", use.others);
	add_ratio(job, "cpu", "stolen_ratio", use.stolen);
}

static struct st_text module_of(const struct job *job, const struct st_answer_row *row)
{
	const struct st_named *named = job->set->named;
	uint32_t function = job->set->keys[ST_BY_FUNCTION].function[row->slice];

	return named->modules[named->functions[function].module].name;
}

static void add_row(struct job *job, const char *section, const struct st_answer_row *row,
		    uint64_t all_ns)
{
	struct st_cell *cells = st_report_fact(job->summary->report, section, "");
	enum st_grouping grouping = row->grouping;

	cells[ST_SUMMARY_NAME] = st_report_text(job->summary->report, row->text);
	cells[ST_SUMMARY_CPU_SELF] = st_cell_u64(st_answer_value(row, ST_CPU_SELF));
	cells[ST_SUMMARY_CPU_TOTAL] = st_cell_u64(st_answer_value(row, ST_CPU_TOTAL));
	cells[ST_SUMMARY_RATIO] =
		st_cell_double(st_share(st_answer_value(row, ST_CPU_SELF), all_ns));
	if (st_answer_value(row, ST_CPU_INHERITED))
		cells[ST_SUMMARY_CPU_INHERITED] =
			st_cell_u64(st_answer_value(row, ST_CPU_INHERITED));
	if (st_answer_value(row, ST_CPU_SPIN))
		cells[ST_SUMMARY_SPIN] = st_cell_u64(st_answer_value(row, ST_CPU_SPIN));
	if (row->is_others || grouping != ST_BY_FUNCTION)
		return;
	cells[ST_SUMMARY_VALUE] = st_report_text(job->summary->report, module_of(job, row));
}

/* Self time of functions that are Python's own. */
static void count_python(struct job *job, const struct st_answer *answer)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < answer->root_count; i++) {
		const struct st_answer_row *row = &answer->rows[answer->root_first + i];
		uint32_t function = job->set->keys[ST_BY_FUNCTION].function[row->slice];

		if (job->set->named->functions[function].kind == ST_FUNCTION_PYTHON)
			sum += st_answer_value(row, ST_CPU_SELF);
	}
	job->python = st_share(sum, sum_of(&job->steady, ST_CPU_SELF));
}

static bool is_collection(struct st_text name)
{
	static const char collector[] = "gc_collect_main";

	return name.size_bytes == sizeof(collector) - 1 &&
	       memcmp(name.bytes, collector, name.size_bytes) == 0;
}

/* A function that mostly spins has a finding of its own, and so has garbage collection. */
static void note_hottest(struct job *job, const struct st_answer_row *row)
{
	uint64_t self = st_answer_value(row, ST_CPU_SELF);
	struct st_buf name;

	if (job->hottest > 0 || row->is_others || is_collection(row->text) ||
	    st_answer_value(row, ST_CPU_EFFECTIVE) < self / 2)
		return;
	job->hottest = st_share(self, sum_of(&job->steady, ST_CPU_SELF));
	st_buf_init(&name, 1 << 16);
	st_short_name(row->text, &name);
	job->hottest_name = st_report_buf(job->summary->report, &name).as.text;
	job->hottest_module = st_report_text(job->summary->report, module_of(job, row)).as.text;
}

/* The first rows of a grouping, and what else there is. Where code spends its time is of the steady state, tasks are of the
 * run. */
static enum st_status add_top(struct job *job, const char *section, enum st_grouping grouping)
{
	struct st_question question = st_summary_question(job->summary, grouping, ST_CPU_SELF);
	struct part *part = st_grouping_is_task(grouping) ? &job->whole : &job->steady;
	struct st_question steady = st_summary_steady(job->summary);
	struct st_answer answer;
	enum st_status status;

	question.limit = 0;
	if (part == &job->steady) {
		question.has_time_range = steady.has_time_range;
		question.time_begin_ns = steady.time_begin_ns;
		question.time_end_ns = steady.time_end_ns;
	}
	status = st_sample_ask(job->set, &question, &answer, job->summary->err);
	if (status)
		return status;
	for (unsigned int i = 0; i < ST_CPU_METRICS; i++)
		part->cpu[i] =
			st_answer_value(&answer.total, (enum st_metric)(ST_WALL_METRICS + i));
	if (grouping == ST_BY_FUNCTION)
		count_python(job, &answer);
	for (uint32_t i = 0, shown = 0; i < answer.root_count && shown < ROWS_SHOWN; i++) {
		const struct st_answer_row *row = &answer.rows[answer.root_first + i];

		/* Key 0 of these is what is in no Python line or task. */
		if (!st_answer_value(row, ST_CPU_SELF) ||
		    (!row->slice && grouping == ST_BY_PYTHON_LINE) ||
		    (st_grouping_is_task(grouping) && row->text.bytes[0] == '['))
			continue;
		add_row(job, section, row, sum_of(part, ST_CPU_SELF));
		shown++;
		if (grouping == ST_BY_FUNCTION)
			note_hottest(job, row);
	}
	st_answer_fini(&answer);
	return ST_OK;
}

static void find(struct job *job, const char *name, double value, const char *words)
{
	struct st_cell *cells = st_report_fact(job->summary->report, "finding", name);

	cells[ST_SUMMARY_VALUE] = st_cell_text(words);
	cells[ST_SUMMARY_RATIO] = st_cell_double(value);
}

/* The largest part of spin or overhead. */
static enum st_cpu_class largest_class(const struct job *job)
{
	enum st_cpu_class largest = ST_CLASS_SPIN_IMBALANCE;

	for (unsigned int i = ST_CLASS_SPIN_IMBALANCE; i < ST_CPU_CLASSES; i++)
		if (sum_of(&job->steady, st_cpu_class_metric((enum st_cpu_class)i)) >
		    sum_of(&job->steady, st_cpu_class_metric(largest)))
			largest = (enum st_cpu_class)i;
	return largest;
}

/* Samples are a draw: the least share that as many of them still leave likely (95 %, after Wilson). */
static double at_least(const struct part *part, double share)
{
	double n = (double)sum_of(part, ST_SAMPLES), z = 1.96;

	if (n < 1.0)
		return 0.0;
	return (share + z * z / (2.0 * n) -
		z * sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n))) /
	       (1.0 + z * z / n);
}

static bool is_unnamed(struct st_text name)
{
	return name.size_bytes == 14 && memcmp(name.bytes, "[Dynamic code]", 14) == 0;
}

static void add_doubt(struct job *job)
{
	uint64_t samples = total(job, ST_SAMPLES);

	if (samples && samples < SAMPLES_FEW)
		find(job, "few_samples", (double)samples,
		     st_arena_printf(st_report_arena(job->summary->report),
				     "%llu sample%s too few to rely on shares of functions and "
				     "lines; run longer, or use -knob sampling-interval=1",
				     (unsigned long long)samples, samples == 1 ? " is" : "s are"));
}

/* Garbage collection, whichever functions of it the samples are in. */
static void add_collection(struct job *job)
{
	const struct st_phases *phases = &job->phases;
	uint64_t gc_ns = phases->gc_ns[0] + phases->gc_ns[1] + phases->gc_ns[2];
	double share = st_share(gc_ns, total(job, ST_CPU_SELF));

	if (at_least(&job->whole, share) > 0.05)
		find(job, "garbage_collection", share, st_phases_words(job->summary, phases));
}

/* What costs the loop comes before what costs it nothing. */
static bool is_collection_first(const struct job *job)
{
	double share = st_phases_loop_share(&job->phases);

	if (job->summary->loop->is_steady)
		share = at_least(&job->steady, share);
	return share >= ST_GC_MATTERS;
}

static void add_collection_facts(struct job *job)
{
	const struct st_phases *phases = &job->phases;
	uint64_t gc_ns = phases->gc_ns[0] + phases->gc_ns[1] + phases->gc_ns[2];

	if (!gc_ns)
		return;
	if (job->summary->loop->is_steady)
		st_report_fact_number(job->summary->report, "start_up", "gc_ns",
				      phases->gc_ns[ST_PHASE_START]);
	st_report_fact_number(job->summary->report, "cpu", "gc_ns", gc_ns);
	if (job->summary->loop->end_ns)
		add_ratio(job, "cpu", "gc_of_steps_ratio", st_phases_loop_share(phases));
}

static const char *const class_hints[ST_CPU_CLASSES] = {
	[ST_CLASS_SPIN_IMBALANCE] =
		"threads wait for the slowest one or for the next parallel region",
	[ST_CLASS_SPIN_LOCK] = "threads contend for a lock: hold it for less time, or split it",
	[ST_CLASS_SPIN_COMMUNICATION] = "processes wait for messages: balance their work",
	[ST_CLASS_SPIN_OTHER] = "threads busy-wait instead of sleeping",
	[ST_CLASS_OVERHEAD_CREATION] = "parallel regions are short: make them larger",
	[ST_CLASS_OVERHEAD_SCHEDULING] = "work items are small: make them larger",
};

/* Findings may be of the steps; other programs, and time off the CPU, are known of all of the run only. */
static const char *over_run(const struct job *job)
{
	return job->summary->loop->is_steady ? " over the whole run" : "";
}

/* What else there is to know about it, and where. Samples of the CPU tell how long a thread did not run, not where. */
static const char *where_threads_wait(const struct job *job)
{
	double off = st_summary_off_cpu(job->summary);
	if (total(job, ST_WAIT))
		return st_analysis_is_for(st_result_info(job->summary->result)->type,
					  ST_RECORDS_WAITS)
			       ? "strata report threading shows where threads wait, and report "
				 "sync-objects for what"
			       : "strata report hotspots -sort-desc wait shows where threads wait";
	if (off < 0.2)
		return job->steady.use.threads <= 1
			       ? "only one thread runs"
			       : "strata report timeline shows when the program's threads run";
	return st_arena_printf(
		st_report_arena(job->summary->report),
		"the program's %s off the CPU for %.0f %% of %s time%s (waiting, or no CPU was "
		"free): strata report timeline shows when, -collect threading records where",
		job->whole.use.threads <= 1 ? "one thread is" : "threads are", off * 100.0,
		job->whole.use.threads <= 1 ? "its" : "their", over_run(job));
}

/* What to do about a low utilization: threads cannot run on CPUs that others have. */
static const char *why_low(const struct job *job)
{
	const struct st_machine_info *machine = &st_result_info(job->summary->result)->machine;

	if (job->others <= ST_MACHINE_SHARED)
		return where_threads_wait(job);
	return st_arena_printf(st_report_arena(job->summary->report),
			       "other programs used %.0f %% of %s%s; %s", job->others * 100.0,
			       machine->allowed_only ? "them" : "the machine", over_run(job),
			       where_threads_wait(job));
}

/* Of the time that a loop takes its input may be most, in threads where nobody looks for it. */
static bool add_input(struct job *job)
{
	const struct st_question steady = st_summary_steady(job->summary);
	struct st_arena *arena = st_report_arena(job->summary->report);
	struct st_input_cpu input;
	double share;

	if (!st_input_cpu_make(&input, job->set,
			       steady.has_time_range ? steady.time_begin_ns : INT64_MIN,
			       steady.has_time_range ? steady.time_end_ns : INT64_MAX, arena))
		return false;
	if (!input.ns)
		return true;
	st_report_fact_number(job->summary->report, "cpu", "input_ns", input.ns);
	share = st_share(input.ns, sum_of(&job->steady, ST_CPU_SELF));
	if (at_least(&job->steady, share) > 0.2)
		find(job, "input", share,
		     st_arena_printf(
			     arena,
			     "%.0f %% of %s prepares input data (tf.data%s%s): do less in map(), "
			     "or more at a time (batch before map); cache() before shuffle() and "
			     "repeat() saves from the second epoch on; num_parallel_calls and "
			     "prefetch() where CPUs are idle",
			     share * 100.0, job->of, *input.kernels ? ", mostly " : "",
			     input.kernels));
	return true;
}

/* Whom threads waited behind that were ready to run. */
static const char *who_had_cpus(const struct job *job)
{
	const struct st_utilization *use = &job->steady.use;

	if (2 * use->own_delay_ns > use->delay_ns)
		return "other threads of the program, which were more than the CPUs";
	return job->others >= ST_MACHINE_DISTURBS ? "other programs" : "each other, for moments";
}

/* Where CPUs are used little: whether threads wanted them and could not have them, by the kernel's totals. */
static void add_preempted(struct job *job)
{
	const struct st_utilization *use = &job->steady.use;
	double share = st_share(use->delay_ns, use->ran_ns + use->delay_ns);

	if (share > 0.05)
		find(job, "preempted", share,
		     st_arena_printf(
			     st_report_arena(job->summary->report),
			     "when the program's threads wanted to run, they had to wait for a "
			     "CPU for %.0f %% of that time, mostly behind %s, and ran for the rest",
			     share * 100.0, who_had_cpus(job)));
}

/* Thresholds as in the published summaries of VTune: used below 80 %, spin and overhead above 5 %. */
static void add_findings(struct job *job)
{
	struct st_arena *arena = st_report_arena(job->summary->report);
	const struct part *part = &job->steady;
	const struct st_utilization *use = &part->use;
	bool is_steady = job->summary->loop->is_steady;
	uint64_t capacity = use->recorded_ns * use->cpu_count;
	double used = st_share(use->effective_ns, capacity);
	uint64_t lost = sum_of(part, ST_CPU_SPIN) + sum_of(part, ST_CPU_OVERHEAD);
	double wasted = st_share(lost, sum_of(part, ST_CPU_SELF));
	double crowded = st_share(use->oversubscribed_ns, use->watched_ns);
	enum st_cpu_class largest = largest_class(job);
	const char *hint = class_hints[largest];

	if (at_least(part, wasted) > 0.05)
		find(job, "spin_and_overhead", wasted,
		     st_arena_printf(arena, "%.1f %% of %s is spin or overhead, mostly %s%s%s",
				     wasted * 100.0, job->of, st_cpu_class_title(largest),
				     hint ? ": " : "", hint ? hint : ""));
	if (capacity && used < 0.8)
		find(job, "effective_utilization", used,
		     st_arena_printf(arena, "%.1f %% effective utilization of %u CPUs%s: %s",
				     used * 100.0, use->cpu_count,
				     is_steady ? " during the steps" : "", why_low(job)));
	if (capacity && used < 0.8)
		add_preempted(job);
	if (crowded > 0.05)
		find(job, "oversubscription", crowded,
		     st_arena_printf(
			     arena,
			     "more threads than CPUs are ready to run for %.1f %% of the %s: "
			     "use fewer threads (strata report utilization)",
			     crowded * 100.0, is_steady ? "steps" : "run"));
	if (at_least(part, job->hottest) > 0.2 && is_unnamed(job->hottest_name))
		find(job, "unnamed_code", job->hottest,
		     st_arena_printf(arena,
				     "%.1f %% of %s is in JIT-compiled code without names: run "
				     "node with --perf-basic-prof, Java with "
				     "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit",
				     job->hottest * 100.0, job->of));
	else if (at_least(part, job->hottest) > 0.2)
		find(job, "hotspot", job->hottest,
		     st_arena_printf(arena,
				     "%.*s (%.*s) takes %.1f %% of %s: see its callers with "
				     "strata report callstacks",
				     (int)(job->hottest_name.size_bytes < 60
						   ? job->hottest_name.size_bytes
						   : 60),
				     job->hottest_name.bytes, (int)job->hottest_module.size_bytes,
				     job->hottest_module.bytes, job->hottest * 100.0, job->of));
	if (at_least(part, job->python) > 0.3)
		find(job, "interpreter", job->python,
		     st_arena_printf(arena,
				     "%.1f %% of %s is the interpreter running Python code: "
				     "strata report hotspots -group-by python-line",
				     job->python * 100.0, job->of));
}

static void add_stack_quality(struct job *job, const struct st_result *result)
{
	const struct st_sample_quality *quality = st_result_sample_quality(result);

	if (!quality->samples)
		return;
	add_ratio(job, "cost", "stacks_complete_ratio",
		  1.0 - st_share(quality->truncated, quality->samples));
	add_ratio(job, "cost", "stacks_recovered_ratio",
		  st_share(quality->recovered, quality->samples));
	st_report_fact_number(job->summary->report, "cost", "samples_lost",
			      quality->dropped + quality->not_taken);
}

static void add_whole(struct job *job)
{
	add_seen(job);
	add_utilization(job);
	add_machine(job);
	st_summary_phases(job->summary, job->set, &job->phases);
	add_collection_facts(job);
	if (is_collection_first(job))
		add_collection(job);
	if (!add_input(job))
		st_report_arena(job->summary->report)->failed = true;
	add_findings(job);
	if (!is_collection_first(job))
		add_collection(job);
}

static enum st_status make_use(struct job *job)
{
	const struct st_summary *summary = job->summary;
	struct st_question steady = st_summary_steady(summary);
	enum st_status status =
		st_utilization_make(&job->whole.use, job->set, summary->scope, summary->err);

	if (!status)
		status = st_utilization_make(&job->steady.use, job->set, &steady, summary->err);
	return status;
}

/* What lines, functions and findings are of, where that is not the run. */
static void add_steady(struct job *job)
{
	const struct st_summary_loop *loop = job->summary->loop;
	struct st_cell *cells;

	if (!loop->is_steady)
		return;
	st_report_fact_number(job->summary->report, "steady", "begin_ns",
			      (uint64_t)loop->steady_ns);
	st_report_fact_number(job->summary->report, "steady", "end_ns", (uint64_t)loop->end_ns);
	cells = st_report_fact(job->summary->report, "steady", "cpu_ns");
	cells[ST_SUMMARY_VALUE] = st_cell_u64(sum_of(&job->steady, ST_CPU_SELF));
	cells[ST_SUMMARY_RATIO] = st_cell_double(
		st_share(sum_of(&job->steady, ST_CPU_SELF), total(job, ST_CPU_SELF)));
}

enum st_status st_summary_add_samples(const struct st_summary *summary)
{
	struct st_sample_set set;
	struct job job = {.summary = summary, .set = &set, .of = "CPU time"};
	enum st_status status =
		st_sample_set_open(&set, summary->result, &summary->options->view, summary->err);

	if (status)
		return status;
	if (summary->loop->is_steady)
		job.of = "the CPU time of the steps";
	/* An idle CPU has no task: beside the figures of some tasks those of the machine would be of another thing. */
	job.whole.use.scale = 1.0;
	if (!summary->scope->filter_count)
		status = make_use(&job);
	if (!status)
		status = add_top(&job, "hotspot", ST_BY_FUNCTION);
	if (!status)
		status = st_summary_add_own_lines(summary, &set);
	if (!status)
		status = add_top(&job, "python_line", ST_BY_PYTHON_LINE);
	if (!status)
		status = add_top(&job, "task_cpu", ST_BY_TASK_TYPE);
	if (!status)
		status = st_summary_add_processes(summary, &set);
	if (!status) {
		add_steady(&job);
		add_times(&job);
		add_stack_quality(&job, summary->result);
		add_doubt(&job);
		if (summary->scope->filter_count)
			add_findings(&job);
		else
			add_whole(&job);
	}
	for (size_t i = 0; !status && i < set.named->note_count; i++) {
		struct st_text note = {set.named->notes[i], strlen(set.named->notes[i])};

		st_report_fact(summary->report, "quality", ST_SUMMARY_FLAW)[ST_SUMMARY_VALUE] =
			st_report_text(summary->report, note);
	}
	st_utilization_fini(&job.whole.use);
	st_utilization_fini(&job.steady.use);
	st_sample_set_close(&set);
	return status;
}
