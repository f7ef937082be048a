// SPDX-License-Identifier: Apache-2.0
//
// Comparing typed names, and the text of the error when none fits.
#include "analyze/engine/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/near.h"

static char fold(char c)
{
	return c == '_' || c == ' ' ? '-' : (char)tolower((unsigned char)c);
}

bool st_name_equal(const char *text, size_t size_bytes, const char *name)
{
	if (strlen(name) != size_bytes)
		return false;
	for (size_t i = 0; i < size_bytes; i++) {
		if (fold(text[i]) != fold(name[i]))
			return false;
	}
	return true;
}

static void add_names(char *out, size_t capacity, const char *const *names, size_t count)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < count && used < capacity; i++) {
		int n = snprintf(out + used, capacity - used, "%s%s", i ? ", " : "", names[i]);

		used += n > 0 ? (size_t)n : 0;
	}
}

enum st_status st_name_unknown(const char *text, size_t size_bytes, const char *what,
			       const struct st_name_list *list, struct st_error *err)
{
	char typed[64], near[128], all[512];
	const char *found[3];
	size_t count;

	snprintf(typed, sizeof(typed), "%.*s", size_bytes < 63 ? (int)size_bytes : 63, text);
	count = st_near_names(typed, list->names, list->count, found, 3);
	add_names(near, sizeof(near), found, count);
	add_names(all, sizeof(all), list->names, list->count);
	if (count)
		return st_error_set(err, ST_EUSAGE, 0,
				    "no such %s: %s; did you mean %s? (available: %s)", what, typed,
				    near, all);
	return st_error_set(err, ST_EUSAGE, 0, "no such %s: %s; available: %s", what, typed, all);
}
