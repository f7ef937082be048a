// SPDX-License-Identifier: Apache-2.0
//
// Report "heap": calls reported by allocators. A free has only the address; its size is that of the
// block last allocated there.
#include "analyze/reports/report_rows.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"

enum { ALLOCATIONS, REALLOCATIONS, FREES, ALLOC_BYTES, FREE_BYTES, LIVE_BYTES, GROUP_COLUMNS };

static const struct st_column group_columns[GROUP_COLUMNS] = {
	[ALLOCATIONS] = {"allocations", "Allocations", "", false},
	[REALLOCATIONS] = {"reallocations", "Reallocations", "", false},
	[FREES] = {"frees", "Frees", "", false},
	[ALLOC_BYTES] = {"alloc_bytes", "Allocated", "bytes", false},
	[FREE_BYTES] = {"free_bytes", "Freed", "bytes", false},
	[LIVE_BYTES] = {"delta_bytes", "Not Freed", "bytes", false},
};

struct figures {
	uint64_t allocations, reallocations, frees, alloc_bytes, free_bytes;
};

/* Blocks that are out, by process and address. */
struct blocks {
	struct st_pair_map places;
	uint64_t *sizes; /* by number of the place; 0: nothing is out there */
	uint32_t capacity;
	struct figures call; /* what the call at hand does */
};

/* The size of the block at a place; NULL when there is no memory. */
static uint64_t *size_at(struct blocks *blocks, uint32_t process, uint64_t address)
{
	uint32_t place = st_pair_map_add(&blocks->places, process, address);

	if (blocks->places.failed || !ST_VEC_ROOM_ZERO(blocks->sizes, place, blocks->capacity))
		return NULL;
	return &blocks->sizes[place];
}

static bool take_back(struct blocks *blocks, uint32_t process, uint64_t address)
{
	uint64_t *size = size_at(blocks, process, address);

	if (!size)
		return false;
	blocks->call.free_bytes = *size;
	*size = 0;
	return true;
}

static uint64_t old_address(struct st_rows_job *job, const struct st_event_row *event)
{
	uint32_t count;
	const struct st_itt_id *ids = st_result_ids(job->result, &count);

	return event->id < count ? ids[event->id].d[0] : 0;
}

/* Every call is followed, also one that a filter leaves out: it may free what is shown. */
static bool follow(struct st_rows_job *job, uint32_t row)
{
	const struct st_event_row *event =
		&st_result_events(job->result)
			 ->rows[st_dataset_rows_source(job->dataset, row).event];
	uint32_t process = st_key_of(&job->dataset->keys[ST_BY_PROCESS], row);
	struct blocks *blocks = job->state;
	uint64_t *size;

	if (!blocks)
		blocks = job->state = calloc(1, sizeof(*blocks));
	if (!blocks)
		return false;
	blocks->call = (struct figures){0};
	if (event->kind == ST_EVENT_HEAP_FREE_END) {
		blocks->call.frees = 1;
		return take_back(blocks, process, event->value);
	}
	if (event->kind == ST_EVENT_HEAP_REALLOCATE_END) {
		blocks->call.reallocations = 1;
		if (!take_back(blocks, process, old_address(job, event)))
			return false;
	} else {
		blocks->call.allocations = 1;
	}
	if (!event->value)
		return true; /* there was no memory to be had */
	blocks->call.alloc_bytes = event->extra;
	size = size_at(blocks, process, event->value);
	if (size)
		*size = event->extra;
	return size;
}

static void end(struct st_rows_job *job)
{
	struct blocks *blocks = job->state;

	if (!blocks)
		return;
	st_pair_map_fini(&blocks->places);
	free(blocks->sizes);
	free(blocks);
}

static void add(struct st_rows_job *job, void *sum, uint32_t row)
{
	const struct figures *more = &((const struct blocks *)job->state)->call;
	struct figures *to = sum;

	(void)row;
	to->allocations += more->allocations;
	to->reallocations += more->reallocations;
	to->frees += more->frees;
	to->alloc_bytes += more->alloc_bytes;
	to->free_bytes += more->free_bytes;
}

static void set_cells(struct st_rows_job *job, struct st_cell *cells, const void *sum,
		      const struct st_answer_row *row)
{
	const struct figures *figures = sum;

	(void)job;
	(void)row;
	cells[ALLOCATIONS] = st_cell_u64(figures->allocations);
	cells[REALLOCATIONS] = st_cell_u64(figures->reallocations);
	cells[FREES] = st_cell_u64(figures->frees);
	cells[ALLOC_BYTES] = st_cell_u64(figures->alloc_bytes);
	cells[FREE_BYTES] = st_cell_u64(figures->free_bytes);
	cells[LIVE_BYTES] = st_cell_i64((int64_t)(figures->alloc_bytes - figures->free_bytes));
}

const struct st_rows_report st_heap_report = {
	.rows_name = "heap calls",
	.set = ST_ROWS_HEAP,
	.defaults = {ST_BY_HEAP_FUNCTION, ST_BY_DOMAIN},
	.default_count = 2,
	.joins_second = true,
	.metrics = ST_LIST(ST_COUNT),
	.titles = {[ST_COUNT] = "Calls"},
	.group_columns = group_columns,
	.group_column_count = GROUP_COLUMNS,
	.figures_bytes = sizeof(struct figures),
	.add = add,
	.cells = set_cells,
	.has_totals = true,
	.follow = follow,
	.end = end,
	.empty = "This result has no heap calls; allocators report them with "
		 "__itt_heap_allocate_begin, __itt_heap_allocate_end and so on.",
};
