/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the values of options. On an error, each function names the option and the expected form:
 * "-duration: invalid time '5x'; expected seconds, such as 10, 1.5 or 500ms".
 */
#ifndef ST_REQUEST_VALUES_H
#define ST_REQUEST_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Seconds, not negative; also "500ms", "10s", "2min". */
enum st_status st_value_seconds(const char *option, const char *text, double *out,
				struct st_error *err);
/* Milliseconds; also "100us", "1s". */
enum st_status st_value_milliseconds(const char *option, const char *text, double *out,
				     struct st_error *err);
/* "BEGIN:END" in seconds to ns; an empty side is the beginning or the end of time. */
enum st_status st_value_time_range(const char *option, const char *text, int64_t *begin_ns,
				   int64_t *end_ns, struct st_error *err);
/* Megabytes (10^6) to bytes; also "500KB", "2GB". 0 is allowed. */
enum st_status st_value_megabytes(const char *option, const char *text, uint64_t *out_bytes,
				  struct st_error *err);
/* A whole number from min to max. */
enum st_status st_value_count(const char *option, const char *text, uint64_t min, uint64_t max,
			      uint64_t *out, struct st_error *err);

/* Splits "name=value"; *value points into text. ST_EUSAGE when there is no name or no '='. */
enum st_status st_value_pair(const char *option, const char *text, char *name, size_t name_size,
			     const char **value, struct st_error *err);

#endif
