/* SPDX-License-Identifier: Apache-2.0
 *
 * From what the page asks to the words of a command line: lists of arguments, never a text for a shell. Only ssh hands
 * its words to one, on the other side: for it each is quoted.
 */
#include <ctype.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quote.h"
#include "base/vec.h"
#include "format/analysis.h"
#include "request/options.h"
#include "serve/http/collections.h"
#include "serve/http/route.h"

enum { WORDS_MAX = 4096, PAIR_MAX = 64 << 10 };

void st_argv_add(struct st_argv *argv, const char *word)
{
	char *copy = word ? strdup(word) : NULL;

	/* Room for the NULL at the end too. What could not be made is no word: the list has none that is NULL. */
	if (!copy || argv->count >= WORDS_MAX ||
	    !ST_VEC_ROOM(argv->words, argv->count + 1, argv->capacity)) {
		argv->failed = true;
		free(copy);
		return;
	}
	argv->words[argv->count++] = copy;
	argv->words[argv->count] = NULL;
}

void st_argv_free(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

bool st_host_is_fine(const char *host)
{
	size_t length = strlen(host);

	if (!length || length >= ST_HOST_MAX || host[0] == '-' || host[0] == '@')
		return false;
	for (; *host; host++)
		if (!isalnum((unsigned char)*host) && !strchr("._-@:[]", *host))
			return false;
	return true;
}

void st_ssh_words(struct st_argv *argv, const char *host, const struct st_argv *first,
		  const struct st_argv *command)
{
	struct st_buf line;

	st_buf_init(&line, 1 << 20);
	if (first) {
		st_quote_command(&line, (int)first->count, first->words);
		st_buf_append_text(&line, " && ");
	}
	st_quote_command(&line, (int)command->count, command->words);
	st_buf_append_u8(&line, '\0');
	st_argv_add(argv, "ssh");
	st_argv_add(argv, "-o");
	st_argv_add(argv, "BatchMode=yes");
	st_argv_add(argv, "-o");
	st_argv_add(argv, "ConnectTimeout=10");
	st_argv_add(argv, host);
	st_argv_add(argv, "--");
	st_argv_add(argv, line.failed ? NULL : (const char *)line.data);
	argv->failed = argv->failed || line.failed || command->failed || (first && first->failed);
	st_buf_fini(&line);
}

static enum st_status wrong(const char *key, const char *expected, struct st_error *err)
{
	return st_error_set(err, ST_EUSAGE, 0, "'%s': expected %s", key, expected);
}

/* A list of texts of the request, each appended. */
static enum st_status add_list(struct st_argv *argv, const json_object *ask, const char *key,
			       struct st_error *err)
{
	json_object *list;

	if (!json_object_object_get_ex(ask, key, &list) || !list)
		return ST_OK;
	if (!json_object_is_type(list, json_type_array))
		return wrong(key, "a list of texts", err);
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		json_object *item = json_object_array_get_idx(list, i);

		if (!json_object_is_type(item, json_type_string) ||
		    strlen(json_object_get_string(item)) !=
			    (size_t)json_object_get_string_len(item))
			return wrong(key, "a list of texts", err);
		st_argv_add(argv, json_object_get_string(item));
	}
	return ST_OK;
}

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
static const char digits[] = "0123456789";

/* Of a knob, or of a variable, which has no dash: env on another host would take one that begins with it for an option. */
static bool is_name(const char *name, bool is_variable)
{
	if (!name[0] || (is_variable && strspn(name, digits)))
		return false;
	while (*name &&
	       (strchr(letters, *name) || strchr(digits, *name) || (!is_variable && *name == '-')))
		name++;
	return !*name;
}

/* Members of an object as NAME=VALUE: knobs, each behind before, or variables. */
static enum st_status add_pairs(struct st_argv *argv, const json_object *ask, const char *key,
				const char *before, struct st_error *err)
{
	json_object *object;

	if (!json_object_object_get_ex(ask, key, &object) || !object)
		return ST_OK;
	if (!json_object_is_type(object, json_type_object))
		return wrong(key, "an object of texts", err);
	json_object_object_foreach(object, name, value)
	{
		struct st_buf pair;

		if (json_object_is_type(value, json_type_object) ||
		    json_object_is_type(value, json_type_array) || !value ||
		    !is_name(name, !before))
			return wrong(key, "an object of plain names and texts", err);
		st_buf_init(&pair, PAIR_MAX);
		st_buf_printf(&pair, "%s=%s", name, json_object_get_string(value));
		st_buf_append_u8(&pair, '\0');
		if (pair.failed) {
			st_buf_fini(&pair);
			return wrong(key, "values of at most 64 KiB", err);
		}
		if (before)
			st_argv_add(argv, before);
		st_argv_add(argv, (const char *)pair.data);
		st_buf_fini(&pair);
	}
	return ST_OK;
}

/* What the page may say about how; where things are written is ours. */
static enum st_status check_options(const struct st_argv *argv, uint32_t begin,
				    struct st_error *err)
{
	static const enum st_option_id refused[] = {ST_OPT_RESULT_DIR, ST_OPT_TARGET_PID,
						    ST_OPT_APP_WORKING_DIR, ST_OPT_HELP,
						    ST_OPT_VERSION};
	char *words[WORDS_MAX + 4] = {"strata", "collect", "tasks"};
	struct st_args args = {0};
	int count = 3;
	enum st_status status;

	/* What is missing would be taken for a mistake of who asks; that it is too long is said in the end. */
	if (argv->failed)
		return ST_OK;
	for (uint32_t i = begin; i < argv->count; i++)
		words[count++] = argv->words[i];
	status = st_args_parse(&args, ST_IN_COLLECT, count, words, err);
	for (size_t i = 0; !status && i < sizeof(refused) / sizeof(refused[0]); i++)
		if (st_args_has(&args, refused[i]))
			status = st_error_set(err, ST_EUSAGE, 0, "-%s cannot be given here",
					      st_option_at(refused[i])->name);
	if (!status && args.target_count)
		status = st_error_set(err, ST_EUSAGE, 0, "unexpected argument '%.80s' in 'options'",
				      args.target[0]);
	st_args_fini(&args);
	return status;
}

static enum st_status add_target(struct st_argv *argv, const json_object *ask, struct st_error *err)
{
	const char *program = st_body_text(ask, "program", "");
	const char *folder = st_body_text(ask, "working_dir", "");
	json_object *pid;
	char text[32];

	if (json_object_object_get_ex(ask, "attach_pid", &pid) && pid) {
		if (!json_object_is_type(pid, json_type_int) || json_object_get_int64(pid) < 1)
			return wrong("attach_pid", "the number of a process", err);
		snprintf(text, sizeof(text), "%lld", (long long)json_object_get_int64(pid));
		st_argv_add(argv, "-target-pid");
		st_argv_add(argv, text);
		return ST_OK;
	}
	if (!program[0])
		return st_error_set(err, ST_EUSAGE, 0, "'program': what shall be run?");
	if (folder[0]) {
		st_argv_add(argv, "-app-working-dir");
		st_argv_add(argv, folder);
	}
	st_argv_add(argv, "--");
	st_argv_add(argv, program);
	return add_list(argv, ask, "arguments", err);
}

enum st_status st_collect_words(struct st_argv *argv, const json_object *ask,
				const char *result_dir, struct st_error *err)
{
	const char *type = st_body_text(ask, "type", "hotspots");
	const struct st_analysis *analysis = st_analysis_find(type);
	enum st_status status;
	uint32_t begin;

	if (!analysis || analysis->refusal)
		return st_error_set(err, ST_EUSAGE, 0, "'type': collection type '%.60s' %s", type,
				    analysis ? analysis->refusal : "is not known");
	st_argv_add(argv, "collect");
	st_argv_add(argv, type);
	begin = argv->count;
	status = add_pairs(argv, ask, "knobs", "-knob", err);
	if (!status)
		status = add_list(argv, ask, "options", err);
	if (!status)
		status = check_options(argv, begin, err);
	st_argv_add(argv, "-result-dir");
	st_argv_add(argv, result_dir);
	if (!status)
		status = add_target(argv, ask, err);
	if (!status && argv->failed)
		status = st_error_set(err, ST_ENOMEM, 0, "the command line is too long");
	return status;
}

enum st_status st_collect_environment(struct st_argv *argv, const json_object *ask, bool with_ours,
				      struct st_error *err)
{
	enum st_status status;

	/* Of two of the same name the first counts: the page's. */
	status = add_pairs(argv, ask, "environment", NULL, err);
	for (size_t i = 0; with_ours && environ[i]; i++) {
		size_t name = strcspn(environ[i], "=");
		bool is_given = false;

		for (uint32_t j = 0; j < argv->count && !is_given; j++)
			is_given = strncmp(argv->words[j], environ[i], name + 1) == 0;
		if (!is_given)
			st_argv_add(argv, environ[i]);
	}
	if (!status && argv->failed)
		status = st_error_set(err, ST_ENOMEM, 0, "the environment is too large");
	return status;
}
