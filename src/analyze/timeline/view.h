/* SPDX-License-Identifier: Apache-2.0
 *
 * A result as rows over time: what a timeline draws, and where. Tracks are processes, their threads, the steps of a
 * training loop, frames and other spans, markers and counters, in the order in which they are drawn. What a track needs
 * to be drawn at any zoom is made when it is first asked for and kept, up to a limit, until the view is closed.
 *
 * One caller at a time. The result must stay open.
 */
#ifndef ST_ANALYZE_TIMELINE_VIEW_H
#define ST_ANALYZE_TIMELINE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/datasets/counters.h"
#include "analyze/datasets/places.h"
#include "analyze/engine/filter.h"
#include "analyze/operators/dataset_tasks.h"
#include "analyze/timeline/lane_index.h"
#include "base/arena.h"
#include "store/traced_calls.h"

struct st_json;
struct st_tile_cache;

/* What the boxes of a track are: rows of which table. */
enum st_item_kind {
	ST_ITEM_SLICE,
	ST_ITEM_CALL, /* of a Python function */
	ST_ITEM_SPAN,
	ST_ITEM_MARKER, /* row of the events */
	ST_ITEM_STEP,
	ST_ITEM_KINDS,
	ST_ITEM_NONE = ST_ITEM_KINDS
};
extern const char *const st_item_words[ST_ITEM_KINDS + 1];

enum st_value_source {
	ST_VALUES_NONE,
	ST_VALUES_THREAD_CPU,
	ST_VALUES_PROCESS_CPU,
	ST_VALUES_COUNTER,
	ST_VALUES_MEMORY, /* that the framework holds */
};

struct st_view_track {
	const char *kind; /* "thread" */
	struct st_text title, subtitle;
	uint32_t parent;  /* a track, or ST_NO_ROW */
	uint32_t process; /* index, or ST_NO_ROW: of the family */
	uint32_t thread;  /* track of the result, or ST_NO_ROW */
	enum st_item_kind items;
	uint32_t group; /* of spans: of the places; of markers: of their lists */
	uint32_t first; /* of its items: a row of slices and calls, else a place in the order */
	uint32_t count;
	uint32_t lanes;
	enum st_value_source values;
	uint32_t counter;
	uint32_t samples;
	double value_min, value_max;
	struct st_text unit;
	int64_t first_ns, last_ns;
	uint64_t lost;
};

/* Names of what has no label in the result: spans, markers, steps, calls. They are numbered behind the labels. */
struct st_view_label {
	struct st_text name, domain;
	uint32_t category;
};

/* Categories of boxes: enum st_category, and behind those. The ones of spans are in the order of their kinds. */
enum st_view_category {
	ST_VIEW_PYTHON = ST_CATEGORIES,
	ST_VIEW_OVERLAPPED,
	ST_VIEW_REGION,
	ST_VIEW_FRAME,
	ST_VIEW_TIMED_TASK,
	ST_VIEW_USER_EVENT,
	ST_VIEW_MARK,
	ST_VIEW_WAIT,
	ST_VIEW_HOLD,
	ST_VIEW_MARKER,
	ST_VIEW_STEP,
	ST_VIEW_CATEGORIES
};
_Static_assert(ST_VIEW_HOLD - ST_VIEW_OVERLAPPED == ST_SPAN_HOLD - ST_SPAN_OVERLAPPED,
	       "categories of spans are in the order of their kinds");
struct st_category_words {
	const char *name, *title;
};
struct st_category_words st_view_category(uint32_t category);

/* Columns of items that are no slices, by row of their own. */
struct st_view_items {
	int64_t *begin_ns, *end_ns;
	uint32_t *label, *parent;
	uint16_t *flags;
	uint32_t *order;  /* those of one track together, by begin; NULL: as they are */
	uint32_t *lane;	  /* of spans, in that order */
	uint32_t *number; /* what they are called outside: row of the events; NULL: the row */
	uint32_t count;
};

/* Over a time: the value that holds from there on. */
struct st_value_series {
	int64_t *time_ns;
	double *value;
	uint32_t count, capacity;
	struct st_value_block *blocks; /* of 64 each */
};
struct st_value_block {
	double min, max;
	double integral; /* of the value over the time from the first of all to its first */
};

/* What was made for a track, under a filter or none. */
struct st_track_lanes {
	struct st_lane_index index;
	uint32_t track;
	char *filter;  /* the key, or NULL: none */
	uint64_t used; /* the largest was used last */
};

struct st_timeline_view {
	const struct st_result *result;
	const struct st_slices *slices;
	const struct st_track *threads;
	const struct st_process *processes;
	const struct st_label *labels;
	uint32_t thread_count, process_count, label_count;
	struct st_arena arena;
	struct st_view_track *tracks;
	uint32_t count, capacity;
	uint32_t *track_of_thread; /* of the view */
	uint32_t *group_of_span,
		*first_of_group;   /* of the places; where a group begins in the order */
	uint32_t *owner_of_marker; /* process, or the number of processes: the family */
	const struct st_traced_call *calls;
	struct st_view_label *more_labels;
	uint32_t more_count, more_capacity;
	struct st_key_table label_keys;
	struct st_view_items items[ST_ITEM_KINDS]; /* of slices: none */
	struct st_ties ties;
	struct st_thing_args args;
	struct st_places places;
	struct st_dataset dataset; /* of the slices */
	struct st_step_list steps;
	struct st_counters counters;
	struct st_value_series *series; /* of counters, then of the memory of processes */
	uint32_t series_count;
	uint64_t **sample_blocks; /* by thread: weights of 64 samples each; NULL: none */
	uint64_t *longest_weight; /* by thread */
	int64_t begin_ns, end_ns;
	struct st_track_lanes *made;
	uint32_t made_count, made_capacity;
	uint64_t clock; /* of uses */
	size_t made_bytes, made_max_bytes;
	struct st_tile_cache *tiles; /* or NULL */
};

enum st_status st_timeline_view_open(struct st_timeline_view **out, const struct st_result *result,
				     struct st_error *err);
void st_timeline_view_close(struct st_timeline_view *view);

/* What is drawn of the items: those that pass the filters of a question, and overlap its time range. Filters by process
 * and thread are about all tracks, others about slices only. */
struct st_view_filter {
	const char *key; /* equal texts are the same filter */
	const struct st_question *question;
	struct st_selection rows;   /* of slices */
	struct st_selection places; /* by process and thread */
	struct st_filter *of_places;
};
/* The question and the key must stay until fini, which is due also after a failure. */
enum st_status st_view_filter_init(struct st_view_filter *out, struct st_timeline_view *view,
				   const char *key, const struct st_question *question,
				   struct st_error *err);
void st_view_filter_fini(struct st_view_filter *filter);
/* Whether the thread or process of a track is left. */
bool st_view_filter_has(const struct st_view_filter *filter, const struct st_timeline_view *view,
			uint32_t track);

/* The lanes of a track, good until the next call; filter may be NULL. */
enum st_status st_view_lanes(struct st_timeline_view *view, uint32_t track,
			     const struct st_view_filter *filter, const struct st_lane_index **out,
			     struct st_error *err);

/* Number of a label of the view's own; ST_NO_ROW: no memory. */
uint32_t st_view_add_label(struct st_timeline_view *view, struct st_text name,
			   struct st_text domain, uint32_t category);
/* False: there is no such label. */
bool st_view_label(const struct st_timeline_view *view, uint32_t label, struct st_view_label *out);
/* Of a label that there is. */
uint32_t st_view_label_category(const struct st_timeline_view *view, uint32_t label);
struct st_item_columns st_view_columns(const struct st_timeline_view *view, enum st_item_kind kind);
/* The row of an item by its number outside, as `event` has it; ST_NO_ROW: none. And back. */
uint32_t st_view_item_row(const struct st_timeline_view *view, enum st_item_kind kind,
			  uint32_t number);
uint32_t st_view_item_number(const struct st_timeline_view *view, enum st_item_kind kind,
			     uint32_t row);
/* The track that an item is drawn on, or ST_NO_ROW. */
uint32_t st_view_track_of(const struct st_timeline_view *view, enum st_item_kind kind,
			  uint32_t row);

/* As JSON, into an object that is open. */
enum st_status st_view_tracks_json(struct st_timeline_view *view, struct st_json *json,
				   struct st_error *err);
enum { ST_VIEW_LABELS_MAX = 10000 };
enum st_status st_view_labels_json(const struct st_timeline_view *view, const uint32_t *labels,
				   uint32_t count, struct st_json *json, struct st_error *err);

/* Used by the files of this folder. */
enum st_status st_view_find_tracks(struct st_timeline_view *view, struct st_error *err);
bool st_view_find_spans(struct st_timeline_view *view);
bool st_view_find_markers(struct st_timeline_view *view);
bool st_view_find_calls(struct st_timeline_view *view);
enum st_status st_view_find_steps(struct st_timeline_view *view, struct st_error *err);
bool st_view_find_values(struct st_timeline_view *view);

#endif
