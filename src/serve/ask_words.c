/* SPDX-License-Identifier: Apache-2.0
 *
 * From the words of a request to a command line that names the open result, its format and nothing else of this
 * machine.
 */
#include "serve/ask_words.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request/command.h"
#include "serve/verbs.h"
#include "store/result.h"

enum { WORDS_MAX = 4096 };

/* Options that name places, that take of the machine what its owner has not given, or that are the command line's own
 * affair. */
static const enum st_option_id refused[] = {
	ST_OPT_RESULT_DIR,    ST_OPT_FORMAT,
	ST_OPT_REPORT_OUTPUT, ST_OPT_CSV_DELIMITER,
	ST_OPT_REPORT,	      ST_OPT_EXPORT,
	ST_OPT_QUERY,	      ST_OPT_OUTPUT,
	ST_OPT_SEARCH_DIR,    ST_OPT_SOURCE_SEARCH_DIR,
	ST_OPT_AGAINST,	      ST_OPT_FAIL_ABOVE,
	ST_OPT_SCHEMA,	      ST_OPT_HELP,
	ST_OPT_VERSION,	      ST_OPT_QUIET,
	ST_OPT_VERBOSE,	      ST_OPT_MEMORY_LIMIT,
};

enum st_status st_words_add(struct st_words *words, const char *word, struct st_error *err)
{
	char *copy = strdup(word);

	if (!copy)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	words->argv[words->count++] = copy;
	return ST_OK;
}

static enum st_status add_option(struct st_words *words, const char *option, const char *value,
				 struct st_error *err)
{
	enum st_status status = st_words_add(words, option, err);

	return status ? status : st_words_add(words, value, err);
}

/* Whether what the request's own words say is refused is asked before ours are added. */
static enum st_status refuse_places(const struct st_args *args, struct st_error *err)
{
	const char *knob;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (st_args_has(args, refused[i]))
			return st_error_set(err, ST_EUSAGE, 0,
					    "-%s is an option of the command line; it cannot be "
					    "asked for here",
					    st_option_at(refused[i])->name);
	for (size_t at = 0; (knob = st_args_next(args, ST_OPT_REPORT_KNOB, &at));)
		if (strncmp(knob, "cpu-classes=", strlen("cpu-classes=")) == 0)
			return st_error_set(err, ST_EUSAGE, 0,
					    "-report-knob cpu-classes names a file of this "
					    "machine; it cannot be asked for here");
	return ST_OK;
}

static enum st_status check_own(const struct st_words *words, struct st_error *err)
{
	struct st_args args = {0};
	enum st_status status =
		st_args_parse(&args, words->command, (int)words->count, words->argv, err);

	if (!status)
		status = refuse_places(&args, err);
	if (!status && words->command == ST_IN_COMPARE && args.word_count > 1)
		status = st_error_set(err, ST_EUSAGE, 0,
				      "unexpected argument '%.80s': the results are named by "
				      "the request",
				      args.words[1]);
	st_args_fini(&args);
	return status;
}

static enum st_status read_command(struct st_words *words, const struct st_verb_call *call,
				   const char *otherwise, struct st_error *err)
{
	static const struct {
		const char *name;
		unsigned int bit;
	} commands[] = {{"report", ST_IN_REPORT},
			{"query", ST_IN_QUERY},
			{"export", ST_IN_EXPORT},
			{"compare", ST_IN_COMPARE}};
	bool compares = call->counts[1] > 0;
	const char *name = compares ? "compare" : otherwise;
	const char *format = "json";
	enum st_status status = st_ask_text(call, "command", false, &name, err);

	if (!status)
		status = st_ask_text(call, "format", false, &format, err);
	if (status)
		return status;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i].name, name) == 0)
			words->command = commands[i].bit;
	if (!words->command)
		return st_error_set(err, ST_EUSAGE, 0,
				    "'command': expected report, query, export or compare, not "
				    "'%.60s'",
				    name);
	if (compares != (words->command == ST_IN_COMPARE))
		return st_error_set(err, ST_EUSAGE, 0, "'%s' %s", name,
				    compares ? "is about one result"
					     : "requires the results of two sides");
	if (strcmp(format, "json") != 0 && strcmp(format, "csv") != 0 &&
	    strcmp(format, "text") != 0)
		return st_error_set(err, ST_EUSAGE, 0,
				    "'format': expected json, csv or text, not '%.60s'", format);
	snprintf(words->format, sizeof(words->format), "%s", format);
	return ST_OK;
}

/* The results, the form, and where this server searches for sources: what the command line would have said. */
static enum st_status add_ours(struct st_words *words, const struct st_verb_call *call,
			       struct st_error *err)
{
	bool compares = words->command == ST_IN_COMPARE;
	enum st_status status = ST_OK;

	for (uint32_t i = 0; compares && !status && i < call->counts[0] + call->counts[1]; i++)
		status = add_option(words, i < call->counts[0] ? "-result-dir" : "-against",
				    call->paths[i], err);
	if (!status && words->command != ST_IN_EXPORT)
		status = add_option(words, "-format", words->format, err);
	for (size_t i = 0; !status && words->command != ST_IN_QUERY && call->source_dirs[i]; i++)
		status = add_option(words, "-source-search-dir", call->source_dirs[i], err);
	return status;
}

enum st_status st_words_read(struct st_words *words, const struct st_verb_call *call,
			     const char *otherwise, struct st_error *err)
{
	/* The command, the results, the form and the folders of sources; an export adds its file. */
	size_t count = 0, room = 16 + 2 * ((size_t)call->counts[0] + call->counts[1]);
	const char **given = NULL;
	enum st_status status = read_command(words, call, otherwise, err);

	if (!status)
		status = st_ask_texts(call, "words", &given, &count, err);
	if (!status && count > WORDS_MAX)
		status = st_error_set(err, ST_EUSAGE, 0, "more than %d words", WORDS_MAX);
	for (size_t i = 0; call->source_dirs[i]; i++)
		room += 2;
	words->argv = status ? NULL : calloc(count + room, sizeof(*words->argv));
	if (!words->argv) {
		free(given);
		return status ? status : st_error_set(err, ST_ENOMEM, 0, "out of memory");
	}
	status = add_option(words, "strata", st_command_name(words->command), err);
	for (size_t i = 0; i < count && !status; i++)
		status = st_words_add(words, given[i], err);
	if (!status)
		status = check_own(words, err);
	if (!status)
		status = add_ours(words, call, err);
	free(given);
	return status;
}

enum st_status st_words_parse(struct st_words *words, struct st_error *err)
{
	enum st_status status =
		st_args_parse(&words->args, words->command, (int)words->count, words->argv, err);

	if (!status)
		status = st_request_parse(&words->request, &words->args, err);
	/* A result may come from anywhere, and names its source files itself. */
	words->request.naming.own_sources_only = true;
	if (!status && words->request.result_word)
		status = st_error_set(err, ST_EUSAGE, 0, "unexpected argument '%.80s'",
				      words->request.result_word);
	return status;
}

bool st_words_equal(const struct st_words *a, const struct st_words *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->argv[i], b->argv[i]) != 0)
			return false;
	return true;
}

void st_words_fini(struct st_words *words)
{
	st_request_fini(&words->request);
	st_args_fini(&words->args);
	for (size_t i = 0; i < words->count; i++)
		free(words->argv[i]);
	free(words->argv);
	*words = (struct st_words){0};
}
