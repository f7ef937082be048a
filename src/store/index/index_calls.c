// SPDX-License-Identifier: Apache-2.0
//
// Calls of Python functions (store/traced_calls.h) out of their chunks, when the tracks have their places. A call that
// is open when recording them stops ends there; what comes back later is known to have been it, no more.
#include "store/index/index_build.h"

#include <stdlib.h>

#include "base/search.h"
#include "base/vec.h"
#include "format/chunk.h"
#include "format/slices.h"
#include "store/model/model.h"
#include "store/model/source.h"

struct stop {
	uint32_t process_id;
	int64_t ns;
};

/* Of a track. */
struct open_calls {
	uint32_t top; /* call + 1; 0: none */
	uint32_t clock_hint;
	int64_t last_ns;
};

struct job {
	struct st_index_builder *builder;
	struct open_calls *open; /* by track of the builder */
	struct st_traced_call *calls;
	uint32_t count, capacity;
	struct stop *stops;
	uint32_t stop_count, stop_capacity;
};

bool st_index_add_calls(struct st_index_builder *builder, const struct st_chunk_header *header,
			uint32_t segment, size_t offset)
{
	uint32_t rows_max = builder->request->rows_max, at;

	if (header->event_count)
		return false;
	if (builder->call_count + header->begin_count >= (rows_max ? rows_max : ST_NO_ROW)) {
		builder->too_many_rows = true;
		return true;
	}
	at = st_index_find_track(builder, header->process, header->track);
	if (at == ST_ID_NONE ||
	    !ST_VEC_ROOM(builder->call_refs, builder->call_ref_count, builder->call_ref_capacity)) {
		builder->no_memory = true;
		return true;
	}
	if (!builder->tracks[at].has_first || header->first_time < builder->tracks[at].first_ticks)
		builder->tracks[at].first_ticks = header->first_time;
	builder->tracks[at].has_first = true;
	builder->call_count += header->begin_count;
	builder->call_refs[builder->call_ref_count++] = (struct st_chunk_ref){
		.offset = offset, .segment = segment, .track = at, .begins = header->begin_count};
	return true;
}

static bool begin_call(struct job *job, uint32_t track, uint32_t name, int64_t ns)
{
	struct st_index_builder *builder = job->builder;
	struct open_calls *open = &job->open[track];
	uint32_t process = builder->tracks[track].process_id;

	if (!ST_VEC_ROOM(job->calls, job->count, job->capacity))
		return false;
	/* The track is that of the builder until all are there; the parent, too, counts calls as they came. */
	job->calls[job->count++] =
		(struct st_traced_call){.begin_ns = ns,
					.end_ns = INT64_MAX,
					.track = track,
					.name = st_index_texts_of(builder, process, 0, name).name,
					.parent = open->top ? open->top - 1 : ST_NO_ROW,
					.flags = ST_SLICE_UNFINISHED};
	open->top = job->count;
	return !builder->no_memory;
}

static void end_call(struct job *job, uint32_t track, int64_t ns)
{
	struct open_calls *open = &job->open[track];
	struct st_traced_call *call;

	if (!open->top)
		return; /* it began where nobody looked */
	call = &job->calls[open->top - 1];
	call->end_ns = ns;
	call->flags = 0;
	open->top = call->parent == ST_NO_ROW ? 0 : call->parent + 1;
}

static bool add_stop(struct job *job, uint32_t track, int64_t ns)
{
	return ST_VEC_PUSH(job->stops, job->stop_count, job->stop_capacity,
			   (struct stop){job->builder->tracks[track].process_id, ns});
}

static bool take_record(struct job *job, uint32_t track, const struct st_slice_record *record)
{
	struct open_calls *open = &job->open[track];
	int64_t ns = st_clock_map_ns(&job->builder->meta->clock, &open->clock_hint, record->time);

	if (ns < open->last_ns)
		ns = open->last_ns;
	open->last_ns = ns;
	if (record->op == ST_SLICE_BEGIN)
		return begin_call(job, track, record->name, ns);
	if (record->op == ST_SLICE_END)
		end_call(job, track, ns);
	else if (record->mark == ST_MARK_CALLS_STOP)
		return add_stop(job, track, ns);
	return true;
}

static bool decode_chunk(struct job *job, const struct st_chunk_ref *ref)
{
	struct st_index_builder *builder = job->builder;
	struct st_error why = {.status = ST_OK};
	struct st_slice_decoder decoder;
	struct st_slice_record record;
	struct st_chunk_header header;
	bool done = true;

	if (st_index_unpack(builder, ref->segment, ref->offset, &header, &why) &&
	    st_slice_decoder_init(&decoder, &header, builder->raw.data, builder->raw.size_bytes,
				  &why) == ST_OK)
		while (done && st_slice_decoder_next(&decoder, &record, &why))
			done = take_record(job, ref->track, &record);
	if (why.status && why.status != ST_ENOMEM)
		st_index_note_damage(builder, ref->segment, ref->offset, &why);
	return done && why.status != ST_ENOMEM;
}

static int by_time(const void *a, const void *b)
{
	const struct stop *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Ends calls where recording stopped first after they began, and others that nobody ended with their thread. */
static void settle(struct job *job)
{
	const struct st_index_builder *builder = job->builder;

	if (job->stop_count)
		qsort(job->stops, job->stop_count, sizeof(*job->stops), by_time);
	for (uint32_t i = 0; i < job->count; i++) {
		struct st_traced_call *call = &job->calls[i];
		const struct st_track_state *track = &builder->tracks[call->track];
		uint32_t low =
			ST_SEARCH(at, 0, job->stop_count, job->stops[at].ns < call->begin_ns);

		while (low < job->stop_count && job->stops[low].process_id != track->process_id)
			low++;
		if (low < job->stop_count && job->stops[low].ns < call->end_ns) {
			call->end_ns = job->stops[low].ns;
			call->flags = 0;
		}
		if (call->end_ns == INT64_MAX)
			call->end_ns = builder->meta->tracks[track->final].last_ns;
		if (call->end_ns < call->begin_ns)
			call->end_ns = call->begin_ns;
	}
}

/* By track: how many calls the tracks before it have. Malloc'd; NULL: no memory. */
static uint32_t *count_by_track(const struct job *job)
{
	const struct st_index_builder *builder = job->builder;
	uint32_t *next = calloc((size_t)builder->track_count + 1, sizeof(*next)), sum = 0;

	for (uint32_t i = 0; next && i < job->count; i++)
		next[builder->tracks[job->calls[i].track].final]++;
	for (uint32_t i = 0; next && i < builder->track_count; i++) {
		uint32_t own = next[i];

		next[i] = sum;
		sum += own;
	}
	return next;
}

/* Into the order of the table: chunks of several tracks lie among each other. */
static bool hand_over(struct job *job)
{
	struct st_index_builder *builder = job->builder;
	struct st_index_tables *tables = &builder->meta->tables;
	uint32_t *place = malloc(((size_t)job->count + 1) * sizeof(*place));
	uint32_t *next = count_by_track(job);
	struct st_traced_call *sorted = malloc(((size_t)job->count + 1) * sizeof(*sorted));
	bool done = place && next && sorted;

	for (uint32_t i = 0; done && i < job->count; i++) {
		struct st_traced_call call = job->calls[i];

		call.track = builder->tracks[call.track].final;
		place[i] = next[call.track]++;
		if (call.parent != ST_NO_ROW)
			call.parent = place[call.parent];
		sorted[place[i]] = call;
	}
	if (done) {
		tables->calls = sorted;
		tables->call_count = job->count;
		sorted = NULL;
	}
	free(place);
	free(next);
	free(sorted);
	return done;
}

bool st_index_calls(struct st_index_builder *builder)
{
	struct job job = {.builder = builder};
	bool done = true;

	if (!builder->call_ref_count)
		return true;
	job.open = calloc((size_t)builder->track_count + 1, sizeof(*job.open));
	done = job.open != NULL;
	for (uint32_t i = 0; done && i < builder->call_ref_count; i++)
		done = decode_chunk(&job, &builder->call_refs[i]);
	if (done) {
		settle(&job);
		done = hand_over(&job);
	}
	free(job.open);
	free(job.calls);
	free(job.stops);
	return done;
}
