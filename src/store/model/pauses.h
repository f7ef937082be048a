/* SPDX-License-Identifier: Apache-2.0
 *
 * When nothing was recorded, and how much of a slice lies there. A process is paused by its own ITT
 * calls, the whole family by strata; a slice is measured against both together.
 */
#ifndef ST_STORE_MODEL_PAUSES_H
#define ST_STORE_MODEL_PAUSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

enum { ST_PAUSE_FAMILY = 0 }; /* process id of windows of the family */

struct st_pause_event {
	uint32_t process_id; /* or ST_PAUSE_FAMILY */
	uint32_t kind;	     /* ST_MARK_PAUSE, ST_MARK_RESUME or ST_MARK_DETACH */
	int64_t ns;
};

struct st_pause_span {
	uint32_t process_id;
	int64_t begin_ns, end_ns;
};

struct st_pauses {
	struct st_pause_event *events; /* until built */
	uint32_t event_count, event_capacity;
	/* Sorted by process id and time, disjoint per process; the family's come first. */
	struct st_pause_span *spans;
	uint32_t span_count, span_capacity;
	/* The same with the family's spans mixed into those of each process. */
	struct st_pause_span *merged;
	uint32_t merged_count;
	uint32_t family_count;
	struct st_id_map first_merged; /* process id -> index into merged */
};

void st_pauses_fini(struct st_pauses *pauses);
bool st_pauses_add_event(struct st_pauses *pauses, struct st_pause_event event);
bool st_pauses_add_span(struct st_pauses *pauses, struct st_pause_span span);
/* Events to spans; a pause that is never resumed lasts to end_ns, and a resume without a pause means
 * paused since 0. Events are gone afterwards. */
bool st_pauses_build(struct st_pauses *pauses, int64_t end_ns);
/* Spans, however they came, to what the questions below need. */
bool st_pauses_merge(struct st_pauses *pauses);

struct st_pause_range { /* the spans that matter to one process */
	const struct st_pause_span *spans;
	uint32_t count;
};
struct st_pause_range st_pauses_of(const struct st_pauses *pauses, uint32_t process_id);
/* Paused time in [begin, end). */
uint64_t st_pause_overlap_ns(struct st_pause_range range, int64_t begin_ns, int64_t end_ns);
/* The span that end_ns falls into (begin < end_ns <= end), or NULL. */
const struct st_pause_span *st_pause_at(struct st_pause_range range, int64_t end_ns);

#endif
