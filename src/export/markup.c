/* SPDX-License-Identifier: Apache-2.0
 *
 * XML is the stricter one: it cannot hold control characters at all, not even escaped, and U+FFFE and U+FFFF neither.
 */
#include "export/markup.h"

#include <stdint.h>

#include "base/buf.h"
#include "base/json_out.h"

static const char *entity_of(uint8_t byte)
{
	switch (byte) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	default:
		return NULL;
	}
}

void st_markup_escape(struct st_buf *out, const void *bytes, size_t size_bytes)
{
	const uint8_t *p = bytes, *end = p + size_bytes;

	while (p < end) {
		size_t length = st_utf8_length(p, end);
		const char *entity = entity_of(*p);

		if (!length || (length == 3 && p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe) ||
		    (*p < ' ' && *p != '\n' && *p != '\t') || *p == 0x7f)
			st_buf_append_text(out, "\xef\xbf\xbd");
		else if (entity)
			st_buf_append_text(out, entity);
		else
			st_buf_append(out, p, length);
		p += length ? length : 1;
	}
}
