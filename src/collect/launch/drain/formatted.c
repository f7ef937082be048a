/* SPDX-License-Identifier: Apache-2.0
 *
 * See formatted.h. Each conversion becomes one call of snprintf, with its width and precision as numbers and its value as
 * the largest type of its kind.
 */
#include "collect/launch/drain/formatted.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/conversion.h"

enum { PLACES_MAX = 512, DIGITS_OF_A = 17, EXPONENT_BYTES = PLACES_MAX + 16 };

struct output {
	char *out;
	size_t capacity, length;
	bool cut;
};

struct input {
	const char *at;
	size_t left;
};

static bool take_word(struct input *input, uint64_t *word)
{
	if (input->left < sizeof(*word))
		return false;
	memcpy(word, input->at, sizeof(*word));
	input->at += sizeof(*word);
	input->left -= sizeof(*word);
	return true;
}

static void put(struct output *output, const char *text, size_t length)
{
	size_t room = output->capacity - output->length;

	output->cut |= length > room;
	length = length > room ? room : length;
	memcpy(output->out + output->length, text, length);
	output->length += length;
}

/* One conversion with its flags; the letters name the type of the value behind width and precision (negative: none). */
static void print(struct output *output, const struct st_conversion *flags, const char *letters,
		  ...)
{
	size_t room = output->capacity - output->length;
	char spec[16];
	va_list list;
	int length;

	snprintf(spec, sizeof(spec), "%%%s%s%s%s%s*.*%s", flags->minus ? "-" : "",
		 flags->plus ? "+" : "", flags->space ? " " : "", flags->sharp ? "#" : "",
		 flags->zero ? "0" : "", letters);
	va_start(list, letters);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	length = vsnprintf(output->out + output->length, room + 1, spec, list);
#pragma GCC diagnostic pop
	va_end(list);
	output->cut |= length < 0 || (size_t)length > room;
	output->length += output->cut ? room : (size_t)length;
}

static void put_integer(struct output *output, const struct st_conversion *conversion,
			uint64_t value)
{
	const char letters[] = {'l', 'l', conversion->letter, '\0'};
	bool is_signed = conversion->letter == 'd' || conversion->letter == 'i';

	if (conversion->size == ST_SIZE_CHAR)
		value = is_signed ? (uint64_t)(signed char)value : (unsigned char)value;
	else if (conversion->size == ST_SIZE_SHORT)
		value = is_signed ? (uint64_t)(short)value : (unsigned short)value;
	else if (conversion->size == ST_SIZE_INT)
		value = is_signed ? (uint64_t)(int)value : (unsigned int)value;
	print(output, conversion, letters, conversion->width,
	      conversion->has_precision ? conversion->precision : -1, (unsigned long long)value);
}

/* %#g by way of %e, because glibc forgets the zeros of a number that is rounded up to the next power of ten. */
static char choose_general(char letter, double value, int *precision)
{
	char text[EXPONENT_BYTES];
	int exponent, places = *precision > 0 ? *precision : 1;

	snprintf(text, sizeof(text), "%.*e", places - 1, value);
	exponent = (int)strtol(text + strcspn(text, "e") + 1, NULL, 10);
	*precision = places - 1;
	if (exponent < -4 || exponent >= places)
		return (char)(letter + 'e' - 'g');
	*precision -= exponent;
	return (char)(letter + 'f' - 'g');
}

static void put_double(struct output *output, const struct st_conversion *conversion, uint64_t bits)
{
	int precision = conversion->has_precision ? conversion->precision : 6;
	char letters[] = {conversion->letter, '\0'};
	double value;

	memcpy(&value, &bits, sizeof(value));
	if (precision > PLACES_MAX)
		precision = PLACES_MAX;
	/* No metadata of ours needs %a in hexadecimal: all digits that matter. */
	if ((letters[0] | 0x20) == 'a') {
		letters[0] = (char)(letters[0] + 'g' - 'a');
		precision = DIGITS_OF_A;
	}
	if (conversion->sharp && (letters[0] | 0x20) == 'g' && value - value == 0)
		letters[0] = choose_general(letters[0], value, &precision);
	print(output, conversion, letters, conversion->width, precision, value);
}

static void put_string(struct output *output, const struct st_conversion *conversion,
		       const char *text, size_t length)
{
	const struct st_conversion plain = {.minus = conversion->minus};

	print(output, &plain, "s", conversion->width, (int)length, text);
}

static void put_character(struct output *output, const struct st_conversion *conversion, int c)
{
	const struct st_conversion plain = {.minus = conversion->minus};

	print(output, &plain, "c", conversion->width, -1, c);
}

static void put_pointer(struct output *output, struct st_conversion pointer, uint64_t value)
{
	static const char null[] = "(nil)";
	size_t most = pointer.has_precision ? (size_t)pointer.precision : strlen(null);

	if (!value) {
		put_string(output, &pointer, null, most < strlen(null) ? most : strlen(null));
		return;
	}
	pointer.sharp = true;
	pointer.letter = 'x';
	pointer.size = ST_SIZE_LONG_LONG;
	put_integer(output, &pointer, value);
}

static size_t encode_utf8(char bytes[4], uint32_t c)
{
	static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t length = st_conversion_utf8_bytes(c);

	for (size_t i = length; i-- > 1; c >>= 6)
		bytes[i] = (char)(0x80 | (c & 63));
	bytes[0] = (char)(length == 4 ? 0xf0 | (c & 7) : first[length] | c);
	return length;
}

static void put_wide(struct output *output, const struct st_conversion *conversion,
		     const char *text, size_t size_bytes)
{
	char *bytes = malloc(size_bytes + 1); /* a character has no more bytes there than here */
	size_t used = 0, most = output->capacity - output->length + 1;

	for (size_t at = 0; bytes && at + sizeof(uint32_t) <= size_bytes && used < most;
	     at += sizeof(uint32_t)) {
		uint32_t c;

		memcpy(&c, text + at, sizeof(c));
		used += encode_utf8(bytes + used, c);
	}
	if (bytes)
		put_string(output, conversion, bytes, used);
	free(bytes);
}

/* False: the argument is not there. */
static bool put_text(struct output *output, const struct st_conversion *conversion,
		     struct input *input, uint64_t size_bytes)
{
	static const char null[] = "(null)";
	size_t room = output->capacity - output->length + 1;
	size_t most = conversion->has_precision && (size_t)conversion->precision < room
			      ? (size_t)conversion->precision
			      : room;
	bool cut = size_bytes != ST_CONVERSION_NULL && size_bytes > input->left;
	const char *text = input->at;

	if (size_bytes == ST_CONVERSION_NULL) {
		put_string(output, conversion, null, most < strlen(null) ? most : strlen(null));
		return true;
	}
	if (cut)
		size_bytes = input->left;
	input->at += size_bytes;
	input->left -= size_bytes;
	if (st_conversion_argument(conversion) == ST_ARGUMENT_WIDE_STRING)
		put_wide(output, conversion, text, size_bytes);
	else
		put_string(output, conversion, text, size_bytes < most ? size_bytes : most);
	return !cut;
}

/* False: there is no such argument. */
static bool take_counts(struct input *input, struct st_conversion *conversion)
{
	uint64_t width = (uint64_t)conversion->width, precision = (uint64_t)conversion->precision;

	if ((conversion->star_width && !take_word(input, &width)) ||
	    (conversion->star_precision && !take_word(input, &precision)))
		return false;
	conversion->width = st_conversion_clamp((int)(uint32_t)width);
	conversion->minus |= conversion->width < 0;
	conversion->width = abs(conversion->width);
	conversion->precision = st_conversion_clamp((int)(uint32_t)precision);
	conversion->has_precision &= conversion->precision >= 0;
	return true;
}

static bool convert(struct output *output, struct st_conversion *conversion, struct input *input)
{
	uint64_t word;

	if (!take_word(input, &word))
		return false;
	switch (st_conversion_argument(conversion)) {
	case ST_ARGUMENT_INTEGER:
		if (conversion->letter != 'c') {
			put_integer(output, conversion, word);
		} else if (conversion->size == ST_SIZE_LONG) {
			char bytes[4];

			put(output, bytes, encode_utf8(bytes, (uint32_t)word));
		} else {
			put_character(output, conversion, (int)(uint32_t)word);
		}
		return true;
	case ST_ARGUMENT_DOUBLE:
		put_double(output, conversion, word);
		return true;
	case ST_ARGUMENT_POINTER:
		if (conversion->letter == 'p')
			put_pointer(output, *conversion, word);
		return true;
	default:
		return put_text(output, conversion, input, word);
	}
}

static void format_all(struct output *output, const char *format, struct input *input)
{
	while (*format && !output->cut) {
		const char *percent = strchrnul(format, '%');
		struct st_conversion conversion;

		put(output, format, (size_t)(percent - format));
		if (!*percent)
			return;
		format = percent + 1;
		if (*format == '%') {
			put(output, format++, 1);
			continue;
		}
		conversion = st_conversion_parse(&format);
		if (st_conversion_argument(&conversion) == ST_ARGUMENT_UNKNOWN) {
			put(output, percent, strlen(percent));
			return;
		}
		if (!take_counts(input, &conversion) || !convert(output, &conversion, input))
			return;
	}
}

struct st_formatted st_format_arguments(char *out, size_t capacity, const void *data,
					size_t data_bytes)
{
	struct output output = {.out = out, .capacity = capacity};
	struct input input = {data, data_bytes};
	uint64_t length;
	char *format;

	if (!take_word(&input, &length))
		return (struct st_formatted){0};
	length = length < input.left ? length : input.left;
	format = calloc(length + 1, 1);
	if (format) {
		memcpy(format, input.at, length);
		input.at += length;
		input.left -= length;
		format_all(&output, format, &input);
	}
	free(format);
	return (struct st_formatted){(uint32_t)output.length, output.cut};
}
