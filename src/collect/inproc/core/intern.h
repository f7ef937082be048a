/* SPDX-License-Identifier: Apache-2.0
 *
 * Names to objects: string handles and domains, found by text without a lock, made under the process
 * lock from arenas that are never freed. Bounded: ST_SHM_STRINGS_MAX labels or 15 MiB of them, then a
 * label shares the handle of its family (runs of digits become '*').
 */
#ifndef ST_COLLECT_INPROC_CORE_INTERN_H
#define ST_COLLECT_INPROC_CORE_INTERN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "collect/inproc/core/itt_abi.h"
#include "collect/inproc/core/state.h"

#pragma GCC visibility push(hidden)

enum { ST_ID_FAMILY = 1 << 30 }; /* in extra1: many labels share this handle */

enum st_index_kind {
	ST_INDEX_STRINGS = 0,
	ST_INDEX_DOMAINS = 1,
	ST_INDEX_FAMILIES = 2,
	ST_INDEX_OBJECTS = 3, /* object.h */
	ST_INDEX_KINDS
};

/* The object comes first: a handle of ours is a node. */
struct st_intern_node {
	union {
		struct itt_string_handle handle;
		struct itt_domain domain;
	};
	uint32_t length;
	uint32_t cut; /* the text is only the beginning of the label */
	char text[];  /* NUL-terminated */
};

struct st_text_key {
	const char *text;
	uint32_t length;
	uint32_t cut;
	uint64_t hash;
	const struct st_itt_object *object; /* of ST_INDEX_OBJECTS: what a new one is to be */
};

/* Open addressing, at most half full. */
struct st_slot {
	_Atomic uint64_t hash;
	_Atomic(struct st_intern_node *) node; /* NULL: empty, whatever hash says */
};

struct st_intern_table {
	uint64_t mask;
	uint64_t reserved;
	struct st_slot slots[];
};

struct st_intern_index {
	_Atomic(struct st_intern_table *) table;
	uint32_t count;
	uint32_t max;
};
extern struct st_intern_index st_indexes[ST_INDEX_KINDS];

/* The look-up is a hot path: without this the key travels through memory, which costs a third of it. */
#define ST_INLINE inline __attribute__((always_inline))

/* Eight bytes at `at`; never behind the end of the text. */
static ST_INLINE uint64_t st_text_word(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Signatures are known by nothing else: every bit of the words must reach all bits, which both halves of a product see
 * to. */
static ST_INLINE uint64_t st_text_mix(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)(a ^ 0x9e3779b97f4a7c15ull) * (b ^ 0xc2b2ae3d27d4eb4full);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A sanitizer would not like it. */
#if defined(__has_feature)
#define ST_ADDRESSES_WATCHED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define ST_ADDRESSES_WATCHED 1
#else
#define ST_ADDRESSES_WATCHED 0
#endif
#if defined(__SSE2__)
#define ST_TEXT_BY_BLOCKS !ST_ADDRESSES_WATCHED
#else
#define ST_TEXT_BY_BLOCKS 0
#endif

/* Of a short text in less time than a call of strlen takes. All of 32 bytes are read where the text begins, which lie in
 * one page: that a byte behind the text belongs to somebody else does not matter. */
static ST_INLINE uint32_t st_text_length(const char *text)
{
#if ST_TEXT_BY_BLOCKS
	if (((uintptr_t)text & 4095) <= 4096 - 32) {
		const __m128i zero = _mm_setzero_si128();
		__m128i low = _mm_loadu_si128((const __m128i *)text);
		__m128i high = _mm_loadu_si128((const __m128i *)(text + 16));
		uint32_t ends = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(low, zero)) |
				(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(high, zero)) << 16;

		if (ends)
			return (uint32_t)__builtin_ctz(ends);
	}
#endif
	return (uint32_t)strlen(text);
}

/* The first and the last words overlap instead of reading past the text; products are independent of
 * each other for all usual lengths. What the length adds is far from what characters can differ by, and the inner words
 * are not mixed as the outer ones are, lest they change places. */
static ST_INLINE uint64_t st_text_hash(const char *text, size_t length)
{
	uint64_t hash = length * 0xd6e8feb86659fd93ull;

	if (length >= 8) {
		while (ST_UNLIKELY(length > 32)) {
			hash = st_text_mix(hash + st_text_word(text), st_text_word(text + 8));
			text += 16;
			length -= 16;
		}
		if (length > 16)
			hash += st_text_mix(~st_text_word(text + 8),
					    st_text_word(text + length - 16));
		hash += st_text_mix(st_text_word(text), st_text_word(text + length - 8));
	} else if (length >= 4) {
		uint32_t low, high;

		memcpy(&low, text, 4);
		memcpy(&high, text + length - 4, 4);
		hash = st_text_mix(hash + low, high);
	} else if (length) {
		hash = st_text_mix(hash + (uint8_t)text[0] +
					   ((uint64_t)(uint8_t)text[length / 2] << 8),
				   (uint8_t)text[length - 1]);
	}
	return hash;
}

static ST_INLINE bool st_text_same(const char *a, const char *b, size_t length)
{
	uint64_t differ = 0;

	if (length < 8) {
		for (size_t at = 0; at < length; at++)
			differ |= (uint64_t)(a[at] != b[at]);
		return !differ;
	}
	for (; ST_UNLIKELY(length > 32); a += 16, b += 16, length -= 16) {
		differ = (st_text_word(a) ^ st_text_word(b)) |
			 (st_text_word(a + 8) ^ st_text_word(b + 8));
		if (differ)
			return false;
	}
	if (length > 16)
		differ = (st_text_word(a + 8) ^ st_text_word(b + 8)) |
			 (st_text_word(a + length - 16) ^ st_text_word(b + length - 16));
	differ |= st_text_word(a) ^ st_text_word(b);
	differ |= st_text_word(a + length - 8) ^ st_text_word(b + length - 8);
	return !differ;
}

void st_text_cut(struct st_text_key *key);

/* What a label is looked up by; labels beyond ST_SHM_TEXT_MAX bytes are cut at a character. */
static ST_INLINE struct st_text_key st_text_key(const char *text, size_t length)
{
	struct st_text_key key = {.text = text, .length = (uint32_t)length};

	if (ST_UNLIKELY(length > ST_SHM_TEXT_MAX))
		st_text_cut(&key);
	key.hash = st_text_hash(text, key.length);
	return key;
}

/* Any thread, no lock, no wait; NULL when there is no such name. */
static ST_INLINE struct st_intern_node *st_intern_find(enum st_index_kind kind,
						       const struct st_text_key *key)
{
	/* Pairs with the release store in grow. */
	const struct st_intern_table *table =
		atomic_load_explicit(&st_indexes[kind].table, memory_order_acquire);

	for (uint64_t at = key->hash; table; at++) {
		const struct st_slot *slot = &table->slots[at & table->mask];
		/* Pairs with the release store in put_in: the node is complete. */
		struct st_intern_node *node =
			atomic_load_explicit(&slot->node, memory_order_acquire);

		if (!node)
			break;
		if (atomic_load_explicit(&slot->hash, memory_order_relaxed) == key->hash &&
		    node->length == key->length && st_text_same(node->text, key->text, key->length))
			return node;
	}
	return NULL;
}

/* Maps the memory for names now, because later it may not be allowed. Lock held. */
void st_intern_prepare(void);

/* Finds or makes; takes the lock. NULL when a bound is reached or the lock is not to be had. The caller
 * holds st_tls busy. */
struct st_intern_node *st_intern_make(enum st_index_kind kind, const struct st_text_key *key);
/* The family of a label: never NULL, the last resort is "*". The caller holds st_tls busy. */
struct st_intern_node *st_intern_family(const struct st_text_key *key);
/* Whether a handle or domain is one of ours. */
bool st_intern_owns(const void *object);
/* Raises the counts to the highest id found in any node. */
void st_intern_highest(uint32_t *strings, uint32_t *domains, uint32_t *objects);
/* Takes all ids back: whoever is used next is defined again. */
void st_intern_undefine(void);

/* Objects by numbers, for programs that hold an int: 0 for what is not in the arena. */
int st_intern_number(const void *object);
void *st_intern_numbered(int number);

extern struct st_intern_node st_any_family; /* "*" */
extern struct st_intern_node st_any_domain; /* "*": domains beyond ST_SHM_DOMAINS_MAX … */
extern struct st_intern_node st_off_domain; /* … that are not wanted */

#pragma GCC visibility pop

#endif
