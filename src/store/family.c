// SPDX-License-Identifier: Apache-2.0
//
// Folds names into families (store/family.h).
#include "store/family.h"

#include <stdlib.h>

enum { SHORT_BYTES = 512 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t fold(struct st_text text, char *out)
{
	size_t size = 0;

	for (size_t i = 0; i < text.size_bytes; i++) {
		if (!is_digit(text.bytes[i]))
			out[size++] = text.bytes[i];
		else if (i == 0 || !is_digit(text.bytes[i - 1]))
			out[size++] = '*';
	}
	return size;
}

bool st_family_of(struct st_text_table *texts, st_string_id name, st_string_id *out)
{
	struct st_text text = st_text_table_get(texts, name);
	char nearby[SHORT_BYTES];
	char *folded = text.size_bytes <= sizeof(nearby) ? nearby : malloc(text.size_bytes);
	bool ok;

	*out = name;
	if (!folded)
		return false;
	ok = st_text_table_add(texts, folded, fold(text, folded), out);
	if (folded != nearby)
		free(folded);
	return ok;
}
