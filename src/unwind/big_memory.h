/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of many megabytes that is filled at once: in large pages where the kernel has them to give, because thousands of
 * small ones take longer than what is written into them.
 */
#ifndef ST_UNWIND_BIG_MEMORY_H
#define ST_UNWIND_BIG_MEMORY_H

#include <stdlib.h>
#include <sys/mman.h>

enum { ST_LARGE_PAGE_BYTES = 2 << 20, ST_BIG_MEMORY_BYTES = 4 << 20 };

/* Not cleared; free() takes it back, realloc() makes it larger. */
static inline void *st_big_memory(size_t size_bytes)
{
	void *memory;

	if (size_bytes < ST_BIG_MEMORY_BYTES)
		return malloc(size_bytes);
	if (posix_memalign(&memory, ST_LARGE_PAGE_BYTES, size_bytes) != 0)
		return NULL;
	madvise(memory, size_bytes, MADV_HUGEPAGE); /* a wish */
	return memory;
}

#endif
