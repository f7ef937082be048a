// SPDX-License-Identifier: Apache-2.0
//
// Ranges by address and time (resolve/ranges.h): sorted by process and start. Each knows the highest end
// among those before it, which ends the walk back from the last range that begins at or before an address.
#include "resolve/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"

bool st_ranges_add(struct st_ranges *ranges, const struct st_range *range)
{
	return ST_VEC_PUSH(ranges->items, ranges->count, ranges->capacity, *range);
}

static int by_start(const void *a, const void *b)
{
	const struct st_range *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

void st_ranges_sort(struct st_ranges *ranges)
{
	if (!ranges->count)
		return;
	qsort(ranges->items, ranges->count, sizeof(*ranges->items), by_start);
	for (uint32_t i = 0; i < ranges->count; i++) {
		struct st_range *item = &ranges->items[i];

		item->reach = item->end;
		if (i && item[-1].process == item->process && item[-1].reach > item->reach)
			item->reach = item[-1].reach;
	}
}

void st_ranges_fini(struct st_ranges *ranges)
{
	free(ranges->items);
	memset(ranges, 0, sizeof(*ranges));
}

uint32_t st_ranges_begun(const struct st_ranges *ranges, uint32_t process, uint64_t address)
{
	return ST_SEARCH(
		i, 0, ranges->count,
		ranges->items[i].process < process ||
			(ranges->items[i].process == process && ranges->items[i].start <= address));
}

static bool is_better(const struct st_range *a, const struct st_range *b, int64_t time_ns)
{
	bool a_there = a->from_ns <= time_ns, b_there;

	if (!b)
		return true;
	b_there = b->from_ns <= time_ns;
	if (a_there != b_there)
		return a_there;
	return a_there ? a->from_ns > b->from_ns : a->from_ns < b->from_ns;
}

const struct st_range *st_ranges_find(const struct st_ranges *ranges, uint32_t process,
				      uint64_t address, int64_t time_ns)
{
	const struct st_range *best = NULL;

	for (uint32_t i = st_ranges_begun(ranges, process, address); i > 0; i--) {
		const struct st_range *item = &ranges->items[i - 1];

		if (item->process != process || item->reach <= address)
			break;
		if (address < item->end && item->until_ns >= time_ns &&
		    is_better(item, best, time_ns))
			best = item;
	}
	return best;
}
