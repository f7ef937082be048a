/* SPDX-License-Identifier: Apache-2.0
 *
 * When the threads of an open result were on no CPU, as the kernel told it. Borrowed until st_result_close; times are ns since
 * the start of collection. Absent where the kernel did not tell.
 */
#ifndef ST_STORE_OFF_CPU_H
#define ST_STORE_OFF_CPU_H

#include <stdint.h>

#include "format/off_cpu.h"
#include "store/result.h"

enum { ST_OFF_COUNT_MAX = 0xffffff };

struct st_off_row { /* by track and time */
	int64_t begin_ns;
	uint64_t off_ns;
	uint32_t track;	     /* index */
	uint32_t count : 24; /* of ST_OFF_SEVERAL: how many; of ST_OFF_WOKEN: tid of the waker */
	uint32_t flags : 8;  /* enum st_off_flag */
};
_Static_assert(sizeof(struct st_off_row) == 24, "rows lie in a section: no holes");
_Static_assert(ST_OFF_FLAGS_ALL < 256, "flags are a byte of a row");

const struct st_off_row *st_result_off_cpu(const struct st_result *result, uint32_t *count);

#endif
