/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers by which trace readers distinguish processes and threads: pid and tid alone. A pid that continues after
 * an exec, and a tid that the kernel reused, get a number above the largest possible one instead.
 */
#ifndef ST_EXPORT_TRACE_THREAD_IDS_H
#define ST_EXPORT_TRACE_THREAD_IDS_H

#include <stdbool.h>
#include <stdint.h>

struct st_result;

struct st_thread_ids {
	uint32_t *pids, *tids; /* by process and by track */
	uint32_t next;	       /* numbers from here on are nobody's */
};

/* Fini is due also after a failure (no memory). */
bool st_thread_ids_init(struct st_thread_ids *ids, const struct st_result *result);
void st_thread_ids_fini(struct st_thread_ids *ids);

#endif
