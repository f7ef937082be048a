// SPDX-License-Identifier: Apache-2.0
//
// Code by address and time (resolve/places.h). Both kinds of code lie in arrays sorted by process and
// start; pieces may overlap, because code comes and goes, so each knows the highest end among those
// before it in its process, which ends the walk back from the last piece that begins at or before an address.
#include "resolve/places.h"

#include <stdlib.h>

#include "store/events.h"
#include "store/result.h"

struct range {
	uint64_t start, end, reach; /* reach: highest end up to here, within the process */
	int64_t from_ns, until_ns;
	uint32_t process;
	uint32_t index;
};

struct ranges {
	struct range *items;
	uint32_t count;
};

struct st_places {
	const struct st_result *result;
	struct ranges maps, code, inlined;
};

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void sort(struct ranges *ranges)
{
	if (!ranges->count)
		return;
	qsort(ranges->items, ranges->count, sizeof(*ranges->items), by_start);
	for (uint32_t i = 0; i < ranges->count; i++) {
		struct range *item = &ranges->items[i];

		item->reach = item->end;
		if (i && item[-1].process == item->process && item[-1].reach > item->reach)
			item->reach = item[-1].reach;
	}
}

static bool take_maps(struct st_places *places)
{
	uint32_t count;
	const struct st_code_map *maps = st_result_code_maps(places->result, &count);

	places->maps.items = calloc((size_t)count + 1, sizeof(*places->maps.items));
	if (!places->maps.items)
		return false;
	places->maps.count = count;
	for (uint32_t i = 0; i < count; i++)
		places->maps.items[i] = (struct range){.start = maps[i].start,
						       .end = maps[i].end,
						       .from_ns = maps[i].from_ns,
						       .until_ns = INT64_MAX,
						       .process = maps[i].process,
						       .index = i};
	sort(&places->maps);
	return true;
}

static bool take_code(struct st_places *places)
{
	uint32_t count;
	const struct st_code *code = st_result_code(places->result, &count);

	places->code.items = calloc((size_t)count + 1, sizeof(*places->code.items));
	places->inlined.items = calloc((size_t)count + 1, sizeof(*places->inlined.items));
	if (!places->code.items || !places->inlined.items)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct ranges *to = code[i].parent_method ? &places->inlined : &places->code;

		if (!code[i].address || !code[i].size_bytes)
			continue;
		to->items[to->count++] = (struct range){.start = code[i].address,
							.end = code[i].address + code[i].size_bytes,
							.from_ns = code[i].from_ns,
							.until_ns = code[i].until_ns,
							.process = code[i].process,
							.index = i};
	}
	sort(&places->code);
	sort(&places->inlined);
	return true;
}

struct st_places *st_places_create(const struct st_result *result)
{
	struct st_places *places = calloc(1, sizeof(*places));

	if (!places)
		return NULL;
	places->result = result;
	if (!take_maps(places) || !take_code(places)) {
		st_places_destroy(places);
		return NULL;
	}
	return places;
}

void st_places_destroy(struct st_places *places)
{
	if (!places)
		return;
	free(places->maps.items);
	free(places->code.items);
	free(places->inlined.items);
	free(places);
}

/* How many ranges begin at or before the address, of this process or one before it in order. */
static uint32_t begun(const struct ranges *ranges, uint32_t process, uint64_t address)
{
	uint32_t low = 0, high = ranges->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct range *item = &ranges->items[middle];

		if (item->process < process || (item->process == process && item->start <= address))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of those that are not gone yet: the one there at the time, of several the newest; else the one that was noticed
 * soonest afterwards. */
static bool is_better(const struct range *a, const struct range *b, int64_t time_ns)
{
	bool a_there = a->from_ns <= time_ns, b_there;

	if (!b)
		return true;
	b_there = b->from_ns <= time_ns;
	if (a_there != b_there)
		return a_there;
	return a_there ? a->from_ns > b->from_ns : a->from_ns < b->from_ns;
}

static const struct range *find(const struct ranges *ranges, uint32_t process, uint64_t address,
				int64_t time_ns)
{
	const struct range *best = NULL;

	for (uint32_t i = begun(ranges, process, address); i > 0; i--) {
		const struct range *item = &ranges->items[i - 1];

		if (item->process != process || item->reach <= address)
			break;
		if (address < item->end && item->until_ns >= time_ns &&
		    is_better(item, best, time_ns))
			best = item;
	}
	return best;
}

static uint32_t find_in_family(const struct st_places *places, const struct ranges *ranges,
			       uint32_t process, uint64_t address, int64_t time_ns)
{
	uint32_t count;
	const struct st_process *processes = st_result_processes(places->result, &count);

	for (uint32_t hops = 0; process < count && hops < count; hops++) {
		const struct range *found = find(ranges, process, address, time_ns);

		if (found)
			return found->index;
		if (!(processes[process].flags & ST_PROCESS_FORKED))
			break;
		process = processes[process].parent;
	}
	return ST_PLACE_NONE;
}

uint32_t st_places_map(const struct st_places *places, uint32_t process, uint64_t address,
		       int64_t time_ns)
{
	return find_in_family(places, &places->maps, process, address, time_ns);
}

uint32_t st_places_code(const struct st_places *places, uint32_t process, uint64_t address,
			int64_t time_ns)
{
	return find_in_family(places, &places->code, process, address, time_ns);
}

uint32_t st_places_inlined(const struct st_places *places, uint32_t code, uint64_t address,
			   uint32_t *out, uint32_t max)
{
	const struct ranges *ranges = &places->inlined;
	uint32_t count, found = 0;
	const struct st_code *codes = st_result_code(places->result, &count);
	const struct st_code *whole = &codes[code];

	for (uint32_t i = begun(ranges, whole->process, address); i > 0 && found < max; i--) {
		const struct range *item = &ranges->items[i - 1];
		uint32_t at = found;

		if (item->process != whole->process || item->reach <= address)
			break;
		if (address >= item->end || item->start < whole->address ||
		    item->end > whole->address + whole->size_bytes ||
		    item->until_ns != whole->until_ns)
			continue;
		for (; at > 0 && codes[out[at - 1]].size_bytes < item->end - item->start; at--)
			out[at] = out[at - 1];
		out[at] = item->index;
		found++;
	}
	return found;
}
