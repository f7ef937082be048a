// SPDX-License-Identifier: Apache-2.0
//
// -ring-buffer: the trace is cut into short files, and those whose newest record lies before the window
// are deleted. The window ends at the newest record, not at the present: a program that waits, is paused
// or has ended does not lose what it did last.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "store/write/writer_state.h"

enum {
	/* A ring buffer has so many files in its window, but none shorter than 1 / SHORTEST of a second … */
	RING_FILES = 8,
	RING_SHORTEST = 4,
	/* … nor longer than this, so that deleting one frees a bounded piece. */
	RING_SEGMENT_BYTES = 64 << 20,
};

void st_writer_set_ring(struct st_store_writer *writer, const struct st_store_options *options)
{
	uint64_t shortest = writer->head.ticks_per_second / RING_SHORTEST;

	writer->ring_ticks = options->ring_ticks;
	if (!writer->ring_ticks)
		return;
	writer->rotate_ticks = writer->ring_ticks / RING_FILES;
	if (writer->rotate_ticks < shortest)
		writer->rotate_ticks = shortest;
	if (!options->segment_bytes)
		writer->segment_bytes = RING_SEGMENT_BYTES;
	writer->file_began = writer->head.start_ticks;
}

void st_writer_note_chunk(struct st_store_writer *writer, const struct st_chunk_header *header)
{
	if (header->type != ST_CHUNK_SLICES && header->type != ST_CHUNK_SAMPLES &&
	    header->type != ST_CHUNK_CALLS && header->type != ST_CHUNK_OFF_CPU)
		return;
	writer->open_file.records += header->record_count;
	if (header->last_time > writer->newest_time)
		writer->newest_time = header->last_time;
	if (header->last_time > writer->open_file.last_time)
		writer->open_file.last_time = header->last_time;
}

bool st_store_writer_wants_file(const struct st_store_writer *writer, uint64_t now_ticks)
{
	/* A file without records is not worth closing, however old it is: the window lies before the newest
	 * record, so that a program that waits does not lose what it did last. */
	return writer->ring_ticks && !writer->failure.status && !writer->finished &&
	       (writer->trace.size_bytes >= writer->segment_bytes ||
		(writer->open_file.records && now_ticks > writer->file_began &&
		 now_ticks - writer->file_began >= writer->rotate_ticks));
}

static bool keep_open_file(struct st_store_writer *writer)
{
	writer->open_file.segment = writer->segment;
	return ST_VEC_PUSH(writer->kept, writer->kept_count, writer->kept_capacity,
			   writer->open_file);
}

/* Deletes the files whose newest record lies before the window. */
static void drop_old_files(struct st_store_writer *writer)
{
	uint32_t count = 0;
	char name[32];

	while (count < writer->kept_count &&
	       writer->newest_time - writer->kept[count].last_time > writer->ring_ticks) {
		const struct st_kept_file *file = &writer->kept[count];

		st_writer_trace_name(name, file->segment);
		if (unlinkat(writer->dir_fd, name, 0) != 0 && errno != ENOENT) {
			st_writer_failed(writer, errno, name);
			break;
		}
		writer->closed_bytes -= file->size_bytes;
		writer->dropped.files++;
		writer->dropped.records += file->records;
		writer->dropped.bytes += file->size_bytes;
		count++;
	}
	writer->kept_count -= count;
	if (count)
		memmove(writer->kept, writer->kept + count,
			writer->kept_count * sizeof(*writer->kept));
}

void st_store_writer_rotate(struct st_store_writer *writer, uint64_t now_ticks)
{
	uint64_t closed_bytes = writer->closed_bytes;

	if (!writer->ring_ticks || writer->failure.status || writer->finished ||
	    !keep_open_file(writer))
		return;
	st_writer_next_segment(writer);
	writer->kept[writer->kept_count - 1].size_bytes = writer->closed_bytes - closed_bytes;
	writer->file_began = now_ticks;
	writer->open_file = (struct st_kept_file){.last_time = writer->newest_time};
	/* The new file is there before an old one goes: at no moment is there none. */
	if (!writer->failure.status)
		drop_old_files(writer);
}

struct st_store_dropped st_store_writer_dropped(const struct st_store_writer *writer)
{
	return writer->dropped;
}
