/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of any bytes, made harmless for HTML and XML.
 */
#ifndef ST_EXPORT_MARKUP_H
#define ST_EXPORT_MARKUP_H

#include <stddef.h>

struct st_buf;

/* For the content of an element and for the value of an attribute in double quotes. */
void st_markup_escape(struct st_buf *out, const void *bytes, size_t size_bytes);

#endif
