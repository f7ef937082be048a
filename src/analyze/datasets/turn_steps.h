/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps by which operators that were recorded in turns are counted: from one call of the model, or of an optimizer, to the
 * next. Those are recorded all the time, so that it is known how many there were while operators were not.
 */
#ifndef ST_ANALYZE_DATASETS_TURN_STEPS_H
#define ST_ANALYZE_DATASETS_TURN_STEPS_H

#include <stdbool.h>
#include <stdint.h>

struct st_result;
struct st_operator_turns;

/* Between the end of a turn at a call of the model and that call there is nothing but our own code. */
enum { ST_TURN_AT_CALL_NS = 20000 };

/* The steps of a process, in order. */
struct st_turn_loop {
	int64_t *begin_ns; /* malloc'd */
	uint32_t count, capacity;
	int64_t end_ns; /* of the last */
	bool is_open;	/* which may go on behind the call of the model */
};

struct st_turn_steps {
	struct st_turn_loop *loops; /* by process */
	uint32_t count;
};

/* False: no memory. */
bool st_turn_steps_make(struct st_turn_steps *out, const struct st_result *result);
void st_turn_steps_fini(struct st_turn_steps *steps);
/* How many steps a process had made, the part of the one under way included. */
double st_turn_steps_until(const struct st_turn_steps *steps, uint32_t process, int64_t time_ns);

/* Of operators that each step computes as often, as far as that was recorded: how many one that was recorded stands for, by
 * process and label; of all others 0. Malloc'd; NULL: no memory. */
double *st_turn_steps_times(const struct st_turn_steps *steps,
			    const struct st_operator_turns *turns, const struct st_result *result);

#endif
