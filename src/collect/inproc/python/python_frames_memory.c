/* SPDX-License-Identifier: Apache-2.0
 *
 * The interpreter's memory that a walk reads: the thread's state, its frame stack, frames outside of that.
 *
 * What belongs to the thread itself, its state and its frame stack, can only go by its own doing, or when the
 * interpreter ends: where neither can be, it is looked at where it lies. All else is copied, without faults.
 */
#include "collect/inproc/python/python_frames_walker.h"

enum {
	MARGIN_BYTES = 1024,	    /* of the frame stack, read ahead beyond the previous top */
	CHUNK_SIZE = 8,		    /* where a chunk says how large it is */
	CHUNK_BYTES_MAX = 64 << 20, /* of the innermost one, whose top is known */
	OUTER_BYTES_MAX =
		4 * ST_FRAMES_WINDOW_BYTES, /* of others; frames of larger ones come one by one */
};

void st_frames_batch_run(struct st_frames_walker *walker)
{
	struct st_python_batch *batch = &walker->scratch->batch;

	st_batch_read(batch);
	walker->thread->by_read = batch->by_read;
	if (batch->refused)
		st_frames_refuse(ST_PYTHON_NO_SAFE_READ);
}

bool st_frames_read(struct st_frames_walker *walker, void *to, uint64_t from, uint64_t size_bytes)
{
	st_frames_batch_begin(walker, to);
	st_batch_add(&walker->scratch->batch, from, size_bytes);
	st_frames_batch_run(walker);
	return walker->scratch->batch.ok[0];
}

/* The frames outside of the frame stack that the previous sample had, outermost first: those are the most likely
 * to be there still. */
static void want_pieces(struct st_frames_walker *walker)
{
	const struct st_python_layout *layout = walker->layout;
	struct st_frames_thread *thread = walker->thread;
	struct st_frames_scratch *scratch = walker->scratch;
	struct st_python_batch *batch = &scratch->batch;
	uint64_t size = layout->frame_bytes - layout->frame_begin;

	walker->pieces = batch->to + batch->size_bytes;
	for (uint32_t i = thread->kept_count; i--;) {
		uint64_t used = (uint64_t)(batch->to - scratch->arena) + batch->size_bytes;

		if (batch->count + 1 < ST_BATCH_MAX &&
		    used + size <= ST_FRAMES_ARENA_BYTES - ST_FRAMES_WINDOW_BYTES)
			st_batch_add(batch, thread->kept[i] + layout->frame_begin, size);
		else
			thread->kept[i] = 0;
	}
}

/* Where a chunk of the thread's own frame stack ends; 0: it is none. */
static uint64_t own_chunk_end(uint64_t chunk)
{
	uint64_t size;

	if (!st_frames_plausible(chunk))
		return 0;
	size = st_frames_load64((const uint8_t *)(uintptr_t)chunk + CHUNK_SIZE);
	return size >= ST_FRAMES_PAGE_BYTES && size <= CHUNK_BYTES_MAX ? chunk + size : 0;
}

static void look_at_chunk(struct st_frames_walker *walker, uint64_t chunk, uint64_t end)
{
	walker->window = (const uint8_t *)(uintptr_t)chunk;
	walker->low = chunk;
	walker->high = end;
	walker->older = st_frames_load64(walker->window);
}

void st_frames_settle_window(struct st_frames_walker *walker)
{
	const struct st_python_layout *layout = walker->layout;
	struct st_frames_thread *thread = walker->thread;
	uint64_t chunk = 0, top = 0, before = thread->chunk;

	thread->chunk = 0;
	if (layout->state_chunk != ST_PYTHON_ABSENT) {
		chunk = st_frames_load64(walker->state_bytes + layout->state_chunk);
		top = st_frames_load64(walker->state_bytes + layout->state_chunk + 8);
	}
	walker->older = chunk;
	if (walker->own) {
		uint64_t end = own_chunk_end(chunk);

		walker->older = 0;
		if (end && top > chunk && top <= end)
			look_at_chunk(walker, chunk, top);
		return;
	}
	if (!st_frames_plausible(chunk) || top <= chunk || top - chunk >= CHUNK_BYTES_MAX)
		return;
	walker->base = chunk;
	walker->low = top - chunk > ST_FRAMES_WINDOW_BYTES ? top - ST_FRAMES_WINDOW_BYTES : chunk;
	walker->high = top;
	if (chunk != before || top > walker->ahead_end || walker->low != chunk) {
		if (!st_frames_read(walker, walker->copy, walker->low, top - walker->low)) {
			walker->low = walker->high = 0;
			return;
		}
	}
	if (walker->low != chunk)
		return;
	walker->older = st_frames_load64(walker->window);
	thread->chunk = chunk;
	thread->top = top;
}

/* As much of the previous sample's chunk as was in use, and a few frames more. The chunk is made of whole pages. */
uint64_t st_frames_foreseen_bytes(const struct st_frames_thread *thread)
{
	uint64_t page_end =
		(thread->top + ST_FRAMES_PAGE_BYTES - 1) & ~(uint64_t)(ST_FRAMES_PAGE_BYTES - 1);
	uint64_t end =
		thread->top + MARGIN_BYTES < page_end ? thread->top + MARGIN_BYTES : page_end;

	if (!thread->chunk)
		return 0;
	return end - thread->chunk < ST_FRAMES_WINDOW_BYTES ? end - thread->chunk
							    : ST_FRAMES_WINDOW_BYTES;
}

static void settle_ahead(struct st_frames_walker *walker, uint32_t first_piece,
			 uint32_t piece_count)
{
	struct st_frames_thread *thread = walker->thread;
	struct st_frames_scratch *scratch = walker->scratch;

	st_frames_settle_codes(walker);
	for (uint32_t i = 0; i < piece_count; i++)
		if (!scratch->batch.ok[first_piece + i])
			thread->kept[thread->kept_count - 1 - i] = 0;
	walker->piece_count = thread->kept_count;
}

bool st_frames_read_ahead(struct st_frames_walker *walker, uint64_t state, uint64_t other,
			  uint64_t *owner)
{
	const struct st_python_layout *layout = walker->layout;
	struct st_frames_thread *thread = walker->thread;
	struct st_frames_scratch *scratch = walker->scratch;
	struct st_python_batch *batch = &scratch->batch;
	bool own = walker->own;
	uint64_t size = own ? 0 : st_frames_foreseen_bytes(thread);
	const uint8_t *state_copy = NULL, *owner_copy = NULL;
	uint32_t first_piece, end;

	st_frames_batch_begin(walker, scratch->arena);
	if (!own)
		state_copy = st_batch_add(batch, state, layout->state_bytes);
	if (other)
		owner_copy = st_batch_add(batch, other + layout->state_thread, 8);
	st_frames_want_codes(walker);
	first_piece = batch->count;
	want_pieces(walker);
	end = batch->count;
	walker->window = walker->copy = batch->to + batch->size_bytes;
	if (size)
		st_batch_add(batch, thread->chunk, size);
	st_frames_batch_run(walker);
	settle_ahead(walker, first_piece, end - first_piece);
	if (own)
		return true;
	if (size && !batch->ok[end])
		thread->chunk = 0;
	walker->ahead_end = thread->chunk + size;
	if (!batch->ok[0])
		return false;
	memcpy(scratch->state, state_copy, layout->state_bytes);
	walker->state_bytes = scratch->state;
	if (owner_copy && batch->ok[1])
		memcpy(owner, owner_copy, sizeof(*owner));
	return true;
}

bool st_frames_move_window(struct st_frames_walker *walker, uint64_t frame)
{
	uint64_t end = frame + walker->layout->frame_bytes, low = walker->older;

	if (walker->own) {
		uint64_t chunk_end = own_chunk_end(low);

		if (frame <= low || end > chunk_end)
			return false;
		look_at_chunk(walker, low, chunk_end);
		return true;
	}
	if (!st_frames_plausible(low) || frame <= low || frame - low >= OUTER_BYTES_MAX)
		return false;
	walker->base = low;
	if (end - low > ST_FRAMES_WINDOW_BYTES)
		low = end - ST_FRAMES_WINDOW_BYTES;
	walker->low = walker->high = 0;
	if (!st_frames_read(walker, walker->copy, low, end - low))
		return false;
	walker->window = walker->copy;
	walker->low = low;
	walker->high = end;
	walker->older = low == walker->base ? st_frames_load64(walker->window) : walker->base;
	return true;
}
