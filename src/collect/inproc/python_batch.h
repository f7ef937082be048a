/* SPDX-License-Identifier: Apache-2.0
 *
 * Many pieces of this process's memory by one system call that cannot fault. Header only, for
 * signal handlers.
 */
#ifndef ST_COLLECT_INPROC_PYTHON_BATCH_H
#define ST_COLLECT_INPROC_PYTHON_BATCH_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rt/syscall.h"

enum { ST_BATCH_MAX = 260, ST_BATCH_TRIES = 6 };

struct st_python_batch {
	uint32_t count;
	uint32_t pid;
	bool refused; /* the system call is forbidden */
	struct st_batch_piece {
		uint64_t at;
		uint64_t size_bytes;
	} local[ST_BATCH_MAX], remote[ST_BATCH_MAX];
	bool ok[ST_BATCH_MAX];
};

static inline void st_batch_add(struct st_python_batch *batch, void *to, uint64_t from,
				uint64_t size_bytes)
{
	batch->local[batch->count] = (struct st_batch_piece){(uint64_t)(uintptr_t)to, size_bytes};
	batch->remote[batch->count] = (struct st_batch_piece){from, size_bytes};
	batch->ok[batch->count++] = false;
}

/* Marks the pieces that were copied. The kernel stops at the first one that it cannot read; the call is
 * made again behind it a few times, then the rest is given up. */
static inline void st_batch_read(struct st_python_batch *batch)
{
	uint32_t at = 0;

	for (int tries = 0; at < batch->count && tries < ST_BATCH_TRIES; tries++) {
		uint32_t left = batch->count - at;
		long result = st_syscall(SYS_process_vm_readv, batch->pid, &batch->local[at], left,
					 &batch->remote[at], left, 0);
		uint64_t bytes = result > 0 ? (uint64_t)result : 0;

		if (result == -EPERM || result == -ENOSYS) {
			batch->refused = true;
			break;
		}
		while (at < batch->count && bytes >= batch->remote[at].size_bytes) {
			bytes -= batch->remote[at].size_bytes;
			batch->ok[at++] = true;
		}
		at++;
	}
}

#endif
