/* SPDX-License-Identifier: Apache-2.0
 *
 * See format.h.
 */
#include "collect/inproc/itt/format.h"

#include <string.h>

/* More than there is room for is as good as any other; a number has no more places than that. */
enum { COUNT_MAX = 1 << 16, PLACES_MAX = 512 };

struct output {
	char *out;
	size_t capacity, length;
	bool cut;
};

struct spec {
	bool minus, plus, space, sharp, zero;
	bool has_precision;
	int width, precision;
	enum { SIZE_INT, SIZE_CHAR, SIZE_SHORT, SIZE_LONG, SIZE_LONG_LONG, SIZE_LONG_DOUBLE } size;
	char conversion;
};

/* va_list is an array type on some machines and not on others: inside a structure it can be passed on. */
struct arguments {
	va_list list;
};

static void put(struct output *output, const char *text, size_t length)
{
	size_t room = output->capacity - output->length;

	if (length > room) {
		output->cut = true;
		length = room;
	}
	if (length)
		memcpy(output->out + output->length, text, length);
	output->length += length;
}

static void fill(struct output *output, char c, int count)
{
	for (; count > 0 && !output->cut; count--)
		put(output, &c, 1);
}

/* Sign or prefix, zeros up to the precision, digits; in a field of the given width. */
static void put_field(struct output *output, const struct spec *spec, const char *prefix,
		      const char *body, int zeros)
{
	int length = (int)strlen(prefix) + zeros + (int)strlen(body);
	int pad = spec->width > length ? spec->width - length : 0;
	bool by_zeros = spec->zero && !spec->minus;

	if (!spec->minus && !by_zeros)
		fill(output, ' ', pad);
	put(output, prefix, strlen(prefix));
	fill(output, '0', zeros + (by_zeros ? pad : 0));
	put(output, body, strlen(body));
	if (spec->minus)
		fill(output, ' ', pad);
}

static void put_integer(struct output *output, struct spec spec, uint64_t value, const char *prefix)
{
	const char *digits = spec.conversion == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
	unsigned int base = 10;
	char text[24 + 1];
	int at = sizeof(text) - 1, zeros = 0, length;

	if (spec.conversion == 'x' || spec.conversion == 'X' || spec.conversion == 'p')
		base = 16;
	else if (spec.conversion == 'o')
		base = 8;
	text[at] = '\0';
	for (uint64_t left = value; left; left /= base)
		text[--at] = digits[left % base];
	length = (int)sizeof(text) - 1 - at;
	if (spec.has_precision) {
		zeros = spec.precision > length ? spec.precision - length : 0;
		spec.zero = false; /* a precision rules the flag out */
	} else if (!length) {
		text[--at] = '0';
	}
	if (spec.sharp && base == 8 && !zeros && text[at] != '0')
		zeros = 1;
	if (spec.sharp && base == 16 && value)
		prefix = spec.conversion == 'X' ? "0X" : "0x";
	put_field(output, &spec, prefix, text + at, zeros);
}

static const char *sign_of(const struct spec *spec, bool negative)
{
	if (negative)
		return "-";
	return spec->plus ? "+" : spec->space ? " " : "";
}

/* --- numbers with a point --- */

struct body {
	char text[1400]; /* 309 digits, a point and PLACES_MAX fit, and an exponent */
	int length;
};

static void add(struct body *body, char c)
{
	if (body->length < (int)sizeof(body->text) - 1)
		body->text[body->length++] = c;
}

/* Digit `at` of the number, counted from the first one; zeros all around. */
static char digit(const struct st_decimal *decimal, int at)
{
	return at >= 0 && at < decimal->count ? decimal->digits[at] : '0';
}

static void add_fixed(struct body *body, const struct st_decimal *decimal, int precision,
		      bool sharp)
{
	if (decimal->point <= 0)
		add(body, '0');
	for (int i = 0; i < decimal->point; i++)
		add(body, digit(decimal, i));
	if (precision > 0 || sharp)
		add(body, '.');
	for (int i = 0; i < precision; i++)
		add(body, digit(decimal, decimal->point + i));
}

static void add_exponent(struct body *body, const struct st_decimal *decimal, int precision,
			 const struct spec *spec)
{
	int exponent = decimal->count ? decimal->point - 1 : 0;
	int size = exponent < 0 ? -exponent : exponent;

	add(body, digit(decimal, 0));
	if (precision > 0 || spec->sharp)
		add(body, '.');
	for (int i = 1; i <= precision; i++)
		add(body, digit(decimal, i));
	add(body, (spec->conversion & 0x20) ? 'e' : 'E');
	add(body, exponent < 0 ? '-' : '+');
	if (size >= 100)
		add(body, (char)('0' + size / 100));
	add(body, (char)('0' + size / 10 % 10));
	add(body, (char)('0' + size % 10));
}

/* %g: the shorter of the two, without zeros at the end. */
static void add_general(struct body *body, struct st_decimal *decimal, int precision,
			const struct spec *spec)
{
	int exponent, last;

	if (!precision)
		precision = 1;
	st_decimal_round(decimal, precision);
	exponent = decimal->count ? decimal->point - 1 : 0;
	last = spec->sharp ? precision : decimal->count;
	while (!spec->sharp && last > 1 && digit(decimal, last - 1) == '0')
		last--;
	if (exponent < -4 || exponent >= precision) {
		add_exponent(body, decimal, last > 0 ? last - 1 : 0, spec);
		return;
	}
	last -= decimal->count ? decimal->point : 1;
	add_fixed(body, decimal, last > 0 ? last : 0, spec->sharp);
}

static void put_double(struct output *output, struct spec spec, double value)
{
	bool lower = spec.conversion & 0x20, negative = __builtin_signbit(value);
	int precision = spec.has_precision ? spec.precision : 6;
	struct st_decimal decimal;
	struct body body = {.length = 0};

	if (value != value || value - value != 0) {
		const char *word =
			value != value ? (lower ? "nan" : "NAN") : (lower ? "inf" : "INF");

		spec.zero = false;
		put_field(output, &spec, sign_of(&spec, negative), word, 0);
		return;
	}
	if (precision > PLACES_MAX)
		precision = PLACES_MAX;
	st_decimal_exact(&decimal, negative ? -value : value);
	switch (spec.conversion | 0x20) {
	case 'f':
		st_decimal_round(&decimal, decimal.point + precision);
		add_fixed(&body, &decimal, precision, spec.sharp);
		break;
	case 'e':
		st_decimal_round(&decimal, precision + 1);
		add_exponent(&body, &decimal, precision, &spec);
		break;
	default: /* %a, which no metadata of ours needs in hexadecimal: all digits that matter */
		add_general(&body, &decimal, (spec.conversion | 0x20) == 'a' ? 17 : precision,
			    &spec);
		break;
	}
	body.text[body.length] = '\0';
	put_field(output, &spec, sign_of(&spec, negative), body.text, 0);
}

/* --- text --- */

static size_t encode_wide(char bytes[4], uint32_t c)
{
	size_t length;

	if (c < 0x80) {
		bytes[0] = (char)c;
		length = 1;
	} else if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		length = 2;
	} else if (c < 0x10000) {
		bytes[0] = (char)(0xe0 | c >> 12);
		length = 3;
	} else {
		bytes[0] = (char)(0xf0 | (c >> 18 & 7));
		length = 4;
	}
	for (size_t i = 1; i < length; i++)
		bytes[i] = (char)(0x80 | (c >> 6 * (length - 1 - i) & 63));
	return length;
}

static void put_wide(struct output *output, uint32_t c)
{
	char bytes[4];

	put(output, bytes, encode_wide(bytes, c));
}

static void put_string(struct output *output, const struct spec *spec, const char *text)
{
	size_t room = output->capacity - output->length + 1;
	size_t most = spec->has_precision ? (size_t)spec->precision : room;
	int length, pad;

	if (!text)
		text = "(null)";
	length = (int)strnlen(text, most < room ? most : room);
	pad = spec->width > length ? spec->width - length : 0;
	if (!spec->minus)
		fill(output, ' ', pad);
	put(output, text, (size_t)length);
	if (spec->minus)
		fill(output, ' ', pad);
}

/* A precision counts bytes and whole characters; once it is used up nothing more is read, because the text
 * need not be terminated then. */
static void put_wide_string(struct output *output, const struct spec *spec, const wchar_t *text)
{
	size_t most = output->capacity - output->length + 1, used = 0, count = 0;
	int pad;

	if (!text) {
		put_string(output, spec, NULL);
		return;
	}
	if (spec->has_precision && (size_t)spec->precision < most)
		most = (size_t)spec->precision;
	for (char bytes[4]; used < most && text[count]; count++) {
		size_t length = encode_wide(bytes, (uint32_t)text[count]);

		if (spec->has_precision && used + length > (size_t)spec->precision)
			break;
		used += length;
	}
	pad = spec->width > (int)used ? spec->width - (int)used : 0;
	fill(output, ' ', spec->minus ? 0 : pad);
	for (size_t i = 0; i < count; i++)
		put_wide(output, (uint32_t)text[i]);
	fill(output, ' ', spec->minus ? pad : 0);
}

/* --- the format --- */

static int parse_count(const char **at, struct arguments *arguments, int max)
{
	int value = 0;

	if (**at == '*') {
		++*at;
		value = va_arg(arguments->list, int);
		return value > max ? max : value < -max ? -max : value;
	}
	for (; **at >= '0' && **at <= '9'; ++*at)
		value = value < max ? value * 10 + (**at - '0') : max;
	return value < max ? value : max;
}

static void parse_flags(const char **at, struct spec *spec)
{
	for (;; ++*at) {
		switch (**at) {
		case '-':
			spec->minus = true;
			continue;
		case '+':
			spec->plus = true;
			continue;
		case ' ':
			spec->space = true;
			continue;
		case '#':
			spec->sharp = true;
			continue;
		case '0':
			spec->zero = true;
			continue;
		default:
			return;
		}
	}
}

static void parse_size(const char **at, struct spec *spec)
{
	switch (**at) {
	case 'h':
		spec->size = (*at)[1] == 'h' ? SIZE_CHAR : SIZE_SHORT;
		*at += spec->size == SIZE_CHAR ? 2 : 1;
		break;
	case 'l':
		spec->size = (*at)[1] == 'l' ? SIZE_LONG_LONG : SIZE_LONG;
		*at += spec->size == SIZE_LONG_LONG ? 2 : 1;
		break;
	case 'q':
	case 'j':
	case 'z':
	case 't':
		spec->size = SIZE_LONG_LONG; /* all of them have 64 bits here */
		++*at;
		break;
	case 'L':
		spec->size = SIZE_LONG_DOUBLE;
		++*at;
		break;
	default:
		break;
	}
}

static struct spec parse_spec(const char **at, struct arguments *arguments)
{
	struct spec spec = {.size = SIZE_INT};

	parse_flags(at, &spec);
	spec.width = parse_count(at, arguments, COUNT_MAX);
	if (spec.width < 0) {
		spec.minus = true;
		spec.width = -spec.width;
	}
	if (**at == '.') {
		++*at;
		spec.precision = parse_count(at, arguments, COUNT_MAX);
		spec.has_precision = spec.precision >= 0;
	}
	parse_size(at, &spec);
	spec.conversion = **at;
	if (**at)
		++*at;
	return spec;
}

static int64_t take_signed(const struct spec *spec, struct arguments *arguments)
{
	int value;

	if (spec->size >= SIZE_LONG)
		return va_arg(arguments->list, long long);
	value = va_arg(arguments->list, int);
	switch (spec->size) {
	case SIZE_CHAR:
		return (signed char)value;
	case SIZE_SHORT:
		return (short)value;
	default:
		return value;
	}
}

static uint64_t take_unsigned(const struct spec *spec, struct arguments *arguments)
{
	uint64_t value = (uint64_t)take_signed(spec, arguments);

	switch (spec->size) {
	case SIZE_CHAR:
		return (unsigned char)value;
	case SIZE_SHORT:
		return (unsigned short)value;
	case SIZE_INT:
		return (unsigned int)value;
	default:
		return value;
	}
}

static void put_character(struct output *output, struct spec *spec, int c)
{
	char bytes[2] = {(char)c, '\0'};

	if (spec->size == SIZE_LONG) {
		put_wide(output, (uint32_t)c);
		return;
	}
	fill(output, ' ', spec->minus ? 0 : spec->width - 1);
	put(output, bytes, 1); /* also NUL, which would end a string */
	fill(output, ' ', spec->minus ? spec->width - 1 : 0);
}

static void put_signed(struct output *output, const struct spec *spec, int64_t value)
{
	uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	put_integer(output, *spec, size, sign_of(spec, value < 0));
}

static void put_pointer(struct output *output, struct spec spec, const void *pointer)
{
	spec.sharp = true;
	if (pointer)
		put_integer(output, spec, (uintptr_t)pointer, "");
	else
		put_string(output, &spec, "(nil)");
}

/* False: not known, nothing was taken. */
static bool convert(struct output *output, struct spec *spec, struct arguments *arguments)
{
	switch (spec->conversion) {
	case 'd':
	case 'i':
		put_signed(output, spec, take_signed(spec, arguments));
		return true;
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		put_integer(output, *spec, take_unsigned(spec, arguments), "");
		return true;
	case 'c':
		put_character(output, spec, va_arg(arguments->list, int));
		return true;
	case 's':
		if (spec->size == SIZE_LONG)
			put_wide_string(output, spec, va_arg(arguments->list, const wchar_t *));
		else
			put_string(output, spec, va_arg(arguments->list, const char *));
		return true;
	case 'p':
		put_pointer(output, *spec, va_arg(arguments->list, const void *));
		return true;
	case 'n':
		(void)va_arg(arguments->list, void *);
		return true;
	case 'a':
	case 'A':
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G':
		put_double(output, *spec,
			   spec->size == SIZE_LONG_DOUBLE
				   ? (double)va_arg(arguments->list, long double)
				   : va_arg(arguments->list, double));
		return true;
	default:
		return false;
	}
}

struct st_formatted st_format(char *out, size_t capacity, const char *format, va_list list)
{
	struct output output = {.out = out, .capacity = capacity};
	struct arguments arguments;

	va_copy(arguments.list, list);
	while (*format && !output.cut) {
		const char *from = format, *percent = strchrnul(format, '%');
		struct spec spec;

		put(&output, from, (size_t)(percent - from));
		if (!*percent)
			break;
		format = percent + 1;
		if (*format == '%') {
			put(&output, "%", 1);
			format++;
			continue;
		}
		spec = parse_spec(&format, &arguments);
		if (!convert(&output, &spec, &arguments)) {
			put(&output, percent, strlen(percent));
			break;
		}
	}
	va_end(arguments.list);
	return (struct st_formatted){(uint32_t)output.length, output.cut};
}
