// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target on the command line: the input is the arguments, each ended by a newline. Whatever it is,
// it becomes options, words and a program that lie inside it, or one sentence for the user.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "request/command.h"
#include "cli/knobs.h"
#include "request/options.h"
#include "request/values.h"
#include "collect/launch/run/collect.h"
#include "format/analysis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

enum { ARGUMENTS_MAX = 64 };

/* Each argument in memory of its own: a read past its end is seen. */
static int split(const uint8_t *data, size_t size_bytes, char **argv)
{
	int argc = 0;

	argv[argc++] = strdup("strata");
	while (size_bytes && argc < ARGUMENTS_MAX) {
		const uint8_t *end = memchr(data, '\n', size_bytes);
		size_t length = end ? (size_t)(end - data) : size_bytes;

		/* Not strndup: it may look at the byte behind an input that nothing terminates. */
		argv[argc] = calloc(length + 1, 1);
		if (!argv[argc])
			break;
		memcpy(argv[argc++], data, length);
		data += length;
		size_bytes -= length;
		if (size_bytes) {
			data++;
			size_bytes--;
		}
	}
	argv[argc] = NULL;
	return argc;
}

static void check_refusal(enum st_status status, const struct st_error *err)
{
	if (status && (status != ST_EUSAGE || !err->text[0] || err->status != status))
		abort(); /* refused without a word */
}

/* The values of options, read as every command would. */
static void read_values(const struct st_args *args)
{
	struct st_collect_config config = {.analysis = st_analysis_find("hotspots")};
	struct st_error err = {0};

	check_refusal(st_knobs_read(args, &config, &err), &err);
	for (size_t i = 0; i < args->given_count; i++) {
		const char *text = args->given[i].value, *rest;
		int64_t begin, end;
		uint64_t number;
		char name[64];
		double seconds;

		if (!text)
			continue;
		check_refusal(st_value_seconds("a", text, &seconds, &err), &err);
		check_refusal(st_value_time_range("a", text, &begin, &end, &err), &err);
		check_refusal(st_value_megabytes("a", text, &number, &err), &err);
		check_refusal(st_value_count("a", text, 1, 1000, &number, &err), &err);
		check_refusal(st_value_pair("a", text, name, sizeof(name), &rest, &err), &err);
	}
}

static void check_parsed(const struct st_args *args, int argc, char *const *argv)
{
	size_t used = args->given_count + args->word_count + (size_t)args->target_count;

	if (used > (size_t)argc || !st_command_of(args->command))
		abort();
	for (size_t i = 0; i < args->given_count; i++)
		if (args->given[i].id >= ST_OPTIONS ||
		    (args->given[i].value && !args->given[i].value[0]))
			abort();
	if (args->target_count && args->target + args->target_count != argv + argc)
		abort(); /* the program's arguments are everything to the end */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	char *argv[ARGUMENTS_MAX + 1];
	struct st_error err = {0};
	struct st_args args = {0};
	unsigned int command = 0;
	enum st_status status;
	int argc;

	if (memchr(data, '\0', size_bytes))
		return 0; /* no argument holds one */
	argc = split(data, size_bytes, argv);
	status = st_args_find_command(argc, argv, &command, &err);
	if (!status) {
		status = st_args_parse(&args, command, argc, argv, &err);
		if (!status) {
			check_parsed(&args, argc, argv);
			read_values(&args);
		}
		st_args_fini(&args);
	}
	check_refusal(status, &err);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
	return 0;
}
