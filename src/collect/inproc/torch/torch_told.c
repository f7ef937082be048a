/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks that the program's own profiler was told of. By itself c10 knows the sizes of those only, and keeps their sum;
 * since we want to know of all blocks it knows them all. What the program is told is therefore made up here, so that it
 * gets the numbers that it would get without us. Like c10's table this one keeps a block whose end nobody was told of.
 */
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/rt/syscall.h"
#include "collect/inproc/core/state.h"
#include "collect/inproc/torch/torch.h"

enum {
	WAYS = 7,
	SETS = 1 << 14, /* 2 MiB for some 100,000 blocks at a time */
};

struct told {
	_Atomic uintptr_t block;
	_Atomic int64_t bytes;
};

/* Two cache lines. */
struct told_set {
	struct told way[WAYS];
	_Atomic uint64_t overflowed; /* there were more: nobody knows which */
	uint64_t unused;
};

static _Atomic(struct told_set *) sets;
static _Atomic int64_t sum;

static struct told_set *set_of(uintptr_t block)
{
	/* Pairs with the compare-and-swap below. */
	struct told_set *all = atomic_load_explicit(&sets, memory_order_acquire), *none = NULL;

	if (!all) {
		if (!st_passive())
			all = st_map_lazily(SETS * sizeof(*all), MAP_PRIVATE | MAP_ANONYMOUS, -1);
		if (!all)
			return NULL;
		if (!atomic_compare_exchange_strong(&sets, &none, all)) {
			st_syscall(SYS_munmap, all, SETS * sizeof(*all));
			all = none;
		}
	}
	return &all[(block >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 50];
}

static struct told *find(struct told_set *set, uintptr_t block)
{
	for (int i = 0; i < WAYS; i++)
		if (atomic_load_explicit(&set->way[i].block, memory_order_relaxed) == block)
			return &set->way[i];
	return NULL;
}

static void keep(struct told_set *set, uintptr_t block, int64_t bytes)
{
	struct told *told = find(set, block);

	for (int i = 0; !told && i < WAYS; i++) {
		uintptr_t none = 0;

		if (atomic_compare_exchange_strong(&set->way[i].block, &none, block))
			told = &set->way[i];
	}
	if (told)
		atomic_store_explicit(&told->bytes, bytes, memory_order_relaxed);
	else
		atomic_store_explicit(&set->overflowed, 1, memory_order_relaxed);
}

bool st_torch_told(void *block, int64_t *bytes, uint64_t *allocated)
{
	struct told_set *set = set_of((uintptr_t)block);
	struct told *told;

	if (!set)
		return true; /* as c10 has it */
	if (*bytes >= 0) {
		keep(set, (uintptr_t)block, *bytes);
	} else {
		told = find(set, (uintptr_t)block);
		if (!told && !atomic_load_explicit(&set->overflowed, memory_order_relaxed))
			return false;
		if (told) {
			*bytes = -atomic_load_explicit(&told->bytes, memory_order_relaxed);
			/* The block is still the freeing thread's: nobody else has it now. */
			atomic_store_explicit(&told->block, 0, memory_order_relaxed);
		}
	}
	*allocated =
		(uint64_t)(atomic_fetch_add_explicit(&sum, *bytes, memory_order_relaxed) + *bytes);
	return true;
}
