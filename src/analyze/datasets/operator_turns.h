/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns in which operators were recorded and others in which they were not (ST_EVENT_OPERATOR_TURN): which those were,
 * how many operators one that was recorded stands for, and, by comparing turns, what recording one costs.
 */
#ifndef ST_ANALYZE_DATASETS_OPERATOR_TURNS_H
#define ST_ANALYZE_DATASETS_OPERATOR_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct st_result;
struct st_arena;
struct st_buf;
struct st_label;

struct st_turn {
	uint32_t process; /* index */
	uint32_t detail;  /* ST_TURN_* */
	int64_t begin_ns, end_ns;
	uint64_t progress;  /* how often the framework allocated and freed */
	uint64_t steps;	    /* of an optimizer */
	uint64_t operators; /* that were recorded */
	bool is_last;	    /* of its process: what it did until its end is not known */
	double made;	    /* steps, with parts of them; 0: none are known (turn_steps.h) */
	double times;	    /* how many operators one of this turn stands for */
	double times_ns;    /* the same for its time: the others may have been faster */
};

/* A figure and half the width of the interval that holds the true one 19 times of 20. */
struct st_estimate {
	double value, error;
};

/* Sums over all processes, by which an estimate is judged. */
struct st_turn_sums {
	double with, all;      /* work */
	double in_bursts, out; /* of steps: work in bursts, and where nothing was recorded */
	double made_in_bursts, made_out;
	double by_time;	  /* work that is known by the time it took only */
	double uncounted; /* work that seems to be of another kind, and is not extrapolated to */
	double counted;	  /* work that is, and that of bursts */
	double slowly;	  /* what of it there was time for at the pace of bursts */
};

struct st_operator_turns {
	struct st_turn *rows; /* by process, then time */
	uint32_t count;
	bool is_partial;       /* operators are missing */
	double recorded_ratio; /* of the work, which was done while they were recorded */
	uint32_t bursts;       /* turns that stand for others */
	struct st_turn_sums sums;
	double count_error; /* relative, of the number of operators; NAN: not known */
	bool has_steps;	    /* so that it is known how many steps were not recorded */
	bool is_measured;
	bool has_devices;  /* what recording devices costs is a part of it */
	uint32_t compared; /* turns */
	struct st_estimate operator_ns;
};

enum st_status st_operator_turns_make(struct st_operator_turns *out, const struct st_result *result,
				      struct st_error *err);
void st_operator_turns_fini(struct st_operator_turns *turns);

/* Whether operators were recorded in it by chance, so that they stand for others. */
bool st_turn_is_burst(const struct st_turn *turn);
/* Whether slices of a label are there only where operators were recorded. */
bool st_turn_scales(const struct st_label *label);
/* The turn of a process at a time, or NULL. */
const struct st_turn *st_operator_turn_at(const struct st_operator_turns *turns, uint32_t process,
					  int64_t time_ns);
/* Rows of slices, each of which may stand for others that were not recorded. */
struct st_scaled_rows {
	uint32_t count;
	const uint32_t *slice; /* by row; NULL: the row */
	const uint32_t *parent;
	const uint64_t *self_ns;
	double *times, *times_ns,
		*more_self_ns; /* as a dataset has them; NULL: all were recorded */
};
/* False: no memory. */
bool st_scaled_rows_make(struct st_scaled_rows *rows, const struct st_result *result,
			 struct st_arena *arena);

/* "in 61 turns, 10.3 % of the work: counts and times are estimates, counts ± 1.4 %", or nothing. */
void st_operator_turns_words(const struct st_operator_turns *turns, struct st_buf *out);

#endif
