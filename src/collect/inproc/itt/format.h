/* SPDX-License-Identifier: Apache-2.0
 *
 * printf-like text for formatted metadata: bounded, without libc, safe in handlers. A NULL string is
 * "(null)", %n writes nothing, and behind a conversion that is not known the rest of the format is copied
 * as it is, because the types of its arguments are not known any more.
 */
#ifndef ST_COLLECT_INPROC_ITT_FORMAT_H
#define ST_COLLECT_INPROC_ITT_FORMAT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct st_formatted {
	uint32_t length;
	bool cut;
};

struct st_formatted st_format(char *out, size_t capacity, const char *format, va_list arguments);

/* Digits of a finite number that is not negative. %e: `precision` digits behind the first one; %f:
 * behind the point. Correctly rounded (exact value, half to even). */
struct st_decimal {
	char digits[800]; /* no point, not terminated */
	int count;
	int point; /* how many of them stand in front of the point; may be negative */
};
void st_decimal_exact(struct st_decimal *out, double value);
/* Leaves at most `keep` digits (0 or less: possibly none). */
void st_decimal_round(struct st_decimal *decimal, int keep);

#pragma GCC visibility pop

#endif
