// SPDX-License-Identifier: Apache-2.0
//
// First pass over the trace: which chunks are there, whose they are, how many rows they will make, and
// what the clock says. Slices are not unpacked yet; their headers are only believed as far as the size
// of the chunk allows.
#include "store/index/index_build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/rt/clock.h"
#include "base/vec.h"
#include "format/chunk.h"
#include "store/model/model.h"
#include "store/model/segment.h"
#include "store/model/source.h"

enum {
	/* A writer keeps to ST_CHUNK_RECORDS_MAX; the reader is a little more generous. */
	RECORDS_ACCEPTED_MAX = 4 * ST_CHUNK_RECORDS_MAX,
	SLICES_HEAD_BYTES = 16,
	EVENT_MIN_BYTES = 5, /* beyond what every record takes: mark, size, kind, mask, detail */
	TRACKS_MAX = 1 << 24,
	PAIRS_MAX = 1 << 24,
};

uint32_t st_index_find_track(struct st_index_builder *builder, uint32_t process_id,
			     uint32_t track_id)
{
	uint64_t key = st_id_pair(process_id, track_id);
	uint32_t at = st_id_map_get(&builder->track_index, key);

	if (at != ST_ID_NONE)
		return at;
	at = builder->track_count;
	if (at >= TRACKS_MAX || !ST_VEC_ROOM(builder->tracks, at, builder->track_capacity) ||
	    !st_id_map_put(&builder->track_index, key, at)) {
		builder->no_memory = true;
		return ST_ID_NONE;
	}
	memset(&builder->tracks[at], 0, sizeof(builder->tracks[at]));
	builder->tracks[at].process_id = process_id;
	builder->tracks[at].track_id = track_id;
	builder->track_count++;
	return at;
}

/* Every record takes two bytes at least, a begin three, an event seven. */
static bool is_plausible(const struct st_chunk_header *header)
{
	uint64_t least = SLICES_HEAD_BYTES + 2ull * header->record_count + header->begin_count +
			 EVENT_MIN_BYTES * (uint64_t)header->event_count;

	return header->process && header->track && header->record_count <= RECORDS_ACCEPTED_MAX &&
	       header->begin_count <= header->record_count &&
	       header->event_count <= header->record_count - header->begin_count &&
	       least <= header->raw_bytes && header->first_time <= header->last_time;
}

static void saw_times(struct st_index_builder *builder, const struct st_chunk_header *header)
{
	if (header->last_time > builder->last_ticks)
		builder->last_ticks = header->last_time;
	if (header->first_time < builder->first_ticks)
		builder->first_ticks = header->first_time;
}

static void reject(struct st_chunk_walk *walk, const struct st_chunk_view *view)
{
	struct st_error why = {0};

	st_error_set(&why, ST_ECORRUPT, 0, "its counts are impossible");
	st_walk_reject(walk, view, &why);
}

/* A chunk that is taken: what it tells of the time. */
static void saw_chunk(struct st_index_builder *builder, const struct st_chunk_view *view,
		      uint32_t segment)
{
	if (builder->has_window && segment == builder->first_segment &&
	    view->header.first_time < builder->window_ticks)
		builder->window_ticks = view->header.first_time;
	saw_times(builder, &view->header);
}

static void add_slices(struct st_index_builder *builder, struct st_chunk_walk *walk,
		       const struct st_chunk_view *view, uint32_t segment)
{
	uint32_t rows_max = builder->request->rows_max;
	struct st_track_state *track;
	uint32_t at;

	if (!is_plausible(&view->header)) {
		reject(walk, view);
		return;
	}
	if (builder->row_count + view->header.begin_count >= (rows_max ? rows_max : ST_NO_ROW) ||
	    builder->event_count + view->header.event_count >= (rows_max ? rows_max : ST_NO_ROW)) {
		builder->too_many_rows = true;
		return;
	}
	at = st_index_find_track(builder, view->header.process, view->header.track);
	if (at == ST_ID_NONE ||
	    !ST_VEC_ROOM(builder->refs, builder->ref_count, builder->ref_capacity)) {
		builder->no_memory = true;
		return;
	}
	track = &builder->tracks[at];
	track->rows += view->header.begin_count;
	if (!track->has_first || view->header.first_time < track->first_ticks)
		track->first_ticks = view->header.first_time;
	track->has_first = true;
	builder->row_count += view->header.begin_count;
	track->events += view->header.event_count;
	builder->event_count += view->header.event_count;
	builder->refs[builder->ref_count++] =
		(struct st_chunk_ref){.offset = view->offset,
				      .segment = segment,
				      .track = at,
				      .begins = view->header.begin_count,
				      .events = view->header.event_count};
	saw_chunk(builder, view, segment);
}

static void add_calibration(struct st_index_builder *builder)
{
	struct st_clock_pair pair;

	_Static_assert(sizeof(pair) == 24, "a pair lies in the file as it lies in memory");
	if (builder->raw.size_bytes < sizeof(pair) || builder->pair_count >= PAIRS_MAX)
		return;
	if (!ST_VEC_ROOM(builder->pairs, builder->pair_count, builder->pair_capacity)) {
		builder->no_memory = true;
		return;
	}
	memcpy(&pair, builder->raw.data, sizeof(pair));
	builder->pairs[builder->pair_count++] = pair;
}

/* What was open when the first file there is was begun, and files before it are gone. */
static void add_opens(struct st_index_builder *builder, struct st_chunk_walk *walk,
		      const struct st_chunk_view *view)
{
	const struct st_chunk_header *header = &view->header;
	struct st_open_record record;

	if ((uint64_t)header->record_count * sizeof(record) > builder->raw.size_bytes ||
	    !header->process) {
		reject(walk, view);
		return;
	}
	if (header->first_time && header->first_time < builder->window_ticks)
		builder->window_ticks = header->first_time;
	for (uint32_t i = 0; i < header->record_count && !builder->no_memory; i++) {
		struct st_open_ref open;

		memcpy(&record, builder->raw.data + i * sizeof(record), sizeof(record));
		if (builder->row_count + 1 >= ST_NO_ROW)
			builder->too_many_rows = true;
		if (!record.track || builder->too_many_rows)
			continue;
		open = (struct st_open_ref){
			.track = st_index_find_track(builder, header->process, record.track),
			.domain = record.domain,
			.name = record.name,
			.signature = record.signature};
		if (open.track == ST_ID_NONE ||
		    !ST_VEC_ROOM(builder->opens, builder->open_count, builder->open_capacity)) {
			builder->no_memory = true;
			return;
		}
		builder->opens[builder->open_count++] = open;
		builder->tracks[open.track].rows++;
		builder->row_count++;
	}
}

/* False: the file is of another result, or no trace at all. */
static bool check_head(struct st_index_builder *builder, const struct st_source_file *file)
{
	struct st_file_head head;

	if (builder->raw.size_bytes < sizeof(head))
		return true;
	memcpy(&head, builder->raw.data, sizeof(head));
	if (head.file_kind == ST_FILE_TRACE &&
	    st_model_offer_head(builder->request->model, &head)) {
		builder->meta->is_ring |= (head.flags & ST_FILE_RING_BUFFER) != 0;
		return true;
	}
	st_notes_add(&builder->meta->notes, "%s belongs to a different result and is ignored",
		     file->name);
	builder->meta->damaged_bytes += file->size_bytes;
	return false;
}

/* One chunk; false ends the file. */
static bool scan_chunk(struct st_index_builder *builder, struct st_chunk_walk *walk,
		       const struct st_chunk_view *view, uint32_t segment)
{
	struct st_error why = {0};
	uint16_t type = view->header.type;

	if (type == ST_CHUNK_SLICES) {
		add_slices(builder, walk, view, segment);
		return true;
	}
	if (type == ST_CHUNK_SAMPLES) {
		if (st_index_add_samples(builder, &view->header, segment, view->offset))
			saw_chunk(builder, view, segment);
		else
			reject(walk, view);
		return true;
	}
	if (type == ST_CHUNK_CALLS) {
		if (is_plausible(&view->header) &&
		    st_index_add_calls(builder, &view->header, segment, view->offset))
			saw_chunk(builder, view, segment);
		else
			reject(walk, view);
		return true;
	}
	if (type == ST_CHUNK_OPEN && !(builder->has_window && segment == builder->first_segment))
		return true;
	if (type != ST_CHUNK_FILE && type != ST_CHUNK_CALIBRATION && type != ST_CHUNK_OPEN &&
	    type != ST_CHUNK_DEVICE && type != ST_CHUNK_OFF_CPU)
		return true;
	if (st_unpacker_read(builder->unpacker, &view->header, view->packed, &builder->raw, &why)) {
		/* Sound bytes that found no memory are not damaged. */
		if (why.status == ST_ENOMEM)
			builder->no_memory = true;
		else
			st_walk_reject(walk, view, &why);
		return true;
	}
	if (type == ST_CHUNK_FILE)
		return check_head(builder, &builder->request->source->segments[segment]);
	if (type == ST_CHUNK_DEVICE || type == ST_CHUNK_OFF_CPU) {
		saw_chunk(builder, view, segment);
		if (!(type == ST_CHUNK_DEVICE ? st_index_add_devices
					      : st_index_add_off_cpu)(builder, &view->header, &why))
			st_walk_reject(walk, view, &why);
		return true;
	}
	if (type == ST_CHUNK_OPEN) {
		add_opens(builder, walk, view);
		return true;
	}
	add_calibration(builder);
	saw_times(builder, &view->header);
	return true;
}

static enum st_status scan_segment(struct st_index_builder *builder, uint32_t segment,
				   struct st_error *err)
{
	const struct st_source *source = builder->request->source;
	const struct st_source_file *file = &source->segments[segment];
	enum st_status status;
	struct st_chunk_view view;
	struct st_chunk_walk walk;

	st_chunk_walk_init(&walk, file->name, file->data, file->size_bytes, &builder->meta->notes);
	/* Only the last file grows; those before it were closed when it was begun. */
	walk.writing = builder->request->writing;
	if (walk.writing == ST_WRITING_NOW && segment + 1 < source->segment_count)
		walk.writing = ST_WRITING_TORN;
	while ((status = st_chunk_walk_next(&walk, &view, err)) == ST_OK && !builder->no_memory)
		if (!scan_chunk(builder, &walk, &view, segment))
			break;
	builder->meta->damaged_chunks += walk.damaged_chunks;
	builder->meta->damaged_bytes += walk.damaged_bytes;
	return status == ST_ENOTFOUND ? ST_OK : status;
}

/* Without any head left the start is the first thing known; one tick is then a nanosecond, unless the
 * clock readings say otherwise. */
static void make_up_head(struct st_index_builder *builder)
{
	struct st_model *model = builder->request->model;

	if (model->has_head)
		return;
	memset(&model->head, 0, sizeof(model->head));
	model->head.clock = ST_CLOCK_MONO_RAW;
	model->head.start_ticks = builder->first_ticks == UINT64_MAX ? 0 : builder->first_ticks;
	if (builder->pair_count) {
		model->head.clock = ST_CLOCK_TSC;
		model->head.start_ticks = builder->pairs[0].ticks;
		model->head.start_mono_raw_ns = builder->pairs[0].mono_raw_ns;
	}
	if (builder->ref_count || builder->sample_ref_count)
		st_notes_add(&builder->meta->notes, "the header of every file is damaged: times "
						    "are relative to the first known one");
}

/* Threads that are defined but have no chunk are tracks too. */
static void add_defined_tracks(struct st_index_builder *builder)
{
	const struct st_model *model = builder->request->model;

	for (uint32_t i = 0; i < model->track_count && !builder->no_memory; i++) {
		const struct st_track_definition *thread = &model->tracks[i];
		uint32_t at;

		if (!thread->is_defined)
			continue;
		at = st_index_find_track(builder, thread->process_id, thread->track_id);
		if (at == ST_ID_NONE)
			continue;
		if (!builder->tracks[at].has_first ||
		    thread->first_ticks < builder->tracks[at].first_ticks)
			builder->tracks[at].first_ticks = thread->first_ticks;
		builder->tracks[at].has_first = true;
	}
}

enum st_status st_index_scan(struct st_index_builder *builder, struct st_error *err)
{
	const struct st_source *source = builder->request->source;
	enum st_status status = ST_OK;

	builder->first_ticks = builder->window_ticks = UINT64_MAX;
	/* A file of a running ring buffer may go while it is being opened. */
	while (builder->first_segment + 1 < source->segment_count &&
	       !source->segments[builder->first_segment].size_bytes)
		builder->first_segment++;
	builder->has_window =
		source->segment_count && source->segments[builder->first_segment].number > 0;
	builder->last_ticks = builder->request->model->last_ticks;
	for (uint32_t i = 0; i < source->segment_count && !status; i++)
		status = scan_segment(builder, i, err);
	if (status)
		return status;
	if (builder->window_ticks == UINT64_MAX)
		builder->has_window = false;
	make_up_head(builder);
	add_defined_tracks(builder);
	st_index_sort_devices(builder);
	if (!builder->no_memory)
		status = st_clock_map_build(&builder->meta->clock, &builder->request->model->head,
					    builder->pairs, builder->pair_count,
					    &builder->meta->notes);
	if (builder->no_memory || status)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory while reading the trace");
	if (builder->too_many_rows)
		st_notes_add(&builder->meta->notes,
			     "too many slices or samples for one index: only the first %" PRIu64
			     " slices and %" PRIu64 " samples are shown",
			     builder->row_count, builder->sample_count);
	return ST_OK;
}
