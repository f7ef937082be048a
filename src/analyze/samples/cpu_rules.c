// SPDX-License-Identifier: Apache-2.0
//
// Rules for the classes of CPU time: read from files, and the copy of ours that is built in.
#include "analyze/samples/cpu_class.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { WORDS_MAX = 4, RULES_MAX = 60000, FILE_BYTES_MAX = 4 << 20 };

static bool word_is(struct st_text word, const char *text)
{
	return word.size_bytes == strlen(text) && memcmp(word.bytes, text, word.size_bytes) == 0;
}

static char *split_alternatives(struct st_text word)
{
	char *copy = calloc(1, word.size_bytes + 2);

	for (size_t i = 0; copy && i < word.size_bytes; i++)
		copy[i] = word.bytes[i] == '|' ? '\0' : word.bytes[i];
	return copy;
}

static unsigned int split_words(struct st_text line, struct st_text words[WORDS_MAX + 1])
{
	unsigned int count = 0;
	size_t at = 0;

	while (count <= WORDS_MAX) {
		size_t start;

		while (at < line.size_bytes &&
		       (line.bytes[at] == ' ' || line.bytes[at] == '\t' || line.bytes[at] == '\r'))
			at++;
		start = at;
		if (at == line.size_bytes || line.bytes[at] == '#')
			break;
		while (at < line.size_bytes && line.bytes[at] != ' ' && line.bytes[at] != '\t' &&
		       line.bytes[at] != '\r')
			at++;
		words[count++] = (struct st_text){line.bytes + start, at - start};
	}
	return count;
}

static bool set_class(struct st_class_rule *rule, struct st_text word)
{
	for (unsigned int i = 0; i < ST_CPU_CLASSES; i++) {
		if (word_is(word, st_cpu_class_name((enum st_cpu_class)i))) {
			rule->cpu_class = (enum st_cpu_class)i;
			return true;
		}
	}
	return false;
}

static bool set_condition(struct st_class_rule *rule, struct st_text word)
{
	rule->pause = word_is(word, "pause") ? ST_PAUSE_FUNCTION : ST_PAUSE_AT;
	return rule->pause == ST_PAUSE_FUNCTION || word_is(word, "at-pause");
}

static bool is_pattern_list(struct st_text word)
{
	bool empty = true;

	for (size_t i = 0; i < word.size_bytes; i++) {
		if (word.bytes[i] == '|' && empty)
			return false;
		empty = word.bytes[i] == '|';
	}
	return !empty;
}

static enum st_status add_rule(struct st_class_rules *rules, const struct st_text *words,
			       const struct st_class_rule *made, struct st_error *err)
{
	struct st_class_rule *rule;

	if (rules->count == rules->capacity) {
		uint32_t capacity = rules->capacity ? rules->capacity * 2 : 64;
		struct st_class_rule *more = realloc(rules->rules, capacity * sizeof(*more));

		if (!more)
			return st_error_set(err, ST_ENOMEM, 0, "out of memory for rules");
		rules->rules = more;
		rules->capacity = capacity;
	}
	rule = &rules->rules[rules->count];
	*rule = *made;
	rule->module = split_alternatives(words[0]);
	rule->function = split_alternatives(words[1]);
	if (!rule->module || !rule->function) {
		free(rule->module);
		free(rule->function);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for rules");
	}
	rules->count++;
	return ST_OK;
}

static enum st_status parse_line(struct st_class_rules *rules, struct st_text line,
				 const char **wrong, struct st_error *err)
{
	struct st_text words[WORDS_MAX + 1];
	unsigned int count = split_words(line, words);
	struct st_class_rule rule = {0};

	*wrong = NULL;
	if (!count)
		return ST_OK;
	if (count < 3 || count > WORDS_MAX)
		*wrong = "expected a rule: module, function, class and optionally a condition";
	else if (!is_pattern_list(words[0]) || !is_pattern_list(words[1]))
		*wrong = "an empty pattern between '|'";
	else if (!set_class(&rule, words[2]))
		*wrong = "unknown class";
	else if (count == WORDS_MAX && !set_condition(&rule, words[3]))
		*wrong = "unknown condition: expected pause or at-pause";
	else if (rules->count >= RULES_MAX)
		*wrong = "too many rules";
	if (*wrong)
		return ST_EUSAGE;
	rule.is_rest = word_is(words[1], "*");
	return add_rule(rules, words, &rule, err);
}

enum st_status st_class_rules_parse(struct st_class_rules *rules, const char *text,
				    size_t size_bytes, const char *name, struct st_error *err)
{
	const char *end = text + size_bytes;

	for (unsigned int number = 1; text < end; number++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ? newline : end;
		const char *wrong;
		enum st_status status = parse_line(
			rules, (struct st_text){text, (size_t)(stop - text)}, &wrong, err);

		if (wrong)
			return st_error_set(err, ST_EUSAGE, 0, "%s, line %u: %s", name, number,
					    wrong);
		if (status)
			return status;
		text = newline ? newline + 1 : end;
	}
	return ST_OK;
}

static enum st_status parse_file(struct st_class_rules *rules, const char *path, bool must_be,
				 struct st_error *err)
{
	FILE *file = fopen(path, "re");
	enum st_status status = ST_OK;
	struct st_buf text;
	char piece[4096];
	size_t n;

	if (!file)
		return must_be ? st_error_set(err, ST_EUSAGE, 0, "cannot read the rules in %s",
					      path)
			       : ST_OK;
	st_buf_init(&text, FILE_BYTES_MAX);
	while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
		st_buf_append(&text, piece, n);
	if (ferror(file) || text.failed)
		status = st_error_set(err, ST_EUSAGE, 0, "cannot read the rules in %s", path);
	else
		status = st_class_rules_parse(rules, (const char *)text.data, text.size_bytes, path,
					      err);
	st_buf_fini(&text);
	(void)fclose(file);
	return status;
}

static enum st_status parse_config(struct st_class_rules *rules, struct st_error *err)
{
	const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char path[4096];
	int n = 0;

	if (folder && *folder == '/')
		n = snprintf(path, sizeof(path), "%s/strata/cpu-classes.rules", folder);
	else if (home && *home == '/')
		n = snprintf(path, sizeof(path), "%s/.config/strata/cpu-classes.rules", home);
	if (n <= 0 || (size_t)n >= sizeof(path))
		return ST_OK;
	return parse_file(rules, path, false, err);
}

enum st_status st_class_rules_load(struct st_class_rules *out, const char *path,
				   struct st_error *err)
{
	enum st_status status = ST_OK;

	memset(out, 0, sizeof(*out));
	if (path)
		status = parse_file(out, path, true, err);
	if (!status)
		status = parse_config(out, err);
	if (!status)
		status = st_class_rules_parse(out, (const char *)st_cpu_rules_builtin,
					      st_cpu_rules_builtin_bytes, "built-in rules", err);
	if (status)
		st_class_rules_fini(out);
	return status;
}

void st_class_rules_fini(struct st_class_rules *rules)
{
	for (uint32_t i = 0; i < rules->count; i++) {
		free(rules->rules[i].module);
		free(rules->rules[i].function);
	}
	free(rules->rules);
	memset(rules, 0, sizeof(*rules));
}
