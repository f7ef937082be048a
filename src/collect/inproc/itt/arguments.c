/* SPDX-License-Identifier: Apache-2.0
 *
 * See arguments.h. A precision says how much of a string may be read; nothing behind that is looked at.
 */
#include "collect/inproc/itt/arguments.h"

#include <string.h>
#include <wchar.h>

#include "format/conversion.h"

/* va_list is an array type on some machines and not on others: inside a structure it can be passed on. */
struct source {
	va_list list;
	uint32_t room; /* bytes of strings that can still be seen in the text */
};

static void add_part(struct st_arguments *out, const void *at, uint32_t size_bytes)
{
	out->parts[out->part_count++] = (struct st_part){at, size_bytes};
}

/* Words that follow each other become one piece. */
static void add_word(struct st_arguments *out, uint64_t value)
{
	uint64_t *word = &out->words[out->word_count++];
	struct st_part *last = &out->parts[out->part_count - (out->part_count > 0)];

	*word = value;
	if (out->part_count && (const char *)last->at + last->size_bytes == (char *)word)
		last->size_bytes += sizeof(*word);
	else
		add_part(out, word, sizeof(*word));
}

/* Bytes of text, at most so many of its own in UTF-8. */
static uint32_t wide_bytes(const wchar_t *text, uint32_t most, const int *precision)
{
	uint32_t used = 0, count = 0;

	for (; used < most && text[count]; count++) {
		uint32_t length = st_conversion_utf8_bytes((uint32_t)text[count]);

		if (precision && used + length > (uint32_t)*precision)
			break;
		used += length;
	}
	return count * (uint32_t)sizeof(*text);
}

static void add_string(struct st_arguments *out, struct source *from, const void *text, bool wide,
		       const int *precision)
{
	uint32_t most = from->room, bytes;

	if (!text) {
		add_word(out, ST_CONVERSION_NULL);
		return;
	}
	if (precision && (uint32_t)*precision < most)
		most = (uint32_t)*precision;
	bytes = wide ? wide_bytes(text, most, precision) : (uint32_t)strnlen(text, most);
	add_word(out, bytes);
	add_part(out, text, bytes);
	from->room -= wide ? bytes / (uint32_t)sizeof(wchar_t) : bytes;
}

static int take_count(struct st_arguments *out, struct source *from)
{
	int value = va_arg(from->list, int);

	add_word(out, (uint64_t)value);
	return st_conversion_clamp(value);
}

/* False: it is not known where the next argument is. */
static bool take(struct st_arguments *out, struct source *from, struct st_conversion *conversion)
{
	enum st_argument kind = st_conversion_argument(conversion);
	double value;
	uint64_t bits;

	if (conversion->star_width)
		take_count(out, from);
	if (conversion->star_precision)
		conversion->precision = take_count(out, from);
	switch (kind) {
	case ST_ARGUMENT_INTEGER:
		if (conversion->size >= ST_SIZE_LONG && conversion->letter != 'c')
			bits = (uint64_t)va_arg(from->list, unsigned long long);
		else
			bits = (uint64_t)(int64_t)va_arg(from->list, int);
		add_word(out, bits);
		return true;
	case ST_ARGUMENT_DOUBLE:
		value = conversion->size == ST_SIZE_LONG_DOUBLE
				? (double)va_arg(from->list, long double)
				: va_arg(from->list, double);
		memcpy(&bits, &value, sizeof(bits));
		add_word(out, bits);
		return true;
	case ST_ARGUMENT_POINTER:
		add_word(out, (uintptr_t)va_arg(from->list, void *));
		return true;
	case ST_ARGUMENT_STRING:
	case ST_ARGUMENT_WIDE_STRING:
		add_string(out, from, va_arg(from->list, const void *),
			   kind == ST_ARGUMENT_WIDE_STRING,
			   conversion->has_precision && conversion->precision >= 0
				   ? &conversion->precision
				   : NULL);
		return true;
	default:
		return false;
	}
}

void st_arguments_pack(struct st_arguments *out, const char *format, va_list list)
{
	size_t length = strnlen(format, ST_CONVERSION_FORMAT_BYTES + 1);
	const char *at = format, *end;
	struct source from = {.room = ST_CONVERSION_TEXT_BYTES + 1};

	out->part_count = out->word_count = 0;
	out->cut = length > ST_CONVERSION_FORMAT_BYTES;
	length -= out->cut;
	end = format + length;
	add_word(out, length);
	add_part(out, format, (uint32_t)length);
	va_copy(from.list, list);
	while (from.room && (at = strchrnul(at, '%')) < end) {
		struct st_conversion conversion;

		at++;
		if (*at == '%') {
			at++;
			continue;
		}
		conversion = st_conversion_parse(&at);
		/* Three words at most. */
		out->cut |= out->word_count + 3 > ST_ARGUMENT_WORDS || at > end;
		if (out->cut || !take(out, &from, &conversion))
			break;
	}
	va_end(from.list);
}
