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
	const struct st_dataset *dataset;
	const struct st_operator_rows *rows;
	struct st_pair_map map;
	uint32_t *last;	  /* by key of the map: row, or ST_NO_ROW when threads differ */
	uint32_t *tracks; /* by key */
	uint32_t built;
};

/* Whether a row has a number, and which way it runs. */
static bool is_numbered(const struct st_operator_rows *rows, uint32_t row, bool backward)
{
	uint32_t count;
	const struct st_signature *signatures = st_result_signatures(rows->result, &count);
	bool is_backward = rows->signature[row] < count &&
			   signatures[rows->signature[row]].scope == ST_SCOPE_BACKWARD;

	return st_operator_sequence(rows, row) >= 0 && is_backward == backward;
}

static uint32_t key_of(struct forwards *forwards, uint32_t row, bool of_process)
{
	uint64_t whose = forwards->rows->track[row];

	if (of_process)
		whose = UINT64_C(1) << 32 | st_key_of(&forwards->dataset->keys[ST_BY_PROCESS], row);
	return st_pair_map_add(&forwards->map, whose,
			       (uint64_t)st_operator_sequence(forwards->rows, row));
}

static void note(struct forwards *forwards, uint32_t row, bool of_process)
{
	uint32_t key = key_of(forwards, row, of_process), track = forwards->rows->track[row];

	if (key == forwards->built) {
		forwards->built++;
		forwards->tracks[key] = track;
	}
	if (forwards->tracks[key] == track)
		forwards->last[key] = row;
	else
		forwards->last[key] = forwards->tracks[key] = ST_NO_ROW;
}

/* The forward operator of a backward node, or ST_NO_ROW. */
static uint32_t forward_of(struct forwards *forwards, uint32_t row)
{
	uint32_t key = key_of(forwards, row, false);

	if (key >= forwards->built)
		key = key_of(forwards, row, true);
	return key < forwards->built ? forwards->last[key] : ST_NO_ROW;
}

uint32_t *st_operators_forwards(const struct st_dataset *dataset,
				const struct st_operator_rows *rows)
{
	struct forwards forwards = {.dataset = dataset, .rows = rows};
	size_t most = 2 * (size_t)rows->count + 1;
	uint32_t *found = malloc(((size_t)rows->count + 1) * sizeof(*found));
	bool done;

	forwards.last = malloc(most * sizeof(*forwards.last));
	forwards.tracks = malloc(most * sizeof(*forwards.tracks));
	done = found && forwards.last && forwards.tracks;
	for (uint32_t row = 0; done && row < rows->count; row++) {
		if (!is_numbered(rows, row, false))
			continue;
		note(&forwards, row, false);
		note(&forwards, row, true);
	}
	for (uint32_t row = 0; done && row < rows->count; row++)
		found[row] = is_numbered(rows, row, true) ? forward_of(&forwards, row) : ST_NO_ROW;
	if (!done || forwards.map.failed) {
		free(found);
		found = NULL;
	}
	st_pair_map_fini(&forwards.map);
	free(forwards.last);
	free(forwards.tracks);
	return found;
}
