/* SPDX-License-Identifier: Apache-2.0
 *
 * What threads wait for: who made it, or what a descriptor is called.
 */
#ifndef ST_COLLECT_INPROC_WAITS_OBJECTS_H
#define ST_COLLECT_INPROC_WAITS_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

struct st_open_wait;
struct st_thread;

#pragma GCC visibility push(hidden)

/* The Python line that the thread is at, as the id of a name; 0: none. Between enter and leave. */
uint32_t st_wait_line(struct st_thread *thread);

/* Who made what is about to be waited for, where that is known and has not been told; and tells it. */
bool st_wait_maker_is_untold(uint64_t object);
void st_wait_tell_maker(uint64_t object);

/* After a long wait for a descriptor: what it is, if that has not been told. */
void st_wait_name_descriptor(const struct st_open_wait *wait);

#pragma GCC visibility pop

#endif
