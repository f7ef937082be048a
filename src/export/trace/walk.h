/* SPDX-License-Identifier: Apache-2.0
 *
 * Visits everything in a trace, for formats that draw all of it. The walk knows what there is and its order; a format
 * decides how each thing is written. A new kind of fact is added here, and to each format as one function.
 */
#ifndef ST_EXPORT_TRACE_WALK_H
#define ST_EXPORT_TRACE_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/datasets/counters.h"
#include "analyze/datasets/ties.h"
#include "analyze/stacks/stacks.h"
#include "export/stream.h"
#include "analyze/datasets/places.h"
#include "analyze/datasets/thing_args.h"

struct st_trace_walk;

/* All get what st_trace_run got as `to`. Rows come thread by thread, in order of begin. */
struct st_trace_format {
	/* Whether the names of all processes and threads come first, then all slices, then all instants; else a process
	 * comes right before its threads, and each thread with its slices and instants. */
	bool names_first;
	enum st_status (*begin)(void *to, struct st_error *err); /* all is prepared */
	void (*process)(void *to, uint32_t process);
	void (*thread)(void *to, uint32_t track);
	enum st_status (*slice)(void *to, uint32_t row, struct st_error *err);
	enum st_status (*slices_end)(void *to, struct st_error *err); /* of a thread; may be NULL */
	void (*instant)(void *to, uint32_t event, struct st_place place);
	/* Before what belongs to no thread, when there is any; may be NULL. */
	void (*spans_begin)(void *to);
	void (*span)(void *to, uint32_t span, struct st_span_group *group, uint32_t lane);
	void (*counters_begin)(void *to); /* when there are any; may be NULL */
	void (*counter)(void *to, uint32_t counter);
	void (*value)(void *to, const struct st_counter *counter,
		      const struct st_counter_sample *sample);
	/* The samples of a thread: rows first to end of the stacks. */
	enum st_status (*samples)(void *to, uint32_t first, uint32_t end, struct st_error *err);
	void (*end)(void *to); /* may be NULL */
};

struct st_trace_walk {
	const struct st_result *result;
	const struct st_process *processes;
	const struct st_track *tracks;
	const struct st_label *labels;
	const struct st_slices *slices;
	const struct st_events *events;
	const struct st_span *spans;
	uint32_t process_count, track_count, label_count, span_count;
	struct st_stream stream;
	struct st_stacks stacks;
	struct st_ties ties;
	struct st_thing_args args; /* write and to are the format's to set */
	struct st_places places;
	struct st_counters counters;
	bool has_counters; /* they have been made */
};

/* Everything in its order, into the sink. */
enum st_status st_trace_run(struct st_trace_walk *walk, const struct st_trace_format *format,
			    void *to, struct st_error *err);
/* Before st_trace_run. Fini is due also after a failure; it returns status, or the failure of what is written last. */
enum st_status st_trace_init(struct st_trace_walk *walk, const struct st_result *result,
			     const struct st_export_options *options, struct st_sink *sink,
			     struct st_error *err);
enum st_status st_trace_fini(struct st_trace_walk *walk, enum st_status status,
			     struct st_error *err);

/* Whether a span ended on another thread than it began on: an arrow leads from one to the other, with the number of
 * a flow behind those of the ties. */
bool st_trace_crosses(const struct st_trace_walk *walk, uint32_t span);
uint64_t st_trace_crossing(const struct st_trace_walk *walk, uint32_t span);

#endif
