// SPDX-License-Identifier: Apache-2.0
//
// The walk over the chunks of one file (store/model/segment.h), recovery included.
#include "store/model/segment.h"

#include <inttypes.h>
#include <string.h>

#include "store/model/notes.h"

/* A search may have to checksum at many false magics. What it may spend is a multiple of the file, so
 * that a hostile file costs time in proportion to its size. */
enum { SEARCH_FACTOR = 16, SEARCH_MIN_BYTES = 64 << 20 };

void st_chunk_walk_init(struct st_chunk_walk *walk, const char *name, const uint8_t *data,
			size_t size_bytes, struct st_notes *notes)
{
	memset(walk, 0, sizeof(*walk));
	walk->name = name;
	walk->data = data;
	walk->size_bytes = size_bytes;
	walk->notes = notes;
	walk->search_left_bytes = (uint64_t)size_bytes * SEARCH_FACTOR + SEARCH_MIN_BYTES;
}

/* Offset of the next chunk that checks, from `from` on; size_bytes when there is none. */
static size_t find_chunk(struct st_chunk_walk *walk, size_t from, struct st_chunk_header *header)
{
	const uint32_t magic = ST_CHUNK_MAGIC;

	while (from < walk->size_bytes) {
		const uint8_t *hit =
			memmem(walk->data + from, walk->size_bytes - from, &magic, sizeof(magic));
		uint64_t cost;

		if (!hit)
			return walk->size_bytes;
		from = (size_t)(hit - walk->data);
		if (st_chunk_check(hit, walk->size_bytes - from, header, NULL) == ST_OK)
			return from;
		/* Sizes that cannot be are refused before anything is summed up. */
		cost = sizeof(*header);
		if (header->packed_bytes <= ST_CHUNK_RAW_MAX)
			cost += header->packed_bytes;
		if (cost > walk->search_left_bytes)
			return walk->size_bytes;
		walk->search_left_bytes -= cost;
		from++;
	}
	return walk->size_bytes;
}

static void count_skipped(struct st_chunk_walk *walk, uint64_t lost_bytes, uint32_t found_sequence)
{
	uint64_t chunks = 1;

	/* The numbers of the chunks before and after tell how many are gone, unless they are nonsense. */
	if (found_sequence > walk->sequence)
		chunks = found_sequence - walk->sequence;
	if (chunks > lost_bytes / sizeof(struct st_chunk_header) + 1)
		chunks = 1;
	walk->damaged_chunks += chunks;
	walk->damaged_bytes += lost_bytes;
}

static void note_torn(struct st_chunk_walk *walk, enum st_status status, const struct st_error *why)
{
	size_t lost_bytes = walk->size_bytes - walk->at;

	walk->at_end = true;
	if (walk->writing == ST_WRITING_NOW && status == ST_ENOTFOUND)
		return;
	count_skipped(walk, lost_bytes, 0);
	st_notes_add(walk->notes, "%s: truncated at byte %zu (%s); the last %zu bytes are lost",
		     walk->name, walk->at, why->text, lost_bytes);
}

/* Cut exactly between two chunks, or emptied: only the missing closing chunk tells. */
static void check_end(struct st_chunk_walk *walk)
{
	if (walk->writing != ST_WRITING_CLOSED || walk->at_end)
		return;
	walk->at_end = true;
	walk->damaged_chunks++;
	st_notes_add(walk->notes,
		     "%s: ends at byte %zu without its closing chunk; anything after that is lost",
		     walk->name, walk->size_bytes);
}

/* A hole in the numbering where the bytes themselves are whole: chunks were taken out. */
static void check_sequence(struct st_chunk_walk *walk, const struct st_chunk_header *header)
{
	if (header->sequence > walk->sequence) {
		walk->damaged_chunks += header->sequence - walk->sequence;
		st_notes_add(walk->notes, "%s: %" PRIu32 " chunks are missing before byte %zu",
			     walk->name, header->sequence - walk->sequence, walk->at);
	}
}

enum st_status st_chunk_walk_next(struct st_chunk_walk *walk, struct st_chunk_view *out,
				  struct st_error *err)
{
	struct st_error why = {0};
	enum st_status status;
	size_t found = walk->at;

	if (walk->at >= walk->size_bytes) {
		check_end(walk);
		return ST_ENOTFOUND;
	}
	status = st_chunk_check(walk->data + walk->at, walk->size_bytes - walk->at, &out->header,
				&why);
	/* Later in a file the byte can only be damage: a writer has one version. */
	if (status == ST_EVERSION && walk->at == 0)
		return st_error_set(err, ST_EVERSION, 0, "%s: %s", walk->name, why.text);
	if (status) {
		found = find_chunk(walk, walk->at + 1, &out->header);
		if (found == walk->size_bytes) {
			note_torn(walk, status, &why);
			walk->at = walk->size_bytes;
			return ST_ENOTFOUND;
		}
		count_skipped(walk, found - walk->at, out->header.sequence);
		st_notes_add(walk->notes,
			     "%s: %zu bytes at byte %zu are damaged (%s) and were skipped",
			     walk->name, found - walk->at, walk->at, why.text);
	} else {
		check_sequence(walk, &out->header);
	}
	out->offset = found;
	out->packed = walk->data + found + sizeof(out->header);
	walk->sequence = out->header.sequence + 1;
	walk->at_end |= out->header.type == ST_CHUNK_END;
	walk->at = found + sizeof(out->header) + out->header.packed_bytes;
	return ST_OK;
}

void st_walk_reject(struct st_chunk_walk *walk, const struct st_chunk_view *view,
		    const struct st_error *why)
{
	walk->damaged_chunks++;
	walk->damaged_bytes += sizeof(view->header) + view->header.packed_bytes;
	st_notes_add(walk->notes, "%s: the chunk at byte %zu is damaged: %s", walk->name,
		     view->offset, why->text);
}
