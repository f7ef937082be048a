// SPDX-License-Identifier: Apache-2.0
//
// A reader of JSON that keeps nothing: the open brackets are bits.
#include "base/json_check.h"

#include <stdint.h>
#include <string.h>

#include "base/json_out.h"

struct scan {
	const char *at, *end;
	uint64_t are_objects; /* a bit per open bracket, the innermost lowest */
	unsigned int depth;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static void skip_blanks(struct scan *scan)
{
	while (scan->at < scan->end && *scan->at && strchr(" \t\r\n", *scan->at))
		scan->at++;
}

static bool take(struct scan *scan, char c)
{
	if (scan->at == scan->end || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

static bool take_word(struct scan *scan, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, word, length) != 0)
		return false;
	scan->at += length;
	return true;
}

static bool take_digits(struct scan *scan)
{
	const char *begin = scan->at;

	while (scan->at < scan->end && is_digit(*scan->at))
		scan->at++;
	return scan->at > begin;
}

static bool take_number(struct scan *scan)
{
	take(scan, '-');
	if (!take(scan, '0') && !take_digits(scan))
		return false;
	if (take(scan, '.') && !take_digits(scan))
		return false;
	if (!take(scan, 'e') && !take(scan, 'E'))
		return true;
	if (!take(scan, '+'))
		take(scan, '-');
	return take_digits(scan);
}

static bool take_escape(struct scan *scan)
{
	char c = scan->at < scan->end ? *scan->at++ : '\0';

	if (c != 'u')
		return c && strchr("\"\\/bfnrt", c);
	for (unsigned int i = 0; i < 4; i++)
		if (scan->at == scan->end || !is_hex(*scan->at++))
			return false;
	return true;
}

static bool take_text(struct scan *scan)
{
	const char *begin;

	if (!take(scan, '"'))
		return false;
	begin = scan->at;
	while (scan->at < scan->end) {
		char c = *scan->at++;

		if (c == '"')
			return st_utf8_is_valid(begin, (size_t)(scan->at - begin));
		if ((unsigned char)c < 0x20 || (c == '\\' && !take_escape(scan)))
			return false;
	}
	return false;
}

static bool take_scalar(struct scan *scan)
{
	if (scan->at < scan->end && *scan->at == '"')
		return take_text(scan);
	return take_word(scan, "true") || take_word(scan, "false") || take_word(scan, "null") ||
	       take_number(scan);
}

static bool take_key(struct scan *scan)
{
	skip_blanks(scan);
	if (!take_text(scan))
		return false;
	skip_blanks(scan);
	return take(scan, ':');
}

/* A value up to its first bracket: true with *is_open when brackets were opened and a value is due inside. */
static bool begin_value(struct scan *scan, bool *is_open)
{
	bool is_object;

	*is_open = false;
	skip_blanks(scan);
	is_object = scan->at < scan->end && *scan->at == '{';
	if (!is_object && (scan->at == scan->end || *scan->at != '['))
		return take_scalar(scan);
	scan->at++;
	skip_blanks(scan);
	if (take(scan, is_object ? '}' : ']'))
		return true;
	if (scan->depth == ST_JSON_CHECK_DEPTH || (is_object && !take_key(scan)))
		return false;
	scan->depth++;
	scan->are_objects = scan->are_objects << 1 | is_object;
	*is_open = true;
	return true;
}

/* Behind a value: closes what ends; true with *is_due when another value follows. */
static bool end_value(struct scan *scan, bool *is_due)
{
	*is_due = false;
	while (scan->depth) {
		bool is_object = scan->are_objects & 1;

		skip_blanks(scan);
		if (take(scan, ',')) {
			*is_due = true;
			return !is_object || take_key(scan);
		}
		if (!take(scan, is_object ? '}' : ']'))
			return false;
		scan->depth--;
		scan->are_objects >>= 1;
	}
	return true;
}

bool st_json_is_value(const char *text, size_t size_bytes)
{
	struct scan scan = {.at = text, .end = text + size_bytes};
	bool is_due = true;

	while (is_due) {
		if (!begin_value(&scan, &is_due) || (!is_due && !end_value(&scan, &is_due)))
			return false;
	}
	skip_blanks(&scan);
	return scan.at == scan.end;
}
