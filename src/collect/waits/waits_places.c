/* SPDX-License-Identifier: Apache-2.0
 *
 * Where regions of OpenMP are noted while they last. Nothing here may allocate, and the stack of a program may be just large enough: so
 * there are only so many places. What finds none is not recorded, but counted.
 */
#include "collect/waits/waits.h"

enum {
	REGIONS = 128,
	WORD_BITS = 64
}; /* at the same time: nested ones, and those of several threads */

static struct st_region_store stores[REGIONS];
static uint64_t used[REGIONS / WORD_BITS]; /* bits */

static struct st_region_store *take_bit(size_t word)
{
	uint64_t now = __atomic_load_n(&used[word], __ATOMIC_RELAXED);

	while (~now) {
		unsigned int at = (unsigned int)__builtin_ctzll(~now);

		/* Pairs with st_region_give_back(). */
		if (__atomic_compare_exchange_n(&used[word], &now, now | UINT64_C(1) << at, true,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return &stores[word * WORD_BITS + at];
	}
	return NULL;
}

struct st_region_store *st_region_take(uint64_t object, const void *caller)
{
	uint64_t begin = strata_wait_ticks();
	struct st_region_store *store = NULL;

	if (!begin)
		return NULL;
	for (size_t word = 0; !store && word < REGIONS / WORD_BITS; word++)
		store = take_bit(word);
	if (store)
		store->region = (struct st_region){.object = object,
						   .caller = caller,
						   .places = store->threads,
						   .begin = begin};
	else
		strata_region_missed();
	return store;
}

void st_region_give_back(const struct st_region_store *store)
{
	size_t at = (size_t)(store - stores);

	/* Pairs with take_bit(). */
	__atomic_fetch_and(&used[at / WORD_BITS], ~(UINT64_C(1) << at % WORD_BITS),
			   __ATOMIC_RELEASE);
}
