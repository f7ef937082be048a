// SPDX-License-Identifier: Apache-2.0
//
// Pids and tids of a result, each once. Tracks that are no threads have numbers beyond all of theirs.
#include "export/trace/thread_ids.h"

#include <stdlib.h>
#include <string.h>

#include "store/result.h"

enum { ID_FIRST_FREE = 1 << 22 /* PID_MAX_LIMIT of the kernel */ };

struct id {
	uint32_t value, index;
};

static int compare_ids(const void *a, const void *b)
{
	const struct id *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Gives the second and later holders of a number one of their own. */
static bool make_unique(uint32_t *values, uint32_t count)
{
	struct id *ids = malloc(((size_t)count + 1) * sizeof(*ids));

	if (!ids)
		return false;
	for (uint32_t i = 0; i < count; i++)
		ids[i] = (struct id){values[i], i};
	qsort(ids, count, sizeof(*ids), compare_ids);
	for (uint32_t i = 1; i < count; i++) {
		if (ids[i].value == ids[i - 1].value)
			values[ids[i].index] = ID_FIRST_FREE + ids[i].index;
	}
	free(ids);
	return true;
}

bool st_thread_ids_init(struct st_thread_ids *ids, const struct st_result *result)
{
	uint32_t process_count, track_count;
	const struct st_process *processes = st_result_processes(result, &process_count);
	const struct st_track *tracks = st_result_tracks(result, &track_count);

	ids->pids = calloc((size_t)process_count + 1, sizeof(*ids->pids));
	ids->tids = calloc((size_t)track_count + 1, sizeof(*ids->tids));
	ids->next = ID_FIRST_FREE + (process_count > track_count ? process_count : track_count);
	if (!ids->pids || !ids->tids)
		return false;
	for (uint32_t i = 0; i < process_count; i++)
		ids->pids[i] = processes[i].pid;
	for (uint32_t i = 0; i < track_count; i++)
		ids->tids[i] =
			tracks[i].kind == ST_TRACK_THREAD ? tracks[i].tid : ID_FIRST_FREE + i;
	return make_unique(ids->pids, process_count) && make_unique(ids->tids, track_count);
}

void st_thread_ids_fini(struct st_thread_ids *ids)
{
	free(ids->pids);
	free(ids->tids);
	memset(ids, 0, sizeof(*ids));
}
