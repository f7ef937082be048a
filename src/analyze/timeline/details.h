/* SPDX-License-Identifier: Apache-2.0
 *
 * What is told about one thing on a timeline, and how things are found on it by name and time. As JSON, into an object
 * that is open.
 */
#ifndef ST_ANALYZE_TIMELINE_DETAILS_H
#define ST_ANALYZE_TIMELINE_DETAILS_H

#include "analyze/timeline/view.h"

/* number: as tiles have it. ST_EUSAGE: there is none. */
enum st_status st_view_event_json(struct st_timeline_view *view, enum st_item_kind kind,
				  uint32_t number, struct st_json *json, struct st_error *err);

/* Which items are looked for: those of any of the labels, or of which the name holds the text, letters of any case
 * equal; without both, all. */
struct st_find {
	const char *text; /* or NULL */
	const uint32_t *labels;
	uint32_t label_count;
	bool has_range;
	int64_t begin_ns, end_ns; /* items that begin in it */
	uint32_t offset, limit;	  /* of the hits */
};
enum { ST_FIND_HITS_MAX = 5000, ST_FIND_NAMES_MAX = 1000, ST_FIND_BUCKETS = 256 };
/* Names that match with their counts, the first hits by time, and how many there are in each part of the time. */
enum st_status st_view_search_json(struct st_timeline_view *view, const struct st_find *find,
				   struct st_json *json, struct st_error *err);

/* The nearest item from a time on, or before it; track ST_NO_ROW: of all. "row" is null when there is none. */
struct st_find_next {
	struct st_find what;
	uint32_t track;
	int64_t from_ns;
	bool backward;
};
enum st_status st_view_next_json(struct st_timeline_view *view, const struct st_find_next *next,
				 struct st_json *json, struct st_error *err);

/* What another thing is called, where it is: members of an object that is open. */
void st_view_put_item(struct st_timeline_view *view, enum st_item_kind kind, uint32_t row,
		      struct st_json *json);
/* The lane of an item, or ST_LANE_NONE: it is not drawn. */
uint32_t st_view_lane_of(struct st_timeline_view *view, enum st_item_kind kind, uint32_t row);

#endif
