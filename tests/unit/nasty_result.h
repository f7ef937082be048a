/* SPDX-License-Identifier: Apache-2.0
 *
 * A hand-made result whose names are everything a program may come up with.
 */
#ifndef ST_TESTS_UNIT_NASTY_RESULT_H
#define ST_TESTS_UNIT_NASTY_RESULT_H

#include "fake_result.h"

enum { NASTY_NAMES = 9, NASTY_LONG_BYTES = 64 << 10 };

/* One outer task per name with a plain one inside, on two threads of two processes that share a pid
 * (an exec) and a tid. Every loss figure is set, with 1, 2, 3 … in the order of st_quality_items. */
struct st_result *nasty_create(void);
/* One event of every kind and one span of every kind besides, with names of the same sort. */
void nasty_events(struct st_result *fake);

#endif
