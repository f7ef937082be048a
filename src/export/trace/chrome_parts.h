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

#include "analyze/datasets/counters.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "export/export.h"
#include "export/trace/places.h"
#include "export/trace/thing_args.h"
#include "export/stacks/stacks.h"
#include "export/trace/thread_ids.h"
#include "store/events.h"

enum { ST_CHROME_SPILL_BYTES = 256 << 10 };

struct st_chrome {
	const struct st_result *result;
	const struct st_process *processes;
	const struct st_track *tracks;
	const struct st_label *labels;
	uint32_t process_count, track_count, label_count;
	struct st_thread_ids ids;
	struct st_buf out;
	struct st_buf heads; /* the beginning of an event, once per label: name, category, domain */
	size_t *head_ends;
	struct st_sink *sink;
	struct st_stacks stacks;
	struct st_ties ties;
	struct st_thing_args args;
	struct st_places places;
	struct st_counters counters;
	bool has_counters;   /* they have been made */
	bool has_more_args;  /* of tasks: there are events or callers */
	struct st_json json; /* of the arguments at hand */
	struct st_buf scratch;
	uint8_t lists[8]; /* whether the levels of arguments that are open are lists */
	uint32_t level;
	uint64_t last_lane; /* numbers given to lanes of spans */
	uint64_t done, total;
};

enum st_status st_chrome_spill(struct st_chrome *chrome, size_t above, struct st_error *err);
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
enum st_status st_chrome_make_counters(struct st_chrome *chrome, struct st_error *err);
void st_chrome_list_counters(struct st_chrome *chrome, struct st_json *json);
enum st_status st_chrome_write_events(struct st_chrome *chrome, struct st_error *err);
/* The samples, last (chrome_samples.c). */
enum st_status st_chrome_write_samples(struct st_chrome *chrome, const struct st_stacks *stacks,
				       struct st_error *err);

#endif
