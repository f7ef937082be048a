// SPDX-License-Identifier: Apache-2.0
//
// From backward to forward, as torch's profiler tells it: by autograd's sequence numbers, which each thread that
// builds graphs counts for itself.
#include "analyze/torch_events.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/pair_map.h"

static const char wrapper[] = "autograd::engine::evaluate_function: ";

/* Who used a number going forward: a thread, and of a process the last one. */
struct forwards {
	struct st_pair_map map;
	uint32_t *tracks; /* by key */
};

static uint64_t process_of(const struct st_torch_events *events, uint32_t track)
{
	uint32_t count;

	return UINT64_C(1) << 32 | st_result_tracks(events->result, &count)[track].process;
}

static bool is_node(const struct st_torch_events *events, uint32_t row)
{
	return st_torch_event_scope(events, row) == ST_SCOPE_BACKWARD;
}

static bool find_forwards(struct forwards *forwards, const struct st_torch_events *events)
{
	const struct st_operator_rows *rows = events->rows;

	forwards->tracks = calloc(2 * (size_t)rows->count + 1, sizeof(*forwards->tracks));
	for (uint32_t row = 0; forwards->tracks && row < rows->count; row++) {
		uint32_t track = rows->track[row];
		uint64_t sequence = (uint64_t)rows->sequence[row];

		if (rows->sequence[row] < 0 || is_node(events, row))
			continue;
		forwards->tracks[st_pair_map_add(&forwards->map, track, sequence)] = track;
		forwards->tracks[st_pair_map_add(&forwards->map, process_of(events, track),
						 sequence)] = track;
	}
	return forwards->tracks && !forwards->map.failed;
}

/* The thread's own operator if it has one of that number: a CPU's backward pass runs where it was asked for. */
static uint32_t forward_track(struct forwards *forwards, const struct st_torch_events *events,
			      uint32_t row, uint32_t known)
{
	uint32_t track = events->rows->track[row];
	uint64_t sequence = (uint64_t)events->rows->sequence[row];
	uint32_t key;

	if (st_pair_map_add(&forwards->map, track, sequence) < known)
		return track;
	key = st_pair_map_add(&forwards->map, process_of(events, track), sequence);
	return key < known ? forwards->tracks[key] : track;
}

static bool is_wrapper(const struct st_operator_rows *rows, uint32_t row)
{
	struct st_text name = rows->texts[ST_BY_OPERATOR].texts[rows->name_of[rows->label[row]]];

	return name.size_bytes > sizeof(wrapper) - 1 &&
	       memcmp(name.bytes, wrapper, sizeof(wrapper) - 1) == 0;
}

bool st_torch_events_link(struct st_torch_events *events)
{
	const struct st_operator_rows *rows = events->rows;
	struct forwards forwards = {0};
	uint32_t known, count;
	bool done;

	st_pair_map_init(&forwards.map);
	events->forward_tid = calloc((size_t)rows->count + 1, sizeof(*events->forward_tid));
	done = find_forwards(&forwards, events) && events->forward_tid;
	known = forwards.map.count;
	for (uint32_t row = 0; done && row < rows->count; row++) {
		uint32_t up = rows->parent[row], track;

		if (rows->sequence[row] < 0 || !is_node(events, row))
			continue;
		track = forward_track(&forwards, events, row, known);
		events->forward_tid[row] = st_result_tracks(events->result, &count)[track].tid;
		if (up == ST_NO_ROW || !is_wrapper(rows, up))
			continue;
		rows->sequence[up] = rows->sequence[row];
		events->forward_tid[up] = events->forward_tid[row];
	}
	free(forwards.tracks);
	done = done && !forwards.map.failed;
	st_pair_map_fini(&forwards.map);
	return done;
}
