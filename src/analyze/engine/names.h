/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding a row of a table by a typed name, and the error that offers near ones.
 */
#ifndef ST_ANALYZE_ENGINE_NAMES_H
#define ST_ANALYZE_ENGINE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct st_name_list {
	const char *const *names;
	size_t count;
};

/* Letters of any case are equal; so are space, '-' and '_'. */
bool st_name_equal(const char *text, size_t size_bytes, const char *name);
/* ST_EUSAGE: no such WHAT, near names, and the whole list. */
enum st_status st_name_unknown(const char *text, size_t size_bytes, const char *what,
			       const struct st_name_list *list, struct st_error *err);

#endif
