// SPDX-License-Identifier: Apache-2.0
//
// Lanes: spans of one kind, process and domain that overlap lie beside each other. Every span takes the
// lowest lane that is free when it begins: two heaps per group, of the lanes in use by when they become free,
// and of the free ones by their number.
#include "store/index_spans.h"

#include <stdlib.h>

struct item {
	int64_t key;
	uint32_t lane;
};

struct heap {
	struct item *items;
	uint32_t count, capacity;
};

struct group {
	struct heap busy, free;
	uint32_t lanes;
};

static bool push(struct heap *heap, int64_t key, uint32_t lane)
{
	uint32_t at = heap->count;

	if (!st_grow(&heap->items, heap->count, &heap->capacity, sizeof(*heap->items)))
		return false;
	heap->count++;
	while (at && heap->items[(at - 1) / 2].key > key) {
		heap->items[at] = heap->items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->items[at] = (struct item){.key = key, .lane = lane};
	return true;
}

static uint32_t pop(struct heap *heap)
{
	uint32_t lane = heap->items[0].lane, at = 0, child;
	struct item last = heap->items[--heap->count];

	while ((child = 2 * at + 1) < heap->count) {
		if (child + 1 < heap->count && heap->items[child + 1].key < heap->items[child].key)
			child++;
		if (heap->items[child].key >= last.key)
			break;
		heap->items[at] = heap->items[child];
		at = child;
	}
	heap->items[at] = last;
	return lane;
}

static bool assign(struct group *group, struct st_span *span)
{
	uint32_t lane;

	while (group->busy.count && group->busy.items[0].key <= span->begin_ns) {
		lane = pop(&group->busy);
		if (!push(&group->free, lane, lane))
			return false;
	}
	/* More at once than lanes can be numbered share the last one. */
	if (!group->free.count && group->lanes == UINT16_MAX) {
		span->lane = UINT16_MAX;
		return true;
	}
	lane = group->free.count ? pop(&group->free) : group->lanes++;
	span->lane = (uint16_t)lane;
	return push(&group->busy, span->end_ns, lane);
}

bool st_spans_assign_lanes(struct st_span *spans, uint32_t count)
{
	struct st_key_table keys = {0};
	struct group *groups = NULL;
	uint32_t capacity = 0;
	bool ok = true;

	for (uint32_t i = 0; i < count && ok; i++) {
		uint32_t known = keys.count;
		uint32_t key =
			st_key_table_add(&keys, spans[i].kind, spans[i].process, spans[i].domain);

		ok = key != ST_ID_NONE && st_grow(&groups, key, &capacity, sizeof(*groups));
		if (ok && key >= known)
			groups[key] = (struct group){0};
		ok = ok && assign(&groups[key], &spans[i]);
	}
	for (uint32_t i = 0; i < keys.count && i < capacity; i++) {
		free(groups[i].busy.items);
		free(groups[i].free.items);
	}
	free(groups);
	st_key_table_fini(&keys);
	return ok;
}
