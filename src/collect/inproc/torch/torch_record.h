/* SPDX-License-Identifier: Apache-2.0
 *
 * The short way of a begin and an end, for who calls it: between the two reads of the clock and beside them nothing is
 * done that need not be. All else is in torch_record.c.
 */
#ifndef ST_COLLECT_INPROC_TORCH_TORCH_RECORD_H
#define ST_COLLECT_INPROC_TORCH_TORCH_RECORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/inproc/core/state.h"
#include "collect/inproc/torch/torch.h"
#include "collect/inproc/core/words.h"

#pragma GCC visibility push(hidden)

enum { ST_OPERATOR_BYTES = 16 }; /* of ST_EXT_OPERATOR */

/* Domains, as they stand in the lowest bits of a key. */
enum { ST_KEY_OPERATOR, ST_KEY_RANGE, ST_KEY_MODULE, ST_KEY_KINDS };
extern struct itt_domain *st_operator_domains[ST_KEY_KINDS];

static inline uint32_t st_operator_kind(enum st_operator_scope scope)
{
	if (scope == ST_SCOPE_USER)
		return ST_KEY_RANGE;
	return scope == ST_SCOPE_MODULE ? ST_KEY_MODULE : ST_KEY_OPERATOR;
}

enum { ST_OPERATORS_RECENT = 256, ST_OPERATOR_ID_BITS = 16 };

/* The first page of the table of signatures: what usually is all that is needed of it. A fork wipes it. */
struct st_operator_front {
	union {
		struct {
			_Atomic uint32_t generation; /* of the signatures; 0: of none */
			uint32_t deaths;	     /* of modules, see torch_module_names.h */
		};
		_Atomic uint64_t stamp; /* both */
	};
	_Atomic uint32_t source_told;
	uint32_t count;
	_Atomic uint32_t enlist_lock;	       /* torch_enlist.c */
	_Atomic uint32_t turn_lock, turn_told; /* torch_turns.c */
	/* Of each domain, without a time. 0: ask the slow path, which puts it here. */
	_Atomic uint32_t end_word[ST_KEY_KINDS];
	/* By a few bits of their hash: the hash, with the id in the place of its lowest bits. 0: none. */
	_Atomic uint64_t recent[ST_OPERATORS_RECENT];
};
extern struct st_operator_front *st_operator_front;

/* A module whose stamp may be old only because another one died; this one lives. */
static inline void st_operator_renew(struct st_torch_named *named)
{
	uint64_t stamp = atomic_load_explicit(&st_operator_front->stamp, memory_order_relaxed);

	if ((uint32_t)named->stamp == (uint32_t)stamp)
		named->stamp = stamp;
}

void st_operator_begin_module_slowly(const void *key, struct st_torch_named *named);
void st_operator_end_slowly(uintptr_t key);

/* Numbers that do not fit are none. */
static inline bool st_operator_has_sequence(int64_t sequence)
{
	return sequence >= 0 && sequence < UINT32_MAX;
}

static inline uint64_t st_operator_payload(uint32_t id, int64_t sequence)
{
	return id | (st_operator_has_sequence(sequence) ? (uint64_t)sequence + 1 : 0) << 32;
}

static inline _Atomic uint64_t *st_operator_place(uint64_t hash)
{
	/* Of the bits that the id takes the place of; the lowest is always set. */
	return &st_operator_front->recent[hash >> 1 & (ST_OPERATORS_RECENT - 1)];
}

/* The id of a signature; 0: not among the recent ones. */
static inline uint32_t st_operator_recent(uint64_t hash)
{
	/* Pairs with the release store in torch_record.c: its definition is there. */
	uint64_t found = atomic_load_explicit(st_operator_place(hash), memory_order_acquire);
	uint64_t rest = found ^ hash;

	return rest >> ST_OPERATOR_ID_BITS ? 0
					   : (uint32_t)found & ((1u << ST_OPERATOR_ID_BITS) - 1);
}

/* Whether the short way is open. The limit of a thread that is not in it is never 0. */
static inline __attribute__((always_inline)) bool st_operator_may_begin(const struct st_hot *hot,
									uint64_t limit)
{
	return ST_LIKELY(hot->head + ST_OPERATOR_BYTES + ST_END_BYTES <= limit &&
			 hot->key_count != ST_KEYS_MAX &&
			 !(atomic_load_explicit(&hot->ended_count, memory_order_relaxed) |
			   atomic_load_explicit(hot->control, memory_order_relaxed)));
}

/* False: the slow path must do it. */
static inline __attribute__((always_inline)) bool
st_operator_begin_at(struct st_hot *hot, uint64_t limit, uintptr_t marked, uint64_t word,
		     uint64_t payload, uint64_t now)
{
	uint64_t dt = now - hot->last;
	uint32_t key_count = hot->key_count + 1;

	if (ST_UNLIKELY(dt > ST_WORD_DT_MAX))
		return false;
	((struct st_thread *)hot)->key[key_count] = marked;
	hot->key_count = key_count;
	hot->last = now;
	hot->run++;
	word |= st_word_slice(0, 0, 0, dt);
	if (payload)
		st_words_record_two(hot, word, payload);
	else
		st_words_record(hot, word);
	atomic_signal_fence(memory_order_seq_cst);
	hot->limit = limit - ST_END_BYTES;
	return true;
}

/* The same, now. */
static inline __attribute__((always_inline)) bool
st_operator_begin_fast(struct st_hot *hot, uint64_t limit, uintptr_t marked, uint32_t id,
		       int64_t sequence)
{
	if (!st_operator_may_begin(hot, limit))
		return false;
	st_words_ask_ahead(hot);
	if (st_operator_has_sequence(sequence))
		return st_operator_begin_at(hot, limit, marked,
					    st_word_ext(ST_EXT_OPERATOR, ST_OPERATOR_BYTES / 8, 0),
					    st_operator_payload(id, sequence), st_ticks());
	return st_operator_begin_at(hot, limit, marked, st_word_slice(ST_WORD_OPERATOR, 0, id, 0),
				    0, st_ticks());
}

/* The begin of an operator of a signature that was recorded just now; false: nothing was done. */
static inline __attribute__((always_inline)) bool
st_operator_begin_recent(const void *key, uint32_t kind, uint64_t hash, int64_t sequence)
{
	struct st_hot *hot = st_tls;
	uint64_t limit = st_words_take_limit(hot);
	uint32_t id;

	if (ST_UNLIKELY(!limit))
		return false;
	id = st_operator_recent(hash);
	if (ST_LIKELY(id &&
		      st_operator_begin_fast(hot, limit, (uintptr_t)key | kind, id, sequence)))
		return true;
	hot->limit = limit;
	return false;
}

/* A call of a module; false: nothing was done. */
static inline __attribute__((always_inline)) bool
st_operator_begin_module(const void *key, const struct st_torch_named *named, uint64_t now)
{
	struct st_hot *hot = st_tls;
	uint64_t limit = st_words_take_limit(hot);

	if (ST_UNLIKELY(!limit))
		return false;
	if (ST_LIKELY(named->stamp == atomic_load_explicit(&st_operator_front->stamp,
							   memory_order_relaxed) &&
		      st_operator_may_begin(hot, limit))) {
		st_words_ask_ahead(hot);
		if (ST_LIKELY(st_operator_begin_at(hot, limit, (uintptr_t)key | ST_KEY_MODULE,
						   named->word, 0, now)))
			return true;
	}
	hot->limit = limit;
	return false;
}

/* False: nothing was done. */
static inline __attribute__((always_inline)) bool st_operator_end_at(struct st_hot *hot,
								     uint64_t limit,
								     uintptr_t marked,
								     uint32_t kind, uint64_t now)
{
	uint64_t dt = now - hot->last;
	uint32_t word, key_count;

	word = atomic_load_explicit(&st_operator_front->end_word[kind], memory_order_relaxed);
	key_count = hot->key_count;
	if (ST_UNLIKELY(((struct st_thread *)hot)->key[key_count] != marked || !hot->run || !word ||
			dt > ST_WORD_DT_MAX))
		return false;
	hot->key_count = key_count - 1;
	hot->last = now;
	hot->run--;
	st_words_record(hot, word | st_word_slice(0, 0, 0, dt));
	atomic_signal_fence(memory_order_seq_cst);
	hot->limit = limit + ST_END_BYTES;
	return true;
}

/* The same of a module. */
static inline __attribute__((always_inline)) bool st_operator_end_module(uintptr_t marked,
									 uint64_t now)
{
	struct st_hot *hot = st_tls;
	uint64_t limit = st_words_take_limit(hot);

	if (ST_UNLIKELY(!limit))
		return false;
	if (ST_LIKELY(st_operator_end_at(hot, limit, marked, ST_KEY_MODULE, now)))
		return true;
	hot->limit = limit;
	return false;
}

static inline __attribute__((always_inline)) void st_operator_end_of(const void *key, uint32_t kind)
{
	uintptr_t marked = (uintptr_t)key | kind;
	struct st_hot *hot = st_tls;
	uint64_t limit = st_words_take_limit(hot);

	if (ST_LIKELY(limit)) {
		if (ST_LIKELY(st_operator_end_at(hot, limit, marked, kind, st_ticks())))
			return;
		hot->limit = limit;
	}
	st_operator_end_slowly(marked);
}

#pragma GCC visibility pop

#endif
