// SPDX-License-Identifier: Apache-2.0
//
// What devices did and the calls that drive them: whole slices that come later than what was around them. They are
// decoded with the first pass and sorted; a call takes its place among its thread's own slices while these are decoded,
// so that it lies in the operator that made it. What ran on a device lies in nothing: where two of a stream run at
// the same time (nodes of a graph), the second is shown a level deeper. Waits have no slice of their own: they say what
// the call of the same number waited for.
#include "store/index/index_build.h"

#include <stdlib.h>

#include "base/search.h"
#include "base/vec.h"
#include "format/chunk.h"
#include "format/device.h"
#include "format/slices.h"
#include "store/model/model.h"

enum {
	RECORDS_ACCEPTED_MAX = 4 * ST_CHUNK_RECORDS_MAX,
	LANES_MAX = 64, /* of a stream; what is deeper shares the last */
};

struct st_device_slice {
	struct st_device_record record;
	uint32_t track; /* index into builder->tracks */
	uint32_t row;
};

/* More of a call. */
struct st_device_wait_record {
	uint32_t process_id, correlation, stream, context;
	uint64_t begin, what;
};

/* The last that is told of a device counts. */
static void add_about(struct st_index_builder *builder, uint32_t process_id,
		      const struct st_device_record *record)
{
	struct st_index_tables *out = &builder->meta->tables;
	const struct st_device_about about = {
		.process = st_model_process(builder->request->model, process_id),
		.device = record->device,
		.name = st_index_texts_of(builder, process_id, record->domain, record->name).name,
		.processors = record->grid[ST_ABOUT_PROCESSORS],
		.threads = record->grid[ST_ABOUT_THREADS],
		.registers = record->grid[ST_ABOUT_REGISTERS],
		.blocks = record->block[ST_ABOUT_BLOCKS],
		.shared_bytes = record->shared_static,
		.warp = record->block[ST_ABOUT_WARP],
		.version = record->block[ST_ABOUT_VERSION],
		.block_shared_bytes = record->shared_dynamic,
		.reserved_shared_bytes = record->registers,
		.block_registers = record->graph,
		.memory_bytes = record->value,
	};

	for (uint32_t i = 0; i < out->about_count; i++)
		if (out->abouts[i].process == about.process &&
		    out->abouts[i].device == about.device) {
			out->abouts[i] = about;
			return;
		}
	if (about.process != ST_NO_ROW && about.process != ST_ID_NONE &&
	    !ST_VEC_PUSH(out->abouts, out->about_count, builder->devices.about_capacity, about))
		builder->no_memory = true;
}

/* What is no slice. */
static bool add_facts(struct st_index_builder *builder, const struct st_chunk_header *header,
		      struct st_device_decoder *decoder, struct st_error *why)
{
	struct st_device_tables *tables = &builder->devices;
	struct st_device_record record;

	while (st_device_decoder_next(decoder, &record, why) && !builder->no_memory) {
		const struct st_device_wait_record wait = {.process_id = header->process,
							   .correlation = record.correlation,
							   .stream = record.where,
							   .context = record.context,
							   .begin = record.begin,
							   .what = record.value};

		if (record.kind == ST_DEVICE_ABOUT)
			add_about(builder, header->process, &record);
		if (record.kind == ST_DEVICE_WAIT && record.correlation &&
		    !ST_VEC_PUSH(tables->waits, tables->wait_count, tables->wait_capacity, wait))
			builder->no_memory = true;
	}
	return why->status == ST_OK;
}

bool st_index_add_devices(struct st_index_builder *builder, const struct st_chunk_header *header,
			  struct st_error *why)
{
	uint32_t rows_max = builder->request->rows_max, at;
	struct st_device_tables *tables = &builder->devices;
	struct st_device_decoder decoder;
	struct st_device_record record;

	if (!header->process || header->record_count > RECORDS_ACCEPTED_MAX ||
	    st_device_decoder_init(&decoder, header, builder->raw.data, builder->raw.size_bytes,
				   why))
		return false;
	if (!header->track)
		return add_facts(builder, header, &decoder, why);
	at = st_index_find_track(builder, header->process, header->track);
	if (at == ST_ID_NONE)
		return true;
	while (st_device_decoder_next(&decoder, &record, why) && !builder->no_memory) {
		if (builder->row_count + 1 >= (rows_max ? rows_max : ST_NO_ROW)) {
			builder->too_many_rows = true;
			break;
		}
		if (!ST_VEC_PUSH(tables->slices, tables->count, tables->capacity,
				 (struct st_device_slice){.record = record, .track = at}))
			builder->no_memory = true;
		builder->tracks[at].rows++;
		builder->row_count++;
	}
	if (!builder->tracks[at].has_first || header->first_time < builder->tracks[at].first_ticks)
		builder->tracks[at].first_ticks = header->first_time;
	builder->tracks[at].has_first = true;
	return why->status == ST_OK;
}

/* What is around another comes before it. */
static int by_track_and_time(const void *a, const void *b)
{
	const struct st_device_slice *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->record.begin != y->record.begin)
		return x->record.begin < y->record.begin ? -1 : 1;
	if (x->record.end != y->record.end)
		return x->record.end > y->record.end ? -1 : 1;
	return (x->record.correlation > y->record.correlation) -
	       (x->record.correlation < y->record.correlation);
}

void st_index_sort_devices(struct st_index_builder *builder)
{
	struct st_device_tables *tables = &builder->devices;

	if (tables->count)
		qsort(tables->slices, tables->count, sizeof(*tables->slices), by_track_and_time);
	for (uint32_t i = 0; i < tables->count; i++) {
		struct st_track_state *track = &builder->tracks[tables->slices[i].track];

		if (track->device_at == track->device_end)
			track->device_at = i;
		track->device_end = i + 1;
	}
}

void st_index_rewind_devices(struct st_index_builder *builder)
{
	struct st_device_tables *tables = &builder->devices;

	for (uint32_t i = 0; i < builder->track_count; i++)
		builder->tracks[i].device_at = builder->tracks[i].device_end = 0;
	for (uint32_t i = 0; i < tables->count; i++)
		builder->tracks[tables->slices[i].track].rows++;
	st_index_sort_devices(builder);
}

static int64_t ns_of(struct st_index_builder *builder, struct st_track_state *track, uint64_t ticks)
{
	return st_clock_map_ns(&builder->meta->clock, &track->device_hint, ticks);
}

static bool begin(struct st_index_builder *builder, struct st_track_state *track,
		  struct st_device_slice *slice, uint32_t parent)
{
	const struct st_device_record *record = &slice->record;
	struct st_index_columns *columns = &builder->index->columns;
	uint32_t row = track->next_row++;
	uint32_t label =
		st_index_label_of(builder, track->process_id, record->domain, record->name);
	int64_t begin_ns = ns_of(builder, track, record->begin);
	int64_t end_ns = ns_of(builder, track, record->end);

	if (label == ST_ID_NONE) {
		builder->no_memory = true;
		return false;
	}
	slice->row = row;
	columns->begin_ns[row] = begin_ns < 0 ? 0 : begin_ns;
	columns->end_ns[row] = end_ns < columns->begin_ns[row] ? columns->begin_ns[row] : end_ns;
	columns->label[row] = label;
	columns->track[row] = track->final;
	columns->parent[row] = parent;
	columns->depth[row] = 0;
	if (parent != ST_NO_ROW)
		columns->depth[row] = columns->depth[parent] == UINT16_MAX
					      ? UINT16_MAX
					      : (uint16_t)(columns->depth[parent] + 1);
	columns->flags[row] = record->flags & ST_DEVICE_UNFINISHED ? ST_SLICE_UNFINISHED : 0;
	return true;
}

/* The lowest lane that is free at its begin. */
static uint16_t lane_of(int64_t ends[LANES_MAX], int64_t begin_ns, int64_t end_ns)
{
	uint16_t lane = 0;

	while (lane + 1 < LANES_MAX && ends[lane] > begin_ns)
		lane++;
	ends[lane] = end_ns;
	return lane;
}

void st_index_take_streams(struct st_index_builder *builder)
{
	struct st_device_tables *tables = &builder->devices;
	struct st_index_columns *columns = &builder->index->columns;
	int64_t ends[LANES_MAX] = {0};

	for (uint32_t i = 0; i < tables->count && !builder->no_memory; i++) {
		struct st_device_slice *slice = &tables->slices[i];
		struct st_track_state *track = &builder->tracks[slice->track];

		if (slice->record.kind == ST_DEVICE_CALL)
			continue;
		if (i == track->device_at)
			for (unsigned int lane = 0; lane < LANES_MAX; lane++)
				ends[lane] = 0;
		if (!begin(builder, track, slice, ST_NO_ROW))
			return;
		columns->depth[slice->row] =
			lane_of(ends, columns->begin_ns[slice->row], columns->end_ns[slice->row]);
	}
}

static struct st_open_slice *innermost_call(struct st_track_state *track)
{
	for (uint32_t i = track->open_calls ? track->depth : 0; i > 0; i--)
		if (track->stack[i - 1].call_end)
			return &track->stack[i - 1];
	return NULL;
}

static void end_call(struct st_track_state *track, struct st_open_slice *open)
{
	struct st_open_slice *last = &track->stack[--track->depth];

	for (; open < last; open++)
		open[0] = open[1];
	track->open_calls--;
}

static void join_samples(struct st_index_builder *builder, struct st_track_state *track,
			 uint64_t ticks)
{
	if (track->join_at < track->sample_end)
		st_index_join_samples(builder, track, ticks);
}

static bool begin_call(struct st_index_builder *builder, struct st_track_state *track)
{
	struct st_device_slice *slice = &builder->devices.slices[track->device_at++];
	const struct st_open_slice open = {.domain = slice->record.domain,
					   .line = track->line,
					   .row = track->next_row,
					   .item = ST_NO_ROW,
					   .call_end = slice->record.end};

	if (begin(builder, track, slice, st_index_innermost(track)) &&
	    ST_VEC_PUSH(track->stack, track->depth, track->stack_capacity, open)) {
		track->open_calls++;
		return true;
	}
	builder->no_memory = true;
	return false;
}

/* What ran on a device has its row already. */
static const struct st_device_slice *next_call(const struct st_index_builder *builder,
					       struct st_track_state *track)
{
	const struct st_device_slice *slices = builder->devices.slices;

	while (track->device_at < track->device_end &&
	       slices[track->device_at].record.kind != ST_DEVICE_CALL)
		track->device_at++;
	return track->device_at < track->device_end ? &slices[track->device_at] : NULL;
}

void st_index_take_calls_before(struct st_index_builder *builder, struct st_track_state *track,
				uint64_t ticks)
{
	for (;;) {
		const struct st_device_slice *next = next_call(builder, track);
		struct st_open_slice *open = innermost_call(track);

		if (open && (!next || open->call_end <= next->record.begin)) {
			if (open->call_end > ticks)
				return;
			join_samples(builder, track, open->call_end);
			end_call(track, open);
			continue;
		}
		if (!next || next->record.begin >= ticks)
			return;
		join_samples(builder, track, next->record.begin);
		if (!begin_call(builder, track))
			return;
	}
}

static int by_row(const void *a, const void *b)
{
	const struct st_device_item *x = a, *y = b;

	return (x->row > y->row) - (x->row < y->row);
}

static int by_correlation(const void *a, const void *b)
{
	const struct st_device_wait_record *x = a, *y = b;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Numbers come round again: the last that began in the call, or with it. */
static void add_wait(const struct st_index_builder *builder, const struct st_device_slice *call,
		     struct st_device_item *to)
{
	const struct st_device_wait_record *waits = builder->devices.waits;
	const struct st_device_wait_record key = {.process_id =
							  builder->tracks[call->track].process_id,
						  .correlation = call->record.correlation,
						  .begin = call->record.end};
	uint32_t at =
		ST_SEARCH(i, 0, builder->devices.wait_count, by_correlation(&waits[i], &key) <= 0);

	if (!at || waits[at - 1].process_id != key.process_id ||
	    waits[at - 1].correlation != key.correlation ||
	    waits[at - 1].begin < call->record.begin)
		return;
	to->stream = waits[at - 1].stream;
	to->context = waits[at - 1].context;
	to->waits_for = (uint8_t)((uint32_t)waits[at - 1].what < ST_WAITS ? waits[at - 1].what : 0);
	to->graph = (uint32_t)(waits[at - 1].what >> 32);
}

bool st_index_devices_finish(struct st_index_builder *builder)
{
	const struct st_device_tables *tables = &builder->devices;
	struct st_index_tables *out = &builder->meta->tables;

	if (!tables->count)
		return true;
	out->devices = calloc(tables->count, sizeof(*out->devices));
	if (!out->devices)
		return false;
	out->device_count = tables->count;
	if (tables->wait_count)
		qsort(tables->waits, tables->wait_count, sizeof(*tables->waits), by_correlation);
	for (uint32_t i = 0; i < tables->count; i++) {
		const struct st_device_record *from = &tables->slices[i].record;
		struct st_device_item *to = &out->devices[i];

		*to = (struct st_device_item){.row = tables->slices[i].row,
					      .kind = from->kind,
					      .flags = from->flags,
					      .device = from->device,
					      .stream = from->where,
					      .context = from->context,
					      .correlation = from->correlation,
					      .graph = from->graph,
					      .value = from->value,
					      .graph_node = from->graph_node,
					      .registers = from->registers,
					      .shared_static = from->shared_static,
					      .shared_dynamic = from->shared_dynamic};
		if (from->kind == ST_DEVICE_CALL) {
			to->stream = ST_DEVICE_NO_STREAM;
			add_wait(builder, &tables->slices[i], to);
		}
		for (unsigned int axis = 0; axis < 3; axis++) {
			to->grid[axis] = from->grid[axis];
			to->block[axis] = from->block[axis];
		}
	}
	qsort(out->devices, out->device_count, sizeof(*out->devices), by_row);
	return true;
}
