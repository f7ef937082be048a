// SPDX-License-Identifier: Apache-2.0
//
// From backward to forward, as in torch.profiler: by autograd's sequence numbers, which each thread that builds
// graphs counts for itself.
#include "analyze/torch/torch_events.h"

#include <stdlib.h>

#include "base/map.h"

/* Who used a number going forward: a thread, and of a process the last one. */
struct forwards {
	struct st_pair_map map;
	uint32_t *tracks; /* by key */
	uint32_t *first;  /* by key: the first row of the thread with that number */
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
	forwards->first = calloc(2 * (size_t)rows->count + 1, sizeof(*forwards->first));
	if (!forwards->tracks || !forwards->first)
		return false;
	for (uint32_t row = 0; row < rows->count; row++) {
		uint32_t track = rows->track[row], before = forwards->map.count, key;
		uint64_t sequence = (uint64_t)rows->sequence[row];

		if (rows->sequence[row] < 0 || events->is_backward[row])
			continue;
		key = st_pair_map_add(&forwards->map, track, sequence);
		forwards->tracks[key] = track;
		if (key == before)
			forwards->first[key] = row;
		forwards->tracks[st_pair_map_add(&forwards->map, process_of(events, track),
						 sequence)] = track;
	}
	return !forwards->map.failed;
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

/* Rows come after the rows around them. */
static void mark_backward(struct st_torch_events *events)
{
	const struct st_operator_rows *rows = events->rows;

	for (uint32_t row = 0; row < rows->count; row++) {
		uint32_t up = rows->parent[row];

		events->forward_row[row] = ST_NO_ROW;
		events->is_backward[row] =
			is_node(events, row) || (up != ST_NO_ROW && events->is_backward[up]);
	}
}

static void link_node(struct st_torch_events *events, struct forwards *forwards, uint32_t row,
		      uint32_t known)
{
	const struct st_operator_rows *rows = events->rows;
	uint32_t track = forward_track(forwards, events, row, known);
	uint32_t key = st_pair_map_add(&forwards->map, track, (uint64_t)rows->sequence[row]);
	uint32_t up = rows->parent[row], count;

	events->forward_tid[row] = st_result_tracks(events->result, &count)[track].tid;
	if (key < known)
		events->forward_row[row] = forwards->first[key];
	if (up == ST_NO_ROW || !st_row_is_wrapper(rows, up))
		return;
	rows->sequence[up] = rows->sequence[row];
	events->forward_tid[up] = events->forward_tid[row];
}

bool st_torch_events_link(struct st_torch_events *events)
{
	const struct st_operator_rows *rows = events->rows;
	struct forwards forwards = {0};
	uint32_t known;
	bool done;

	if (events->forward_tid)
		return true;
	events->forward_tid = st_torch_column(events, rows->count, sizeof(*events->forward_tid));
	events->forward_row = st_torch_column(events, rows->count, sizeof(*events->forward_row));
	events->is_backward = st_torch_column(events, rows->count, 1);
	if (events->dataset.arena->failed)
		return false;
	mark_backward(events);
	done = find_forwards(&forwards, events);
	known = forwards.map.count;
	for (uint32_t row = 0; done && row < rows->count; row++) {
		if (is_node(events, row) && rows->sequence[row] >= 0)
			link_node(events, &forwards, row, known);
		else if (!is_node(events, row) && events->is_backward[row])
			events->forward_row[row] = events->forward_row[rows->parent[row]];
	}
	free(forwards.tracks);
	free(forwards.first);
	done = done && !forwards.map.failed;
	st_pair_map_fini(&forwards.map);
	return done;
}
