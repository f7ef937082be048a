/* SPDX-License-Identifier: Apache-2.0
 *
 * Where spans and instants are drawn, and their names. Spans of one kind are in groups: those that span
 * threads by process and domain, those of a thread with the thread. In a group they are on lanes, one after
 * the other on each.
 */
#ifndef ST_ANALYZE_DATASETS_PLACES_H
#define ST_ANALYZE_DATASETS_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/datasets/thing_args.h"
#include "store/events.h"
#include "store/key_table.h"

enum st_place_owner { ST_PLACE_THREAD, ST_PLACE_PROCESS, ST_PLACE_GLOBAL };

struct st_place {
	enum st_place_owner owner;
	uint32_t index; /* of the thread or process */
};

enum { ST_LANES_PER_BLOCK = 512 };

struct st_span_lane {
	int64_t end_ns;
	uint64_t number; /* the exporter's; 0 until it gave one */
};

struct st_span_group {
	struct st_place place;
	uint32_t kind; /* enum st_span_kind */
	st_string_id domain;
	uint64_t number; /* the exporter's; 0 until it gave one */
	struct st_span_lane *lanes;
	uint32_t lane_count;
	int64_t *least_end_ns; /* of each ST_LANES_PER_BLOCK lanes: none of them ends before */
};

struct st_places {
	const struct st_thing_args *facts; /* what there is in the result */
	uint8_t *begins_span; /* a bit per event that is the begin of a span drawn for it */
	struct st_span_group *groups;
	uint32_t group_count, group_capacity;
	struct st_key_table keys; /* of the groups: owner and place, kind, domain */
};

bool st_places_init(struct st_places *places, const struct st_thing_args *facts);
void st_places_fini(struct st_places *places);

/* The group and lane of a span; spans come in their order. NULL when memory is out. The group is good until
 * the next call. */
struct st_span_group *st_places_span(struct st_places *places, uint32_t span, uint32_t *lane);
/* Whether an event is drawn as an instant, all those that no slice and no span tells left; and where. */
bool st_places_is_instant(const struct st_places *places, uint32_t event, struct st_place *place);

const char *st_span_kind_name(uint32_t kind); /* "overlapped tasks" */
const char *st_span_kind_word(uint32_t kind); /* "overlapped" */

/* What to call it: a text of the result, or one of `words` when that is 0. */
struct st_title {
	st_string_id id;
	struct st_text text; /* of the id as well */
};
struct st_title st_places_span_title(const struct st_places *places, uint32_t span);
struct st_title st_places_event_title(const struct st_places *places, uint32_t event);

#endif
