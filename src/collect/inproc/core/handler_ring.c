/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer of a handler's ring. What a sample is made of is the sampler's business.
 */
#include "collect/inproc/core/handler_ring.h"
#include "collect/inproc/core/words.h"

bool st_handler_has_room(const struct st_handler_ring *ring, uint64_t words, uint64_t kept_bytes)
{
	/* Pairs with the drainer's release store: what it has read may be overwritten. */
	uint64_t tail = atomic_load_explicit(&ring->shared->tail, memory_order_acquire);
	uint64_t used = ring->hot.head - tail;

	return used + words * 8 + kept_bytes <= ST_SHM_HANDLER_RING_BYTES;
}

bool st_handler_identify(struct st_handler_ring *ring)
{
	struct st_hot *hot = &ring->hot;

	if (ring->identified)
		return true;
	if (!st_handler_has_room(ring, ST_HANDLER_BEFORE_WORDS, ST_HANDLER_END_BYTES))
		return false;
	st_words_put(hot, st_word_ext(ST_EXT_TIME, 2, 0));
	st_words_put(hot, ring->time);
	hot->last = ring->time;
	st_words_put(hot, st_word_ext(ST_EXT_THREAD, 2, 0));
	st_words_put(hot, ring->tid | (uint64_t)ring->generation << 32);
	st_words_publish(hot);
	ring->identified = true;
	return true;
}

bool st_handler_put(struct st_handler_ring *ring, enum st_ring_ext subkind,
		    const struct st_part *parts, uint32_t part_count)
{
	struct st_hot *hot = &ring->hot;
	uint64_t words = 1, dt;

	for (uint32_t i = 0; i < part_count; i++)
		words += ((uint64_t)parts[i].size_bytes + 7) / 8;
	if (words > UINT16_MAX || !st_handler_identify(ring) ||
	    !st_handler_has_room(ring, words + ST_HANDLER_BEFORE_WORDS,
				 part_count ? ST_HANDLER_END_BYTES : 0))
		return false;
	dt = st_words_time(hot, ring->time);
	st_words_put(hot, st_word_ext(subkind, (uint32_t)words, dt));
	for (uint32_t i = 0; i < part_count; i++) {
		struct st_part_reader reader = {&parts[i], &parts[i + 1], 0};

		for (uint32_t done = 0; done < parts[i].size_bytes; done += 8)
			st_words_put(hot, st_part_word(&reader));
	}
	st_words_publish(hot);
	return true;
}
