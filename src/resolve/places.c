// SPDX-License-Identifier: Apache-2.0
//
// Code by address and time (resolve/places.h).
#include "resolve/places.h"

#include <stdlib.h>

#include "resolve/ranges.h"
#include "store/events.h"
#include "store/result.h"

struct st_code_places {
	const struct st_result *result;
	struct st_ranges maps, code, inlined;
};

static bool take_maps(struct st_code_places *places)
{
	uint32_t count;
	const struct st_code_map *maps = st_result_code_maps(places->result, &count);

	for (uint32_t i = 0; i < count; i++) {
		const struct st_range range = {.start = maps[i].start,
					       .end = maps[i].end,
					       .from_ns = maps[i].from_ns,
					       .until_ns = INT64_MAX,
					       .process = maps[i].process,
					       .index = i};

		if (!st_ranges_add(&places->maps, &range))
			return false;
	}
	st_ranges_sort(&places->maps);
	return true;
}

static bool take_code(struct st_code_places *places)
{
	uint32_t count;
	const struct st_code *code = st_result_code(places->result, &count);

	for (uint32_t i = 0; i < count; i++) {
		const struct st_range range = {.start = code[i].address,
					       .end = code[i].address + code[i].size_bytes,
					       .from_ns = code[i].from_ns,
					       .until_ns = code[i].until_ns,
					       .process = code[i].process,
					       .index = i};

		if (!code[i].address || !code[i].size_bytes)
			continue;
		if (!st_ranges_add(code[i].parent_method ? &places->inlined : &places->code,
				   &range))
			return false;
	}
	st_ranges_sort(&places->code);
	st_ranges_sort(&places->inlined);
	return true;
}

struct st_code_places *st_code_places_create(const struct st_result *result)
{
	struct st_code_places *places = calloc(1, sizeof(*places));

	if (!places)
		return NULL;
	places->result = result;
	if (!take_maps(places) || !take_code(places)) {
		st_code_places_destroy(places);
		return NULL;
	}
	return places;
}

void st_code_places_destroy(struct st_code_places *places)
{
	if (!places)
		return;
	st_ranges_fini(&places->maps);
	st_ranges_fini(&places->code);
	st_ranges_fini(&places->inlined);
	free(places);
}

static uint32_t find_in_family(const struct st_code_places *places, const struct st_ranges *ranges,
			       uint32_t process, uint64_t address, int64_t time_ns)
{
	uint32_t count;
	const struct st_process *processes = st_result_processes(places->result, &count);

	for (uint32_t hops = 0; process < count && hops < count; hops++) {
		const struct st_range *found = st_ranges_find(ranges, process, address, time_ns);

		if (found)
			return found->index;
		if (!(processes[process].flags & ST_PROCESS_FORKED))
			break;
		process = processes[process].parent;
	}
	return ST_PLACE_NONE;
}

uint32_t st_code_places_map(const struct st_code_places *places, uint32_t process, uint64_t address,
			    int64_t time_ns)
{
	return find_in_family(places, &places->maps, process, address, time_ns);
}

uint32_t st_code_places_code(const struct st_code_places *places, uint32_t process,
			     uint64_t address, int64_t time_ns)
{
	return find_in_family(places, &places->code, process, address, time_ns);
}

uint32_t st_code_places_inlined(const struct st_code_places *places, uint32_t code,
				uint64_t address, uint32_t *out, uint32_t max)
{
	const struct st_ranges *ranges = &places->inlined;
	uint32_t count, found = 0;
	const struct st_code *codes = st_result_code(places->result, &count);
	const struct st_code *whole = &codes[code];

	for (uint32_t i = st_ranges_begun(ranges, whole->process, address); i > 0 && found < max;
	     i--) {
		const struct st_range *item = &ranges->items[i - 1];
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
