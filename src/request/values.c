/* SPDX-License-Identifier: Apache-2.0
 *
 * Strict numbers: no sign, no blanks, no hexadecimal, no infinity, nothing left over.
 */
#include "request/values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	double factor;
};

static const struct unit time_units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"min", 60}, {NULL, 0}};
static const struct unit size_units[] = {
	{"", 1e6}, {"MB", 1e6}, {"KB", 1e3}, {"GB", 1e9}, {NULL, 0}};

/* Some limit keeps later arithmetic in ns and bytes far from overflow: 31 years, 9 exabytes. */
static const double seconds_max = 1e9;
static const double bytes_max = 9e18;

/* size bytes of text as a number followed by one of units. */
static int parse_quantity(const char *text, size_t size, const struct unit *units, double *out)
{
	char copy[64];
	char *end;

	if (size == 0 || size >= sizeof(copy))
		return -1;
	memcpy(copy, text, size);
	copy[size] = '\0';
	if (!isdigit((unsigned char)copy[0]) && copy[0] != '.')
		return -1;
	if (strpbrk(copy, "xXpP"))
		return -1;
	*out = strtod(copy, &end);
	if (end == copy || !isfinite(*out))
		return -1;
	for (; units->name; units++) {
		if (strcmp(end, units->name) == 0) {
			*out *= units->factor;
			return 0;
		}
	}
	return -1;
}

enum st_status st_value_seconds(const char *option, const char *text, double *out,
				struct st_error *err)
{
	*out = 0;
	if (parse_quantity(text, strlen(text), time_units, out) || *out > seconds_max)
		return st_error_set(
			err, ST_EUSAGE, 0,
			"-%s: invalid time '%.60s'; expected seconds, such as 10, 1.5 or 500ms",
			option, text);
	return ST_OK;
}

enum st_status st_value_milliseconds(const char *option, const char *text, double *out,
				     struct st_error *err)
{
	static const struct unit units[] = {
		{"", 1}, {"ms", 1}, {"us", 1e-3}, {"s", 1e3}, {NULL, 0}};

	*out = 0;
	if (parse_quantity(text, strlen(text), units, out) || *out > seconds_max)
		return st_error_set(err, ST_EUSAGE, 0,
				    "-%s: invalid time '%.60s'; expected milliseconds, such as 10, "
				    "0.5 or 100us",
				    option, text);
	return ST_OK;
}

enum st_status st_value_time_range(const char *option, const char *text, int64_t *begin_ns,
				   int64_t *end_ns, struct st_error *err)
{
	const char *colon = strchr(text, ':');
	double begin = 0;
	double end = seconds_max;

	if (!colon ||
	    (colon > text && parse_quantity(text, (size_t)(colon - text), time_units, &begin)) ||
	    (colon[1] && parse_quantity(colon + 1, strlen(colon + 1), time_units, &end)) ||
	    begin > seconds_max || end > seconds_max)
		return st_error_set(err, ST_EUSAGE, 0,
				    "-%s: invalid time range '%.60s'; expected BEGIN:END in "
				    "seconds, such as 2.3:5.4",
				    option, text);
	if (begin >= end)
		return st_error_set(err, ST_EUSAGE, 0,
				    "-%s: the time range '%.60s' must end after it begins", option,
				    text);
	*begin_ns = (int64_t)llround(begin * 1e9);
	*end_ns = (int64_t)llround(end * 1e9);
	return ST_OK;
}

enum st_status st_value_megabytes(const char *option, const char *text, uint64_t *out_bytes,
				  struct st_error *err)
{
	double bytes = 0;

	*out_bytes = 0;
	if (parse_quantity(text, strlen(text), size_units, &bytes) || bytes > bytes_max)
		return st_error_set(
			err, ST_EUSAGE, 0,
			"-%s: invalid size '%.60s'; expected megabytes, such as 5000, 0.5 or 2GB",
			option, text);
	*out_bytes = (uint64_t)bytes;
	/* A limit of less than a byte is still a limit; 0 would mean none. */
	if (bytes > 0 && *out_bytes == 0)
		*out_bytes = 1;
	return ST_OK;
}

enum st_status st_value_count(const char *option, const char *text, uint64_t min, uint64_t max,
			      uint64_t *out, struct st_error *err)
{
	char *end = NULL;
	unsigned long long value = 0;

	*out = 0;
	errno = 0;
	if (isdigit((unsigned char)text[0]))
		value = strtoull(text, &end, 10);
	if (!end || *end || errno || value < min || value > max) {
		if (max == UINT64_MAX)
			return st_error_set(err, ST_EUSAGE, 0,
					    "-%s: '%.60s' is not a whole number of at least %llu",
					    option, text, (unsigned long long)min);
		return st_error_set(err, ST_EUSAGE, 0,
				    "-%s: '%.60s' is not a whole number from %llu to %llu", option,
				    text, (unsigned long long)min, (unsigned long long)max);
	}
	*out = value;
	return ST_OK;
}

enum st_status st_value_pair(const char *option, const char *text, char *name, size_t name_size,
			     const char **value, struct st_error *err)
{
	const char *equals = strchr(text, '=');
	size_t size = equals ? (size_t)(equals - text) : 0;

	if (!equals || size == 0 || size >= name_size || !equals[1])
		return st_error_set(err, ST_EUSAGE, 0, "-%s: expected name=value, not '%.60s'",
				    option, text);
	memcpy(name, text, size);
	name[size] = '\0';
	*value = equals + 1;
	return ST_OK;
}
