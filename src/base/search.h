/* SPDX-License-Identifier: Apache-2.0
 *
 * Binary search over anything that is in order.
 */
#ifndef ST_BASE_SEARCH_H
#define ST_BASE_SEARCH_H

/* The first number i from `from` up to and without `to` for which is_before is false, or `to`; is_before, an expression
 * of i, holds for those up to some place and for none behind it:
 *
 *	at = ST_SEARCH(i, 0, count, items[i].start < address);
 */
/* NOLINTBEGIN(bugprone-macro-parentheses): i is a name, not a value. */
#define ST_SEARCH(i, from, to, is_before)                                                          \
	({                                                                                         \
		__typeof__((to) + 0) low_ = (from), high_ = (to);                                  \
		while (low_ < high_) {                                                             \
			const __typeof__((to) + 0) i = low_ + (high_ - low_) / 2;                  \
			if (is_before)                                                             \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
