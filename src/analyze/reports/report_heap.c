// SPDX-License-Identifier: Apache-2.0
//
// Report "heap": what allocators tell of their calls. A free names only the address; its size is that of
// the block that was last given out there.
#include "analyze/reports/report_rows.h"

#include <stdlib.h>

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

/* Blocks that are out, by process and address: open addressing, never more than half full. */
struct block {
	uint64_t address;
	uint64_t size_bytes;
	uint32_t process;
	bool is_used, is_gone;
};

struct blocks {
	struct block *slots;
	uint32_t mask, used;
};

static struct block *find(const struct blocks *blocks, uint32_t process, uint64_t address)
{
	uint64_t hash = (address ^ (uint64_t)process << 48) * 0x9e3779b97f4a7c15ull;
	uint32_t at = (uint32_t)(hash >> 32) & blocks->mask;

	while (blocks->slots[at].is_used &&
	       (blocks->slots[at].address != address || blocks->slots[at].process != process))
		at = (at + 1) & blocks->mask;
	return &blocks->slots[at];
}

static bool make_room(struct blocks *blocks)
{
	struct blocks larger = {.mask = blocks->mask ? blocks->mask * 2 + 1 : 1023};

	if (blocks->slots && blocks->used <= blocks->mask / 2)
		return true;
	larger.slots = calloc((size_t)larger.mask + 1, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (uint32_t i = 0; blocks->slots && i <= blocks->mask; i++) {
		const struct block *block = &blocks->slots[i];

		if (!block->is_used || block->is_gone)
			continue;
		*find(&larger, block->process, block->address) = *block;
		larger.used++;
	}
	free(blocks->slots);
	*blocks = larger;
	return true;
}

static bool give_out(struct blocks *blocks, uint32_t process, uint64_t address, uint64_t size_bytes)
{
	struct block *block;

	if (!make_room(blocks))
		return false;
	block = find(blocks, process, address);
	blocks->used += !block->is_used;
	*block = (struct block){address, size_bytes, process, true, false};
	return true;
}

/* The size of the block that goes back; 0 when it is not known. */
static uint64_t take_back(struct blocks *blocks, uint32_t process, uint64_t address)
{
	struct block *block = blocks->slots ? find(blocks, process, address) : NULL;

	if (!block || !block->is_used || block->is_gone)
		return 0;
	block->is_gone = true;
	return block->size_bytes;
}

static uint64_t old_address(struct st_rows_job *job, const struct st_event_row *event)
{
	uint32_t count;
	const struct st_itt_id *ids = st_result_ids(job->result, &count);

	return event->id < count ? ids[event->id].d[0] : 0;
}

/* What one call does, as figures. */
static bool follow(struct st_rows_job *job, struct blocks *blocks, uint32_t row,
		   struct figures *out)
{
	const struct st_event_row *event =
		&st_result_events(job->result)
			 ->rows[st_dataset_rows_source(job->dataset, row).event];
	uint32_t process = st_key_of(&job->dataset->keys[ST_BY_PROCESS], row);

	*out = (struct figures){0};
	if (event->kind == ST_EVENT_HEAP_FREE_END) {
		out->frees = 1;
		out->free_bytes = take_back(blocks, process, event->value);
		return true;
	}
	if (event->kind == ST_EVENT_HEAP_REALLOCATE_END) {
		out->reallocations = 1;
		out->free_bytes = take_back(blocks, process, old_address(job, event));
	} else {
		out->allocations = 1;
	}
	if (!event->value)
		return true; /* there was no memory to be had */
	out->alloc_bytes = event->extra;
	return give_out(blocks, process, event->value, event->extra);
}

static void add(struct figures *to, const struct figures *more)
{
	to->allocations += more->allocations;
	to->reallocations += more->reallocations;
	to->frees += more->frees;
	to->alloc_bytes += more->alloc_bytes;
	to->free_bytes += more->free_bytes;
}

static void set_cells(struct st_cell *cells, const struct figures *figures)
{
	cells[ALLOCATIONS] = st_cell_u64(figures->allocations);
	cells[REALLOCATIONS] = st_cell_u64(figures->reallocations);
	cells[FREES] = st_cell_u64(figures->frees);
	cells[ALLOC_BYTES] = st_cell_u64(figures->alloc_bytes);
	cells[FREE_BYTES] = st_cell_u64(figures->free_bytes);
	cells[LIVE_BYTES] = st_cell_i64((int64_t)(figures->alloc_bytes - figures->free_bytes));
}

static void groups(struct st_rows_job *job)
{
	uint32_t row_count = job->report->row_count;
	struct figures *figures = calloc((size_t)row_count + 1, sizeof(*figures)), one;
	struct blocks blocks = {0};

	/* Every call is followed, also one that a filter leaves out: it may free what is shown. */
	for (uint32_t row = 0; figures && row < job->dataset->row_count; row++) {
		uint32_t at = job->answer->row_of[row];

		if (!follow(job, &blocks, row, &one)) {
			job->arena->failed = true;
			break;
		}
		if (at != ST_NO_ROW)
			add(&figures[row_count], &one);
		for (; at != ST_NO_ROW; at = job->answer->rows[at].parent) {
			if (at < row_count)
				add(&figures[at], &one);
		}
	}
	for (uint32_t i = 0; figures && i < row_count; i++)
		set_cells(st_rows_cells(job, i), &figures[i]);
	if (figures)
		set_cells(st_rows_cells(job, ST_NO_ROW), &figures[row_count]);
	else
		job->arena->failed = true;
	free(blocks.slots);
	free(figures);
}

static const struct st_column instance_columns[] = {
	{"start_ns", "Time", "ns", false}, {"kind", "Kind", "", true},
	{"address", "Address", "", true},  {"size_bytes", "Size", "bytes", false},
	{"domain", "Domain", "", true},	   {"process", "Process", "", true},
	{"thread", "Thread", "", true},
};

static void instance(struct st_rows_job *job, struct st_cell *cells, uint32_t row)
{
	const struct st_event_row *event =
		&st_result_events(job->result)
			 ->rows[st_dataset_rows_source(job->dataset, row).event];
	bool is_free = event->kind == ST_EVENT_HEAP_FREE_END;

	cells[0] = st_cell_i64(event->time_ns);
	cells[1] = st_cell_text(is_free					    ? "free"
				: event->kind == ST_EVENT_HEAP_ALLOCATE_END ? "allocate"
									    : "reallocate");
	cells[2] = st_cell_text(
		st_arena_printf(job->arena, "0x%llx", (unsigned long long)event->value));
	if (!is_free)
		cells[3] = st_cell_u64(event->extra);
	cells[4] = st_rows_place(job, ST_BY_DOMAIN, row);
	cells[5] = st_rows_place(job, ST_BY_PROCESS, row);
	cells[6] = st_rows_place(job, ST_BY_THREAD, row);
}

const struct st_rows_report st_heap_report = {
	.name = "heap",
	.rows_name = "heap calls",
	.set = ST_ROWS_HEAP,
	.defaults = {ST_BY_HEAP_FUNCTION, ST_BY_DOMAIN},
	.default_count = 2,
	.joins_second = true,
	.metrics = ST_LIST(ST_COUNT),
	.titles = {[ST_COUNT] = "Calls"},
	.group_columns = group_columns,
	.group_column_count = GROUP_COLUMNS,
	.group_cells = groups,
	.instance_columns = instance_columns,
	.instance_column_count = sizeof(instance_columns) / sizeof(instance_columns[0]),
	.instance_cells = instance,
	.empty = "This result holds no heap calls; allocators tell them with "
		 "__itt_heap_allocate_begin, __itt_heap_allocate_end and so on.",
};
