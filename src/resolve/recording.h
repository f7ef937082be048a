/* SPDX-License-Identifier: Apache-2.0
 *
 * When and where a result was recorded, for code that examines files of this machine.
 */
#ifndef ST_RESOLVE_RECORDING_H
#define ST_RESOLVE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

struct st_result;

/* Seconds since 1970 of the end of the recording; 0: not known. */
int64_t st_recording_end_s(const struct st_result *result);
/* On this machine, since it was last started: kernel addresses mean the same. */
bool st_recording_is_here(const struct st_result *result);

#endif
