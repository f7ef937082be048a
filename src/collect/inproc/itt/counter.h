/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program told about a counter before the collector was loaded.
 */
#ifndef ST_COLLECT_INPROC_ITT_COUNTER_H
#define ST_COLLECT_INPROC_ITT_COUNTER_H

#pragma GCC visibility push(hidden)

/* `value` points to text (types 1-8) or a u64. */
void st_counter_fact(void *handle, int type, const void *value);

#pragma GCC visibility pop

#endif
