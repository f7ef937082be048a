/* SPDX-License-Identifier: Apache-2.0
 *
 * When what devices did was not recorded: in pauses, and in turns that are left out to measure what recording costs.
 */
#ifndef ST_ANALYZE_DATASETS_DEVICE_SILENCE_H
#define ST_ANALYZE_DATASETS_DEVICE_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

struct st_result;

struct st_silence {
	int64_t begin_ns, end_ns;
};

struct st_silences {
	struct st_silence *rows; /* by time, apart from each other */
	uint32_t count, capacity;
};

/* Of a process. False when memory is out. */
bool st_silences_make(struct st_silences *out, const struct st_result *result, uint32_t process);
void st_silences_fini(struct st_silences *silences);

#endif
