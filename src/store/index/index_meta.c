// SPDX-License-Identifier: Apache-2.0
//
// Packs and unpacks the meta block of the index (store/index/index_meta.h). Counts are checked against the
// bytes that are there before anything is allocated by them.
#include "store/index/index_meta.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/model/model.h"

enum { TEXT_MIN_BYTES = 4, SPAN_BYTES = 20 };

/* Numbers that stand first, in this order: members of struct st_index_meta, 8 bytes each. */
static const size_t numbers[] = {
#define AT(member) offsetof(struct st_index_meta, member)
	AT(last_ns),	   AT(damaged_chunks), AT(damaged_bytes),
	AT(missing_names), AT(unfinished),     AT(clipped),
	AT(mismatched),	   AT(copies),	       AT(spans_unfinished),
	AT(is_ring),	   AT(notes.left_out), AT(stacks_missing),
	AT(twins),
};
enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

void st_index_meta_fini(struct st_index_meta *meta)
{
	if (!meta)
		return;
	st_index_sections_fini(meta);
	st_pauses_fini(&meta->pauses);
	st_notes_fini(&meta->notes);
	memset(meta, 0, sizeof(*meta));
}

bool st_index_meta_write(const struct st_index_meta *meta, const struct st_model *model,
			 struct st_buf *out)
{
	for (size_t i = 0; i < NUMBERS; i++)
		st_buf_append(out, (const char *)meta + numbers[i], sizeof(uint64_t));
	st_buf_append_u32(out, meta->text_base);
	st_buf_append_u32(out, model->texts.count - meta->text_base);
	for (uint32_t i = meta->text_base; i < model->texts.count; i++)
		st_definition_text(out, model->texts.texts[i].bytes,
				   model->texts.texts[i].size_bytes);
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

/* In the same order as the builder did: rows speak of processes by their number. */
static bool know_processes(const struct st_index_meta *meta, struct st_model *model)
{
	for (uint32_t i = 0; i < meta->track_count; i++)
		if (st_model_process(model, meta->tracks[i].process_id) == ST_ID_NONE)
			return false;
	return true;
}

bool st_index_meta_read(struct st_index_meta *meta, struct st_model *model,
			const struct st_index *index)
{
	struct st_cursor cursor = {.at = index->meta, .end = index->meta + index->meta_bytes};

	memset(meta, 0, sizeof(*meta));
	for (size_t i = 0; i < NUMBERS; i++) {
		uint64_t number = st_cursor_u64(&cursor);

		memcpy((char *)meta + numbers[i], &number, sizeof(number));
	}
	if (!cursor.failed && st_index_sections_read(meta, index->sections) &&
	    read_texts(meta, model, &cursor) && read_pauses(meta, &cursor) &&
	    read_notes(meta, &cursor) && know_processes(meta, model) &&
	    st_index_is_sound(index, meta, model))
		return true;
	st_index_meta_fini(meta);
	return false;
}
