/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a program, one by one, and which part of a training step their time was spent in. Where they come
 * from, best first: torch's own ranges ("ProfilerStep#7"), a family of tasks whose name says so or that are
 * counted (steps.h), the optimizer (a step ends with it), or the repeating pattern of the outermost operators of
 * a thread.
 *
 * Steps of one thread lie one after the other. Parts are disjoint and add up to the step, to the nanosecond.
 */
#ifndef ST_ANALYZE_STEPS_STEP_LIST_H
#define ST_ANALYZE_STEPS_STEP_LIST_H

#include "analyze/engine/dataset.h"
#include "analyze/engine/percentile.h"

enum st_step_source {
	ST_STEPS_NONE,
	ST_STEPS_PROFILER,
	ST_STEPS_NAMED,
	ST_STEPS_COUNTED, /* a family with numbers in its names that most of the time is spent in */
	ST_STEPS_OPTIMIZER,
	ST_STEPS_DATA,	   /* each begins where the program asks its DataLoader for a batch */
	ST_STEPS_FUNCTION, /* each begins with the call of the tf.function that takes most time */
	ST_STEPS_MODULE,   /* each begins with the call of the module that takes most time */
	ST_STEPS_PATTERN,
};

enum st_step_part_kind {
	ST_STEP_DATA,	   /* waiting for, or making, a batch */
	ST_STEP_FORWARD,   /* calls of modules, and operators before the backward pass */
	ST_STEP_BACKWARD,  /* what autograd's engine evaluates */
	ST_STEP_OPTIMIZER, /* its step, and zeroing gradients */
	ST_STEP_DEVICE,	   /* calls that return when a device is done, wherever they are made */
	ST_STEP_OTHER,	   /* Python between operators, and operators behind the backward pass */
	ST_STEP_PART_KINDS
};

struct st_one_step {
	int64_t begin_ns, end_ns;
	uint32_t track;
	uint32_t slice;	  /* that it is, or ST_NO_ROW */
	uint32_t number;  /* within its thread */
	bool is_warm_up;  /* not counted in figures of steps */
	bool begins_loop; /* the first of another function than the one before */
	bool is_whole;	  /* all of its operators were recorded, so that its parts are known */
	uint64_t wall_ns;
	uint64_t part_ns[ST_STEP_PART_KINDS];
};

struct st_step_list {
	enum st_step_source source;
	struct st_text
		what;	  /* the family, optimizer, module or operator that tells them; borrowed */
	bool is_numbered; /* slices have numbers in their names */
	bool has_parts;	  /* there are operators, so that parts can be told apart */
	struct st_one_step *steps; /* by track and begin */
	uint32_t count, capacity, warm_up_count;
	uint32_t whole_count; /* of those that are no warm-up */
	bool is_unlike; /* operators were recorded only of steps that are not like most: no parts */
	uint32_t overlapping; /* that began in a step and ended behind it: left out */
};

/* dataset: of the slices of the result. No steps: source is ST_STEPS_NONE. */
enum st_status st_step_list_make(struct st_step_list *out, const struct st_dataset *dataset,
				 const struct st_result *result, struct st_error *err);
/* The same, when the families have been looked at already. */
struct st_steps;
enum st_status st_step_list_make_of(struct st_step_list *out, const struct st_dataset *dataset,
				    const struct st_result *result, const struct st_steps *named,
				    struct st_error *err);
void st_step_list_fini(struct st_step_list *list);

/* "ProfilerStep#7", "iteration 7", "step 7"; in the arena where it is made. */
struct st_text st_step_text(const struct st_step_list *list, uint32_t step,
			    const struct st_result *result, struct st_arena *arena);
/* Where steps come from, for people; in the arena. */
const char *st_step_source_text(const struct st_step_list *list, struct st_arena *arena);
/* Nothing in the program says that these are steps: what is shown of them says so. */
bool st_step_list_is_guess(const struct st_step_list *list);
/* Steps are spans of time rather than slices: whatever the process does meanwhile lies in them. */
bool st_step_list_is_timed(const struct st_step_list *list);
/* The steps that a thread takes part in: its own or, when only one thread of its process has steps, that one's; the
 * first, and one behind the last. Where lists are not timed only steps of its own hold what a thread does: the others are the
 * time that it may make longer. The one at a time, or ST_NO_ROW, is only of timed lists. */
void st_step_range(const struct st_step_list *list, const struct st_result *result, uint32_t track,
		   uint32_t range[2]);
uint32_t st_step_at(const struct st_step_list *list, const struct st_result *result, uint32_t track,
		    int64_t time_ns);
/* The pieces of an interval that are time of the steps of a range, warm-up left out, one by one; *at is the first of the range
 * before the first one. False: there are no more. */
bool st_step_piece(const struct st_step_list *list, const uint32_t range[2],
		   const int64_t whole_ns[2], uint32_t *at, int64_t piece_ns[2]);
extern const char *const st_step_part_names[ST_STEP_PART_KINDS];

struct st_step_figures { /* of the steps that are no warm-up */
	uint32_t count;
	uint64_t wall_ns;
	struct st_percentiles took;
	uint64_t part_ns[ST_STEP_PART_KINDS];
};
enum st_status st_step_figures_make(const struct st_step_list *list, struct st_step_figures *out,
				    struct st_error *err);

#endif
