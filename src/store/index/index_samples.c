// SPDX-License-Identifier: Apache-2.0
//
// Samples into their columns (store/index/index_build.h). They are decoded before the slices, with their times as
// ticks, and put in order where chunks overlap. Then every record of a slice first gives what is open to the
// samples before it, so the join is as exact as the clock: a sample at the tick of a begin lies inside, at that of
// an end outside.
#include "store/index/index_build.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "format/chunk.h"
#include "format/samples.h"
#include "store/model/model.h"
#include "store/model/source.h"

enum {
	RECORDS_ACCEPTED_MAX = 4 * ST_CHUNK_RECORDS_MAX,
	SAMPLES_HEAD_BYTES = 12,
	SAMPLE_MIN_BYTES = 4,
	SAMPLE_FLAGS = UINT16_MAX,
};

bool st_index_add_samples(struct st_index_builder *builder, const struct st_chunk_header *header,
			  uint32_t segment, size_t offset)
{
	uint32_t rows_max = builder->request->rows_max, at;
	struct st_track_state *track;

	if (!header->process || !header->track || header->record_count > RECORDS_ACCEPTED_MAX ||
	    header->first_time > header->last_time ||
	    SAMPLES_HEAD_BYTES + SAMPLE_MIN_BYTES * (uint64_t)header->record_count >
		    header->raw_bytes)
		return false;
	if (builder->sample_count + header->record_count >= (rows_max ? rows_max : ST_NO_ROW)) {
		builder->too_many_rows = true;
		return true;
	}
	at = st_index_find_track(builder, header->process, header->track);
	if (at == ST_ID_NONE || !ST_VEC_ROOM(builder->sample_refs, builder->sample_ref_count,
					     builder->sample_ref_capacity)) {
		builder->no_memory = true;
		return true;
	}
	track = &builder->tracks[at];
	track->samples += header->record_count;
	if (!track->has_first || header->first_time < track->first_ticks)
		track->first_ticks = header->first_time;
	track->has_first = true;
	if (header->last_time > builder->last_ticks)
		builder->last_ticks = header->last_time;
	builder->sample_count += header->record_count;
	builder->sample_refs[builder->sample_ref_count++] = (struct st_sample_ref){
		.offset = offset, .segment = segment, .track = at, .count = header->record_count};
	return true;
}

/* Records up to the end or to damage; returns their number. */
static uint32_t decode_records(struct st_index_builder *builder, const struct st_sample_ref *ref,
			       struct st_sample_decoder *decoder, struct st_error *why)
{
	const struct st_forest *forest = &builder->request->model->forest;
	const struct st_sample_columns *columns = &builder->index->columns.samples;
	struct st_track_state *track = &builder->tracks[ref->track];
	struct st_sample_record record;
	uint32_t count = 0;
	bool broken;

	while (st_sample_decoder_next(decoder, &record, why)) {
		uint32_t row = track->next_sample;

		if (count == ref->count) {
			st_error_set(why, ST_ECORRUPT, 0, "more samples than its header says");
			break;
		}
		columns->time_ns[row] = (int64_t)record.time;
		columns->weight_ns[row] = record.weight_ns;
		columns->node[row] =
			st_forest_node(forest, track->process_id, record.node, &broken);
		columns->track[row] = track->final;
		columns->slice[row] = ST_NO_ROW;
		columns->inherited[row] = ST_NO_ROW;
		columns->flags[row] = (uint16_t)(record.flags & SAMPLE_FLAGS);
		if (broken) {
			columns->flags[row] |= ST_SAMPLE_TRUNCATED;
			builder->meta->stacks_missing++;
		}
		track->next_sample++;
		count++;
	}
	return count;
}

/* False: the chunk did not make the rows it promised; ref says what it really holds. */
static bool decode_chunk(struct st_index_builder *builder, struct st_sample_ref *ref)
{
	struct st_error why = {.status = ST_OK};
	struct st_sample_decoder decoder;
	struct st_chunk_header header;
	uint32_t count = 0;
	bool complete;

	if (st_index_unpack(builder, ref->segment, ref->offset, &header, &why) &&
	    st_sample_decoder_init(&decoder, &header, builder->raw.data, builder->raw.size_bytes,
				   &why) == ST_OK)
		count = decode_records(builder, ref, &decoder, &why);
	if (why.status == ST_ENOMEM)
		builder->no_memory = true;
	else if (why.status)
		st_index_note_damage(builder, ref->segment, ref->offset, &why);
	complete = count == ref->count;
	ref->count = count;
	return complete;
}

struct sort_row {
	uint64_t ticks, weight_ns;
	uint32_t node, row;
	uint16_t flags;
};

static int by_time(const void *a, const void *b)
{
	const struct sort_row *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* Chunks of one track may overlap when two sources tell of it (its own handler, and the scheduler). */
static bool sort_track(struct st_index_builder *builder, const struct st_index_track *track)
{
	const struct st_sample_columns *columns = &builder->index->columns.samples;
	uint32_t begin = track->sample_begin, count = track->sample_end - begin;
	struct sort_row *rows;
	bool sorted = true;

	for (uint32_t i = begin + 1; i < track->sample_end; i++)
		sorted &= (uint64_t)columns->time_ns[i - 1] <= (uint64_t)columns->time_ns[i];
	if (sorted)
		return true;
	rows = malloc((size_t)count * sizeof(*rows));
	if (!rows)
		return false;
	for (uint32_t i = 0; i < count; i++)
		rows[i] = (struct sort_row){.ticks = (uint64_t)columns->time_ns[begin + i],
					    .weight_ns = columns->weight_ns[begin + i],
					    .node = columns->node[begin + i],
					    .row = i,
					    .flags = columns->flags[begin + i]};
	qsort(rows, count, sizeof(*rows), by_time);
	for (uint32_t i = 0; i < count; i++) {
		columns->time_ns[begin + i] = (int64_t)rows[i].ticks;
		columns->weight_ns[begin + i] = rows[i].weight_ns;
		columns->node[begin + i] = rows[i].node;
		columns->flags[begin + i] = rows[i].flags;
	}
	free(rows);
	return true;
}

void st_index_decode_samples(struct st_index_builder *builder, bool *short_chunks)
{
	*short_chunks = false;
	builder->meta->stacks_missing = 0;
	for (uint32_t i = 0; i < builder->sample_ref_count && !builder->no_memory; i++)
		if (!decode_chunk(builder, &builder->sample_refs[i]))
			*short_chunks = true;
	/* Rows that were not filled are not looked at: all of it is done again. */
	for (uint32_t i = 0; i < builder->meta->track_count && !*short_chunks; i++)
		if (!sort_track(builder, &builder->meta->tracks[i]))
			builder->no_memory = true;
}

void st_index_join_samples(struct st_index_builder *builder, struct st_track_state *track,
			   uint64_t before_ticks)
{
	const struct st_sample_columns *columns = &builder->index->columns.samples;
	uint32_t slice = ST_NO_ROW;
	bool is_known = false;

	for (; track->join_at < track->sample_end; track->join_at++) {
		uint64_t ticks = (uint64_t)columns->time_ns[track->join_at];
		int64_t ns;

		if (ticks >= before_ticks && before_ticks != UINT64_MAX)
			return;
		if (!is_known)
			slice = st_index_innermost(track);
		is_known = true;
		ns = st_clock_map_ns(&builder->meta->clock, &track->sample_hint, ticks);
		if (ns < track->sample_ns)
			ns = track->sample_ns;
		track->sample_ns = ns;
		columns->time_ns[track->join_at] = ns;
		columns->slice[track->join_at] = slice;
	}
}
