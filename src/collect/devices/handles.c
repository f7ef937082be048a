/* SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing with a short walk; entries are only added.
 */
#include "collect/devices/handles.h"

#include <stdatomic.h>
#include <stddef.h>

enum { WALK_MAX = 32 };

static uint32_t place_of(const void *handle)
{
	uint64_t bits = (uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(bits >> 40) & (ST_HANDLES_MAX - 1);
}

uint32_t st_handles_get(const struct st_handles *handles, const void *handle)
{
	uint32_t at = place_of(handle);

	for (uint32_t i = 0; i < WALK_MAX; i++, at = (at + 1) & (ST_HANDLES_MAX - 1)) {
		const struct st_handle *entry = &handles->entries[at];
		/* Pairs with the exchange below; its value may come a moment later, as 0. */
		const void *found = atomic_load_explicit(&entry->handle, memory_order_acquire);

		if (found == handle)
			return atomic_load_explicit(&entry->value, memory_order_acquire);
		if (!found)
			return 0;
	}
	return 0;
}

bool st_handles_set(struct st_handles *handles, void *handle, uint32_t value)
{
	uint32_t at = place_of(handle);

	for (uint32_t i = 0; i < WALK_MAX; i++, at = (at + 1) & (ST_HANDLES_MAX - 1)) {
		struct st_handle *entry = &handles->entries[at];
		void *found = NULL;

		if (atomic_compare_exchange_strong(&entry->handle, &found, handle) ||
		    found == handle) {
			/* Pairs with the acquire load of whoever gets it. */
			atomic_store_explicit(&entry->value, value, memory_order_release);
			return true;
		}
	}
	return false;
}

void st_handles_clear(struct st_handles *handles)
{
	for (uint32_t i = 0; i < ST_HANDLES_MAX; i++) {
		atomic_store_explicit(&handles->entries[i].handle, NULL, memory_order_relaxed);
		atomic_store_explicit(&handles->entries[i].value, 0, memory_order_relaxed);
	}
}
