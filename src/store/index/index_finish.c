// SPDX-License-Identifier: Apache-2.0
//
// What can be computed only when all rows are present: which slices were cut by a pause, how much of
// each is its own, and how many carry which flag.
#include "store/index/index_build.h"

#include "store/model/model.h"

static uint64_t wall_ns(struct st_pause_range pauses, int64_t begin_ns, int64_t end_ns)
{
	uint64_t wall;

	if (end_ns <= begin_ns)
		return 0;
	wall = (uint64_t)(end_ns - begin_ns);
	return pauses.count ? wall - st_pause_overlap_ns(pauses, begin_ns, end_ns) : wall;
}

/* A slice that ends inside a pause ends where the pause began: nobody saw the rest. */
static void clip(struct st_index_columns *columns, uint32_t row, struct st_pause_range pauses)
{
	const struct st_pause_span *span = st_pause_at(pauses, columns->end_ns[row]);
	int64_t begin_ns = columns->begin_ns[row];

	if (span) {
		columns->end_ns[row] = span->begin_ns > begin_ns ? span->begin_ns : begin_ns;
		columns->flags[row] |= ST_SLICE_CLIPPED;
	} else if (st_pause_overlap_ns(pauses, begin_ns, columns->end_ns[row])) {
		columns->flags[row] |= ST_SLICE_CLIPPED;
	}
}

/* Takes a row's time out of its parent's own, as far as it lies within the parent. */
static void leave_to_child(struct st_index_columns *columns, uint32_t row, uint64_t wall,
			   struct st_pause_range pauses)
{
	uint32_t parent = columns->parent[row];

	if (columns->end_ns[row] > columns->end_ns[parent])
		wall = wall_ns(pauses, columns->begin_ns[row], columns->end_ns[parent]);
	columns->self_ns[parent] -=
		wall < columns->self_ns[parent] ? wall : columns->self_ns[parent];
}

static void finish_track(struct st_index_builder *builder, const struct st_index_track *track)
{
	struct st_index_columns *columns = &builder->index->columns;
	struct st_pause_range pauses = st_pauses_of(&builder->meta->pauses, track->process_id);
	uint64_t unfinished = 0, clipped = 0, mismatched = 0;

	for (uint32_t row = track->row_begin; row < track->row_end; row++) {
		uint64_t wall;
		uint16_t flags;

		if (pauses.count)
			clip(columns, row, pauses);
		wall = wall_ns(pauses, columns->begin_ns[row], columns->end_ns[row]);
		flags = columns->flags[row];
		/* All of a twin's time is its operator's. */
		columns->self_ns[row] = flags & ST_SLICE_TWIN ? 0 : wall;
		if (columns->parent[row] != ST_NO_ROW && !(flags & ST_SLICE_TWIN))
			leave_to_child(columns, row, wall, pauses);
		if (!flags)
			continue;
		unfinished += flags & ST_SLICE_UNFINISHED ? 1 : 0;
		clipped += flags & ST_SLICE_CLIPPED ? 1 : 0;
		mismatched += flags & ST_SLICE_MISMATCHED ? 1 : 0;
	}
	builder->meta->unfinished += unfinished;
	builder->meta->clipped += clipped;
	builder->meta->mismatched += mismatched;
}

void st_index_finish(struct st_index_builder *builder)
{
	for (uint32_t i = 0; i < builder->meta->track_count; i++)
		finish_track(builder, &builder->meta->tracks[i]);
}
