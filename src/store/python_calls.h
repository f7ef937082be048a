/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of Python functions, added up while the program ran. Everything is borrowed until st_result_close.
 */
#ifndef ST_STORE_PYTHON_CALLS_H
#define ST_STORE_PYTHON_CALLS_H

#include <stdint.h>

#include "store/result.h"

struct st_python_function {
	uint32_t process;	 /* index */
	uint32_t line;		 /* the first one; 0: a built-in function */
	st_string_id file, name; /* name "": of those beyond the most that are told apart */
};

/* Of a function on a thread. */
struct st_python_calls {
	uint32_t function; /* index */
	uint32_t tid;
	uint64_t calls,
		primitive; /* primitive: not from inside another call of the same function */
	uint64_t own_ns, total_ns; /* total: of primitive calls */
};

const struct st_python_function *st_result_python_functions(const struct st_result *result,
							    uint32_t *count);
const struct st_python_calls *st_result_python_calls(const struct st_result *result,
						     uint32_t *count);
/* Calls known only by number: they were nested too deep. */
uint64_t st_result_python_calls_lost(const struct st_result *result);

#endif
