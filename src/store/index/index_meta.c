// SPDX-License-Identifier: Apache-2.0
//
// Packs and unpacks the meta block of the index (store/index/index_meta.h). Counts are checked against the
// bytes that are there before anything is allocated by them.
#include "store/index/index_meta.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/model/model.h"

enum { TRACK_BYTES = 68, LABEL_BYTES = 16, TEXT_MIN_BYTES = 4, KNOT_BYTES = 24, SPAN_BYTES = 20 };

void st_index_meta_fini(struct st_index_meta *meta)
{
	if (!meta)
		return;
	free(meta->tracks);
	free(meta->labels);
	st_clock_map_fini(&meta->clock);
	st_pauses_fini(&meta->pauses);
	st_notes_fini(&meta->notes);
	st_index_tables_fini(&meta->tables);
	memset(meta, 0, sizeof(*meta));
}

static void write_tracks(const struct st_index_meta *meta, struct st_buf *out)
{
	st_buf_append_u32(out, meta->track_count);
	for (uint32_t i = 0; i < meta->track_count; i++) {
		const struct st_index_track *track = &meta->tracks[i];

		st_buf_append_u32(out, track->process_id);
		st_buf_append_u32(out, track->track_id);
		st_buf_append_u32(out, track->row_begin);
		st_buf_append_u32(out, track->row_end);
		st_buf_append_u32(out, track->event_begin);
		st_buf_append_u32(out, track->event_end);
		st_buf_append_u32(out, track->sample_begin);
		st_buf_append_u32(out, track->sample_end);
		st_buf_append_u32(out, track->creator);
		st_buf_append_u64(out, (uint64_t)track->first_ns);
		st_buf_append_u64(out, (uint64_t)track->last_ns);
		st_buf_append_u64(out, track->lost);
		st_buf_append_u64(out, track->unmatched_ends);
	}
}

bool st_index_meta_write(const struct st_index_meta *meta, const struct st_model *model,
			 struct st_buf *out)
{
	const uint64_t numbers[] = {
		(uint64_t)meta->last_ns,
		meta->damaged_chunks,
		meta->damaged_bytes,
		meta->missing_names,
		meta->unfinished,
		meta->clipped,
		meta->mismatched,
		meta->copies,
		meta->spans_unfinished,
		meta->is_ring,
		meta->notes.left_out,
		meta->stacks_missing,
		meta->twins,
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		st_buf_append_u64(out, numbers[i]);
	write_tracks(meta, out);
	st_buf_append_u32(out, meta->text_base);
	st_buf_append_u32(out, model->texts.count - meta->text_base);
	for (uint32_t i = meta->text_base; i < model->texts.count; i++)
		st_definition_text(out, model->texts.texts[i].bytes,
				   model->texts.texts[i].size_bytes);
	st_buf_append_u32(out, meta->label_count);
	for (uint32_t i = 0; i < meta->label_count; i++) {
		st_buf_append_u32(out, meta->labels[i].domain);
		st_buf_append_u32(out, meta->labels[i].name);
		st_buf_append_u32(out, meta->labels[i].category);
		st_buf_append_u32(out, meta->labels[i].from_itt);
	}
	st_buf_append_u32(out, meta->clock.count);
	for (uint32_t i = 0; i < meta->clock.count; i++) {
		st_buf_append_u64(out, meta->clock.knots[i].ticks);
		st_buf_append_u64(out, (uint64_t)meta->clock.knots[i].ns);
		st_buf_append_u64(out, meta->clock.knots[i].slope);
	}
	st_buf_append_u32(out, meta->pauses.span_count);
	for (uint32_t i = 0; i < meta->pauses.span_count; i++) {
		st_buf_append_u32(out, meta->pauses.spans[i].process_id);
		st_buf_append_u64(out, (uint64_t)meta->pauses.spans[i].begin_ns);
		st_buf_append_u64(out, (uint64_t)meta->pauses.spans[i].end_ns);
	}
	st_buf_append_u32(out, (uint32_t)meta->notes.count);
	for (size_t i = 0; i < meta->notes.count; i++)
		st_definition_text(out, meta->notes.items[i], strlen(meta->notes.items[i]));
	return !out->failed;
}

/* A count that can be true: every item takes at least item_bytes of what is left. */
static uint32_t read_count(struct st_cursor *cursor, size_t item_bytes)
{
	uint32_t count = st_cursor_u32(cursor);

	if (count > (size_t)(cursor->end - cursor->at) / item_bytes)
		cursor->failed = true;
	return cursor->failed ? 0 : count;
}

/* Tracks must divide the rows among them, in order and without a gap; events too, but for the last ones,
 * which are the family's. */
static bool read_tracks(struct st_index_meta *meta, struct st_cursor *cursor,
			const struct st_index_shape *shape)
{
	uint32_t count = read_count(cursor, TRACK_BYTES), rows = 0, events = 0, samples = 0;

	meta->tracks = calloc((size_t)count + 1, sizeof(*meta->tracks));
	if (!meta->tracks)
		return false;
	meta->track_count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct st_index_track *track = &meta->tracks[i];

		track->process_id = st_cursor_u32(cursor);
		track->track_id = st_cursor_u32(cursor);
		track->row_begin = st_cursor_u32(cursor);
		track->row_end = st_cursor_u32(cursor);
		track->event_begin = st_cursor_u32(cursor);
		track->event_end = st_cursor_u32(cursor);
		track->sample_begin = st_cursor_u32(cursor);
		track->sample_end = st_cursor_u32(cursor);
		track->creator = st_cursor_u32(cursor);
		track->first_ns = (int64_t)st_cursor_u64(cursor);
		track->last_ns = (int64_t)st_cursor_u64(cursor);
		track->lost = st_cursor_u64(cursor);
		track->unmatched_ends = st_cursor_u64(cursor);
		if (track->row_begin != rows || track->row_end < rows ||
		    track->event_begin != events || track->event_end < events ||
		    track->sample_begin != samples || track->sample_end < samples ||
		    (track->creator != ST_NO_ROW && track->creator >= count))
			return false;
		samples = track->sample_end;
		rows = track->row_end;
		events = track->event_end;
	}
	return !cursor->failed && rows == shape->row_count && events <= shape->event_count &&
	       samples == shape->sample_count;
}

/* The texts must come out with the ids they had when the labels were written. */
static bool read_texts(struct st_index_meta *meta, struct st_model *model, struct st_cursor *cursor)
{
	uint32_t count;

	meta->text_base = st_cursor_u32(cursor);
	count = read_count(cursor, TEXT_MIN_BYTES);
	if (cursor->failed || meta->text_base != model->texts.count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct st_text text = st_cursor_text(cursor);
		st_string_id id;

		if (cursor->failed ||
		    !st_text_table_add(&model->texts, text.bytes, text.size_bytes, &id) ||
		    id != meta->text_base + i)
			return false;
	}
	return true;
}

static bool read_labels(struct st_index_meta *meta, const struct st_model *model,
			struct st_cursor *cursor)
{
	uint32_t count = read_count(cursor, LABEL_BYTES);

	meta->labels = calloc((size_t)count + 1, sizeof(*meta->labels));
	if (!meta->labels)
		return false;
	meta->label_count = count;
	for (uint32_t i = 0; i < count; i++) {
		meta->labels[i].domain = st_cursor_u32(cursor);
		meta->labels[i].name = st_cursor_u32(cursor);
		meta->labels[i].category = st_cursor_u32(cursor);
		meta->labels[i].from_itt = st_cursor_u32(cursor) != 0;
		if (meta->labels[i].category >= ST_CATEGORIES ||
		    meta->labels[i].domain >= model->texts.count ||
		    meta->labels[i].name >= model->texts.count)
			return false;
	}
	return !cursor->failed;
}

static bool read_clock(struct st_index_meta *meta, struct st_cursor *cursor)
{
	uint32_t count = read_count(cursor, KNOT_BYTES);

	meta->clock.knots = calloc((size_t)count + 1, sizeof(*meta->clock.knots));
	if (!meta->clock.knots || !count)
		return false;
	meta->clock.count = count;
	for (uint32_t i = 0; i < count; i++) {
		meta->clock.knots[i].ticks = st_cursor_u64(cursor);
		meta->clock.knots[i].ns = (int64_t)st_cursor_u64(cursor);
		meta->clock.knots[i].slope = st_cursor_u64(cursor);
		if (meta->clock.knots[i].ns < 0)
			return false;
	}
	return !cursor->failed;
}

static bool read_pauses(struct st_index_meta *meta, struct st_cursor *cursor)
{
	uint32_t count = read_count(cursor, SPAN_BYTES);

	for (uint32_t i = 0; i < count; i++) {
		struct st_pause_span span = {.process_id = st_cursor_u32(cursor)};

		span.begin_ns = (int64_t)st_cursor_u64(cursor);
		span.end_ns = (int64_t)st_cursor_u64(cursor);
		if (span.begin_ns < 0 || span.end_ns <= span.begin_ns ||
		    !st_pauses_add_span(&meta->pauses, span))
			return false;
	}
	return !cursor->failed && st_pauses_merge(&meta->pauses);
}

static bool read_notes(struct st_index_meta *meta, struct st_cursor *cursor)
{
	uint32_t count = read_count(cursor, TEXT_MIN_BYTES);

	for (uint32_t i = 0; i < count && !cursor->failed; i++) {
		struct st_text text = st_cursor_text(cursor);

		if (text.size_bytes < ST_NOTE_BYTES_MAX)
			st_notes_add(&meta->notes, "%.*s", (int)text.size_bytes, text.bytes);
	}
	return !cursor->failed;
}

bool st_index_meta_read(struct st_index_meta *meta, struct st_model *model,
			const struct st_index *index)
{
	struct st_cursor cursor = {.at = index->meta, .end = index->meta + index->meta_bytes};

	memset(meta, 0, sizeof(*meta));
	meta->last_ns = (int64_t)st_cursor_u64(&cursor);
	meta->damaged_chunks = st_cursor_u64(&cursor);
	meta->damaged_bytes = st_cursor_u64(&cursor);
	meta->missing_names = st_cursor_u64(&cursor);
	meta->unfinished = st_cursor_u64(&cursor);
	meta->clipped = st_cursor_u64(&cursor);
	meta->mismatched = st_cursor_u64(&cursor);
	meta->copies = st_cursor_u64(&cursor);
	meta->spans_unfinished = st_cursor_u64(&cursor);
	meta->is_ring = st_cursor_u64(&cursor) != 0;
	meta->notes.left_out = st_cursor_u64(&cursor);
	meta->stacks_missing = st_cursor_u64(&cursor);
	meta->twins = st_cursor_u64(&cursor);
	if (!cursor.failed && read_tracks(meta, &cursor, &index->shape) &&
	    st_index_tables_read(&meta->tables, index->sections) &&
	    read_texts(meta, model, &cursor) && read_labels(meta, model, &cursor) &&
	    read_clock(meta, &cursor) && read_pauses(meta, &cursor) && read_notes(meta, &cursor))
		return true;
	st_index_meta_fini(meta);
	return false;
}
