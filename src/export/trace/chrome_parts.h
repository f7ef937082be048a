/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two halves of the Trace Event Format share: tasks (chrome.c), and all the rest
 * (chrome_events.c).
 */
#ifndef ST_EXPORT_TRACE_CHROME_PARTS_H
#define ST_EXPORT_TRACE_CHROME_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_out.h"
#include "export/trace/thread_ids.h"
#include "export/trace/walk.h"

struct st_chrome {
	struct st_trace_walk walk;
	struct st_buf *out; /* the walk's */
	struct st_thread_ids ids;
	struct st_buf heads; /* the beginning of an event, once per label: name, category, domain */
	size_t *head_ends;
	bool has_more_args;  /* of tasks: there are events, callers or devices */
	struct st_json json; /* of the arguments at hand */
	uint8_t lists[8];    /* whether the levels of arguments that are open are lists */
	uint32_t level;
	uint64_t last_lane; /* numbers given to lanes of spans */
	uint32_t counter;   /* the one at hand */
	bool *namesakes;    /* counters that share process and name with an earlier one */
};

size_t st_chrome_format_u64(char *to, uint64_t value);
size_t st_chrome_format_us(char *to, int64_t ns); /* microseconds with three decimals */
/* "cpu_op" or "user_annotation". */
const char *st_chrome_category(const struct st_label *label);

/* An argument: st_arg_write. Needs the json to be inside the object of the arguments. */
void st_chrome_arg(void *chrome, const struct st_arg *arg);
/* Arguments beyond those that every task has, behind the ones that are there. */
void st_chrome_slice_args(struct st_chrome *chrome, uint32_t row);
/* The flows that begin or end at a task. */
void st_chrome_slice_flows(struct st_chrome *chrome, uint32_t row);
/* Counters by name and unit, for the head of the file. */
void st_chrome_list_counters(struct st_chrome *chrome, struct st_json *json);
/* Whether it has namesakes is found out for every counter. False: no memory. */
bool st_chrome_find_namesakes(struct st_chrome *chrome);

/* What the walk calls; to is a struct st_chrome (chrome_events.c, chrome_samples.c). */
void st_chrome_instant(void *to, uint32_t event, struct st_place place);
void st_chrome_span(void *to, uint32_t span, struct st_span_group *group, uint32_t lane);
void st_chrome_counter(void *to, uint32_t counter);
void st_chrome_value(void *to, const struct st_counter *counter,
		     const struct st_counter_sample *sample);
enum st_status st_chrome_samples(void *to, uint32_t first, uint32_t end, struct st_error *err);

#endif
