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

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A number inside a word, as in conv2d or log1p, names a thing; it does not count things. */
static bool is_inside_word(struct st_text text, size_t begin, size_t end)
{
	return begin > 0 && end < text.size_bytes && is_letter(text.bytes[begin - 1]) &&
	       is_letter(text.bytes[end]);
}

size_t st_family_fold(struct st_text text, char *out)
{
	size_t size = 0;

	for (size_t i = 0; i < text.size_bytes;) {
		size_t end = i;

		while (end < text.size_bytes && is_digit(text.bytes[end]))
			end++;
		if (end > i && !is_inside_word(text, i, end)) {
			out[size++] = '*';
			i = end;
			continue;
		}
		do
			out[size++] = text.bytes[i++];
		while (i < end);
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
	ok = st_text_table_add(texts, folded, st_family_fold(text, folded), out);
	if (folded != nearby)
		free(folded);
	return ok;
}
