/* SPDX-License-Identifier: Apache-2.0
 *
 * strata serve: options to the server's configuration, and the tables of the command line as JSON for the page. Also
 * runs as strata-backend, VTune's name for the same.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/tables/report.h"
#include "base/json_out.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/knobs.h"
#include "export/export.h"
#include "format/analysis.h"
#include "request/locate.h"
#include "request/options.h"
#include "request/values.h"
#include "serve/serve.h"
#include "serve/verbs.h"

enum { WORKERS = 8, WORKERS_MAX = 256, TOKEN_S = 3600, TOKEN_MAX_S = 30 * 24 * 3600 };

static void put_accepts(struct st_json *json, unsigned int accepts)
{
	static const char *const names[] = {"group-by", "filter", "sort",    "limit", "bin-count",
					    "view",	"object", "folding", "torch"};

	st_json_put_array(json, "accepts");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (accepts & (1u << i))
			st_json_text(json, names[i]);
	st_json_array_end(json);
}

static void put_groupings(struct st_json *json, const char *key, const struct st_report_kind *kind,
			  enum st_asked asked)
{
	struct st_set groupings = {{0}};
	struct st_error ignored;

	st_json_put_array(json, key);
	if (st_report_groupings(kind, NULL, asked, &groupings, &ignored) == ST_OK)
		for (unsigned int i = 0; i < ST_GROUPINGS; i++)
			if (st_set_has(groupings, i))
				st_json_text(json, st_grouping_info(i)->name);
	st_json_array_end(json);
}

static void put_report(struct st_json *json, const struct st_report_kind *kind)
{
	struct st_set metrics = st_report_metrics(kind);

	st_json_object_begin(json);
	st_json_put_text(json, "name", kind->name);
	st_json_put_text(json, "summary", kind->summary);
	put_accepts(json, kind->accepts);
	st_json_put_bool(json, "is_comparable", kind->is_comparable);
	put_groupings(json, "groupings", kind, ST_ASKED_GROUPS);
	put_groupings(json, "filters", kind, ST_ASKED_FILTERS);
	st_json_put_array(json, "metrics");
	for (unsigned int i = 0; i < ST_METRICS; i++)
		if (st_set_has(metrics, i))
			st_json_text(json, st_metric_info(i)->key);
	st_json_array_end(json);
	st_json_put_array(json, "defaults");
	for (const uint8_t *at = kind->defaults; at && *at != ST_LIST_END; at++)
		st_json_text(json, st_grouping_info(*at)->name);
	st_json_array_end(json);
	st_json_object_end(json);
}

static void put_knobs(struct st_json *json)
{
	st_json_put_array(json, "knobs");
	for (const struct st_knob *knob = st_knobs; knob->name; knob++) {
		st_json_object_begin(json);
		st_json_put_text(json, "name", knob->name);
		st_json_put_text(json, "values", knob->argument);
		st_json_put_text(json, "initial", knob->default_text);
		st_json_put_text(json, "help", knob->help);
		st_json_put_array(json, "types");
		for (const struct st_analysis *one = st_analyses; one->name; one++)
			if (!one->refusal && !(knob->about & ~one->records))
				st_json_text(json, one->name);
		st_json_array_end(json);
		st_json_object_end(json);
	}
	st_json_array_end(json);
}

static void put_types(struct st_json *json)
{
	static const struct {
		const char *name, *summary;
	} words[] = {
		{"tasks", "ITT tasks, frames, counters and markers, and PyTorch operators"},
		{"hotspots", "the same, and where the CPU time goes: samples with stacks"},
		{"operators",
		 "tasks, and every PyTorch operator with inputs, memory and nn.Module"},
		{"threading",
		 "hotspots, and what threads wait for: locks, I/O, sleep, other threads"},
	};

	st_json_put_array(json, "types");
	for (const struct st_analysis *one = st_analyses; one->name; one++) {
		if (one->refusal)
			continue;
		st_json_object_begin(json);
		st_json_put_text(json, "name", one->name);
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (strcmp(words[i].name, one->name) == 0)
				st_json_put_text(json, "summary", words[i].summary);
		st_json_put_array(json, "needs");
		for (size_t i = 0; i < ST_ANALYSIS_NEEDS_MAX && one->needs[i]; i++)
			st_json_text(json, one->needs[i]);
		st_json_array_end(json);
		st_json_object_end(json);
	}
	st_json_array_end(json);
}

/* What can be asked, exported and collected, from the tables that the commands use. */
static void describe(struct st_json *json)
{
	st_json_put_array(json, "reports");
	for (const struct st_report_kind *kind = st_report_kinds; kind->name; kind++)
		put_report(json, kind);
	st_json_array_end(json);
	st_json_put_array(json, "groupings");
	for (unsigned int i = 0; i < ST_GROUPINGS; i++) {
		st_json_object_begin(json);
		st_json_put_text(json, "name", st_grouping_info(i)->name);
		st_json_put_text(json, "key", st_grouping_info(i)->key);
		st_json_put_text(json, "title", st_grouping_info(i)->title);
		st_json_object_end(json);
	}
	st_json_array_end(json);
	st_json_put_array(json, "exports");
	for (const struct st_exporter *one = st_exporters; one->name; one++) {
		st_json_object_begin(json);
		st_json_put_text(json, "name", one->name);
		st_json_put_text(json, "summary", one->summary);
		st_json_object_end(json);
	}
	st_json_array_end(json);
	put_types(json);
	put_knobs(json);
}

static void say(const char *line)
{
	st_console_say("%s", line);
}

/* The address alone, so that a script can read it. */
static void print(const char *line)
{
	printf("%s\n", line);
	fflush(stdout);
}

static enum st_status take_number(const struct st_args *args, enum st_option_id id, uint64_t max,
				  uint64_t *out, struct st_error *err)
{
	const char *value = st_args_value(args, id);

	return value ? st_value_count(st_option_at(id)->name, value, id == ST_OPT_WORKERS ? 1 : 0,
				      max, out, err)
		     : ST_OK;
}

static enum st_status both(const struct st_args *args, enum st_option_id a, enum st_option_id b,
			   struct st_error *err)
{
	if (!st_args_has(args, a) || !st_args_has(args, b))
		return ST_OK;
	return st_error_set(err, ST_EUSAGE, 0, "-%s and -%s mean the same; give one of them",
			    st_option_at(a)->name, st_option_at(b)->name);
}

/* A word is the folder with the results. VTune's users leave words behind that mean nothing there either. */
static enum st_status take_word(const struct st_args *args, bool is_backend,
				struct st_serve_config *config, struct st_error *err)
{
	for (size_t i = 0; i < args->word_count; i++) {
		const char *word = args->words[i];

		if (is_backend)
			st_console_say("warning: '%.80s' means nothing here and is ignored", word);
		else if (args->word_count > 1 || st_args_has(args, ST_OPT_DATA_DIRECTORY) ||
			 st_args_has(args, ST_OPT_LOGDIR) || !st_locate_is_folder(word))
			return st_error_set(err, ST_EUSAGE, 0,
					    "unexpected argument '%.80s': strata serve "
					    "[--data-directory DIR] [options]",
					    word);
		else
			config->data_directory = word;
	}
	return ST_OK;
}

static enum st_status take_options(const struct st_args *args, struct st_serve_config *config,
				   struct st_error *err)
{
	uint64_t port = 0, workers = WORKERS, token_s = TOKEN_S;
	const char *folder = st_args_value(args, ST_OPT_DATA_DIRECTORY);
	enum st_status status = both(args, ST_OPT_DATA_DIRECTORY, ST_OPT_LOGDIR, err);

	if (!status)
		status = both(args, ST_OPT_WEB_PORT, ST_OPT_PORT, err);
	if (!status)
		status = take_number(args, ST_OPT_WEB_PORT, UINT16_MAX, &port, err);
	if (!status)
		status = take_number(args, ST_OPT_PORT, UINT16_MAX, &port, err);
	if (!status)
		status = take_number(args, ST_OPT_WORKERS, WORKERS_MAX, &workers, err);
	if (!status)
		status = take_number(args, ST_OPT_TOKEN_LIFETIME, TOKEN_MAX_S, &token_s, err);
	if (!folder)
		folder = st_args_value(args, ST_OPT_LOGDIR);
	if (folder)
		config->data_directory = folder;
	config->port = (uint16_t)port;
	config->workers_max = (unsigned int)workers;
	config->token_life_ms = (int64_t)token_s * 1000;
	config->remote = st_args_flag(args, ST_OPT_ALLOW_REMOTE_ACCESS, false) ||
			 st_args_flag(args, ST_OPT_BIND_ALL, false);
	config->remote_collect = st_args_flag(args, ST_OPT_ALLOW_REMOTE_COLLECT, false);
	config->opens_browser = st_args_flag(args, ST_OPT_OPEN, false);
	config->resets_passphrase = st_args_flag(args, ST_OPT_RESET_PASSPHRASE, false);
	config->base_url = st_args_value(args, ST_OPT_BASE_URL);
	config->certificate = st_args_value(args, ST_OPT_CERTIFICATE);
	config->key = st_args_value(args, ST_OPT_KEY);
	if (!status && !config->certificate != !config->key)
		status = st_error_set(err, ST_EUSAGE, 0,
				      "-certificate and -key belong together: give both");
	if (!status && !config->remote && (config->certificate || config->resets_passphrase))
		status = st_error_set(err, ST_EUSAGE, 0,
				      "-%s has a meaning only with -allow-remote-access",
				      config->certificate ? "certificate" : "reset-passphrase");
	if (!status && !config->remote && !config->base_url && config->remote_collect)
		status = st_error_set(err, ST_EUSAGE, 0,
				      "-allow-remote-collect has a meaning only with "
				      "-allow-remote-access, or with -base-url for a proxy");
	return status;
}

/* Absolute: workers run in other folders. */
static enum st_status take_sources(const struct st_args *args, const char **out, char **owned,
				   struct st_error *err)
{
	const char *value;
	size_t count = 0;

	for (size_t at = 0; (value = st_args_next(args, ST_OPT_SOURCE_SEARCH_DIR, &at)); count++) {
		owned[count] = realpath(value, NULL);
		if (!owned[count])
			return st_error_set(err, ST_EUSAGE, 0,
					    "-source-search-dir: %.300s does not "
					    "exist",
					    value);
		out[count] = owned[count];
	}
	return ST_OK;
}

static bool is_backend(const struct st_args *args)
{
	const char *name = args->argc > 0 ? strrchr(args->argv[0], '/') : NULL;

	name = name ? name + 1 : args->argc > 0 ? args->argv[0] : "";
	return strcmp(name, "strata-backend") == 0;
}

int st_cmd_serve(const struct st_args *args)
{
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	const char **sources = calloc(args->given_count + 1, sizeof(*sources));
	char **owned = calloc(args->given_count + 1, sizeof(*owned));
	struct st_serve_config config = {.data_directory = ".",
					 .program = length > 0 ? program : "strata",
					 .source_dirs = sources,
					 .find_verb = st_serve_verb_find,
					 .describe = describe,
					 .say = say,
					 .print = print};
	struct st_error err = {0};
	enum st_status status;

	program[length > 0 ? length : 0] = '\0';
	if (!sources || !owned) {
		free(owned);
		free(sources);
		st_console_error("out of memory");
		return ST_EXIT_FAILED;
	}
	status = take_options(args, &config, &err);
	if (!status)
		status = take_word(args, is_backend(args), &config, &err);
	if (!status)
		status = take_sources(args, sources, owned, &err);
	if (!status)
		status = st_serve_run(&config, &err);
	for (size_t i = 0; owned[i]; i++)
		free(owned[i]);
	free(owned);
	free(sources);
	return status ? st_console_fail(&err) : ST_EXIT_OK;
}
