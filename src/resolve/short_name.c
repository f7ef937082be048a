// SPDX-License-Identifier: Apache-2.0
//
// Short names of C++ functions. Only brackets are looked at: a name that does not follow the rules comes out longer than
// it could be, never empty.
#include "resolve/short_name.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"

/* As the two demanglers write it. */
static const char *const lambda_begins[] = {"::{lambda", "::'lambda"};
static const char hidden[] = "(anonymous namespace)::";

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '~' || c == '$' ||
	       ((unsigned char)c & 0x80);
}

static bool begins_with(const char *at, const char *end, const char *words)
{
	size_t length = strlen(words);

	return (size_t)(end - at) >= length && memcmp(at, words, length) == 0;
}

/* The bracket that the one right before end closes, or NULL. "->" closes none. */
static const char *opening_of(const char *begin, const char *end)
{
	unsigned int depth = 0;

	while (end > begin) {
		char c = *--end;

		if (c == ')' || (c == '>' && (end == begin || end[-1] != '-')))
			depth++;
		else if ((c == '(' || c == '<') && depth && --depth == 0)
			return end;
	}
	return NULL;
}

/* Where the qualified name that ends at end begins: words, "::", and brackets that follow a word. */
static const char *begin_of_name(const char *begin, const char *end)
{
	const char *at = end;

	while (at > begin) {
		char c = at[-1];

		if (is_word(c) || c == ':') {
			at--;
		} else if (c == ')' || c == '>') {
			const char *open = opening_of(begin, at);

			if (!open)
				break;
			at = open;
		} else {
			break;
		}
	}
	return at;
}

static const char *first_lambda(struct st_text name)
{
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(lambda_begins) / sizeof(lambda_begins[0]); i++) {
		const char *at = memmem(name.bytes, name.size_bytes, lambda_begins[i],
					strlen(lambda_begins[i]));

		if (at && (!first || at < first))
			first = at;
	}
	return first;
}

/* Of "wrapper<a::f(int)::{lambda()#1}>": "a::f". False when there is no lambda in it. */
static bool owner_of_lambda(struct st_text name, struct st_text *out)
{
	const char *begin = name.bytes, *from, *open, *at = first_lambda(name);

	if (!at)
		return false;
	if (at - begin > 6 && memcmp(at - 6, " const", 6) == 0)
		at -= 6;
	if (at > begin && at[-1] == ')') {
		open = opening_of(begin, at);
		if (!open || open == begin)
			return false;
		at = open;
	}
	from = begin_of_name(begin, at);
	if (from == at)
		return false;
	*out = (struct st_text){from, (size_t)(at - from)};
	return true;
}

/* What follows the template arguments at `at`. A comparison stands in parentheses: "f<(a > b)>". */
static const char *after_arguments(const char *at, const char *end)
{
	unsigned int depth = 0, parentheses = 0;

	for (; at < end; at++) {
		if (strchr("({[", *at))
			parentheses++;
		else if (strchr(")}]", *at))
			parentheses -= parentheses > 0;
		else if (*at == '<' && !parentheses)
			depth++;
		else if (*at == '>' && !parentheses && at[-1] != '-' && --depth == 0)
			return at + 1;
	}
	return end;
}

/* The length of "operator<<" and the like, whose brackets are part of the name; 0: something else. */
static size_t operator_length(const char *at, const char *end)
{
	static const char word[] = "operator";
	static const char *const signs[] = {"<=>", "<<=", ">>=", "->*", "()", "[]", "->",
					    "<<",  ">>",  "<=",	 ">=",	"<",  ">"};

	if (!begins_with(at, end, word))
		return 0;
	at += strlen(word);
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (begins_with(at, end, signs[i]))
			return strlen(word) + strlen(signs[i]);
	return strlen(word);
}

static void add_without_arguments(struct st_text name, struct st_buf *out)
{
	const char *at = name.bytes, *end = at + name.size_bytes;

	while (at < end) {
		bool in_word = at > name.bytes && is_word(at[-1]);
		size_t length = in_word ? 0 : operator_length(at, end);

		if (length) {
			st_buf_append(out, at, length);
			at += length;
			/* "operator<< <int>" */
			if (end - at > 1 && at[0] == ' ' && at[1] == '<')
				at = after_arguments(at + 1, end);
		} else if (begins_with(at, end, hidden)) {
			at += strlen(hidden);
		} else if (*at == '<' && in_word) {
			at = after_arguments(at, end);
		} else {
			st_buf_append_u8(out, (uint8_t)*at++);
		}
	}
}

void st_short_name(struct st_text name, struct st_buf *out)
{
	struct st_text owner;
	size_t before = out->size_bytes;

	if (name.size_bytes && strchr("<[{", name.bytes[0])) {
		st_buf_append(out, name.bytes, name.size_bytes); /* "<module>", "[Unknown]" */
		return;
	}
	if (owner_of_lambda(name, &owner)) {
		add_without_arguments(owner, out);
		st_buf_append_text(out, " {lambda}");
	} else {
		add_without_arguments(name, out);
	}
	if (out->size_bytes == before)
		st_buf_append(out, name.bytes, name.size_bytes);
}
