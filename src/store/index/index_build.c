// SPDX-License-Identifier: Apache-2.0
//
// The order of things in building an index (store/index/index_build.h): scan, lay out, decode, finish, keep.
#include "store/index/index_build.h"

#include <stdlib.h>
#include <string.h>

#include "format/chunk.h"
#include "format/slices.h"
#include "store/model/model.h"
#include "store/model/source.h"

enum { META_MAX_BYTES = 1 << 30 };

static int by_ids(const void *a, const void *b)
{
	const struct st_index_track *x = a, *y = b;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	return (x->track_id > y->track_id) - (x->track_id < y->track_id);
}

/* Gives every track its rows: one behind the other, processes and threads in order of appearance. */
static bool lay_out(struct st_index_builder *builder)
{
	struct st_index_meta *meta = builder->meta;
	uint32_t row = 0, event = 0, sample = 0;

	free(meta->tracks);
	meta->tracks = calloc((size_t)builder->track_count + 1, sizeof(*meta->tracks));
	if (!meta->tracks)
		return false;
	meta->track_count = builder->track_count;
	for (uint32_t i = 0; i < meta->track_count; i++) {
		meta->tracks[i].process_id = builder->tracks[i].process_id;
		meta->tracks[i].track_id = builder->tracks[i].track_id;
	}
	if (meta->track_count)
		qsort(meta->tracks, meta->track_count, sizeof(*meta->tracks), by_ids);
	for (uint32_t i = 0; i < meta->track_count; i++) {
		struct st_index_track *out = &meta->tracks[i];
		struct st_track_state *track = &builder->tracks[st_id_map_get(
			&builder->track_index, st_id_pair(out->process_id, out->track_id))];

		track->final = i;
		track->next_row = out->row_begin = row;
		row += (uint32_t)track->rows;
		out->row_end = row;
		track->next_event = out->event_begin = event;
		event += (uint32_t)track->events;
		out->event_end = event;
		track->next_sample = track->join_at = out->sample_begin = sample;
		sample += (uint32_t)track->samples;
		track->sample_end = out->sample_end = sample;
		out->creator = ST_NO_ROW;
		/* Numbers of processes stand in the index: they must come out the same when it is read. */
		if (st_model_process(builder->request->model, out->process_id) == ST_ID_NONE)
			return false;
	}
	builder->row_count = row;
	builder->event_count = event;
	builder->sample_count = sample;
	return true;
}

/* Back to before the decoding, with the number of rows each chunk turned out to hold. */
static void rewind_tracks(struct st_index_builder *builder)
{
	for (uint32_t i = 0; i < builder->track_count; i++) {
		struct st_track_state *track = &builder->tracks[i];

		track->rows = 0;
		track->events = 0;
		track->samples = 0;
		track->sample_hint = 0;
		track->sample_ns = 0;
		track->clock_hint = 0;
		track->depth = 0;
		track->line = 0;
		track->has_end = false;
		track->last_ns = 0;
		track->lost = track->unmatched_ends = 0;
		track->device_hint = track->open_calls = 0;
	}
	for (uint32_t i = 0; i < builder->ref_count; i++) {
		struct st_track_state *track = &builder->tracks[builder->refs[i].track];

		track->rows += builder->refs[i].begins;
		track->events += builder->refs[i].events;
	}
	for (uint32_t i = 0; i < builder->sample_ref_count; i++)
		builder->tracks[builder->sample_refs[i].track].samples +=
			builder->sample_refs[i].count;
	for (uint32_t i = 0; i < builder->open_count; i++)
		builder->tracks[builder->opens[i].track].rows++;
	st_index_rewind_devices(builder);
	builder->tables.wide_count = 0;
	builder->tables.wake_count = builder->tables.wait_count = 0;
	builder->operators.count = builder->operators.moment_count = 0;
	builder->operators.missing = 0;
	builder->decoded_before = true;
}

static enum st_status decode(struct st_index_builder *builder, struct st_error *err)
{
	const struct st_index_request *request = builder->request;
	int dir_fd = request->writing == ST_WRITING_NOW ? -1 : request->source->dir_fd;
	struct st_index_shape shape = {0};
	enum st_status status;
	bool again;

	do {
		if (!lay_out(builder) || !st_index_objects_begin(builder))
			return st_error_set(err, ST_ENOMEM, 0, "out of memory for the tracks");
		shape.row_count = (uint32_t)builder->row_count;
		shape.sample_count = (uint32_t)builder->sample_count;
		/* Marks of the family come last. */
		shape.event_count = (uint32_t)builder->event_count + request->model->mark_count;
		status = st_index_create(builder->index, dir_fd, &shape, err);
		if (status)
			return status;
		status = st_index_decode(builder, &again, err);
		if (!status && again && builder->decoded_before)
			return st_error_set(err, ST_ECORRUPT, 0,
					    "the trace is changing while it is being read");
		if (!status && again) {
			/* A chunk held fewer begins than it said: rows would be left empty. */
			st_index_close(builder->index);
			rewind_tracks(builder);
		}
	} while (!status && again);
	return status;
}

static bool add_family_pauses(struct st_index_builder *builder)
{
	const struct st_model *model = builder->request->model;
	struct st_index_meta *meta = builder->meta;
	uint32_t hint = 0;

	for (uint32_t i = 0; i < model->control_count; i++) {
		struct st_pause_event event = {
			.process_id = ST_PAUSE_FAMILY,
			.kind = model->controls[i].kind,
			.ns = st_clock_map_ns(&meta->clock, &hint, model->controls[i].ticks)};

		if (event.kind != ST_MARK_PAUSE && event.kind != ST_MARK_RESUME &&
		    event.kind != ST_MARK_DETACH)
			continue;
		if (!st_pauses_add_event(&meta->pauses, event))
			return false;
	}
	return st_pauses_build(&meta->pauses, meta->last_ns) && st_pauses_merge(&meta->pauses);
}

static void keep(struct st_index_builder *builder, const struct st_index_key *key)
{
	const struct st_model *model = builder->request->model;
	struct st_index_block sections[ST_SECTIONS_MAX], meta = {0};
	struct st_buf out;

	st_buf_init(&out, META_MAX_BYTES);
	st_index_sections_write(builder->meta, sections);
	if (st_index_meta_write(builder->meta, model, &out))
		meta = (struct st_index_block){.data = out.data, .size_bytes = out.size_bytes};
	st_index_commit(builder->index, key, &model->head, sections, &meta);
	st_buf_fini(&out);
}

static void fini(struct st_index_builder *builder)
{
	for (uint32_t i = 0; i < builder->track_count; i++) {
		free(builder->tracks[i].stack);
		free(builder->tracks[i].callers);
	}
	free(builder->opens);
	free(builder->operators.items);
	free(builder->operators.moments);
	free(builder->operators.device_moments);
	free(builder->devices.slices);
	free(builder->devices.waits);
	free(builder->off_cpu.records);
	st_event_tables_fini(&builder->tables);
	free(builder->tracks);
	free(builder->refs);
	free(builder->sample_refs);
	free(builder->call_refs);
	free(builder->pairs);
	free(builder->label_uses);
	st_map_fini(&builder->label_map);
	st_id_map_fini(&builder->track_index);
	st_id_map_fini(&builder->labels);
	st_id_map_fini(&builder->missing_strings);
	st_id_map_fini(&builder->missing_domains);
	st_buf_fini(&builder->raw);
	st_unpacker_destroy(builder->unpacker);
}

enum st_status st_index_build(struct st_index *index, struct st_index_meta *meta,
			      const struct st_index_request *request, struct st_error *err)
{
	struct st_index_builder builder = {.request = request, .index = index, .meta = meta};
	struct st_index_key key = st_index_key_of(request->source);
	enum st_status status;
	uint32_t hint = 0;

	memset(meta, 0, sizeof(*meta));
	memset(index, 0, sizeof(*index));
	index->fd = index->dir_fd = -1;
	meta->text_base = request->model->texts.count;
	st_buf_init(&builder.raw, (size_t)ST_CHUNK_RAW_MAX + 1);
	status = st_unpacker_create(&builder.unpacker, err);
	if (!status)
		status = st_index_scan(&builder, err);
	if (!status) {
		meta->last_ns = st_clock_map_ns(&meta->clock, &hint, builder.last_ticks);
		status = decode(&builder, err);
	}
	if (!status && !add_family_pauses(&builder))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the pauses");
	if (!status && !st_index_twins(&builder))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the operators");
	if (!status) {
		st_index_finish(&builder);
		builder.no_memory |=
			!st_index_devices_finish(&builder) || !st_index_off_cpu_finish(&builder);
		st_index_finish_events(&builder);
		if (builder.no_memory || !st_index_inherit(&builder) ||
		    !st_index_operators_finish(&builder) || !st_index_calls(&builder))
			status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the events");
	}
	if (!status) {
		keep(&builder, &key);
	} else {
		st_index_close(index);
		st_index_meta_fini(meta);
	}
	fini(&builder);
	return status;
}
