// SPDX-License-Identifier: Apache-2.0
//
// What is counted of waits and of heap calls, beside how long they took. A free has only the address; its size is that of
// the block last allocated there. Every call is followed, also one that a filter leaves out: it may free what is shown.
#include <stdlib.h>

#include "analyze/datasets/row_sets.h"
#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"

static const struct st_rows *rows_of(const struct st_dataset *dataset)
{
	return dataset->private_data;
}

static uint16_t event_kind(const struct st_rows *rows, uint32_t row)
{
	const struct st_events *events = st_result_events(rows->result);
	uint32_t event = rows->source[row].event;

	return event < events->count ? events->rows[event].kind : 0;
}

static const struct st_span *span_of(const struct st_rows *rows, uint32_t row)
{
	uint32_t count, span = rows->source[row].span;
	const struct st_span *spans = st_result_spans(rows->result, &count);

	return span == ST_NO_ROW ? NULL : &spans[span];
}

/* A row of an event of this kind. */
static uint64_t read_kind(const struct st_dataset *dataset, uint32_t row, unsigned int kind)
{
	const struct st_rows *rows = rows_of(dataset);

	return !span_of(rows, row) && event_kind(rows, row) == kind;
}

static uint64_t read_cancelled(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	const struct st_rows *rows = rows_of(dataset);
	const struct st_span *span = span_of(rows, row);
	uint32_t detail;

	(void)arg;
	if (span)
		return span->kind != ST_SPAN_HOLD && span->flags & ST_SPAN_CANCELLED;
	if (event_kind(rows, row) != ST_EVENT_WAIT_SUM)
		return 0;
	detail = st_result_events(rows->result)->rows[rows->source[row].event].detail;
	return st_wait_is_given_up(detail & ST_WAIT_KIND_MASK, detail >> ST_WAIT_OUTCOME_SHIFT)
		       ? st_wait_sum_count(detail)
		       : 0;
}

static uint64_t read_hold(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	const struct st_rows *rows = rows_of(dataset);
	const struct st_span *span = span_of(rows, row);
	const struct st_event_row *event;

	if (span)
		return span->kind != ST_SPAN_HOLD ? 0 : arg == ST_HOLDS ? 1 : dataset->self_ns[row];
	if (event_kind(rows, row) != ST_EVENT_HOLD_SUM)
		return 0;
	event = &st_result_events(rows->result)->rows[rows->source[row].event];
	return arg == ST_HOLDS ? st_wait_sum_count(event->detail) : event->extra;
}

/* Waits that were only added up. */
static uint64_t read_short(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	const struct st_rows *rows = rows_of(dataset);
	const struct st_event_row *event;

	if (span_of(rows, row) || event_kind(rows, row) != ST_EVENT_WAIT_SUM)
		return 0;
	event = &st_result_events(rows->result)->rows[rows->source[row].event];
	return arg == ST_SHORT_WAITS ? st_wait_sum_count(event->detail) : event->extra;
}

/* Of a wait: ready to go on, or spinning, and others had the CPU. */
static uint64_t read_preempted(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	const struct st_rows *rows = rows_of(dataset);
	const struct st_span *span = span_of(rows, row);

	(void)arg;
	return span && span->kind == ST_SPAN_WAIT
		       ? rows->times.waits[rows->source[row].span].preempted_ns
		       : 0;
}

/* The same from a moment to another. Pieces are in the order of threads. */
static uint64_t preempted_in(const struct st_dataset *dataset, uint32_t row, int64_t begin_ns,
			     int64_t end_ns)
{
	const struct st_rows *rows = rows_of(dataset);
	const struct st_preempted *pieces = rows->times.preempted;
	uint32_t span = rows->source[row].span, track = rows->columns[ST_BY_THREAD][row];
	uint32_t at = ST_SEARCH(i, 0, rows->times.preempted_count, pieces[i].track < track);
	uint64_t sum_ns = 0;

	if (!read_preempted(dataset, row, 0))
		return 0;
	for (; at < rows->times.preempted_count && pieces[at].track == track; at++) {
		int64_t from_ns = pieces[at].begin_ns, to_ns = from_ns + (int64_t)pieces[at].ns;

		if (pieces[at].span != span)
			continue;
		from_ns = from_ns > begin_ns ? from_ns : begin_ns;
		to_ns = to_ns < end_ns ? to_ns : end_ns;
		sum_ns += to_ns > from_ns ? (uint64_t)(to_ns - from_ns) : 0;
	}
	return sum_ns;
}

static uint64_t read_bytes(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	const struct st_heap_call *call = &rows_of(dataset)->heap_calls[row];

	return arg == ST_HEAP_FREED ? call->free_bytes : call->alloc_bytes;
}

#define SUM(how, what) .fold = ST_FOLD_SUM, .read = (how), .arg = (what)

const struct st_measure st_sync_measures[ST_SYNC_MEASURES] = {
	{ST_CANCELLED, "cancelled", "cancelled", "Cancelled", "", SUM(read_cancelled, 0)},
	{ST_ACQUISITIONS, "acquisitions", "acquisitions", "Acquisitions", "",
	 SUM(read_kind, ST_EVENT_SYNC_ACQUIRED)},
	{ST_RELEASES, "releases", "releases", "Releases", "",
	 SUM(read_kind, ST_EVENT_SYNC_RELEASING)},
	{ST_HOLD_TOTAL, "hold-total", "hold_total_ns", "Hold Time", "ns",
	 SUM(read_hold, ST_HOLD_TOTAL), .is_time = true},
	{ST_HOLD_AVG, "hold-avg", "hold_avg_ns", "Average Hold Time", "ns", ST_FOLD_AVERAGE,
	 .part = ST_HOLD_TOTAL, .whole = ST_HOLDS},
	{ST_HOLDS, SUM(read_hold, ST_HOLDS)},
	{ST_SHORT_WAITS, "short-waits", "short_waits", "Short Waits", "",
	 SUM(read_short, ST_SHORT_WAITS)},
	{ST_SHORT_WAIT_TOTAL, "short-wait-total", "short_wait_ns", "Short Wait Time", "ns",
	 SUM(read_short, ST_SHORT_WAIT_TOTAL)},
	/* Those with a row of their own and those without. */
	{ST_WAIT, "wait", "wait_ns", "Wait Time", "ns", ST_FOLD_BOTH, .part = ST_WALL_TOTAL,
	 .whole = ST_SHORT_WAIT_TOTAL},
	{ST_PREEMPTED, "preempted", "preempted_ns", "Preemption Wait Time", "ns",
	 SUM(read_preempted, 0), .is_time = true, .read_part = preempted_in},
	{ST_WAIT_COUNT, "wait-count", "wait_count", "Wait Count", "", ST_FOLD_BOTH,
	 .part = ST_COUNT, .whole = ST_SHORT_WAITS},
	{ST_WAIT_AVG, "wait-avg", "wait_avg_ns", "Average Wait Time", "ns", ST_FOLD_AVERAGE,
	 .part = ST_WAIT, .whole = ST_WAIT_COUNT},
};

const struct st_measure st_heap_measures[ST_HEAP_MEASURES] = {
	{ST_HEAP_ALLOCATIONS, "allocations", "allocations", "Allocations", "",
	 SUM(read_kind, ST_EVENT_HEAP_ALLOCATE_END)},
	{ST_HEAP_REALLOCATIONS, "reallocations", "reallocations", "Reallocations", "",
	 SUM(read_kind, ST_EVENT_HEAP_REALLOCATE_END)},
	{ST_HEAP_FREES, "frees", "frees", "Frees", "", SUM(read_kind, ST_EVENT_HEAP_FREE_END)},
	{ST_HEAP_ALLOCATED, "heap-allocated", "alloc_bytes", "Allocated", "bytes",
	 SUM(read_bytes, ST_HEAP_ALLOCATED)},
	{ST_HEAP_FREED, "heap-freed", "free_bytes", "Freed", "bytes",
	 SUM(read_bytes, ST_HEAP_FREED)},
	{ST_HEAP_KEPT, "heap-kept", "delta_bytes", "Not Freed", "bytes", ST_FOLD_DIFFERENCE,
	 .part = ST_HEAP_ALLOCATED, .whole = ST_HEAP_FREED},
};

/* Blocks in use, by process and address. */
struct blocks {
	struct st_pair_map places;
	uint64_t *sizes; /* by number of the place; 0: no block is there */
	uint32_t capacity;
};

/* The size of the block at a place; NULL when there is no memory. */
static uint64_t *size_at(struct blocks *blocks, uint32_t process, uint64_t address)
{
	uint32_t place = st_pair_map_add(&blocks->places, process, address);

	if (blocks->places.failed || !ST_VEC_ROOM_ZERO(blocks->sizes, place, blocks->capacity))
		return NULL;
	return &blocks->sizes[place];
}

static uint64_t freed_address(const struct st_rows *rows, const struct st_event_row *event)
{
	uint32_t count;
	const struct st_itt_id *ids = st_result_ids(rows->result, &count);

	if (event->kind == ST_EVENT_HEAP_FREE_END)
		return event->value;
	return event->id < count ? ids[event->id].d[0] : 0;
}

static bool follow(struct blocks *blocks, struct st_rows *rows, uint32_t row)
{
	const struct st_event_row *event =
		&st_result_events(rows->result)->rows[rows->source[row].event];
	uint32_t process = rows->columns[ST_BY_PROCESS][row];
	struct st_heap_call *call = &rows->heap_calls[row];
	uint64_t *size;

	if (event->kind != ST_EVENT_HEAP_ALLOCATE_END) {
		size = size_at(blocks, process, freed_address(rows, event));
		if (!size)
			return false;
		call->free_bytes = *size;
		*size = 0;
	}
	/* A call that failed has no block. */
	if (event->kind == ST_EVENT_HEAP_FREE_END || !event->value)
		return true;
	call->alloc_bytes = event->extra;
	size = size_at(blocks, process, event->value);
	if (size)
		*size = event->extra;
	return size;
}

bool st_heap_calls_make(struct st_rows *rows)
{
	struct blocks blocks = {0};
	uint32_t row = 0;

	rows->heap_calls =
		st_arena_calloc(&rows->arena, (size_t)rows->count + 1, sizeof(*rows->heap_calls));
	while (rows->heap_calls && row < rows->count && follow(&blocks, rows, row))
		row++;
	st_pair_map_fini(&blocks.places);
	free(blocks.sizes);
	return rows->heap_calls && row == rows->count;
}
