/* SPDX-License-Identifier: Apache-2.0
 *
 * A hand-made result that holds everything ITT tells beside nested tasks, each thing once or twice, with
 * values that tests know by name.
 */
#ifndef ST_TESTS_UNIT_EVENTS_RESULT_H
#define ST_TESTS_UNIT_EVENTS_RESULT_H

#include "fake_result.h"

/* Two threads of one process, 5 and 6. Slices, times in ns:
 *	thread 5: outer [100, 1000], in it first [200, 300] and second [400, 500]
 *	thread 6: other [150, 900]
 */
enum { EVENTS_OUTER, EVENTS_FIRST, EVENTS_SECOND, EVENTS_OTHER };
enum { EVENTS_OVERLAPPED = 3, EVENTS_SPANS = 8 };

struct st_result *events_create(void);

#endif
