// SPDX-License-Identifier: Apache-2.0
//
// Near names of base/near.h.
#include "base/near.h"

#include <ctype.h>
#include <string.h>

enum { LENGTH_MAX = 64 };

static char fold(char c)
{
	return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int least = a < b ? a : b;

	return least < c ? least : c;
}

unsigned int st_near_distance(const char *a, const char *b)
{
	/* Three rows are enough: a swap of neighbours looks two rows back. */
	unsigned int rows[3][LENGTH_MAX + 1];
	size_t a_length = strnlen(a, LENGTH_MAX), b_length = strnlen(b, LENGTH_MAX);

	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = (unsigned int)j;
	for (size_t i = 1; i <= a_length; i++) {
		unsigned int *row = rows[i % 3], *above = rows[(i + 2) % 3],
			     *two = rows[(i + 1) % 3];

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= b_length; j++) {
			unsigned int change = fold(a[i - 1]) == fold(b[j - 1]) ? 0 : 1;

			row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + change);
			if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
			    fold(a[i - 2]) == fold(b[j - 1]) && two[j - 2] + 1 < row[j])
				row[j] = two[j - 2] + 1;
		}
	}
	return rows[a_length % 3][b_length];
}

/* Is part found in whole, letters folded? */
static int holds(const char *whole, const char *part)
{
	size_t length = strlen(part);

	for (; *whole; whole++) {
		size_t i = 0;

		while (i < length && whole[i] && fold(whole[i]) == fold(part[i]))
			i++;
		if (i == length)
			return 1;
	}
	return 0;
}

/* Small is near; UINT_MAX is not near at all. A third of the letters may differ. */
static unsigned int score(const char *typed, const char *name)
{
	size_t length = strlen(typed);
	unsigned int distance = st_near_distance(typed, name);
	unsigned int allowed = (unsigned int)(length < 3 ? 1 : length / 3 + 1);

	if (distance <= allowed)
		return distance;
	if (length >= 3 && (holds(name, typed) || (strlen(name) >= 3 && holds(typed, name))))
		return allowed + 1;
	return ~0u;
}

size_t st_near_names(const char *typed, const char *const *names, size_t count, const char **out,
		     size_t max)
{
	unsigned int scores[16];
	size_t found = 0;

	if (max > sizeof(scores) / sizeof(scores[0]))
		max = sizeof(scores) / sizeof(scores[0]);
	for (size_t i = 0; i < count; i++) {
		unsigned int mine = score(typed, names[i]);
		size_t at = found;

		if (mine == ~0u)
			continue;
		while (at > 0 && scores[at - 1] > mine)
			at--;
		if (at >= max)
			continue;
		if (found < max)
			found++;
		memmove(&scores[at + 1], &scores[at], (found - at - 1) * sizeof(scores[0]));
		memmove(&out[at + 1], &out[at], (found - at - 1) * sizeof(out[0]));
		scores[at] = mine;
		out[at] = names[i];
	}
	return found;
}
