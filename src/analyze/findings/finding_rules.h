/* SPDX-License-Identifier: Apache-2.0
 *
 * The input of the rules. Only finding*.c use this.
 */
#ifndef ST_ANALYZE_FINDINGS_FINDING_RULES_H
#define ST_ANALYZE_FINDINGS_FINDING_RULES_H

#include "analyze/datasets/operator_turns.h"
#include "analyze/operators/dataset_operators.h"
#include "analyze/findings/findings.h"
#include "analyze/samples/sample_set.h"
#include "analyze/steps/step_list.h"
#include "analyze/samples/utilization.h"

/* The steps that a thread takes part in (st_step_range), without warm-up. Where there are none: all of the time that figures
 * are of, once. */
struct st_finding_steps {
	uint32_t range[2]; /* of the list */
	uint32_t count;
	uint64_t wall_ns;
};

struct st_finding_ground {
	const struct st_result *result;
	const struct st_dataset *operators;
	const struct st_operator_rows *rows;
	const struct st_step_list *steps;
	struct st_step_figures figures;
	/* What figures are of: the steps that are no warm-up, or everything. */
	int64_t begin_ns, end_ns;
	/* Steps, or 1: what sums are divided by. Where operators were not recorded all the time, rules about them have rows
	 * of a part of the steps only: this is as much smaller then. */
	double divisor;
	struct st_operator_turns turns;
	double recorded; /* part of the time of the steps in which operators were recorded */
	uint64_t step_ns;
	uint8_t *track_counts;		   /* by track: its operators are part of a step */
	struct st_finding_steps *steps_of; /* by track, and one more for what is on none */
	uint8_t *claimed;		   /* by row of operators: another rule has its time */
	/* Samples of that time. */
	bool has_samples;
	bool has_waits; /* they were recorded */
	bool has_set;	/* `samples` is open */
	bool is_plain; /* a program without steps and operators: only waits and samples are known */
	struct st_sample_set samples;
	struct st_utilization use; /* of the steps */
	uint64_t spin_ns, cpu_ns;
	uint64_t
		step_spin_ns; /* of the threads that steps are on; without steps: of the one that spins most */
	uint64_t step_cpu_ns; /* of the same threads, all CPU time */
	uint64_t work_ns;     /* effective CPU time of all threads of their processes */
	uint32_t step_tracks; /* threads with steps */
	bool waits_for_cpus; /* steps take longer because others, or other threads, have the CPUs */
	/* Time that rules before have found a reason for. */
	bool has_tiny_operators, has_claimed_range, has_claimed_threads;
	uint32_t claimed_range; /* key of its name */
	const char *disturbed;	/* by whom, as a sentence; "": by nobody that is known of */
	bool shared;		/* so much that threads have to wait for CPUs */
	struct st_arena *arena;
};

/* Whether operators were recorded on a track from a moment to another: else nobody knows what was in a range, or around a
 * primitive. */
bool st_finding_is_recorded(const struct st_finding_ground *ground, uint32_t track,
			    int64_t begin_ns, int64_t end_ns);
/* A row that figures are about. */
bool st_finding_counts(const struct st_finding_ground *ground, uint32_t row);
const struct st_finding_steps *st_finding_steps_of(const struct st_finding_ground *ground,
						   uint32_t track);
/* The pieces of an interval of a thread that are time of these steps, one by one; *at is their range[0] before the first one.
 * False: there are no more. */
bool st_finding_piece(const struct st_finding_ground *ground, uint32_t track,
		      const int64_t whole_ns[2], uint32_t *at, int64_t piece_ns[2]);
/* What a row of operators is called, in the arena. */
const char *st_finding_where(const struct st_finding_ground *ground, uint32_t row);
double st_finding_share(const struct st_finding_ground *ground, uint64_t all_ns);
/* The line of the program's own code ("train.py:12") that most of the time of rows is for, and the report that shows it;
 * NULL: not known. */
const char *st_finding_line(const struct st_finding_ground *ground, const uint8_t *is_part,
			    const char **command);
/* The report that shows a file: words behind "strata report". */
const char *st_finding_source_command(const struct st_finding_ground *ground, struct st_text file);
/* Whether a sample is CPU time in a range of that name, outside operators. */
bool st_finding_is_of_range(const struct st_finding_ground *ground, uint32_t sample, uint32_t name);
/* A function of the interpreter, or of a library that works for whoever called it. */
bool st_finding_is_interpreter(const struct st_named_function *function,
			       const struct st_named_module *module);
/* Per step, in the unit and with the digits that people read: "5.3 s", "3.0 M". */
const char *st_finding_time(const struct st_finding_ground *ground, uint64_t all_ns);
const char *st_finding_number(const struct st_finding_ground *ground, uint64_t all);
const char *st_finding_duration(struct st_arena *arena, double ns, int digits);
/* So many digits, never an exponent: "1.50", "563". */
const char *st_finding_figure(struct st_arena *arena, double value, int digits);
/* How much longer than its CPU time work takes because other programs want the CPUs too: that stays. */
double st_finding_stretch(const struct st_finding_ground *ground);
/* What recording took of rows that a remedy does away with. */
uint64_t st_finding_cost_ns(const struct st_finding_ground *ground, const uint8_t *is_part);

/* False: not found. Times in `out` are sums over all steps; the caller divides them. `command` may be replaced by
 * other words behind "strata report". */
typedef bool st_finding_check(struct st_finding_ground *ground, struct st_finding *out);
st_finding_check st_find_double_precision, st_find_scalar_reads, st_find_tiny_operators,
	st_find_work_in_range, st_find_data_wait, st_find_spin, st_find_oversubscription,
	st_find_python, st_find_reorders, st_find_layout, st_find_shape_churn,
	st_find_allocation_churn, st_find_lock_contention, st_find_lock_across_io, st_find_gil,
	st_find_barrier, st_find_io_wait, st_find_openmp_imbalance, st_find_input;

#endif
