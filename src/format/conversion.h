/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions of a printf format, read alike by the collector, which copies their arguments, and by strata, which makes
 * the text (ST_EVENT_METADATA_FORMATTED). The data of such an event in a ring is a word with the length of the format,
 * the format, and for each conversion a word for every '*' in it and one for its argument: the number, the bits of the
 * double, the address. A string is a word with its bytes (ST_CONVERSION_NULL: there was none), and the bytes.
 */
#ifndef ST_FORMAT_CONVERSION_H
#define ST_FORMAT_CONVERSION_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	ST_CONVERSION_TEXT_BYTES = 4096,   /* of the text that is made */
	ST_CONVERSION_FORMAT_BYTES = 8192, /* of the format; the rest is left out */
	ST_CONVERSION_COUNT_MAX = 1
				  << 16, /* of a width or precision: more is as good as any other */
};
#define ST_CONVERSION_NULL UINT64_MAX

struct st_conversion {
	bool minus, plus, space, sharp, zero;
	bool star_width, star_precision; /* an int argument each, before the value */
	bool has_precision;
	int width, precision; /* what the format says; negative by an argument only */
	enum {
		ST_SIZE_INT,
		ST_SIZE_CHAR,
		ST_SIZE_SHORT,
		ST_SIZE_LONG,
		ST_SIZE_LONG_LONG,
		ST_SIZE_LONG_DOUBLE
	} size;
	char letter; /* '\0': the format ends in it */
};

/* Kinds of arguments. */
enum st_argument {
	ST_ARGUMENT_UNKNOWN, /* nobody can tell where the next one is */
	ST_ARGUMENT_INTEGER,
	ST_ARGUMENT_DOUBLE,
	ST_ARGUMENT_POINTER,
	ST_ARGUMENT_STRING,
	ST_ARGUMENT_WIDE_STRING,
};

static inline int st_conversion_clamp(int value)
{
	if (value > ST_CONVERSION_COUNT_MAX)
		return ST_CONVERSION_COUNT_MAX;
	return value < -ST_CONVERSION_COUNT_MAX ? -ST_CONVERSION_COUNT_MAX : value;
}

static inline int st_conversion_count(const char **at, bool *star)
{
	int value = 0;

	*star = **at == '*';
	*at += *star;
	for (; !*star && **at >= '0' && **at <= '9'; ++*at)
		value = st_conversion_clamp(value * 10 + (**at - '0'));
	return value;
}

/* From behind the '%' to behind the letter. */
static inline struct st_conversion st_conversion_parse(const char **at)
{
	struct st_conversion out = {.size = ST_SIZE_INT};

	for (; **at && strchr("-+ #0", **at); ++*at) {
		out.minus |= **at == '-';
		out.plus |= **at == '+';
		out.space |= **at == ' ';
		out.sharp |= **at == '#';
		out.zero |= **at == '0';
	}
	out.width = st_conversion_count(at, &out.star_width);
	out.has_precision = **at == '.';
	*at += out.has_precision;
	if (out.has_precision)
		out.precision = st_conversion_count(at, &out.star_precision);
	if (**at == 'h' || **at == 'l') {
		bool twice = (*at)[1] == **at;

		out.size = **at == 'l' ? (twice ? ST_SIZE_LONG_LONG : ST_SIZE_LONG)
				       : (twice ? ST_SIZE_CHAR : ST_SIZE_SHORT);
		*at += 1 + twice;
	} else if (**at == 'q' || **at == 'j' || **at == 'z' || **at == 't') {
		out.size = ST_SIZE_LONG_LONG; /* all of them have 64 bits here */
		++*at;
	} else if (**at == 'L') {
		out.size = ST_SIZE_LONG_DOUBLE;
		++*at;
	}
	out.letter = **at;
	*at += out.letter != '\0';
	return out;
}

static inline enum st_argument st_conversion_argument(const struct st_conversion *conversion)
{
	char letter = conversion->letter;

	if (!letter)
		return ST_ARGUMENT_UNKNOWN;
	if (strchr("diuxXoc", letter))
		return ST_ARGUMENT_INTEGER;
	if (strchr("aAeEfFgG", letter))
		return ST_ARGUMENT_DOUBLE;
	if (letter == 's')
		return conversion->size == ST_SIZE_LONG ? ST_ARGUMENT_WIDE_STRING
							: ST_ARGUMENT_STRING;
	return letter == 'p' || letter == 'n' ? ST_ARGUMENT_POINTER : ST_ARGUMENT_UNKNOWN;
}

/* Bytes of a character in UTF-8. */
static inline uint32_t st_conversion_utf8_bytes(uint32_t c)
{
	return 1u + (c >= 0x80) + (c >= 0x800) + (c >= 0x10000);
}

#endif
