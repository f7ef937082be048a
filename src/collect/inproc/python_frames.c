/* SPDX-License-Identifier: Apache-2.0
 *
 * From the thread's state along the chain of frames. What is read is a chain of addresses from a running
 * interpreter: it may be half written, so every code object's type is compared before its frame is
 * believed, and the chain is followed only as far as it can be read.
 *
 * What belongs to the thread itself, its state and its frame stack, can only go by its own doing, or when the
 * interpreter ends: where neither can be, it is looked at where it lies. All else is copied, without faults.
 *
 * Frames come in blocks: the frames of a block are collected first, then their code objects are read together,
 * then the words are written. Most of what a sample needs is what the previous one of the thread needed, and
 * is read ahead by a single call, together with the thread state that tells what is really needed.
 */
#include "collect/inproc/python_frames.h"

#include <stdatomic.h>
#include <string.h>

#include "collect/inproc/python_batch.h"
#include "collect/inproc/python_codes.h"
#include "collect/inproc/python_runtime.h"
#include "collect/inproc/python_table.h"
#include "collect/inproc/sampler.h"
#include "format/sample_record.h"

enum {
	WINDOW_BYTES = 16 << 10, /* as a rule the size of a chunk of the frame stack */
	ARENA_BYTES = WINDOW_BYTES + (21 << 10),
	PAGE_BYTES = 4096,
	LINE_BYTES = 64,
	MARGIN_BYTES = 1024, /* of the frame stack, read ahead beyond the previous top */
	KEPT_MAX = 256,	     /* frames outside of the frame stack */
	KNOWN_MAX = 256,
	KNOWN_PROBES = 8,
	STACKED_MAX = 48,
	BLOCK_MAX = 36,
	MET_MAX = 36, /* code objects of a sample that the next one looks for */
	CHECKED = 1,  /* of those that can be trusted, compared in each sample ... */
	CHECK_EVERY =
		8, /* ... or so many times that in one of so many, where nothing else is copied */
	CONTENT_EVERY = 4,   /* ... and with their texts in one of so many */
	UNCOMPARED_MAX = 96, /* samples of one that is never chosen */
	ROOT_BYTES = 1024,   /* a C frame so near behind the state is part of it */
	STATE_BYTES = 320,
	C_FRAME_BYTES = 24,
	CHUNK_SIZE = 8,			    /* where a chunk says how large it is */
	CHUNK_BYTES_MAX = 64 << 20,	    /* of the innermost one, whose top is known */
	OUTER_BYTES_MAX = 4 * WINDOW_BYTES, /* of others; frames of larger ones come one by one */
	STEPS_MAX = 3,		  /* frames looked at for each one asked for: some are not shown */
	EVAL_BEGIN_BYTES = 0x400, /* in which the evaluation function sets itself up */
};
#define ADDRESS_MIN 4096ull
#define ADDRESS_END (1ull << 56)

/* A code object that this thread has met. What every sample looks at comes first. */
struct known {
	uint64_t address;
	uint64_t fingerprint;  /* with its content, where it has no number; 0: not a code object */
	uint64_t globals;      /* of the frame with which it was compared last ... */
	uint64_t globals_seen; /* ... and of the frame at hand */
	uint32_t id;
	uint32_t epoch; /* the sample in which it was last met */
	int32_t traceable;
	uint32_t ahead;	      /* 1 + place of what was read ahead of it ... */
	uint32_t ahead_epoch; /* ... in this sample */
	uint32_t uncompared;  /* samples that have trusted it since it was compared */
	uint64_t object;      /* fingerprint of the object itself */
	struct st_python_content content;
} __attribute__((aligned(LINE_BYTES)));

/* What was read of a code object. */
struct fetched {
	struct known *known;
	const uint8_t *code;
	const uint8_t *content; /* NULL: was not asked for */
	uint32_t in_batch;
	bool ok, content_ok;
	bool as_before; /* its content is taken to be that */
};

struct thread {
	uint64_t told; /* generation of the ring whose reader knows the runtime, | TOLD */
	uint32_t pid, epoch;
	uint32_t kept_count, met_count, ahead_count;
	uint64_t state; /* where it was in the previous sample */
	uint64_t chunk,
		top;  /* of the frame stack in the previous sample; 0: not known, or too large */
	bool by_read; /* struct st_python_batch */
	bool with_content; /* trusted code is compared with its texts */
	uint64_t random;
	/* Places in `known` of the code objects of the previous sample, those that are compared next first. */
	uint16_t met[MET_MAX];
	uint64_t ahead_codes[MET_MAX]; /* addresses of the first */
	uint64_t kept[KEPT_MAX]; /* frames outside of the frame stack in the previous sample */
	uint32_t stacked_count;
	uint64_t stacked
		[STACKED_MAX]; /* innermost frames on the frame stack, where it was not copied */
	struct known known[KNOWN_MAX];
};
#define TOLD (1ull << 32)

enum { ITEM_ENDS_GROUP = 1, ITEM_GENERATOR = 2, ITEM_SHIM = 4 };
struct item {
	uint64_t code, globals;
	int32_t position;
	uint32_t flags;
	struct known *known;
};

/* What every sample needs lies together: most pages have left the processor's tables since the previous one. */
struct scratch {
	uint8_t state[STATE_BYTES];
	struct item block[BLOCK_MAX];
	uint16_t met[MET_MAX];
	struct st_python_batch batch;
	struct fetched ahead[MET_MAX], wanted[BLOCK_MAX];
	uint64_t next[KEPT_MAX];
	/* Also the texts of a code object that is described; what was here is read again then. */
	union {
		/* What is read ahead, without gaps; the window is the last, and has all of its bytes. */
		uint8_t arena[ARENA_BYTES];
		uint8_t description[ST_PYTHON_DESCRIPTION_BYTES];
	} __attribute__((aligned(PAGE_BYTES)));
	uint8_t codes[BLOCK_MAX * (ST_PYTHON_CODE_BYTES_MAX +
				   ST_PYTHON_CONTENT_PARTS * ST_PYTHON_CONTENT_BYTES)];
	struct known spare[BLOCK_MAX];
	uint8_t single[ST_PYTHON_FRAME_BYTES_MAX];
};
_Static_assert(sizeof(struct scratch) <= ST_PYTHON_SCRATCH_BYTES, "fits");
_Static_assert((int)ARENA_BYTES >= (int)ST_PYTHON_DESCRIPTION_BYTES, "overlaid");

/* Of the process. `ready` is stored last. */
static struct st_python_runtime found;
static _Atomic uint32_t ready;
static _Atomic uint32_t refusal; /* enum st_python_refusal */
/* Code of a file was replaced at its place, which only its comparison has told: no code is trusted any more. */
static _Atomic bool replaced;

struct walker {
	struct st_python_walk *out;
	const struct st_python_layout *layout;
	struct thread *thread;
	struct scratch *scratch;
	uint64_t state;		    /* address of the thread's ... */
	const uint8_t *state_bytes; /* ... and what is there, or a copy */
	const uint8_t *window;	    /* the same of the frame stack */
	uint8_t *copy;		    /* where that of the frame stack has its place */
	bool own;		    /* state and frame stack are looked at where they are */
	const uint8_t *pieces;	    /* pieces: of the frames in `kept`, the last one first */
	uint64_t low, high;	    /* what the window holds */
	uint64_t ahead_end;	    /* up to where the chunk of the previous sample was read */
	uint64_t base, older; /* chunk that the window is of; chunk of the next outer frames */
	uint32_t piece_count, cursor, next_count, met_count;
	uint32_t item_count;
	uint32_t group_frames; /* shown, of the group at hand */
	uint64_t outer;	       /* frame outside of the innermost group */
	bool grouped;	       /* that is known */
	bool ahead;	       /* what was read ahead of code objects is there */
	bool shown;	       /* there are words of frames */
	bool any;	       /* a code object was believed */
	bool stop;
};

static uint64_t load64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static int32_t load32(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static bool plausible(uint64_t address)
{
	return address >= ADDRESS_MIN && address < ADDRESS_END && !(address & 7);
}

static void begin_batch(struct walker *walker, void *to)
{
	struct st_python_batch *batch = &walker->scratch->batch;

	batch->count = 0;
	batch->pid = walker->thread->pid;
	batch->by_read = walker->thread->by_read;
	batch->refused = false;
	batch->to = to;
	batch->size_bytes = 0;
}

static void run_batch(struct walker *walker)
{
	struct st_python_batch *batch = &walker->scratch->batch;

	st_batch_read(batch);
	walker->thread->by_read = batch->by_read;
	if (batch->refused)
		atomic_store_explicit(&refusal, ST_PYTHON_NO_SAFE_READ, memory_order_relaxed);
}

static bool read_one(struct walker *walker, void *to, uint64_t from, uint64_t size_bytes)
{
	begin_batch(walker, to);
	st_batch_add(&walker->scratch->batch, from, size_bytes);
	run_batch(walker);
	return walker->scratch->batch.ok[0];
}

/* Modules, and with them the code of a file, hardly ever go. Code that ran once, for an import, does, and its place
 * is used again; but what runs there next belongs to another module. The rest is found out by comparing a few
 * of a sample's code objects in turn. */
static bool is_trusted(const struct known *known, uint64_t globals)
{
	return known->content.of_file && known->id && known->fingerprint > 1 &&
	       known->globals == globals && !atomic_load_explicit(&replaced, memory_order_relaxed);
}

/* Has a code read. `whole`: and what tells it from others at the same place, which lies in many places. */
static void want(struct walker *walker, struct known *known, struct fetched *fetched, bool whole)
{
	struct st_python_batch *batch = &walker->scratch->batch;

	*fetched = (struct fetched){.known = known, .in_batch = batch->count};
	fetched->code = st_batch_add(batch, known->address, walker->layout->code_bytes);
	if (!known->id || st_python_code_has_number(&found))
		return;
	fetched->as_before = !whole;
	if (!whole)
		return;
	fetched->content = batch->to + batch->size_bytes;
	for (uint32_t i = 0; i < ST_PYTHON_CONTENT_PARTS; i++)
		st_batch_add(batch, known->content.at[i], known->content.size_bytes[i]);
}

static void settle(const struct walker *walker, struct fetched *fetched)
{
	const bool *ok = &walker->scratch->batch.ok[fetched->in_batch];

	fetched->ok = ok[0];
	fetched->content_ok = fetched->content && ok[1] && ok[2] && ok[3];
}

/* The code objects of the previous sample. */
static void want_codes(struct walker *walker)
{
	struct thread *thread = walker->thread;

	for (uint32_t i = 0; i < thread->ahead_count; i++) {
		struct known *known = &thread->known[thread->met[i]];

		want(walker, known, &walker->scratch->ahead[i],
		     thread->with_content || !is_trusted(known, known->globals));
		known->ahead = i + 1;
		known->ahead_epoch = thread->epoch;
	}
}

/* The frames outside of the frame stack that the previous sample had, outermost first: those are the most likely
 * to be there still. */
static void want_pieces(struct walker *walker)
{
	const struct st_python_layout *layout = walker->layout;
	struct thread *thread = walker->thread;
	struct scratch *scratch = walker->scratch;
	struct st_python_batch *batch = &scratch->batch;
	uint64_t size = layout->frame_bytes - layout->frame_begin;

	walker->pieces = batch->to + batch->size_bytes;
	for (uint32_t i = thread->kept_count; i--;) {
		uint64_t used = (uint64_t)(batch->to - scratch->arena) + batch->size_bytes;

		if (batch->count + 1 < ST_BATCH_MAX && used + size <= ARENA_BYTES - WINDOW_BYTES)
			st_batch_add(batch, thread->kept[i] + layout->frame_begin, size);
		else
			thread->kept[i] = 0;
	}
}

/* Where a chunk of the thread's own frame stack ends; 0: it is none. */
static uint64_t own_chunk_end(uint64_t chunk)
{
	uint64_t size;

	if (!plausible(chunk))
		return 0;
	size = load64((const uint8_t *)(uintptr_t)chunk + CHUNK_SIZE);
	return size >= PAGE_BYTES && size <= CHUNK_BYTES_MAX ? chunk + size : 0;
}

static void look_at_chunk(struct walker *walker, uint64_t chunk, uint64_t end)
{
	walker->window = (const uint8_t *)(uintptr_t)chunk;
	walker->low = chunk;
	walker->high = end;
	walker->older = load64(walker->window);
}

/* Where the frame stack is now; reads it where that was not foreseen. */
static void settle_window(struct walker *walker)
{
	const struct st_python_layout *layout = walker->layout;
	struct thread *thread = walker->thread;
	uint64_t chunk = 0, top = 0, before = thread->chunk;

	thread->chunk = 0;
	if (layout->state_chunk != ST_PYTHON_ABSENT) {
		chunk = load64(walker->state_bytes + layout->state_chunk);
		top = load64(walker->state_bytes + layout->state_chunk + 8);
	}
	walker->older = chunk;
	if (walker->own) {
		uint64_t end = own_chunk_end(chunk);

		walker->older = 0;
		if (end && top > chunk && top <= end)
			look_at_chunk(walker, chunk, top);
		return;
	}
	if (!plausible(chunk) || top <= chunk || top - chunk >= CHUNK_BYTES_MAX)
		return;
	walker->base = chunk;
	walker->low = top - chunk > WINDOW_BYTES ? top - WINDOW_BYTES : chunk;
	walker->high = top;
	if (chunk != before || top > walker->ahead_end || walker->low != chunk) {
		if (!read_one(walker, walker->copy, walker->low, top - walker->low)) {
			walker->low = walker->high = 0;
			return;
		}
	}
	if (walker->low != chunk)
		return;
	walker->older = load64(walker->window);
	thread->chunk = chunk;
	thread->top = top;
}

/* As much of the previous sample's chunk as was in use, and a few frames more. The chunk is made of whole pages. */
static uint64_t foresee_window(const struct thread *thread)
{
	uint64_t page_end = (thread->top + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
	uint64_t end =
		thread->top + MARGIN_BYTES < page_end ? thread->top + MARGIN_BYTES : page_end;

	if (!thread->chunk)
		return 0;
	return end - thread->chunk < WINDOW_BYTES ? end - thread->chunk : WINDOW_BYTES;
}

static void settle_ahead(struct walker *walker, uint32_t first_piece, uint32_t piece_count)
{
	struct thread *thread = walker->thread;
	struct scratch *scratch = walker->scratch;

	for (uint32_t i = 0; i < thread->ahead_count; i++)
		settle(walker, &scratch->ahead[i]);
	walker->ahead = true;
	for (uint32_t i = 0; i < piece_count; i++)
		if (!scratch->batch.ok[first_piece + i])
			thread->kept[thread->kept_count - 1 - i] = 0;
	walker->piece_count = thread->kept_count;
}

/* The state at `state`, and what the previous sample says will be needed of it. `other`: another state, of which
 * *owner is read. False: the state cannot be read. */
static bool read_ahead(struct walker *walker, uint64_t state, uint64_t other, uint64_t *owner)
{
	const struct st_python_layout *layout = walker->layout;
	struct thread *thread = walker->thread;
	struct scratch *scratch = walker->scratch;
	struct st_python_batch *batch = &scratch->batch;
	uint64_t size = walker->own ? 0 : foresee_window(thread);
	const uint8_t *state_copy = NULL, *owner_copy = NULL;
	uint32_t first_piece, end;

	begin_batch(walker, scratch->arena);
	if (!walker->own)
		state_copy = st_batch_add(batch, state, layout->state_bytes);
	if (other)
		owner_copy = st_batch_add(batch, other + layout->state_thread, 8);
	want_codes(walker);
	first_piece = batch->count;
	want_pieces(walker);
	end = batch->count;
	walker->window = walker->copy = batch->to + batch->size_bytes;
	if (size)
		st_batch_add(batch, thread->chunk, size);
	run_batch(walker);
	settle_ahead(walker, first_piece, end - first_piece);
	if (walker->own)
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

/* Moves the window to the chunk that comes next. False: the frame is not there. */
static bool move_window(struct walker *walker, uint64_t frame)
{
	uint64_t end = frame + walker->layout->frame_bytes, low = walker->older;

	if (walker->own) {
		uint64_t chunk_end = own_chunk_end(low);

		if (frame <= low || end > chunk_end)
			return false;
		look_at_chunk(walker, low, chunk_end);
		return true;
	}
	if (!plausible(low) || frame <= low || frame - low >= OUTER_BYTES_MAX)
		return false;
	walker->base = low;
	if (end - low > WINDOW_BYTES)
		low = end - WINDOW_BYTES;
	walker->low = walker->high = 0;
	if (!read_one(walker, walker->copy, low, end - low))
		return false;
	walker->window = walker->copy;
	walker->low = low;
	walker->high = end;
	walker->older = low == walker->base ? load64(walker->window) : walker->base;
	return true;
}

static const uint8_t *find_piece(struct walker *walker, uint64_t frame)
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

static const uint8_t *seen_in_window(struct walker *walker, uint64_t frame)
{
	struct thread *thread = walker->thread;

	if (walker->own && thread->stacked_count < STACKED_MAX)
		thread->stacked[thread->stacked_count++] = frame;
	return walker->window + (frame - walker->low) + walker->layout->frame_begin;
}

/* The bytes of a frame from layout->frame_begin on; NULL: unreadable. */
static const uint8_t *read_frame(struct walker *walker, uint64_t frame)
{
	const struct st_python_layout *layout = walker->layout;
	struct scratch *scratch = walker->scratch;
	const uint8_t *bytes;

	if (!plausible(frame))
		return NULL;
	if ((frame >= walker->low && frame < walker->high &&
	     walker->high - frame >= layout->frame_bytes) ||
	    (walker->older && !find_piece(walker, frame) && move_window(walker, frame)))
		return seen_in_window(walker, frame);
	if (walker->next_count < KEPT_MAX)
		scratch->next[walker->next_count++] = frame;
	bytes = find_piece(walker, frame);
	if (bytes)
		return bytes;
	if (!read_one(walker, scratch->single, frame + layout->frame_begin,
		      layout->frame_bytes - layout->frame_begin))
		return NULL;
	return scratch->single;
}

/* Adds a frame to the block and gives the next one outwards. False: it cannot be a frame. */
static bool take_frame(struct walker *walker, uint64_t frame, uint64_t *next)
{
	const struct st_python_layout *layout = walker->layout;
	const uint8_t *bytes = read_frame(walker, frame);
	struct item *item = &walker->scratch->block[walker->item_count];
	uint8_t owner = 0;
	int64_t place;

	if (!bytes)
		return false;
	bytes -= layout->frame_begin;
	*next = load64(bytes + layout->frame_back);
	*item = (struct item){.code = load64(bytes + layout->frame_code) &
				      ~(uint64_t)layout->code_tag,
			      .globals = load64(bytes + layout->frame_globals)};
	if (layout->frame_owner == ST_PYTHON_ABSENT) {
		item->position = load32(bytes + layout->frame_place);
		item->flags = ITEM_ENDS_GROUP;
		walker->item_count += item->position >= -1;
		return item->position >= -1;
	}
	owner = bytes[layout->frame_owner];
	if (owner == ST_PYTHON_OWNER_SENTINEL)
		return true;
	if (owner > ST_PYTHON_OWNER_SENTINEL)
		return false;
	if (owner == ST_PYTHON_OWNER_SHIM) {
		item->flags = ITEM_SHIM | ITEM_ENDS_GROUP;
		walker->item_count++;
		return true;
	}
	place = (int64_t)(load64(bytes + layout->frame_place) - item->code - layout->code_begin);
	if (place < -2 || place >= 2 * (int64_t)ST_PYTHON_POSITION_NONE || place & 1)
		return false;
	item->position = (int32_t)(place / 2);
	if (owner == ST_PYTHON_OWNER_GENERATOR)
		item->flags |= ITEM_GENERATOR;
	if (layout->frame_entry != ST_PYTHON_ABSENT && bytes[layout->frame_entry])
		item->flags |= ITEM_ENDS_GROUP;
	walker->item_count++;
	return true;
}

/* Where what is known of a code stands, or may stand; NULL: every place holds a code of this sample. */
static struct known *find_known(struct walker *walker, uint64_t code)
{
	struct thread *thread = walker->thread;
	uint64_t hash = (code >> 4) * 0x9e3779b97f4a7c15ull >> 40;
	struct known *victim = NULL; /* the one that was needed least recently */

	for (uint32_t i = 0; i < KNOWN_PROBES; i++) {
		struct known *known = &thread->known[(hash + i) % KNOWN_MAX];

		if (known->address == code)
			return known;
		if (!victim || known->epoch < victim->epoch)
			victim = known;
	}
	return victim->epoch == thread->epoch ? NULL : victim;
}

/* Which code this is. Of one that was known the content has been read along with it. */
static uint64_t identify(const struct fetched *fetched, const struct st_python_code_seen *code)
{
	struct known *known = fetched->known;
	uint64_t object = fetched->ok ? st_python_code_fingerprint(code) : 0;
	bool numbered = st_python_code_has_number(&found);
	bool same = object && object == known->object && known->id;

	known->object = object;
	if (!object)
		return 0;
	if (same && fetched->as_before)
		return known->fingerprint;
	same = same && (numbered || fetched->content_ok);
	if (!same)
		st_python_content_find(code, &known->content);
	if (numbered)
		return object;
	return st_python_content_mix(&known->content, object, same ? fetched->content : NULL);
}

static bool put_code(void *to, enum st_ring_ext subkind, const struct st_part *parts,
		     uint32_t part_count)
{
	return st_sampler_put(to, subkind, parts, part_count);
}

/* Compares a code with what is known of it; a new one gets its id and is described. */
static void know(struct walker *walker, const struct fetched *fetched)
{
	struct known *known = fetched->known;
	struct st_python_code_seen code = {
		.runtime = &found, .address = known->address, .bytes = fetched->code};
	bool was_trusted = is_trusted(known, known->globals_seen);
	uint64_t fingerprint = identify(fetched, &code);
	uint8_t copy[ST_PYTHON_CODE_BYTES_MAX];
	uint32_t described;
	bool define;

	known->uncompared = 0;
	if (fingerprint && known->fingerprint == fingerprint && known->id) {
		known->globals = known->globals_seen;
		return;
	}
	if (was_trusted)
		atomic_store_explicit(&replaced, true, memory_order_relaxed);
	known->fingerprint = fingerprint;
	known->globals = known->globals_seen;
	known->id = 0;
	if (!fingerprint)
		return;
	known->traceable = walker->layout->code_traceable
				   ? load32(code.bytes + walker->layout->code_traceable)
				   : -1;
	known->id = st_python_code_id(fingerprint, &define);
	if (!define)
		return;
	/* The texts go where it may lie. */
	memcpy(copy, code.bytes, walker->layout->code_bytes);
	code.bytes = copy;
	described = st_python_code_describe(
		&(struct st_python_code_sink){put_code, walker->out->sampler}, &code, known->id,
		walker->scratch->description);
	if (described)
		known->id = described;
	st_python_code_described(fingerprint, known->id, described != 0);
	if (!described)
		known->fingerprint = 1; /* asked for again the next time */
	walker->piece_count = 0;
	walker->ahead = false;
	if (walker->own)
		return;
	walker->low = walker->high = 0;
	walker->older = walker->base;
}

/* For the next sample to read ahead. */
static void remember(struct walker *walker, const struct known *known)
{
	const struct known *table = walker->thread->known;

	if (known >= table && known < table + KNOWN_MAX && walker->met_count < MET_MAX)
		walker->scratch->met[walker->met_count++] = (uint16_t)(known - table);
}

/* What was read ahead of a code, if that is enough to know it in a frame with these globals. */
static const struct fetched *read_before(const struct walker *walker, const struct known *known,
					 uint64_t globals)
{
	const struct fetched *fetched;

	if (!walker->ahead || !known->ahead || known->ahead_epoch != walker->thread->epoch)
		return NULL;
	fetched = &walker->scratch->ahead[known->ahead - 1];
	return fetched->as_before && known->globals != globals ? NULL : fetched;
}

/* Compares the code objects of the block that this sample has not met yet; reads those that were not foreseen. */
static void know_block(struct walker *walker)
{
	struct scratch *scratch = walker->scratch;
	uint32_t count = 0, epoch = walker->thread->epoch;

	begin_batch(walker, scratch->codes);
	for (uint32_t i = 0; i < walker->item_count; i++) {
		struct item *item = &scratch->block[i];
		const struct fetched *before;
		struct known *known;

		if (item->flags & ITEM_SHIM)
			continue;
		known = find_known(walker, item->code);
		if (!known) {
			known = &scratch->spare[i];
			*known = (struct known){0};
		}
		item->known = known;
		if (known->address == item->code && known->epoch == epoch)
			continue;
		if (known->address != item->code)
			*known = (struct known){.address = item->code};
		known->epoch = epoch;
		remember(walker, known);
		known->globals_seen = item->globals;
		before = read_before(walker, known, item->globals);
		if (before)
			know(walker, before);
		else if (!is_trusted(known, item->globals) || ++known->uncompared >= UNCOMPARED_MAX)
			want(walker, known, &scratch->wanted[count++], true);
	}
	if (!count)
		return;
	run_batch(walker);
	for (uint32_t i = 0; i < count; i++) {
		settle(walker, &scratch->wanted[i]);
		know(walker, &scratch->wanted[i]);
	}
}

static bool put_word(struct walker *walker, uint64_t word)
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
static bool is_shown(const struct item *item)
{
	return !(item->flags & ITEM_SHIM) &&
	       (item->flags & ITEM_GENERATOR || item->position >= item->known->traceable);
}

/* Writes the words of the block. False: a code that is none. */
static bool put_block(struct walker *walker)
{
	struct st_python_walk *out = walker->out;

	know_block(walker);
	for (uint32_t i = 0; i < walker->item_count && !walker->stop; i++) {
		const struct item *item = &walker->scratch->block[i];
		bool shim = item->flags & ITEM_SHIM;

		if (!shim && (!item->known->fingerprint || !plausible(item->code)))
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
		if (!(item->flags & ITEM_ENDS_GROUP))
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
static bool follow(struct walker *walker, uint64_t frame)
{
	uint32_t left = walker->out->frames_max * STEPS_MAX + BLOCK_MAX;
	bool whole = true;

	walker->out->frame_count = 0;
	walker->item_count = walker->group_frames = 0;
	walker->any = walker->shown = walker->stop = walker->grouped = false;
	while (frame && whole && !walker->stop && left--) {
		whole = take_frame(walker, frame, &frame);
		if (!walker->grouped && walker->item_count &&
		    walker->scratch->block[walker->item_count - 1].flags & ITEM_ENDS_GROUP) {
			walker->outer = frame;
			walker->grouped = true;
		}
		if (walker->item_count == BLOCK_MAX)
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
static bool owns_frames(const struct walker *walker, uint64_t state)
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
static bool read_state(struct walker *walker)
{
	const struct st_python_layout *layout = walker->layout;
	struct scratch *scratch = walker->scratch;
	uint64_t state = (uint64_t)(uintptr_t)found.this_thread_state(), running = 0, owner = 0;
	bool holds;

	if (!state)
		return false;
	if (found.running_state)
		running = (uint64_t)(uintptr_t)found.running_state();
	walker->own = owns_frames(walker, state);
	if (walker->own)
		walker->state_bytes = (const uint8_t *)(uintptr_t)state;
	if (!read_ahead(walker, state, running != state ? running : 0, &owner)) {
		walker->out->flags |= ST_SAMPLE_PYTHON_CUT;
		return false;
	}
	holds = running == state;
	walker->state = state;
	if (running && !holds && owner &&
	    owner == load64(walker->state_bytes + layout->state_thread)) {
		walker->state = running;
		holds = read_one(walker, scratch->state, running, layout->state_bytes);
		if (!holds) {
			walker->out->flags |= ST_SAMPLE_PYTHON_CUT;
			return false;
		}
	}
	if (layout->state_status != ST_PYTHON_ABSENT)
		holds = load32(walker->state_bytes + layout->state_status) & layout->holds_lock;
	if (holds)
		walker->out->flags |= ST_SAMPLE_HOLDS_GIL;
	return true;
}

/* What the next sample will likely meet again: first, to be read ahead, what has to be compared then. By chance: a
 * turn that keeps step with the program's own may pass over the same code for ever. */
static void keep_codes(struct walker *walker)
{
	struct thread *thread = walker->thread;
	const uint16_t *met = walker->scratch->met;
	uint32_t count = walker->met_count, ahead = 0, rest = count;
	uint32_t turn, checked = CHECKED;

	thread->random = thread->random * 6364136223846793005u + 1442695040888963407u;
	turn = count ? (uint32_t)(thread->random >> 32) % count : 0;
	thread->with_content = (thread->random >> 60) % CONTENT_EVERY == 0;
	/* Hardly anything else has to be copied: seldom, and then more of them. */
	if (walker->own)
		checked = (thread->random >> 50) % CHECK_EVERY ? 0 : CHECKED * CHECK_EVERY;
	for (uint32_t i = 0; i < count; i++) {
		const struct known *known = &thread->known[met[i]];

		if ((i + count - turn) % count >= checked && is_trusted(known, known->globals)) {
			thread->met[--rest] = met[i];
			continue;
		}
		thread->ahead_codes[ahead] = known->address;
		thread->met[ahead++] = met[i];
	}
	thread->met_count = count;
	thread->ahead_count = ahead;
}

static void keep(struct walker *walker)
{
	memcpy(walker->thread->kept, walker->scratch->next,
	       walker->next_count * sizeof(*walker->scratch->next));
	walker->thread->kept_count = walker->next_count;
	keep_codes(walker);
	walker->thread->state = walker->state;
}

/* It lies on the thread's own stack, which can be read like the native frames around it. */
static bool read_c_frame(struct walker *walker, uint64_t at, uint64_t c_frame[3])
{
	const struct st_python_walk *out = walker->out;

	if (at < out->stack_low || at >= out->stack_high || out->stack_high - at < C_FRAME_BYTES)
		return read_one(walker, c_frame, at, C_FRAME_BYTES);
	memcpy(c_frame, (const void *)(uintptr_t)at, C_FRAME_BYTES);
	return true;
}

/* Follows the chain of a C frame. `check`: its frames must begin where those of the next outer C frame end. */
static bool follow_c_frame(struct walker *walker, const uint64_t *c_frame, bool check)
{
	uint64_t top = c_frame[walker->layout->c_frame / 8];
	uint64_t at = c_frame[walker->layout->c_previous / 8], outer[3];

	walker->next_count = walker->cursor = 0;
	if (!top || !follow(walker, top))
		return false;
	/* A chain of as many frames as were asked for is no leftover. */
	if (!check || (walker->stop && !walker->grouped))
		return true;
	return walker->grouped && plausible(at) && read_c_frame(walker, at, outer) &&
	       outer[walker->layout->c_frame / 8] == walker->outer;
}

/* With C frames (3.11, 3.12) the evaluation function announces its own before it is filled in: what is
 * there then is what the stack held before, and may well look right. */
static void walk_c_frames(struct walker *walker)
{
	struct st_python_walk *out = walker->out;
	uint64_t at = load64(walker->state_bytes + walker->layout->state_frame), c_frame[3];
	bool begins = out->pc >= found.eval_start && out->pc < found.eval_start + EVAL_BEGIN_BYTES;
	bool outermost = at - walker->state < ROOT_BYTES;

	if (!plausible(at) || !read_c_frame(walker, at, c_frame)) {
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
	if (!outermost && plausible(at) && read_c_frame(walker, at, c_frame) &&
	    follow_c_frame(walker, c_frame, true))
		return;
	out->frame_count = 0;
	out->flags |= ST_SAMPLE_PYTHON_CUT;
}

static void walk_frames(struct walker *walker)
{
	uint64_t top = load64(walker->state_bytes + walker->layout->state_frame);

	if (top && !follow(walker, top)) {
		walker->out->frame_count = 0;
		walker->out->flags |= ST_SAMPLE_PYTHON_CUT | ST_SAMPLE_PYTHON_TOP_UNKNOWN;
	}
}

/* Says once in each ring which CPython this is. */
static bool tell_runtime(struct walker *walker)
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
	    st_sampler_put(walker->out->sampler, ST_EXT_PYTHON_RUNTIME, &part, 1))
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
	struct walker walker = {.out = walk,
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
	settle_window(&walker);
	if (walker.layout->c_frame != ST_PYTHON_ABSENT)
		walk_c_frames(&walker);
	else
		walk_frames(&walker);
	keep(&walker);
}

static void prefetch(uint64_t at, uint64_t size_bytes)
{
	for (uint64_t i = 0; i < size_bytes; i += LINE_BYTES)
		__builtin_prefetch((const void *)(uintptr_t)(at + i));
}

void st_python_frames_foresee(const void *memory)
{
	const struct thread *thread = memory;

	if (!thread->state)
		return;
	prefetch(thread->state + found.layout.state_frame, LINE_BYTES);
	for (uint32_t i = 0; i < thread->stacked_count; i++) {
		__builtin_prefetch((const void *)(uintptr_t)thread->stacked[i]);
		__builtin_prefetch((const void *)(uintptr_t)(thread->stacked[i] + LINE_BYTES));
	}
	prefetch(thread->chunk, foresee_window(thread));
	for (uint32_t i = 0; i < thread->ahead_count; i++)
		prefetch(thread->ahead_codes[i], found.layout.code_bytes);
	for (uint32_t i = 0; i < thread->met_count; i++)
		__builtin_prefetch(&thread->known[thread->met[i]]);
}

size_t st_python_thread_bytes(void)
{
	return (sizeof(struct thread) + 63) & ~(size_t)63;
}

enum st_python_refusal st_python_frames_refusal(void)
{
	return (enum st_python_refusal)atomic_load_explicit(&refusal, memory_order_relaxed);
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
