/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits of OpenMP's threads for the end of a region.
 */
#ifndef ST_COLLECT_INPROC_WAITS_REGIONS_H
#define ST_COLLECT_INPROC_WAITS_REGIONS_H

struct st_thread;

#pragma GCC visibility push(hidden)

/* The thread ends: it has been idle until now. */
void st_region_retire(struct st_thread *thread);

#pragma GCC visibility pop

#endif
