/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether this process runs as if we were not in it.
 */
#ifndef ST_COLLECT_INPROC_CORE_STAND_BACK_H
#define ST_COLLECT_INPROC_CORE_STAND_BACK_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* From the constructor, once. */
bool st_must_stand_back(void);

#pragma GCC visibility pop

#endif
