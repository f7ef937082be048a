/* SPDX-License-Identifier: Apache-2.0
 *
 * How words get into a ring, for the slow paths that write whole records. The caller has made sure of
 * the room; nothing is seen by the drainer before st_words_publish.
 */
#ifndef ST_COLLECT_INPROC_CORE_WORDS_H
#define ST_COLLECT_INPROC_CORE_WORDS_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "collect/inproc/core/state.h"

/* Where the word at this head is. */
static inline uint64_t *st_words_at(const struct st_hot *hot, uint64_t head)
{
	return (uint64_t *)((char *)hot->data + (head & hot->byte_mask));
}

static inline void st_words_put(struct st_hot *hot, uint64_t word)
{
	*st_words_at(hot, hot->head) = word;
	hot->head += 8;
}

static inline void st_words_publish(struct st_hot *hot)
{
	/* Pairs with the drainer's acquire load: words before head. */
	atomic_store_explicit(hot->head_shared, hot->head, memory_order_release);
}

/* A record of one word or two, at hot's head, published. The compiler cannot know that words do not overwrite `hot`: what
 * is needed of it is read before. */
static inline void st_words_record(struct st_hot *hot, uint64_t word)
{
	uint64_t head = hot->head, *at = st_words_at(hot, head);
	_Atomic uint64_t *head_shared = hot->head_shared;

	hot->head = head + 8;
	*at = word;
	/* As in st_words_publish. */
	atomic_store_explicit(head_shared, head + 8, memory_order_release);
}

static inline void st_words_record_two(struct st_hot *hot, uint64_t first, uint64_t second)
{
	uint64_t head = hot->head, *at = st_words_at(hot, head), *next = st_words_at(hot, head + 8);
	_Atomic uint64_t *head_shared = hot->head_shared;

	hot->head = head + 16;
	*at = first;
	*next = second;
	/* As in st_words_publish. */
	atomic_store_explicit(head_shared, head + 16, memory_order_release);
}

enum { ST_AHEAD_BYTES = 256 };

/* Strata has read these lines since they were written last, a round of the ring ago. To have one back takes as long as
 * several records, for which nobody waits who has asked in time. */
static inline void st_words_ask_ahead(const struct st_hot *hot)
{
	const uint64_t *at = st_words_at(hot, hot->head + ST_AHEAD_BYTES);

#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0"
			 :
			 : "m"(*at)); /* not the compiler's: it only does so for newer CPUs */
#else
	__builtin_prefetch(at, 1);
#endif
}

/* The dt of a record at `time` (0 = now), with an absolute time in front of it when the gap is long. */
static inline uint64_t st_words_time(struct st_hot *hot, uint64_t time)
{
	uint64_t dt;

	if (!time)
		time = st_ticks();
	if (time < hot->last)
		time = hot->last;
	dt = time - hot->last;
	if (dt > ST_WORD_DT_MAX) {
		st_words_put(hot, st_word_ext(ST_EXT_TIME, 2, 0));
		st_words_put(hot, time);
		dt = 0;
	}
	hot->last = time;
	return dt;
}

/* One word after another out of pieces of bytes, the last one filled up with zeros. */
struct st_part_reader {
	const struct st_part *part, *end;
	uint32_t done; /* bytes of *part */
};

static inline uint64_t st_part_word(struct st_part_reader *reader)
{
	uint64_t word = 0;

	for (uint32_t filled = 0; filled < 8 && reader->part < reader->end;) {
		uint32_t left = reader->part->size_bytes - reader->done;
		uint32_t take = left < 8 - filled ? left : 8 - filled;

		if (take)
			memcpy((char *)&word + filled,
			       (const char *)reader->part->at + reader->done, take);
		filled += take;
		reader->done += take;
		if (reader->done == reader->part->size_bytes) {
			reader->part++;
			reader->done = 0;
		}
	}
	return word;
}

/* The limit, with 0 in its place: see begin_fast in task.c. 0: the slow path must do it. */
static inline uint64_t st_words_take_limit(struct st_hot *hot)
{
	uint64_t limit = hot ? hot->limit : 0;

	if (ST_LIKELY(limit)) {
		hot->limit = 0;
		atomic_signal_fence(memory_order_seq_cst);
	}
	return limit;
}

#endif
