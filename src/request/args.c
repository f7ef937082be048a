/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser behind options.h: turns argv into options, words and the program to run, or into one
 * sentence that says what is wrong with it. Values are kept as text; values.c reads them.
 */
#include "request/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/near.h"
#include "base/quote.h"
#include "request/command.h"

enum {
	SUGGESTION_MAX_BYTES = 256,
	NAMES_MAX = 64,
	NAME_MAX_BYTES = 48,
	CANDIDATES_MAX = 2 * ST_OPTIONS
};

/* Names users bring along from VTune that mean something we do not do yet: refused by name, so that
 * nobody believes they had an effect. */
static const char *const later_options[] = {
	"allow-multiple-runs",
	"analyze-kvm-guest",
	"analyze-system",
	"cpu-mask",
	"custom-collector",
	"discard-raw-data",
	"option-file",
	"run-pass-thru",
	"strategy",
	"target-system",
	"trace-mpi",
	"user-data-dir",
};

/* What a typed name stands for. */
struct match {
	enum st_option_id id;
	bool negated;
};

/* The names one command understands, as texts and as what they stand for. */
struct candidates {
	char text[CANDIDATES_MAX][NAME_MAX_BYTES];
	const char *names[CANDIDATES_MAX];
	struct match matches[CANDIDATES_MAX];
	size_t count;
};

void st_near_text(const char *typed, const char *const *names, size_t count, char *out,
		  size_t out_size)
{
	const char *near[3];
	size_t near_count = st_near_names(typed, names, count, near, 3);
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < near_count; i++) {
		const char *before = i == 0		   ? "; did you mean "
				     : i + 1 == near_count ? " or "
							   : ", ";
		int size = snprintf(out + used, out_size - used, "%s'%s'", before, near[i]);

		if (size < 0 || (size_t)size >= out_size - used)
			break;
		used += (size_t)size;
	}
	if (near_count && used + 2 <= out_size)
		memcpy(out + used, "?", 2);
}

static const char *row_name(const void *rows, size_t row_bytes, size_t index)
{
	return *(const char *const *)(const void *)((const char *)rows + index * row_bytes);
}

const void *st_row_find(const void *rows, size_t row_bytes, const char *name)
{
	for (size_t i = 0; name && row_name(rows, row_bytes, i); i++)
		if (strcmp(row_name(rows, row_bytes, i), name) == 0)
			return (const char *)rows + i * row_bytes;
	return NULL;
}

void st_row_near(const void *rows, size_t row_bytes, const char *typed, char *out, size_t out_size)
{
	const char *names[NAMES_MAX];
	size_t count = 0;

	for (; count < NAMES_MAX && row_name(rows, row_bytes, count); count++)
		names[count] = row_name(rows, row_bytes, count);
	st_near_text(typed, names, count, out, out_size);
}

static void candidate_add(struct candidates *list, const char *before, enum st_option_id id)
{
	size_t at = list->count++;

	snprintf(list->text[at], NAME_MAX_BYTES, "%s%s", before, st_option_at(id)->name);
	list->names[at] = list->text[at];
	list->matches[at] = (struct match){id, before[0] != '\0'};
}

static void candidates_init(struct candidates *list, unsigned int commands)
{
	list->count = 0;
	for (enum st_option_id id = 0; id < ST_OPTIONS; id++) {
		const struct st_option *option = st_option_at(id);

		if (!(option->commands & commands))
			continue;
		candidate_add(list, "", id);
		if (option->flags & ST_OPT_NEGATABLE)
			candidate_add(list, "no-", id);
	}
}

/* Whether typed shortens name word by word: each of its words begins the word of the same place. The
 * words may be fewer only when the caller says so. */
static bool shortens(const char *typed, const char *name, bool fewer_words)
{
	if (!*typed || *typed == '-')
		return false;
	for (;;) {
		while (*typed && *typed != '-' && *typed == *name) {
			typed++;
			name++;
		}
		if (*typed && *typed != '-')
			return false;
		while (*name && *name != '-')
			name++;
		if (!*typed)
			return fewer_words || !*name;
		if (!*name || !typed[1] || typed[1] == '-')
			return false;
		typed++;
		name++;
	}
}

static enum st_status ambiguous(const char *typed, const struct candidates *list, bool fewer_words,
				struct st_error *err)
{
	char names[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (!shortens(typed, list->names[i], fewer_words))
			continue;
		int size = snprintf(names + used, sizeof(names) - used, "%s-%s", used ? ", " : "",
				    list->names[i]);
		if (size < 0 || (size_t)size >= sizeof(names) - used)
			break;
		used += (size_t)size;
	}
	return st_error_set(err, ST_EUSAGE, 0, "option '-%.60s' is ambiguous: %s", typed, names);
}

/* ST_ENOTFOUND when nothing is shortened by typed. */
static enum st_status find_shortened(const char *typed, const struct candidates *list,
				     bool fewer_words, struct match *out, struct st_error *err)
{
	size_t found = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (!shortens(typed, list->names[i], fewer_words))
			continue;
		*out = list->matches[i];
		found++;
	}
	if (found > 1)
		return ambiguous(typed, list, fewer_words, err);
	return found ? ST_OK : ST_ENOTFOUND;
}

static bool find_exact(const char *typed, struct match *out)
{
	bool negated = strncmp(typed, "no-", 3) == 0;

	for (enum st_option_id id = 0; id < ST_OPTIONS; id++) {
		const struct st_option *option = st_option_at(id);

		if ((typed[0] && !typed[1] && option->letter == typed[0]) ||
		    strcmp(typed, option->name) == 0) {
			*out = (struct match){id, false};
			return true;
		}
		if (negated && (option->flags & ST_OPT_NEGATABLE) &&
		    strcmp(typed + 3, option->name) == 0) {
			*out = (struct match){id, true};
			return true;
		}
	}
	return false;
}

static enum st_status unknown_option(const char *typed, unsigned int command,
				     const struct candidates *list, struct st_error *err)
{
	const char *name = st_command_name(command);
	unsigned int bit;
	char near[160];

	for (size_t i = 0; i < sizeof(later_options) / sizeof(later_options[0]); i++)
		if (strcmp(typed, later_options[i]) == 0)
			return st_error_set(err, ST_EUSAGE, 0,
					    "option '-%s' is not available in this version", typed);
	if (st_command_parse(typed, &bit, NULL) == ST_OK)
		return st_error_set(err, ST_EUSAGE, 0,
				    "'%s' is a command, not an option: strata %s", typed,
				    st_command_of(bit)->usage);
	st_near_text(typed, list->names, list->count, near, sizeof(near));
	return st_error_set(err, ST_EUSAGE, 0, "unknown option '-%.80s'%s (strata help%s%s)", typed,
			    near, name[0] ? " " : "", name);
}

/* The option that typed (without dashes) stands for in command. */
static enum st_status resolve(const char *typed, unsigned int command, struct match *out,
			      struct st_error *err)
{
	struct candidates list;
	char dashed[NAME_MAX_BYTES * 2];
	enum st_status status;

	/* "--bind_all": some tools write underscores. */
	snprintf(dashed, sizeof(dashed), "%s", typed);
	for (char *at = dashed; (at = strchr(at, '_'));)
		*at = '-';
	if (find_exact(typed, out) || find_exact(dashed, out)) {
		const struct st_option *option = st_option_at(out->id);

		if ((option->commands & command) || (option->flags & ST_OPT_IS_COMMAND))
			return ST_OK;
		return st_error_set(err, ST_EUSAGE, 0, "'-%s' is an option of '%s', not of '%s'",
				    typed,
				    st_command_name(option->commands & (~option->commands + 1)),
				    st_command_name(command));
	}
	candidates_init(&list, command);
	status = find_shortened(typed, &list, false, out, err);
	if (status == ST_ENOTFOUND)
		status = find_shortened(typed, &list, true, out, err);
	if (status == ST_ENOTFOUND)
		status = unknown_option(typed, command, &list, err);
	return status;
}

static bool is_option(const char *arg)
{
	return arg[0] == '-' && arg[1] != '\0' && strcmp(arg, "--") != 0;
}

/* Copies the name of "-name=value" into name; points *value behind the '=' or sets it to NULL. */
static void split(const char *arg, char *name, size_t name_size, const char **value)
{
	const char *begin = arg + (arg[1] == '-' ? 2 : 1);
	const char *equals = strchr(begin, '=');
	size_t size = equals ? (size_t)(equals - begin) : strlen(begin);

	if (size >= name_size)
		size = name_size - 1;
	memcpy(name, begin, size);
	name[size] = '\0';
	*value = equals ? equals + 1 : NULL;
}

/* A value may begin with a dash only if it is a number or the single "-": else a forgotten value would
 * silently eat the next option. "-name=value" takes anything. */
static bool can_be_value(const char *arg)
{
	if (arg[0] != '-' || arg[1] == '\0')
		return true;
	return isdigit((unsigned char)arg[1]) || arg[1] == '.';
}

static enum st_status parse_truth(const char *name, const char *value, bool *out,
				  struct st_error *err)
{
	*out = strcmp(value, "true") == 0;
	if (*out || strcmp(value, "false") == 0)
		return ST_OK;
	return st_error_set(err, ST_EUSAGE, 0, "-%s takes no value, true or false, not '%.60s'",
			    name, value);
}

static enum st_status give(struct st_args *args, struct st_given given, struct st_error *err)
{
	const struct st_option *option = st_option_at(given.id);

	/* Two results make a comparison. */
	if (given.id == ST_OPT_RESULT_DIR && (args->command & (ST_IN_REPORT | ST_IN_COMPARE))) {
		args->given[args->given_count++] = given;
		return ST_OK;
	}
	if (option->argument && !(option->flags & ST_OPT_REPEATABLE) && st_args_has(args, given.id))
		return st_error_set(err, ST_EUSAGE, 0, "-%s given twice", option->name);
	args->given[args->given_count++] = given;
	return ST_OK;
}

/* Parses argv[*at], and its value in argv[*at + 1] if it has one; moves *at behind them. */
static enum st_status parse_option(struct st_args *args, int argc, char **argv, int *at,
				   struct st_error *err)
{
	char name[NAME_MAX_BYTES * 2];
	const char *value;
	struct match match;
	enum st_status status;

	split(argv[*at], name, sizeof(name), &value);
	status = resolve(name, args->command, &match, err);
	if (status)
		return status;
	(*at)++;

	const struct st_option *option = st_option_at(match.id);

	if ((option->flags & ST_OPT_IS_COMMAND) && option->argument &&
	    !(option->commands & args->command))
		return st_error_set(err, ST_EUSAGE, 0,
				    "two commands given: '%s' and '%s'; expected one",
				    st_command_name(args->command), option->name);
	if (!option->argument) {
		bool on = true;

		status = value ? parse_truth(option->name, value, &on, err) : ST_OK;
		return status ? status
			      : give(args, (struct st_given){match.id, NULL, on != match.negated},
				     err);
	}
	if (!value && *at < argc && strcmp(argv[*at], "--") != 0 && can_be_value(argv[*at]))
		value = argv[(*at)++];
	if (!value || !value[0])
		return st_error_set(err, ST_EUSAGE, 0, "-%s requires a value: -%s %s", option->name,
				    option->name, option->argument);
	return give(args, (struct st_given){match.id, value, true}, err);
}

/* "strata python3 train.py", "strata train.py": the command line that records it. */
static enum st_status suggest_collect(char **words, enum st_status otherwise, struct st_error *err)
{
	size_t length = strlen(words[0]);
	bool is_script = length > 3 && strcmp(words[0] + length - 3, ".py") == 0;
	struct st_buf text;

	if (!is_script && ((!strchr(words[0], '/') && strstr(err->text, "did you mean")) ||
			   !st_command_is_program(words[0])))
		return otherwise;
	st_buf_init(&text, SUGGESTION_MAX_BYTES);
	st_buf_append_text(&text, is_script ? " python3" : "");
	for (size_t i = 0; words[i]; i++) {
		st_buf_append_u8(&text, ' ');
		st_quote_word(&text, words[i]);
	}
	otherwise = st_error_set(err, ST_EUSAGE, 0,
				 "unknown command '%.80s'; to record the %s: strata -collect "
				 "hotspots --%.*s",
				 words[0], is_script ? "script" : "program",
				 text.failed ? 0 : (int)text.size_bytes, (const char *)text.data);
	st_buf_fini(&text);
	return otherwise;
}

enum st_status st_args_find_command(int argc, char **argv, unsigned int *command,
				    struct st_error *err)
{
	int at;

	*command = 0;
	if (argc > 1 && !is_option(argv[1])) {
		enum st_status status = st_command_parse(argv[1], command, err);

		return status ? suggest_collect(argv + 1, status, err) : ST_OK;
	}
	for (at = 1; at < argc && is_option(argv[at]); at++) {
		char name[NAME_MAX_BYTES * 2];
		const char *value;
		struct match match;

		split(argv[at], name, sizeof(name), &value);
		if (st_command_is_later(name))
			return st_command_parse(name, command, err);
		enum st_status status = resolve(name, ST_IN_ALL, &match, err);

		if (status)
			return status;
		const struct st_option *option = st_option_at(match.id);

		if (match.id == ST_OPT_HELP || match.id == ST_OPT_VERSION)
			*command = match.id == ST_OPT_HELP ? ST_IN_HELP : ST_IN_VERSION;
		else if (option->flags & ST_OPT_IS_COMMAND)
			*command = option->commands;
		if (*command)
			return ST_OK;
		if (option->argument && !value)
			at++;
	}
	if (at < argc && st_command_parse(argv[at], command, NULL) == ST_OK) {
		*command = 0;
		return st_error_set(err, ST_EUSAGE, 0,
				    "the command must come first: strata %s ..., or strata -%s ...",
				    argv[at], argv[at]);
	}
	return st_error_set(
		err, ST_EUSAGE, 0,
		"no command given; try 'strata -collect tasks -- program' or 'strata help'");
}

/* The program begins here: whatever follows is its own, options and all. */
static void take_target(struct st_args *args, int argc, char **argv, int at)
{
	if (at >= argc)
		return;
	args->target = argv + at;
	args->target_count = argc - at;
}

static enum st_status parse_all(struct st_args *args, int argc, char **argv, struct st_error *err)
{
	bool runs_program = (args->command & (ST_IN_COLLECT | ST_IN_BOTTLENECK)) != 0;
	/* -collect carries its type as a value; bottleneck has none. */
	bool has_type = args->command == ST_IN_BOTTLENECK || (argc > 1 && is_option(argv[1]));
	int at = argc > 1 && !is_option(argv[1]) ? 2 : 1;

	while (at < argc) {
		if (strcmp(argv[at], "--") == 0 && runs_program) {
			take_target(args, argc, argv, at + 1);
			return ST_OK;
		}
		if (strcmp(argv[at], "--") == 0) {
			at++;
			continue;
		}
		if (is_option(argv[at])) {
			enum st_status status = parse_option(args, argc, argv, &at, err);

			if (status)
				return status;
			continue;
		}
		if (runs_program && (has_type || args->word_count)) {
			take_target(args, argc, argv, at);
			return ST_OK;
		}
		args->words[args->word_count++] = argv[at++];
	}
	return ST_OK;
}

enum st_status st_args_parse(struct st_args *args, unsigned int command, int argc, char **argv,
			     struct st_error *err)
{
	size_t room = (size_t)(argc > 0 ? argc : 0) + 1;

	memset(args, 0, sizeof(*args));
	args->command = command;
	args->argc = argc;
	args->argv = argv;
	args->given = calloc(room, sizeof(*args->given));
	args->words = calloc(room, sizeof(*args->words));
	if (!args->given || !args->words)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	return parse_all(args, argc, argv, err);
}

void st_args_fini(struct st_args *args)
{
	free(args->given);
	free(args->words);
	memset(args, 0, sizeof(*args));
}

const char *st_args_value(const struct st_args *args, enum st_option_id id)
{
	const char *value = NULL;

	for (size_t i = 0; i < args->given_count; i++)
		if (args->given[i].id == id)
			value = args->given[i].value;
	return value;
}

const char *st_args_next(const struct st_args *args, enum st_option_id id, size_t *at)
{
	while (*at < args->given_count) {
		const struct st_given *given = &args->given[(*at)++];

		if (given->id == id)
			return given->value;
	}
	return NULL;
}

enum st_status st_args_word(const struct st_args *args, enum st_option_id id,
			    const char *const *words, size_t *out, struct st_error *err)
{
	const char *typed = st_args_value(args, id);

	for (size_t i = 0; typed && words[i]; i++) {
		if (strcmp(typed, words[i]) == 0) {
			*out = i;
			return ST_OK;
		}
	}
	if (!typed)
		return ST_OK;
	return st_error_set(err, ST_EUSAGE, 0, "-%s: invalid value '%.60s'; expected one of %s",
			    st_option_at(id)->name, typed, st_option_at(id)->argument);
}

bool st_args_flag(const struct st_args *args, enum st_option_id id, bool otherwise)
{
	for (size_t i = 0; i < args->given_count; i++)
		if (args->given[i].id == id)
			otherwise = args->given[i].on;
	return otherwise;
}

bool st_args_has(const struct st_args *args, enum st_option_id id)
{
	for (size_t i = 0; i < args->given_count; i++)
		if (args->given[i].id == id)
			return true;
	return false;
}
