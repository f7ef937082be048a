// SPDX-License-Identifier: Apache-2.0
//
// Quoting for the shell.
#include "base/quote.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"

static bool is_plain(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "@%+=:,./_-";

	return text[0] && strspn(text, plain) == strlen(text);
}

void st_quote_word(struct st_buf *out, const char *text)
{
	if (is_plain(text)) {
		st_buf_append_text(out, text);
		return;
	}
	st_buf_append_u8(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			st_buf_append_text(out, "'\\''");
		else
			st_buf_append_u8(out, (uint8_t)*text);
	}
	st_buf_append_u8(out, '\'');
}

void st_quote_command(struct st_buf *out, int argc, char *const *argv)
{
	for (int i = 0; i < argc; i++) {
		if (i)
			st_buf_append_u8(out, ' ');
		st_quote_word(out, argv[i]);
	}
}
