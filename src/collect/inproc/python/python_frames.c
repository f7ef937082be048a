/* SPDX-License-Identifier: Apache-2.0
 *
 * From the thread's state along the chain of frames. What is read is a chain of addresses from a running
 * interpreter: it may be half written, so every code object's type is compared before its frame is
 * believed, and the chain is followed only as far as it can be read.
 */
#include "collect/inproc/python/python_frames.h"

#include <stdatomic.h>
#include <string.h>

#include "collect/inproc/python/python_frames_walker.h"
#include "collect/inproc/python/python_table.h"
#include "collect/inproc/core/handler_ring.h"
#include "format/sample_record.h"

enum {
	ROOT_BYTES = 1024, /* a C frame so near behind the state is part of it */
	C_FRAME_BYTES = 24,
	STEPS_MAX = 3,		  /* frames looked at for each one asked for: some are not shown */
	EVAL_BEGIN_BYTES = 0x400, /* in which the evaluation function sets itself up */
};
#define TOLD (1ull << 32)

/* Of the process. `ready` is stored last. */
static struct st_python_runtime found;
static _Atomic uint32_t ready;
static _Atomic uint32_t refusal; /* enum st_python_refusal */

static const uint8_t *find_piece(struct st_frames_walker *walker, uint64_t frame)
{
	for (uint32_t i = 0; i < walker->piece_count; i++) {
		uint32_t index = (walker->cursor + i) % walker->piece_count;

		if (walker->thread->kept[index] == frame) {
			walker->cursor = index + 1;
			return walker->pieces +
			       (uint64_t)(walker->piece_count - 1 - index) *
				       (walker->layout->frame_bytes - walker->layout->frame_begin);
		}
	}
	return NULL;
}

static const uint8_t *seen_in_window(struct st_frames_walker *walker, uint64_t frame)
{
	struct st_frames_thread *thread = walker->thread;

	if (walker->own && thread->stacked_count < ST_FRAMES_STACKED_MAX)
		thread->stacked[thread->stacked_count++] = frame;
	return walker->window + (frame - walker->low) + walker->layout->frame_begin;
}

/* The bytes of a frame from layout->frame_begin on; NULL: unreadable. */
static const uint8_t *read_frame(struct st_frames_walker *walker, uint64_t frame)
{
	const struct st_python_layout *layout = walker->layout;
	struct st_frames_scratch *scratch = walker->scratch;
	const uint8_t *bytes;

	if (!st_frames_plausible(frame))
		return NULL;
	if (frame >= walker->low && frame < walker->high &&
	    walker->high - frame >= layout->frame_bytes)
		return seen_in_window(walker, frame);
	/* Once: the place where it is found is where the next one is looked for. */
	bytes = find_piece(walker, frame);
	if (!bytes && walker->older && st_frames_move_window(walker, frame))
		return seen_in_window(walker, frame);
	if (walker->next_count < ST_FRAMES_KEPT_MAX)
		scratch->next[walker->next_count++] = frame;
	if (bytes)
		return bytes;
	if (!st_frames_read(walker, scratch->single, frame + layout->frame_begin,
			    layout->frame_bytes - layout->frame_begin))
		return NULL;
	return scratch->single;
}

/* Adds a frame to the block and gives the next one outwards. False: it cannot be a frame. */
static bool take_frame(struct st_frames_walker *walker, uint64_t frame, uint64_t *next)
{
	const struct st_python_layout *layout = walker->layout;
	const uint8_t *bytes = read_frame(walker, frame);
	struct st_frames_item *item = &walker->scratch->block[walker->item_count];
	uint8_t owner = 0;
	int64_t place;

	if (!bytes)
		return false;
	bytes -= layout->frame_begin;
	*next = st_frames_load64(bytes + layout->frame_back);
	*item = (struct st_frames_item){.code = st_frames_load64(bytes + layout->frame_code) &
						~(uint64_t)layout->code_tag,
					.globals = st_frames_load64(bytes + layout->frame_globals)};
	if (layout->frame_owner == ST_PYTHON_ABSENT) {
		item->position = st_frames_load32(bytes + layout->frame_place);
		item->flags = ST_FRAMES_ENDS_GROUP;
		walker->item_count += item->position >= -1;
		return item->position >= -1;
	}
	owner = bytes[layout->frame_owner];
	if (owner == ST_PYTHON_OWNER_SENTINEL)
		return true;
	if (owner > ST_PYTHON_OWNER_SENTINEL)
		return false;
	if (owner == ST_PYTHON_OWNER_SHIM) {
		item->flags = ST_FRAMES_SHIM | ST_FRAMES_ENDS_GROUP;
		walker->item_count++;
		return true;
	}
	place = (int64_t)(st_frames_load64(bytes + layout->frame_place) - item->code -
			  layout->code_begin);
	if (place < -2 || place >= 2 * (int64_t)ST_PYTHON_POSITION_NONE || place & 1)
		return false;
	item->position = (int32_t)(place / 2);
	if (owner == ST_PYTHON_OWNER_GENERATOR)
		item->flags |= ST_FRAMES_GENERATOR;
	if (layout->frame_entry != ST_PYTHON_ABSENT && bytes[layout->frame_entry])
		item->flags |= ST_FRAMES_ENDS_GROUP;
	walker->item_count++;
	return true;
}

static bool put_word(struct st_frames_walker *walker, uint64_t word)
{
	struct st_python_walk *out = walker->out;

	if (out->frame_count == out->frames_max) {
		out->flags |= ST_SAMPLE_PYTHON_CUT;
		walker->stop = true;
		return false;
	}
	out->frames[out->frame_count++] = word;
	return true;
}

/* Frames that have not begun are not shown, as CPython itself does it. */
static bool is_shown(const struct st_frames_item *item)
{
	return !(item->flags & ST_FRAMES_SHIM) &&
	       (item->flags & ST_FRAMES_GENERATOR || item->position >= item->known->traceable);
}

/* Writes the words of the block. False: a code that is none. */
static bool put_block(struct st_frames_walker *walker)
{
	struct st_python_walk *out = walker->out;

	st_frames_know_block(walker);
	for (uint32_t i = 0; i < walker->item_count && !walker->stop; i++) {
		const struct st_frames_item *item = &walker->scratch->block[i];
		bool shim = item->flags & ST_FRAMES_SHIM;

		if (!shim && (!item->known->fingerprint || !st_frames_plausible(item->code)))
			return false;
		walker->any |= !shim;
		if (is_shown(item)) {
			uint32_t position = item->position < 0 ? (uint32_t)ST_PYTHON_POSITION_NONE
							       : (uint32_t)item->position;

			if (!put_word(walker, st_word_python_frame(item->known->id, position, 0)))
				break;
			walker->group_frames++;
			walker->shown = true;
		}
		if (!(item->flags & ST_FRAMES_ENDS_GROUP))
			continue;
		if (walker->group_frames)
			out->frames[out->frame_count - 1] |= (uint64_t)ST_PYTHON_FRAME_ENTRY << 56;
		else
			put_word(walker, st_word_python_frame(0, ST_PYTHON_POSITION_NONE,
							      ST_PYTHON_FRAME_ENTRY |
								      ST_PYTHON_FRAME_EMPTY));
		walker->group_frames = 0;
	}
	walker->item_count = 0;
	return true;
}

/* Follows the chain from `frame`. False: not even its first frame is one. */
static bool follow(struct st_frames_walker *walker, uint64_t frame)
{
	uint32_t left = walker->out->frames_max * STEPS_MAX + ST_FRAMES_BLOCK_MAX;
	bool whole = true;

	walker->out->frame_count = 0;
	walker->item_count = walker->group_frames = 0;
	walker->any = walker->shown = walker->stop = walker->grouped = walker->loose = false;
	while (frame && whole && !walker->stop && left--) {
		whole = take_frame(walker, frame, &frame);
		if (!walker->grouped && walker->item_count &&
		    walker->scratch->block[walker->item_count - 1].flags & ST_FRAMES_ENDS_GROUP) {
			walker->outer = frame;
			walker->grouped = true;
			walker->loose =
				!frame && walker->scratch->block[walker->item_count - 1].flags &
						  ST_FRAMES_GENERATOR;
		}
		if (walker->item_count == ST_FRAMES_BLOCK_MAX)
			whole = put_block(walker) && whole;
	}
	if (!walker->stop && walker->item_count && !put_block(walker))
		whole = false;
	/* Every chain ends with a group. */
	if (!walker->stop && walker->group_frames)
		whole = false;
	/* A C frame that is not filled in may lead to nothing at all, or to a generator that waits. */
	if (walker->layout->c_frame != ST_PYTHON_ABSENT &&
	    (!walker->shown || (!walker->grouped && !walker->stop)))
		return false;
	if (!whole && !walker->any)
		return false;
	if (!whole || frame)
		walker->out->flags |= ST_SAMPLE_PYTHON_CUT;
	return true;
}

/* Whether nobody else can take the thread's state and frame stack away: who wants to has to hold the interpreter's
 * lock, which this thread has, or is the first thread, which is this one. When the interpreter ends, nothing is sure. */
static bool owns_frames(const struct st_frames_walker *walker, uint64_t state)
{
	uint64_t holder;

	if (walker->layout->state_chunk == ST_PYTHON_ABSENT || !found.holder_state ||
	    !found.is_finalizing || found.is_finalizing())
		return false;
	holder = (uint64_t)(uintptr_t)found.holder_state();
	return holder == state || (!holder && walker->out->first_thread);
}

/* What Python keeps for the thread itself is, up to 3.11, the state of its first interpreter. In another one it
 * runs with another state, which is only known by holding the lock. False: no state can be read. */
static bool read_state(struct st_frames_walker *walker)
{
	const struct st_python_layout *layout = walker->layout;
	struct st_frames_scratch *scratch = walker->scratch;
	uint64_t state = (uint64_t)(uintptr_t)found.this_thread_state(), running = 0, owner = 0;
	bool holds;

	if (!state)
		return false;
	if (found.running_state)
		running = (uint64_t)(uintptr_t)found.running_state();
	walker->own = owns_frames(walker, state);
	if (walker->own)
		walker->state_bytes = (const uint8_t *)(uintptr_t)state;
	if (!st_frames_read_ahead(walker, state, running != state ? running : 0, &owner)) {
		walker->out->flags |= ST_SAMPLE_PYTHON_CUT;
		return false;
	}
	holds = running == state;
	walker->state = state;
	if (running && !holds && owner &&
	    owner == st_frames_load64(walker->state_bytes + layout->state_thread)) {
		walker->state = running;
		holds = st_frames_read(walker, scratch->state, running, layout->state_bytes);
		if (!holds) {
			walker->out->flags |= ST_SAMPLE_PYTHON_CUT;
			return false;
		}
	}
	if (layout->state_status != ST_PYTHON_ABSENT)
		holds = st_frames_load32(walker->state_bytes + layout->state_status) &
			layout->holds_lock;
	if (holds)
		walker->out->flags |= ST_SAMPLE_HOLDS_GIL;
	return true;
}

static void keep(struct st_frames_walker *walker)
{
	memcpy(walker->thread->kept, walker->scratch->next,
	       walker->next_count * sizeof(*walker->scratch->next));
	walker->thread->kept_count = walker->next_count;
	st_frames_keep_codes(walker);
	walker->thread->state = walker->state;
}

/* It lies on the thread's own stack, which can be read like the native frames around it. */
static bool read_c_frame(struct st_frames_walker *walker, uint64_t at, uint64_t c_frame[3])
{
	const struct st_python_walk *out = walker->out;

	if (at < out->stack_low || at >= out->stack_high || out->stack_high - at < C_FRAME_BYTES)
		return st_frames_read(walker, c_frame, at, C_FRAME_BYTES);
	memcpy(c_frame, (const void *)(uintptr_t)at, C_FRAME_BYTES);
	return true;
}

/* Follows the chain of a C frame. `check`: its frames must begin where those of the next outer C frame end. So must
 * a generator that nobody called: one that gives up its value is let go of before its C frame is. */
static bool follow_c_frame(struct st_frames_walker *walker, const uint64_t *c_frame, bool check)
{
	uint64_t top = c_frame[walker->layout->c_frame / 8];
	uint64_t at = c_frame[walker->layout->c_previous / 8], outer[3];

	walker->next_count = walker->cursor = 0;
	if (!top || !follow(walker, top))
		return false;
	/* A chain of as many frames as were asked for is no leftover. */
	if ((!check && !walker->loose) || (walker->stop && !walker->grouped))
		return true;
	return walker->grouped && st_frames_plausible(at) && read_c_frame(walker, at, outer) &&
	       outer[walker->layout->c_frame / 8] == walker->outer;
}

/* With C frames (3.11, 3.12) the evaluation function announces its own before it is filled in: what is
 * there then is what the stack held before, and may well look right. */
static void walk_c_frames(struct st_frames_walker *walker)
{
	struct st_python_walk *out = walker->out;
	uint64_t at = st_frames_load64(walker->state_bytes + walker->layout->state_frame),
		 c_frame[3];
	bool begins = out->pc >= found.eval_start && out->pc < found.eval_start + EVAL_BEGIN_BYTES;
	bool outermost = at - walker->state < ROOT_BYTES;

	if (!st_frames_plausible(at) || !read_c_frame(walker, at, c_frame)) {
		out->flags |= ST_SAMPLE_PYTHON_CUT;
		return;
	}
	if (outermost && !c_frame[walker->layout->c_frame / 8])
		return;
	if (follow_c_frame(walker, c_frame, begins))
		return;
	out->flags &= ~(uint32_t)ST_SAMPLE_PYTHON_CUT;
	out->flags |= ST_SAMPLE_PYTHON_TOP_UNKNOWN;
	at = c_frame[walker->layout->c_previous / 8];
	if (!outermost && st_frames_plausible(at) && read_c_frame(walker, at, c_frame) &&
	    follow_c_frame(walker, c_frame, true))
		return;
	out->frame_count = 0;
	out->flags |= ST_SAMPLE_PYTHON_CUT;
}

static void walk_frames(struct st_frames_walker *walker)
{
	uint64_t top = st_frames_load64(walker->state_bytes + walker->layout->state_frame);

	if (top && !follow(walker, top)) {
		walker->out->frame_count = 0;
		walker->out->flags |= ST_SAMPLE_PYTHON_CUT | ST_SAMPLE_PYTHON_TOP_UNKNOWN;
	}
}

/* Says once in each ring which CPython this is. */
static bool tell_runtime(struct st_frames_walker *walker)
{
	uint64_t told = walker->out->generation | TOLD;
	const uint64_t words[] = {
		found.version | (uint64_t)(found.free_threaded ? ST_PYTHON_FREE_THREADED : 0) << 32,
		found.eval_start,
		found.eval_end,
		0,
		0,
	};
	const struct st_part part = {words, sizeof(words)};

	if (walker->thread->told != told &&
	    st_handler_put(walker->out->ring, ST_EXT_PYTHON_RUNTIME, &part, 1))
		walker->thread->told = told;
	return walker->thread->told == told;
}

/* Why this sample, which has just found a thread of Python's, has no frames of it. */
static void tell_refusal(void)
{
	static const uint32_t notices[] = {
		[ST_PYTHON_READ] = ST_NOTICE_PYTHON_UNREADABLE,
		[ST_PYTHON_UNKNOWN_VERSION] = ST_NOTICE_PYTHON_UNKNOWN,
		[ST_PYTHON_REFUSED_FREE_THREADED] = ST_NOTICE_PYTHON_FREE_THREADED,
		[ST_PYTHON_NO_SAFE_READ] = ST_NOTICE_PYTHON_UNREADABLE,
		[ST_PYTHON_NO_MEMORY] = ST_NOTICE_PYTHON_UNREADABLE,
	};

	if (st_process && st_header())
		atomic_fetch_or_explicit(&st_header()->notices, notices[st_python_frames_refusal()],
					 memory_order_relaxed);
}

void st_python_frames_walk(struct st_python_walk *walk)
{
	struct st_frames_walker walker = {.out = walk,
					  .runtime = &found,
					  .layout = &found.layout,
					  .thread = walk->thread,
					  .scratch = walk->scratch};

	walk->frame_count = 0;
	walk->flags = 0;
	/* Pairs with the release store of st_python_frames_init. */
	if (!atomic_load_explicit(&ready, memory_order_acquire) || !found.this_thread_state ||
	    !walk->frames_max)
		return;
	if (atomic_load_explicit(&refusal, memory_order_relaxed) || st_passive()) {
		if (!found.this_thread_state())
			return;
		walk->flags = ST_SAMPLE_PYTHON_CUT;
		tell_runtime(&walker);
		tell_refusal();
		return;
	}
	if (!walker.thread->pid)
		walker.thread->pid = (uint32_t)st_syscall(SYS_getpid, 0);
	if (!++walker.thread->epoch) {
		memset(walker.thread->known, 0, sizeof(walker.thread->known));
		walker.thread->met_count = walker.thread->ahead_count = 0;
	}
	walker.thread->stacked_count = 0;
	if (!read_state(&walker))
		return;
	if (!tell_runtime(&walker)) {
		walk->flags |= ST_SAMPLE_PYTHON_CUT;
		return;
	}
	st_frames_settle_window(&walker);
	if (walker.layout->c_frame != ST_PYTHON_ABSENT)
		walk_c_frames(&walker);
	else
		walk_frames(&walker);
	keep(&walker);
}

static void prefetch(uint64_t at, uint64_t size_bytes)
{
	for (uint64_t i = 0; i < size_bytes; i += ST_FRAMES_LINE_BYTES)
		__builtin_prefetch((const void *)(uintptr_t)(at + i));
}

void st_python_frames_foresee(const void *memory)
{
	const struct st_frames_thread *thread = memory;

	if (!thread->state)
		return;
	prefetch(thread->state + found.layout.state_frame, ST_FRAMES_LINE_BYTES);
	for (uint32_t i = 0; i < thread->stacked_count; i++) {
		__builtin_prefetch((const void *)(uintptr_t)thread->stacked[i]);
		__builtin_prefetch(
			(const void *)(uintptr_t)(thread->stacked[i] + ST_FRAMES_LINE_BYTES));
	}
	prefetch(thread->chunk, st_frames_foreseen_bytes(thread));
	for (uint32_t i = 0; i < thread->ahead_count; i++)
		prefetch(thread->ahead_codes[i], found.layout.code_bytes);
	for (uint32_t i = 0; i < thread->met_count; i++)
		__builtin_prefetch(&thread->known[thread->met[i]]);
}

size_t st_python_thread_bytes(void)
{
	return (sizeof(struct st_frames_thread) + 63) & ~(size_t)63;
}

enum st_python_refusal st_python_frames_refusal(void)
{
	return (enum st_python_refusal)atomic_load_explicit(&refusal, memory_order_relaxed);
}

void st_frames_refuse(enum st_python_refusal why)
{
	atomic_store_explicit(&refusal, why, memory_order_relaxed);
}

static enum st_python_refusal why_not(void)
{
	uint64_t probe = 1, copy = 0;

	if (found.free_threaded)
		return ST_PYTHON_REFUSED_FREE_THREADED;
	if (!found.known)
		return ST_PYTHON_UNKNOWN_VERSION;
	if (!st_python_codes_init())
		return ST_PYTHON_NO_MEMORY;
	if (!st_python_read(&copy, (uint64_t)(uintptr_t)&probe, sizeof(copy), true) || copy != 1)
		return ST_PYTHON_NO_SAFE_READ;
	return ST_PYTHON_READ;
}

bool st_python_frames_init(void)
{
	if (atomic_load_explicit(&ready, memory_order_relaxed))
		return true;
	if (!st_python_runtime_find(&found))
		return false;
	atomic_store_explicit(&refusal, why_not(), memory_order_relaxed);
	/* Pairs with the acquire load of st_python_frames_walk. */
	atomic_store_explicit(&ready, 1, memory_order_release);
	return true;
}
