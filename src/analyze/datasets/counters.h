/* SPDX-License-Identifier: Apache-2.0
 *
 * The counters of a result with their values over time. A program sets a counter or adds to it, from any
 * thread; here the samples of a counter are in time order, and each has the value of the counter from
 * then on: increments are added up, across threads, from 0.
 */
#ifndef ST_ANALYZE_DATASETS_COUNTERS_H
#define ST_ANALYZE_DATASETS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/events.h"

/* How the values of a counter are to be read. */
enum st_counter_form {
	ST_COUNTER_SIGNED,   /* integer */
	ST_COUNTER_UNSIGNED, /* integer, as uint64_t */
	ST_COUNTER_FLOAT,    /* number; integer is 0 */
};

struct st_counter_sample {
	int64_t time_ns;
	double number;	  /* the value, always */
	int64_t integer;  /* the value, exactly, unless the form is ST_COUNTER_FLOAT */
	double delta;	  /* change against the sample before; of the first: against 0 */
	uint32_t event;	  /* row of the events table */
	uint32_t track;	  /* index, or ST_NO_ROW */
	bool is_addition; /* inc or dec rather than set_value */
};

struct st_counter {
	uint32_t object; /* index into st_result_objects */
	const struct st_object *definition;
	enum st_counter_form form;
	const struct st_counter_sample *samples; /* by time */
	uint32_t sample_count;			 /* may be 0: created, never used */
	st_string_id unit, device;		 /* context metadata, or 0 */
};

struct st_counters {
	const struct st_counter *counters; /* in the order of the objects */
	uint32_t count;
	uint32_t sample_count; /* of all counters */
	void *memory;
};

enum st_status st_counters_make(struct st_counters *out, const struct st_result *result,
				struct st_error *err);
void st_counters_fini(struct st_counters *counters);

#endif
