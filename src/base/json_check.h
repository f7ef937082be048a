/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a text one value of strict JSON (RFC 8259)? For texts that are put into a document of ours as they are, so that
 * they must be what every reader takes. json-c cannot say that: even when told to be strict it takes "1.", "-01", NaN,
 * Infinity, names in single quotes, line breaks inside of a text, and surrogates as UTF-8.
 */
#ifndef ST_BASE_JSON_CHECK_H
#define ST_BASE_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>

enum { ST_JSON_CHECK_DEPTH = 32 };

/* Blanks around the value are fine; values that nest deeper than ST_JSON_CHECK_DEPTH are not. */
bool st_json_is_value(const char *text, size_t size_bytes);

#endif
