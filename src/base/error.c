// SPDX-License-Identifier: Apache-2.0
//
// Formats the text of a struct st_error. Knows nothing of where it will be shown.
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum st_status st_error_set(struct st_error *err, enum st_status status, int code, const char *fmt,
			    ...)
{
	char reason[128];
	va_list args;
	int length;

	if (!err)
		return status;
	err->status = status;
	err->code = code;
	va_start(args, fmt);
	length = vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	if (code && length >= 0 && (size_t)length < sizeof(err->text))
		snprintf(err->text + length, sizeof(err->text) - (size_t)length, ": %s",
			 strerror_r(code, reason, sizeof(reason)));
	return status;
}
