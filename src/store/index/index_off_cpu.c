// SPDX-License-Identifier: Apache-2.0
//
// When threads were on no CPU (format/off_cpu.h): decoded with the first pass, sorted by thread and time at the end.
#include <stdlib.h>

#include "base/vec.h"
#include "format/chunk.h"
#include "format/samples.h"
#include "store/index/index_build.h"
#include "store/off_cpu.h"

enum { RECORDS_ACCEPTED_MAX = 4 * ST_CHUNK_RECORDS_MAX };

struct st_off_record {
	struct st_sample_record record;
	uint32_t track; /* index into builder->tracks */
};

bool st_index_add_off_cpu(struct st_index_builder *builder, const struct st_chunk_header *header,
			  struct st_error *why)
{
	uint32_t rows_max = builder->request->rows_max, at;
	struct st_off_tables *tables = &builder->off_cpu;
	struct st_sample_decoder decoder;
	struct st_sample_record record;

	if (!header->process || !header->track || header->record_count > RECORDS_ACCEPTED_MAX ||
	    st_sample_decoder_init(&decoder, header, builder->raw.data, builder->raw.size_bytes,
				   why))
		return false;
	at = st_index_find_track(builder, header->process, header->track);
	if (at == ST_ID_NONE)
		return true;
	while (st_sample_decoder_next(&decoder, &record, why) && !builder->no_memory) {
		if (tables->count + 1 >= (rows_max ? rows_max : ST_NO_ROW)) {
			builder->too_many_rows = true;
			break;
		}
		if (!ST_VEC_PUSH(tables->records, tables->count, tables->capacity,
				 (struct st_off_record){.record = record, .track = at}))
			builder->no_memory = true;
	}
	if (!builder->tracks[at].has_first || header->first_time < builder->tracks[at].first_ticks)
		builder->tracks[at].first_ticks = header->first_time;
	builder->tracks[at].has_first = true;
	return why->status == ST_OK;
}

static int by_track_and_time(const void *a, const void *b)
{
	const struct st_off_row *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	/* What is said of an absence follows it. */
	return (x->flags > y->flags) - (x->flags < y->flags);
}

bool st_index_off_cpu_finish(struct st_index_builder *builder)
{
	const struct st_off_tables *tables = &builder->off_cpu;
	struct st_index_tables *out = &builder->meta->tables;
	uint32_t hint = 0;

	if (!tables->count)
		return true;
	out->off_cpu = calloc(tables->count, sizeof(*out->off_cpu));
	if (!out->off_cpu)
		return false;
	out->off_cpu_count = tables->count;
	for (uint32_t i = 0; i < tables->count; i++) {
		const struct st_sample_record *from = &tables->records[i].record;
		int64_t ns = st_clock_map_ns(&builder->meta->clock, &hint, from->time);

		out->off_cpu[i] = (struct st_off_row){
			.begin_ns = ns < 0 ? 0 : ns,
			.off_ns = from->weight_ns,
			.track = builder->tracks[tables->records[i].track].final,
			.count = from->node < ST_OFF_COUNT_MAX ? from->node & ST_OFF_COUNT_MAX
							       : ST_OFF_COUNT_MAX,
			.flags = from->flags & ST_OFF_FLAGS_ALL};
	}
	qsort(out->off_cpu, out->off_cpu_count, sizeof(*out->off_cpu), by_track_and_time);
	return true;
}
