// SPDX-License-Identifier: Apache-2.0
//
// Groups and lanes of spans, places and names of instants (analyze/datasets/places.h).
#include "analyze/datasets/places.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/itt_values.h"
#include "base/map.h"
#include "base/vec.h"

enum { SCOPE_GLOBAL = 1, SCOPE_PROCESS = 2 };

static const struct {
	const char *name, *word;
	bool is_of_thread; /* begins and ends on one thread */
} kinds[ST_SPAN_KINDS] = {
	[ST_SPAN_OVERLAPPED] = {"overlapped tasks", "overlapped", false},
	[ST_SPAN_REGION] = {"regions", "region", false},
	[ST_SPAN_FRAME] = {"frames", "frame", false},
	[ST_SPAN_TIMED_TASK] = {"timed tasks", "timed", true},
	[ST_SPAN_USER_EVENT] = {"user events", "event", true},
	[ST_SPAN_MARK] = {"marks", "mark", true},
	[ST_SPAN_WAIT] = {"waits", "wait", true},
	[ST_SPAN_HOLD] = {"holds", "hold", true},
};

const char *st_span_kind_name(uint32_t kind)
{
	return kind && kind < ST_SPAN_KINDS ? kinds[kind].name : "spans";
}

const char *st_span_kind_word(uint32_t kind)
{
	return kind && kind < ST_SPAN_KINDS ? kinds[kind].word : "span";
}

static bool is_global_mark(const struct st_places *places, const struct st_span *span)
{
	return span->kind == ST_SPAN_MARK && span->event < places->facts->events->count &&
	       places->facts->events->rows[span->event].detail == 1;
}

bool st_places_init(struct st_places *places, const struct st_thing_args *facts)
{
	memset(places, 0, sizeof(*places));
	places->facts = facts;
	places->begins_span = calloc((size_t)places->facts->events->count / 8 + 1, 1);
	if (!places->begins_span)
		return false;
	for (uint32_t i = 0; i < places->facts->span_count; i++) {
		uint32_t event = places->facts->spans[i].event;

		if (event < places->facts->events->count)
			places->begins_span[event / 8] |= (uint8_t)(1u << event % 8);
	}
	return true;
}

void st_places_fini(struct st_places *places)
{
	for (uint32_t i = 0; i < places->group_count; i++) {
		free(places->groups[i].lanes);
		free(places->groups[i].least_end_ns);
	}
	free(places->groups);
	st_key_table_fini(&places->keys);
	free(places->begins_span);
	memset(places, 0, sizeof(*places));
}

/* Groups ------------------------------------------------------------------------------------------- */

static struct st_span_group *find_group(struct st_places *places,
					const struct st_span_group *wanted)
{
	uint32_t number = st_key_table_add(
		&places->keys, (uint64_t)wanted->place.owner << 32 | wanted->place.index,
		wanted->kind, wanted->domain);

	if (number == ST_ID_NONE ||
	    (number == places->group_count &&
	     !ST_VEC_PUSH(places->groups, places->group_count, places->group_capacity, *wanted)))
		return NULL;
	return &places->groups[number];
}

/* The first lane from `lane` on that is free at that time; lane_count: none of them. Spans that nobody ended
 * can be hundreds of thousands at once, so blocks of lanes are passed over as a whole. */
static uint32_t first_free(struct st_span_group *group, uint32_t lane, int64_t begin_ns)
{
	while (lane < group->lane_count) {
		uint32_t block = lane / ST_LANES_PER_BLOCK, end = (block + 1) * ST_LANES_PER_BLOCK;
		bool is_whole = lane % ST_LANES_PER_BLOCK == 0;
		int64_t least = INT64_MAX;

		if (end > group->lane_count)
			end = group->lane_count;
		if (is_whole && group->least_end_ns[block] > begin_ns) {
			lane = end;
			continue;
		}
		for (; lane < end; lane++) {
			if (group->lanes[lane].end_ns <= begin_ns)
				return lane;
			if (group->lanes[lane].end_ns < least)
				least = group->lanes[lane].end_ns;
		}
		/* Stays true: what comes into a lane ends later. */
		if (is_whole)
			group->least_end_ns[block] = least;
	}
	return lane;
}

static bool grow_lanes(struct st_span_group *group, uint32_t count)
{
	uint32_t blocks = (count + ST_LANES_PER_BLOCK - 1) / ST_LANES_PER_BLOCK;
	uint32_t first = group->lane_count / ST_LANES_PER_BLOCK;
	struct st_span_lane *lanes = realloc(group->lanes, count * sizeof(*lanes));
	int64_t *least;

	if (!lanes)
		return false;
	group->lanes = lanes;
	least = realloc(group->least_end_ns, blocks * sizeof(*least));
	if (!least)
		return false;
	group->least_end_ns = least;
	for (uint32_t i = group->lane_count; i < count; i++)
		lanes[i] = (struct st_span_lane){INT64_MIN, 0};
	for (uint32_t i = first; i < blocks; i++)
		least[i] = INT64_MIN;
	group->lane_count = count;
	return true;
}

static bool take_lane(struct st_span_group *group, const struct st_span *span, uint32_t *lane)
{
	*lane = first_free(group, *lane, span->begin_ns);
	if (*lane >= group->lane_count && !grow_lanes(group, *lane + 1))
		return false;
	group->lanes[*lane].end_ns = span->end_ns;
	return true;
}

struct st_span_group *st_places_span(struct st_places *places, uint32_t index, uint32_t *lane)
{
	const struct st_span *span = &places->facts->spans[index];
	struct st_span_group wanted = {.place = {ST_PLACE_PROCESS, span->process},
				       .kind = span->kind,
				       .domain = span->domain};
	bool is_of_thread = span->kind && span->kind < ST_SPAN_KINDS &&
			    kinds[span->kind].is_of_thread && !is_global_mark(places, span);
	struct st_span_group *group;

	*lane = span->lane;
	if (is_of_thread && span->begin_track < places->facts->track_count) {
		wanted.place = (struct st_place){ST_PLACE_THREAD, span->begin_track};
		/* The result counts lanes over the process. */
		*lane = 0;
	}
	group = find_group(places, &wanted);
	return group && take_lane(group, span, lane) ? group : NULL;
}

/* Instants ----------------------------------------------------------------------------------------- */

/* Names an id that nobody has. */
static bool is_tied_to_itself(const struct st_places *places, uint32_t event)
{
	size_t count = 0;

	if (places->facts->ties->count)
		st_ties_of(places->facts->ties, st_thing_make(ST_THING_EVENT, event), &count);
	return count > 0;
}

static bool is_loose_metadata(const struct st_places *places, uint32_t event)
{
	const struct st_event_row *row = &places->facts->events->rows[event];

	switch (row->kind) {
	case ST_EVENT_METADATA_SCOPED:
	case ST_EVENT_METADATA_TEXT_SCOPED:
		return row->slice == ST_NO_ROW || row->detail >> 16 != 4 /* the task */;
	default:
		return row->id ? is_tied_to_itself(places, event) : row->slice == ST_NO_ROW;
	}
}

static enum st_place_owner owner_of(uint32_t scope)
{
	if (scope == SCOPE_GLOBAL)
		return ST_PLACE_GLOBAL;
	return scope == SCOPE_PROCESS ? ST_PLACE_PROCESS : ST_PLACE_THREAD;
}

bool st_places_is_instant(const struct st_places *places, uint32_t event, struct st_place *place)
{
	const struct st_event_row *row = &places->facts->events->rows[event];

	*place = (struct st_place){ST_PLACE_THREAD, row->track};
	switch (row->kind) {
	case ST_EVENT_MARKER:
		place->owner = owner_of(row->detail);
		break;
	case ST_EVENT_TASK_GROUP:
	case ST_EVENT_HISTOGRAM:
	case ST_EVENT_THREAD_IGNORE:
		break;
	case ST_EVENT_SCOPE_PAUSE:
	case ST_EVENT_SCOPE_RESUME:
		place->owner = ST_PLACE_PROCESS;
		break;
	case ST_EVENT_USER_START:
	case ST_EVENT_MARK:
		if (places->begins_span[event / 8] >> event % 8 & 1)
			return false;
		if (row->kind == ST_EVENT_MARK && row->detail == 1)
			place->owner = ST_PLACE_PROCESS;
		break;
	case ST_EVENT_METADATA_SCOPED:
	case ST_EVENT_METADATA_TEXT_SCOPED:
		place->owner = owner_of(row->detail >> 16);
		/* fall through */
	case ST_EVENT_METADATA:
	case ST_EVENT_METADATA_TEXT:
	case ST_EVENT_METADATA_FORMATTED:
		if (!is_loose_metadata(places, event))
			return false;
		break;
	case ST_EVENT_RELATION:
		if (!is_tied_to_itself(places, event))
			return false;
		break;
	default:
		return false;
	}
	if (row->track >= places->facts->track_count)
		place->owner = ST_PLACE_GLOBAL;
	else if (place->owner == ST_PLACE_PROCESS)
		place->index = places->facts->tracks[row->track].process;
	return true;
}

/* Names -------------------------------------------------------------------------------------------- */

static struct st_title title(const struct st_places *places, st_string_id id, const char *otherwise)
{
	struct st_title found = {id, st_result_text(places->facts->result, id)};

	if (!found.text.size_bytes)
		found = (struct st_title){0, {otherwise, strlen(otherwise)}};
	return found;
}

struct st_title st_places_span_title(const struct st_places *places, uint32_t index)
{
	const struct st_span *span = &places->facts->spans[index];
	bool is_sync = span->kind == ST_SPAN_WAIT || span->kind == ST_SPAN_HOLD;
	st_string_id id = span->name;

	if (!id && is_sync && span->object < places->facts->sync_count)
		id = places->facts->syncs[span->object].name
			     ? places->facts->syncs[span->object].name
			     : places->facts->syncs[span->object].type;
	else if (!id && !is_sync && span->object < places->facts->object_count)
		id = places->facts->objects[span->object].name;
	return title(places, id, st_span_kind_word(span->kind));
}

static const char *word_for(const struct st_event_row *row)
{
	switch (row->kind) {
	case ST_EVENT_MARKER:
		return "marker";
	case ST_EVENT_TASK_GROUP:
		return "task group";
	case ST_EVENT_HISTOGRAM:
		return "histogram";
	case ST_EVENT_THREAD_IGNORE:
		return "thread ignore";
	case ST_EVENT_SCOPE_PAUSE:
		return "pause";
	case ST_EVENT_SCOPE_RESUME:
		return "resume";
	case ST_EVENT_USER_START:
		return "event";
	case ST_EVENT_MARK:
		return "mark";
	case ST_EVENT_RELATION:
		return st_relation_name(row->detail);
	default:
		return "metadata";
	}
}

struct st_title st_places_event_title(const struct st_places *places, uint32_t event)
{
	const struct st_event_row *row = &places->facts->events->rows[event];
	struct st_text data = st_result_blob(places->facts->result, row->data);
	st_string_id id = row->name;

	if (!id && row->object < places->facts->object_count)
		id = places->facts->objects[row->object].name;
	/* A mark of strata's own: what was typed. */
	if (!id && row->kind == ST_EVENT_MARK && data.size_bytes)
		return (struct st_title){0, data};
	return title(places, id, word_for(row));
}
