/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of Python functions and built-ins one by one, as strata.profile(with_stack=True) has them recorded. They are no
 * slices: nothing but what shows torch's view of a profile looks at them. Borrowed until st_result_close.
 */
#ifndef ST_STORE_TRACED_CALLS_H
#define ST_STORE_TRACED_CALLS_H

#include <stdint.h>

#include "store/result.h"

/* By track, then in the order they began; those of a track nest. */
struct st_traced_call {
	int64_t begin_ns, end_ns;
	uint32_t track;
	st_string_id name;
	uint32_t parent; /* the call around it, or ST_NO_ROW */
	uint32_t flags;	 /* ST_SLICE_UNFINISHED: nobody says when it ended */
};

const struct st_traced_call *st_result_traced_calls(const struct st_result *result,
						    uint32_t *count);

#endif
