/* SPDX-License-Identifier: Apache-2.0
 *
 * Names near to one that does not exist, for "did you mean": by edit distance, beginnings and parts.
 */
#ifndef ST_BASE_NEAR_H
#define ST_BASE_NEAR_H

#include <stddef.h>

/* Insertions, deletions, replacements and swaps of neighbours, letters of any case equal, '-' and '_'
 * equal. Looks at the first 64 bytes of each. */
unsigned int st_near_distance(const char *a, const char *b);

/* Puts up to max of names (count of them) that are near to typed into out, the nearest first, and
 * returns how many. */
size_t st_near_names(const char *typed, const char *const *names, size_t count, const char **out,
		     size_t max);

#endif
