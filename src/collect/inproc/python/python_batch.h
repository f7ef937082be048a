/* SPDX-License-Identifier: Apache-2.0
 *
 * Many pieces of this process's memory by one system call that cannot fault. Header only, for
 * signal handlers.
 *
 * The call is process_vm_writev on the own process, the pieces being what is written: they are copied like
 * the argument of any system call, and only the pages of the one place that they go to are looked up and
 * held. process_vm_readv does that for each piece, which costs six times as much.
 */
#ifndef ST_COLLECT_INPROC_PYTHON_PYTHON_BATCH_H
#define ST_COLLECT_INPROC_PYTHON_PYTHON_BATCH_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rt/syscall.h"

enum { ST_BATCH_MAX = 320, ST_BATCH_TRIES = 6 };

/* The kernel refuses a call as a whole when a source is not in the part of the address space that programs have;
 * such a piece is read from where nothing can be. */
#if defined(__x86_64__)
#define ST_BATCH_ADDRESS_END ((1ull << 47) - 4096)
#else
#define ST_BATCH_ADDRESS_END (1ull << 48)
#endif
#define ST_BATCH_NOWHERE 8ull

struct st_python_batch {
	uint32_t count;
	uint32_t pid;
	bool by_read; /* process_vm_writev is forbidden: the other one */
	bool refused; /* both are */
	uint8_t *to;  /* the pieces, one behind the other */
	uint64_t size_bytes;
	bool ok[ST_BATCH_MAX];
	struct st_batch_piece {
		uint64_t at;
		uint64_t size_bytes;
	} from[ST_BATCH_MAX];
};

/* Where the piece will be. */
static inline uint8_t *st_batch_add(struct st_python_batch *batch, uint64_t from,
				    uint64_t size_bytes)
{
	uint8_t *to = batch->to + batch->size_bytes;

	if (from >= ST_BATCH_ADDRESS_END || ST_BATCH_ADDRESS_END - from < size_bytes)
		from = ST_BATCH_NOWHERE;
	batch->from[batch->count] = (struct st_batch_piece){from, size_bytes};
	batch->ok[batch->count++] = false;
	batch->size_bytes += size_bytes;
	return to;
}

/* Bytes that were copied of the pieces from `first` on, or an error. */
static inline long st_batch_call(struct st_python_batch *batch, uint32_t first, uint64_t done)
{
	const struct st_batch_piece to = {(uint64_t)(uintptr_t)(batch->to + done),
					  batch->size_bytes - done};
	uint32_t left = batch->count - first;
	long result;

	if (!batch->by_read) {
		result = st_syscall(SYS_process_vm_writev, batch->pid, &batch->from[first], left,
				    &to, 1, 0);
		if (result != -EPERM && result != -ENOSYS)
			return result;
		batch->by_read = true;
	}
	return st_syscall(SYS_process_vm_readv, batch->pid, &to, 1, &batch->from[first], left, 0);
}

/* Marks the pieces that were copied. The kernel stops at the first one that it cannot read; the call is
 * made again behind it a few times, then the rest is given up. */
static inline void st_batch_read(struct st_python_batch *batch)
{
	uint64_t done = 0;
	uint32_t at = 0;

	for (int tries = 0; at < batch->count && tries < ST_BATCH_TRIES; tries++) {
		long result = st_batch_call(batch, at, done);
		uint64_t bytes = result > 0 ? (uint64_t)result : 0;

		if (result == -EPERM || result == -ENOSYS) {
			batch->refused = true;
			break;
		}
		while (at < batch->count && bytes >= batch->from[at].size_bytes) {
			bytes -= batch->from[at].size_bytes;
			done += batch->from[at].size_bytes;
			batch->ok[at] = batch->from[at].at != ST_BATCH_NOWHERE;
			at++;
		}
		if (at < batch->count)
			done += batch->from[at++].size_bytes;
	}
}

#endif
