/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of groupings and of metrics, and lists of them as constants.
 */
#ifndef ST_ANALYZE_ENGINE_SET_H
#define ST_ANALYZE_ENGINE_SET_H

#include <stdbool.h>
#include <stdint.h>

enum { ST_SET_MAX = 128, ST_LIST_END = 255 };

struct st_set {
	uint64_t words[ST_SET_MAX / 64];
};

/* A list that tables of constants can hold; and the set of it. */
#define ST_LIST(...) ((const uint8_t[]){__VA_ARGS__, ST_LIST_END})
#define ST_SET(...) st_set_of(ST_LIST(__VA_ARGS__))

static inline bool st_set_has(struct st_set set, unsigned int member)
{
	return member < ST_SET_MAX && set.words[member / 64] >> member % 64 & 1;
}

static inline void st_set_add(struct st_set *set, unsigned int member)
{
	set->words[member / 64] |= UINT64_C(1) << member % 64;
}

static inline void st_set_remove(struct st_set *set, unsigned int member)
{
	set->words[member / 64] &= ~(UINT64_C(1) << member % 64);
}

/* first … end - 1 */
static inline struct st_set st_set_range(unsigned int first, unsigned int end)
{
	struct st_set set = {{0}};

	for (; first < end; first++)
		st_set_add(&set, first);
	return set;
}

static inline struct st_set st_set_of(const uint8_t *list)
{
	struct st_set set = {{0}};

	for (; list && *list != ST_LIST_END; list++)
		st_set_add(&set, *list);
	return set;
}

static inline struct st_set st_set_join(struct st_set a, struct st_set b)
{
	return (struct st_set){{a.words[0] | b.words[0], a.words[1] | b.words[1]}};
}

static inline struct st_set st_set_common(struct st_set a, struct st_set b)
{
	return (struct st_set){{a.words[0] & b.words[0], a.words[1] & b.words[1]}};
}

static inline unsigned int st_set_count(struct st_set set)
{
	return (unsigned int)(__builtin_popcountll(set.words[0]) +
			      __builtin_popcountll(set.words[1]));
}

static inline bool st_set_is_empty(struct st_set set)
{
	return !set.words[0] && !set.words[1];
}

#endif
