/* SPDX-License-Identifier: Apache-2.0
 *
 * A walk along the Python frames of a thread: what it has at hand, and its parts. Only python_frames*.c use this.
 *
 * Frames come in blocks: the frames of a block are collected first, then their code objects are read together,
 * then the words are written. Most of what a sample needs is what the previous one of the thread needed, and
 * is read ahead by a single call, together with the thread state that tells what is really needed.
 */
#ifndef ST_COLLECT_INPROC_PYTHON_PYTHON_FRAMES_WALKER_H
#define ST_COLLECT_INPROC_PYTHON_PYTHON_FRAMES_WALKER_H

#include <string.h>

#include "collect/inproc/python/python_batch.h"
#include "collect/inproc/python/python_codes.h"
#include "collect/inproc/python/python_frames.h"
#include "collect/inproc/python/python_runtime.h"

#pragma GCC visibility push(hidden)

enum {
	ST_FRAMES_WINDOW_BYTES = 16 << 10, /* as a rule the size of a chunk of the frame stack */
	ST_FRAMES_ARENA_BYTES = ST_FRAMES_WINDOW_BYTES + (21 << 10),
	ST_FRAMES_PAGE_BYTES = 4096,
	ST_FRAMES_LINE_BYTES = 64,
	ST_FRAMES_KEPT_MAX = 256, /* frames outside of the frame stack */
	ST_FRAMES_KNOWN_MAX = 256,
	ST_FRAMES_STACKED_MAX = 48,
	ST_FRAMES_BLOCK_MAX = 36,
	ST_FRAMES_MET_MAX = 36, /* code objects of a sample that the next one looks for */
	ST_FRAMES_STATE_BYTES = 320,
};
#define ST_FRAMES_ADDRESS_MIN 4096ull
#define ST_FRAMES_ADDRESS_END (1ull << 56)

/* A code object that this thread has met. What every sample looks at comes first. */
struct st_frames_known {
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
} __attribute__((aligned(ST_FRAMES_LINE_BYTES)));

/* What was read of a code object. */
struct st_frames_fetched {
	struct st_frames_known *known;
	const uint8_t *code;
	const uint8_t *content; /* NULL: was not asked for */
	uint32_t in_batch;
	bool ok, content_ok;
	bool as_before; /* its content is taken to be that */
};

struct st_frames_thread {
	uint64_t told; /* generation of the ring whose reader knows the runtime, | TOLD */
	uint32_t pid, epoch;
	uint32_t kept_count, met_count, ahead_count;
	uint64_t state; /* where it was in the previous sample */
	/* Of the frame stack in the previous sample; 0: not known, or too large. */
	uint64_t chunk, top;
	bool by_read;	   /* struct st_python_batch */
	bool with_content; /* trusted code is compared with its texts */
	uint64_t random;
	/* Places in `known` of the code objects of the previous sample, those that are compared next first. */
	uint16_t met[ST_FRAMES_MET_MAX];
	uint64_t ahead_codes[ST_FRAMES_MET_MAX]; /* addresses of the first */
	/* Frames outside of the frame stack in the previous sample. */
	uint64_t kept[ST_FRAMES_KEPT_MAX];
	/* Innermost frames on the frame stack, where it was not copied. */
	uint32_t stacked_count;
	uint64_t stacked[ST_FRAMES_STACKED_MAX];
	struct st_frames_known known[ST_FRAMES_KNOWN_MAX];
};

enum { ST_FRAMES_ENDS_GROUP = 1, ST_FRAMES_GENERATOR = 2, ST_FRAMES_SHIM = 4 };
struct st_frames_item {
	uint64_t code, globals;
	int32_t position;
	uint32_t flags;
	struct st_frames_known *known;
};

/* What every sample needs lies together: most pages have left the processor's tables since the previous one. */
struct st_frames_scratch {
	uint8_t state[ST_FRAMES_STATE_BYTES];
	struct st_frames_item block[ST_FRAMES_BLOCK_MAX];
	uint16_t met[ST_FRAMES_MET_MAX];
	struct st_python_batch batch;
	struct st_frames_fetched ahead[ST_FRAMES_MET_MAX], wanted[ST_FRAMES_BLOCK_MAX];
	uint64_t next[ST_FRAMES_KEPT_MAX];
	/* Also the texts of a code object that is described; what was here is read again then. */
	union {
		/* What is read ahead, without gaps; the window is the last, and has all of its bytes. */
		uint8_t arena[ST_FRAMES_ARENA_BYTES];
		uint8_t description[ST_PYTHON_DESCRIPTION_BYTES];
	} __attribute__((aligned(ST_FRAMES_PAGE_BYTES)));
	uint8_t codes[ST_FRAMES_BLOCK_MAX * (ST_PYTHON_CODE_BYTES_MAX +
					     ST_PYTHON_CONTENT_PARTS * ST_PYTHON_CONTENT_BYTES)];
	struct st_frames_known spare[ST_FRAMES_BLOCK_MAX];
	uint8_t single[ST_PYTHON_FRAME_BYTES_MAX];
};
_Static_assert(sizeof(struct st_frames_scratch) <= ST_PYTHON_SCRATCH_BYTES, "fits");
_Static_assert((int)ST_FRAMES_ARENA_BYTES >= (int)ST_PYTHON_DESCRIPTION_BYTES, "overlaid");

struct st_frames_walker {
	struct st_python_walk *out;
	const struct st_python_runtime *runtime;
	const struct st_python_layout *layout; /* its */
	struct st_frames_thread *thread;
	struct st_frames_scratch *scratch;
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
	bool loose; /* the innermost group is a generator, and nothing is outside of it */
	bool ahead; /* what was read ahead of code objects is there */
	bool shown; /* there are words of frames */
	bool any;   /* a code object was believed */
	bool stop;
};

static inline uint64_t st_frames_load64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline int32_t st_frames_load32(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline bool st_frames_plausible(uint64_t address)
{
	return address >= ST_FRAMES_ADDRESS_MIN && address < ST_FRAMES_ADDRESS_END &&
	       !(address & 7);
}

static inline void st_frames_batch_begin(struct st_frames_walker *walker, void *to)
{
	struct st_python_batch *batch = &walker->scratch->batch;

	batch->count = 0;
	batch->pid = walker->thread->pid;
	batch->by_read = walker->thread->by_read;
	batch->refused = false;
	batch->to = to;
	batch->size_bytes = 0;
}

/* In python_frames_memory.c: the memory of the interpreter. */

void st_frames_batch_run(struct st_frames_walker *walker);
bool st_frames_read(struct st_frames_walker *walker, void *to, uint64_t from, uint64_t size_bytes);

/* The state at `state`, and what the previous sample says will be needed of it. `other`: another state, of which
 * *owner is read. False: the state cannot be read. */
bool st_frames_read_ahead(struct st_frames_walker *walker, uint64_t state, uint64_t other,
			  uint64_t *owner);
/* Where the frame stack is now; reads it where that was not foreseen. */
void st_frames_settle_window(struct st_frames_walker *walker);
/* As much of the previous sample's chunk as was in use, and a few frames more. */
uint64_t st_frames_foreseen_bytes(const struct st_frames_thread *thread);
/* Moves the window to the chunk that comes next. False: the frame is not there. */
bool st_frames_move_window(struct st_frames_walker *walker, uint64_t frame);

/* In python_frames_codes.c: the code objects of the frames. */

/* Has those of the previous sample read with the batch at hand; and, when it was. */
void st_frames_want_codes(struct st_frames_walker *walker);
void st_frames_settle_codes(struct st_frames_walker *walker);
/* Compares the code objects of the block that this sample has not met yet; reads those that were not foreseen. */
void st_frames_know_block(struct st_frames_walker *walker);
/* What the next sample will likely meet again. */
void st_frames_keep_codes(struct st_frames_walker *walker);

/* In python_frames.c. */

/* Nothing can be read: there are no frames from now on. */
void st_frames_refuse(enum st_python_refusal why);

#pragma GCC visibility pop

#endif
