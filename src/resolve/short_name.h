/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of C++ functions as people say them: without template arguments, without "(anonymous namespace)", and of a
 * lambda the function that it is in, also where the lambda is a template argument of what calls it.
 */
#ifndef ST_RESOLVE_SHORT_NAME_H
#define ST_RESOLVE_SHORT_NAME_H

#include "format/definitions.h"

struct st_buf;

/* Appends the short name of a function; a name that is not C++ as it is. */
void st_short_name(struct st_text name, struct st_buf *out);

#endif
