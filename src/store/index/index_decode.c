// SPDX-License-Identifier: Apache-2.0
//
// Second pass: every record of every chunk, once, into the columns. A begin takes the next row of its
// track; an end fills in that row's end. Each track has its own stack of open slices.
#include "store/index/index_build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "format/chunk.h"
#include "format/event.h"
#include "format/ring_record.h"
#include "format/slices.h"
#include "store/model/model.h"
#include "store/model/source.h"

enum {
	/* How far down an end looks for a slice of its domain. Real mixtures are a few deep; without a
	 * bound a hostile trace would cost the square of its size. */
	SEARCH_DEPTH_MAX = 4096,
	PROGRESS_CHUNKS = 256,
};

static bool push(struct st_track_state *track, uint32_t row, uint32_t domain, uint32_t item)
{
	return ST_VEC_PUSH(
		track->stack, track->depth, track->stack_capacity,
		(struct st_open_slice){
			.row = row, .domain = domain, .line = track->line, .item = item});
}

struct st_open_slice *st_index_innermost_open(const struct st_track_state *track)
{
	uint32_t lowest = track->depth > SEARCH_DEPTH_MAX ? track->depth - SEARCH_DEPTH_MAX : 0;

	for (uint32_t i = track->depth; i > lowest; i--)
		if (track->stack[i - 1].line == track->line)
			return &track->stack[i - 1];
	return NULL;
}

uint32_t st_index_innermost(const struct st_track_state *track)
{
	const struct st_open_slice *open = st_index_innermost_open(track);

	return open ? open->row : ST_NO_ROW;
}

static void take_begin(struct st_index_builder *builder, struct st_track_state *track,
		       const struct st_slice_record *record, int64_t ns)
{
	struct st_index_columns *columns = &builder->index->columns;
	uint32_t row = track->next_row++;
	uint32_t parent = st_index_innermost(track);
	uint32_t label =
		st_index_label_of(builder, track->process_id, record->domain, record->name);
	uint32_t caller = 0, item = ST_NO_ROW;

	if (record->caller)
		caller = st_index_caller_of(builder, track, record, ns);
	if (record->signature)
		item = st_index_take_operator(builder, track, record, row);
	if (label == ST_ID_NONE || !push(track, row, record->domain, item)) {
		builder->no_memory = true;
		return;
	}
	columns->begin_ns[row] = ns;
	columns->label[row] = label;
	columns->track[row] = track->final;
	columns->parent[row] = parent;
	columns->depth[row] = 0;
	if (parent != ST_NO_ROW)
		columns->depth[row] = columns->depth[parent] == UINT16_MAX
					      ? UINT16_MAX
					      : (uint16_t)(columns->depth[parent] + 1);
	columns->flags[row] = record->flags & ST_BEGIN_CLIPPED ? ST_SLICE_CLIPPED : 0;
	if (caller)
		columns->callers[row] = caller;
}

static void close_row(struct st_index_builder *builder, uint32_t row, int64_t ns, uint16_t flags)
{
	struct st_index_columns *columns = &builder->index->columns;

	columns->end_ns[row] = ns < columns->begin_ns[row] ? columns->begin_ns[row] : ns;
	columns->flags[row] |= flags;
}

/* A file may hold any number of ends over any number of open slices: each looks at so many only. */
static uint32_t lowest_searched(const struct st_track_state *track)
{
	return track->depth > SEARCH_DEPTH_MAX ? track->depth - SEARCH_DEPTH_MAX : 0;
}

/* Which open slice an end closes that does not fit the top of the stack: the innermost of its domain on
 * the present ITT track, else of its domain; ST_NO_ROW: there is none. *crossed: it is not the innermost of its
 * ITT track. */
static uint32_t closed_by(const struct st_track_state *track, uint32_t domain, bool *crossed)
{
	uint32_t lowest = lowest_searched(track), of_domain = ST_NO_ROW;
	bool above = false;

	*crossed = true;
	for (uint32_t i = track->depth; i > lowest; i--) {
		const struct st_open_slice *open = &track->stack[i - 1];

		if (open->domain == domain && open->line == track->line) {
			*crossed = above;
			return i - 1;
		}
		above = above || open->line == track->line;
		if (open->domain == domain && of_domain == ST_NO_ROW)
			of_domain = i - 1;
	}
	return of_domain;
}

/* The one below those that stay open; ST_NO_ROW: its begin is not in this result. */
static uint32_t closed_below(const struct st_track_state *track, uint32_t domain, uint64_t left,
			     bool *crossed)
{
	uint32_t lowest = lowest_searched(track);

	*crossed = true;
	for (uint32_t i = track->depth; i > lowest; i--)
		if (track->stack[i - 1].domain == domain && !left--)
			return i - 1;
	return ST_NO_ROW;
}

/* A program may end an ITT task in another domain than it began; an end of PyTorch's has a begin, here or not. */
static bool is_of_torch(const struct st_index_builder *builder, uint32_t process_id,
			uint32_t domain)
{
	const struct st_model *model = builder->request->model;
	enum st_category category;
	st_string_id id;
	bool from_itt;

	if (!st_model_domain(model, process_id, domain, &id))
		return false;
	category = st_category_of(st_text_table_get(&model->texts, id), (struct st_text){"", 0},
				  &from_itt);
	return !from_itt && (st_category_is_torch(category) || category == ST_CATEGORY_MODULE);
}

static void take_mixed_end(struct st_index_builder *builder, struct st_track_state *track,
			   uint32_t domain, uint64_t left, int64_t ns)
{
	bool crossed;
	uint32_t at = left ? closed_below(track, domain, left, &crossed)
			   : closed_by(track, domain, &crossed);

	if (at == ST_NO_ROW && (left || is_of_torch(builder, track->process_id, domain))) {
		track->unmatched_ends++;
		return;
	}
	if (at == ST_NO_ROW)
		at = track->depth - 1;
	close_row(builder, track->stack[at].row, ns, crossed ? ST_SLICE_MISMATCHED : 0);
	track->depth--;
	memmove(&track->stack[at], &track->stack[at + 1],
		(track->depth - at) * sizeof(*track->stack));
}

static void take_end(struct st_index_builder *builder, struct st_track_state *track,
		     uint32_t domain, int64_t ns)
{
	uint64_t left = track->left_open;

	track->left_open = 0; /* of this end only, whatever becomes of it */
	if (!track->depth) {
		track->unmatched_ends++;
	} else if (track->stack[track->depth - 1].domain == domain &&
		   track->stack[track->depth - 1].line == track->line && !left) {
		track->depth--;
		close_row(builder, track->stack[track->depth].row, ns, 0);
	} else {
		take_mixed_end(builder, track, domain, left, ns);
	}
}

static void close_all(struct st_index_builder *builder, struct st_track_state *track, int64_t ns)
{
	/* A call that was told whole has its end. */
	while (track->depth)
		if (!track->stack[--track->depth].call_end)
			close_row(builder, track->stack[track->depth].row, ns, ST_SLICE_UNFINISHED);
	track->open_calls = 0;
}

static void take_pause(struct st_index_builder *builder, struct st_track_state *track,
		       const struct st_slice_record *record, int64_t ns)
{
	struct st_pause_event event = {
		.process_id = track->process_id, .kind = (uint32_t)record->mark, .ns = ns};

	/* Those of the family are in the definitions. */
	if (record->value == 0 && !builder->decoded_before &&
	    !st_pauses_add_event(&builder->meta->pauses, event))
		builder->no_memory = true;
}

static void take_mark(struct st_index_builder *builder, struct st_track_state *track,
		      const struct st_slice_record *record, int64_t ns)
{
	switch (record->mark) {
	case ST_MARK_UNMATCHED_END:
		track->unmatched_ends++;
		break;
	case ST_MARK_LOST:
		track->lost += record->value;
		break;
	case ST_MARK_PAUSE:
	case ST_MARK_RESUME:
	case ST_MARK_DETACH:
		take_pause(builder, track, record, ns);
		break;
	case ST_MARK_TRACK_END:
		close_all(builder, track, ns);
		track->end_ns = ns;
		track->has_end = true;
		break;
	case ST_MARK_ALLOCATED:
	case ST_MARK_FREED:
	case ST_MARK_PEAK:
		st_index_take_memory(builder, track, record, ns);
		break;
	case ST_MARK_DEVICE_ALLOCATED:
	case ST_MARK_DEVICE_FREED:
		st_index_take_device_memory(builder, track, record, ns);
		break;
	case ST_MARK_LEAVES_OPEN:
		track->left_open = record->value;
		break;
	case ST_MARK_EVENT:
	case ST_MARK_CALLER:
	case ST_MARK_SIGNATURE:
	case ST_MARK_SEQUENCE:
	case ST_MARK_STACK:
	case ST_MARK_BLOCK:
	case ST_MARK_DEVICE:
	case ST_MARK_CALLS_STOP:
		break;
	}
}

void st_index_note_damage(struct st_index_builder *builder, uint32_t segment, size_t offset,
			  const struct st_error *why)
{
	const struct st_source_file *file = &builder->request->source->segments[segment];
	struct st_chunk_header header;

	if (builder->decoded_before)
		return;
	memcpy(&header, file->data + offset, sizeof(header));
	builder->meta->damaged_chunks++;
	builder->meta->damaged_bytes += sizeof(header) + header.packed_bytes;
	st_notes_add(&builder->meta->notes, "%s: the chunk at byte %zu is damaged: %s", file->name,
		     offset, why->text);
}

bool st_index_unpack(struct st_index_builder *builder, uint32_t segment, size_t offset,
		     struct st_chunk_header *header, struct st_error *why)
{
	const struct st_source_file *file = &builder->request->source->segments[segment];
	const uint8_t *data = file->data + offset;

	/* Checked in the first pass; a file that changes under us is only read within its bounds. */
	memcpy(header, data, sizeof(*header));
	if (header->packed_bytes > file->size_bytes - offset - sizeof(*header))
		header->packed_bytes = 0;
	return st_unpacker_read(builder->unpacker, header, data + sizeof(*header), &builder->raw,
				why) == ST_OK;
}

/* After a first try, what a chunk holds more than was counted is where its damage began: no news. */
static bool take_event(struct st_index_builder *builder, struct st_track_state *track,
		       const struct st_slice_record *record, int64_t ns, struct st_error *why)
{
	struct st_event event;

	if (st_event_decode(&event, record->body, (size_t)record->value, why))
		return false;
	st_index_take_event(builder, track, &event, record->time, ns);
	if (event.kind == ST_EVENT_SET_TRACK)
		track->line = event.object;
	return true;
}

struct counts {
	uint32_t begins, events;
};

/* Records up to the end or to damage; returns the number of begins and events among them. */
static struct counts decode_records(struct st_index_builder *builder,
				    const struct st_chunk_ref *ref,
				    struct st_slice_decoder *decoder, struct st_error *why)
{
	struct st_track_state *track = &builder->tracks[ref->track];
	struct st_slice_record record;
	struct counts counts = {0};

	while (st_slice_decoder_next(decoder, &record, why) && !builder->no_memory) {
		int64_t ns =
			st_clock_map_ns(&builder->meta->clock, &track->clock_hint, record.time);

		if (ns < track->last_ns)
			ns = track->last_ns;
		track->last_ns = ns;
		if (track->device_at < track->device_end || track->open_calls)
			st_index_take_calls_before(builder, track, record.time);
		if (track->join_at < track->sample_end)
			st_index_join_samples(builder, track, record.time);
		if (record.op == ST_SLICE_BEGIN) {
			if (counts.begins == ref->begins) {
				st_error_set(why, ST_ECORRUPT, 0,
					     "more begins than its header says");
				break;
			}
			counts.begins++;
			take_begin(builder, track, &record, ns);
		} else if (record.op == ST_SLICE_END) {
			take_end(builder, track, record.domain, ns);
		} else if (record.mark != ST_MARK_EVENT) {
			take_mark(builder, track, &record, ns);
		} else {
			if (counts.events == ref->events) {
				st_error_set(why, ST_ECORRUPT, 0,
					     "more events than its header says");
				break;
			}
			if (!take_event(builder, track, &record, ns, why))
				break;
			counts.events++;
		}
	}
	return counts;
}

/* True when the chunk made the rows it promised; else ref says what it really holds. */
static bool decode_chunk(struct st_index_builder *builder, struct st_chunk_ref *ref)
{
	struct st_slice_decoder decoder;
	struct st_chunk_header header;
	struct st_error why = {.status = ST_OK};
	struct counts counts = {0};
	bool complete;

	if (st_index_unpack(builder, ref->segment, ref->offset, &header, &why) &&
	    st_slice_decoder_init(&decoder, &header, builder->raw.data, builder->raw.size_bytes,
				  &why) == ST_OK)
		counts = decode_records(builder, ref, &decoder, &why);
	if (why.status == ST_ENOMEM)
		builder->no_memory = true;
	else if (why.status)
		st_index_note_damage(builder, ref->segment, ref->offset, &why);
	complete = counts.begins == ref->begins && counts.events == ref->events;
	ref->begins = counts.begins;
	ref->events = counts.events;
	return complete;
}

/* Where open slices end when nobody says: with the thread, the process, or what is known. */
static int64_t end_of_track(struct st_index_builder *builder, struct st_track_state *track)
{
	const struct st_model *model = builder->request->model;
	uint32_t process = st_id_map_get(&model->process_index, track->process_id), hint = 0;
	int64_t ns = builder->meta->last_ns;

	if (track->has_end)
		ns = track->end_ns;
	else if (process != ST_ID_NONE && model->more[process].has_end)
		ns = st_clock_map_ns(&builder->meta->clock, &hint, model->more[process].end_ticks);
	ns = ns < track->sample_ns ? track->sample_ns : ns;
	return ns < track->last_ns ? track->last_ns : ns;
}

static void end_tracks(struct st_index_builder *builder)
{
	for (uint32_t i = 0; i < builder->track_count; i++) {
		struct st_track_state *track = &builder->tracks[i];
		struct st_index_track *out = &builder->meta->tracks[track->final];
		uint32_t hint = 0;

		st_index_take_calls_before(builder, track, UINT64_MAX);
		if (track->join_at < track->sample_end)
			st_index_join_samples(builder, track, UINT64_MAX);
		out->last_ns = end_of_track(builder, track);
		out->first_ns = st_clock_map_ns(&builder->meta->clock, &hint, track->first_ticks);
		if (out->last_ns < out->first_ns)
			out->last_ns = out->first_ns;
		out->lost = track->lost;
		out->unmatched_ends = track->unmatched_ends;
		close_all(builder, track, out->last_ns);
	}
}

/* Begun in a file that is gone: they begin where what is known begins. */
static void take_opens(struct st_index_builder *builder)
{
	uint32_t hint = 0;
	int64_t ns = 0;

	if (builder->open_count)
		ns = st_clock_map_ns(&builder->meta->clock, &hint, builder->window_ticks);
	for (uint32_t i = 0; i < builder->open_count && !builder->no_memory; i++) {
		const struct st_open_ref *open = &builder->opens[i];
		const struct st_slice_record record = {.op = ST_SLICE_BEGIN,
						       .domain = open->domain,
						       .name = open->name,
						       .signature = open->signature,
						       .sequence = ST_NO_SEQUENCE,
						       .flags = ST_BEGIN_CLIPPED};

		take_begin(builder, &builder->tracks[open->track], &record, ns);
	}
}

enum st_status st_index_decode(struct st_index_builder *builder, bool *short_chunks,
			       struct st_error *err)
{
	const struct st_result_options *options = builder->request->options;

	st_index_decode_samples(builder, short_chunks);
	take_opens(builder);
	st_index_take_streams(builder);
	for (uint32_t i = 0; i < builder->ref_count && !builder->no_memory; i++) {
		if (!decode_chunk(builder, &builder->refs[i]))
			*short_chunks = true;
		if (options && options->progress && i % PROGRESS_CHUNKS == 0)
			options->progress(options->progress_arg, (double)i / builder->ref_count,
					  "indexing");
	}
	if (builder->no_memory)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory while building the index");
	end_tracks(builder);
	return ST_OK;
}
