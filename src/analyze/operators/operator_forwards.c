// SPDX-License-Identifier: Apache-2.0
//
// Finds the forward operator of a backward node by autograd's sequence number. A thread counts them for itself;
// a node that runs on a thread of autograd's own is looked for in the whole process.
#include <stdlib.h>

#include "base/map.h"
#include "analyze/operators/dataset_operators.h"

/* The last forward operator of each sequence number: of a thread, which counts them, and of a process, for nodes that
 * run on threads of autograd's own. */
struct forwards {
	struct st_pair_map map;
	uint32_t *last;	  /* by key of the map: row, or ST_NO_ROW when threads differ */
	uint32_t *tracks; /* by key */
	uint32_t built;
};

enum { OF_TRACK, OF_PROCESS };

static uint32_t scope_of(const struct st_operator_rows *rows, uint32_t row)
{
	uint32_t count;
	const struct st_signature *signatures = st_result_signatures(rows->result, &count);

	return rows->signature[row] < count ? signatures[rows->signature[row]].scope
					    : (uint32_t)ST_SCOPE_FUNCTION;
}

static uint32_t forward_key(struct forwards *forwards, unsigned int whose, uint32_t id,
			    int64_t sequence)
{
	return st_pair_map_add(&forwards->map, (uint64_t)whose << 32 | id, (uint64_t)sequence);
}

static void note(struct forwards *forwards, uint32_t key, uint32_t track, uint32_t row)
{
	bool is_new = key == forwards->built;

	if (is_new)
		forwards->built++;
	if (is_new || forwards->tracks[key] == track)
		forwards->last[key] = row;
	else
		forwards->last[key] = forwards->tracks[key] = ST_NO_ROW;
	if (is_new)
		forwards->tracks[key] = track;
}

static bool find_forwards(struct forwards *forwards, const struct st_dataset *dataset,
			  const struct st_operator_rows *rows)
{
	size_t most = 2 * (size_t)rows->count + 1;

	st_pair_map_init(&forwards->map);
	forwards->last = malloc(most * sizeof(*forwards->last));
	forwards->tracks = malloc(most * sizeof(*forwards->tracks));
	if (!forwards->last || !forwards->tracks)
		return false;
	for (uint32_t row = 0; row < rows->count && !forwards->map.failed; row++) {
		uint32_t track = rows->track[row];

		if (st_operator_sequence(rows, row) < 0 || scope_of(rows, row) == ST_SCOPE_BACKWARD)
			continue;
		note(forwards,
		     forward_key(forwards, OF_TRACK, track, st_operator_sequence(rows, row)), track,
		     row);
		note(forwards,
		     forward_key(forwards, OF_PROCESS,
				 st_key_of(&dataset->keys[ST_BY_PROCESS], row),
				 st_operator_sequence(rows, row)),
		     track, row);
	}
	return !forwards->map.failed;
}

/* The forward operator of a backward node, or ST_NO_ROW. */
static uint32_t forward_of(struct forwards *forwards, const struct st_dataset *dataset,
			   const struct st_operator_rows *rows, uint32_t row)
{
	uint32_t key =
		forward_key(forwards, OF_TRACK, rows->track[row], st_operator_sequence(rows, row));

	if (key >= forwards->built)
		key = forward_key(forwards, OF_PROCESS,
				  st_key_of(&dataset->keys[ST_BY_PROCESS], row),
				  st_operator_sequence(rows, row));
	return key < forwards->built ? forwards->last[key] : ST_NO_ROW;
}

uint32_t *st_operators_forwards(const struct st_dataset *dataset,
				const struct st_operator_rows *rows)
{
	uint32_t *found = malloc(((size_t)rows->count + 1) * sizeof(*found));
	struct forwards forwards = {0};

	if (found && find_forwards(&forwards, dataset, rows)) {
		for (uint32_t row = 0; row < rows->count; row++) {
			found[row] = ST_NO_ROW;
			if (st_operator_sequence(rows, row) >= 0 &&
			    scope_of(rows, row) == ST_SCOPE_BACKWARD)
				found[row] = forward_of(&forwards, dataset, rows, row);
		}
	}
	if (forwards.map.failed || !forwards.last || !forwards.tracks) {
		free(found);
		found = NULL;
	}
	st_pair_map_fini(&forwards.map);
	free(forwards.last);
	free(forwards.tracks);
	return found;
}
