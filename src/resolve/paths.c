// SPDX-License-Identifier: Apache-2.0
//
// Paths as texts (resolve/paths.h).
#include "resolve/paths.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static bool is_part(const char *part, size_t length, const char *word)
{
	return length == strlen(word) && memcmp(part, word, length) == 0;
}

void st_path_straighten(char *path)
{
	bool absolute = path[0] == '/';
	const char *in = path;
	char *out = path + absolute;

	while (*in) {
		size_t length;

		in += strspn(in, "/");
		length = strcspn(in, "/");
		if (!length)
			break;
		if (is_part(in, length, "..") && absolute) {
			while (out > path + 1 && *--out != '/')
				;
			if (out == path)
				out = path + 1;
		} else if (!is_part(in, length, ".")) {
			if (out > path + absolute)
				*out++ = '/';
			memmove(out, in, length);
			out += length;
		}
		in += length;
	}
	*out = '\0';
}

void st_path_of_unit(char out[PATH_MAX], const char *name, const char *folder)
{
	if (name[0] == '/' || !folder || folder[0] != '/' ||
	    snprintf(out, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX)
		snprintf(out, PATH_MAX, "%s", name);
	st_path_straighten(out);
}
