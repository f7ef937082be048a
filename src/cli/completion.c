/* SPDX-License-Identifier: Apache-2.0
 *
 * The completion scripts of bash and zsh. Both begin with the same functions, made here from the tables of
 * commands and options: which options a command has, and what the value of an option may be. What completes with
 * them is in completion/. It is plain text at completion time; strata is not run.
 */
#include <stdio.h>
#include <string.h>

#include "analyze/tables/report.h"
#include "cli/commands.h"
#include "request/command.h"
#include "cli/console.h"
#include "cli/help.h"
#include "cli/knobs.h"
#include "request/options.h"
#include "request/request.h"
#include "export/export.h"
#include "format/analysis.h"

static void print_commands(void)
{
	printf("st_commands='");
	for (const struct st_command *command = st_commands; command->name; command++)
		printf("%s%s", command == st_commands ? "" : " ", command->name);
	printf("'\n\n");
}

static void print_option_names(unsigned int command)
{
	const char *before = "";

	for (enum st_option_id id = 0; id < ST_OPTIONS; id++) {
		const struct st_option *option = st_option_at(id);
		bool is_command = (option->flags & ST_OPT_IS_COMMAND) != 0;

		/* A command in its place of an option only where there is no command yet. */
		if (!(option->commands & command) ||
		    (is_command && command != ST_IN_ALL && option->argument))
			continue;
		printf("%s-%s", before, option->name);
		before = " ";
		if (option->flags & ST_OPT_NEGATABLE)
			printf(" -no-%s", option->name);
	}
}

static void print_options(void)
{
	printf("# Sets REPLY to the options of a command.\n"
	       "_strata_options() {\n"
	       "\tcase $1 in\n");
	for (const struct st_command *command = st_commands; command->name; command++) {
		printf("\t%s) REPLY='", command->name);
		print_option_names(command->bit);
		printf("' ;;\n");
	}
	printf("\t*) REPLY='");
	print_option_names(ST_IN_ALL);
	printf("' ;;\n\tesac\n}\n\n");
}

/* The words of "text|csv|json", without `but`. */
static void print_choices(const char *argument, const char *but)
{
	const char *before = "";

	while (*argument) {
		size_t bytes = strcspn(argument, "|");

		if (bytes != strlen(but) || strncmp(argument, but, bytes) != 0) {
			printf("%s%.*s", before, (int)bytes, argument);
			before = " ";
		}
		argument += bytes;
		argument += *argument == '|';
	}
}

static void print_groupings(const char *after)
{
	for (unsigned int i = 0; i < ST_GROUPINGS; i++)
		printf("%s%s%s", i ? " " : "", st_grouping_info(i)->name, after);
}

static void print_metrics(void)
{
	for (unsigned int i = 0; i < ST_METRICS; i++)
		printf("%s%s", i ? " " : "", st_metric_info(i)->key);
}

static void print_name_list(unsigned int command)
{
	const struct st_help_list *list = st_help_lists;
	const struct st_help_row *row;

	while (list->command != command)
		list++;
	for (size_t i = 0; (row = st_help_row_at(list, i)); i++)
		printf("%s%s", i ? " " : "", row->name);
}

static void print_analyses(void)
{
	const char *blank = "";

	for (const struct st_analysis *analysis = st_analyses; analysis->name; analysis++) {
		if (analysis->refusal)
			continue;
		printf("%s%s", blank, analysis->name);
		blank = " ";
	}
}

/* "task-lines=true task-lines=false" where the values are known, else "ring-size=". */
static void print_knobs(void)
{
	for (const struct st_knob *knob = st_knobs; knob->name; knob++) {
		const char *at = strchr(knob->argument, '|') ? knob->argument : "";

		printf("%s%s=", knob == st_knobs ? "" : " ", knob->name);
		while (*at) {
			size_t bytes = strcspn(at, "|");

			printf("%.*s", (int)bytes, at);
			at += bytes;
			if (*at++ == '|')
				printf(" %s=", knob->name);
			else
				break;
		}
	}
}

/* What the value of an option may be: words, or a kind of file by the name of its argument. */
static void print_value(enum st_option_id id, const struct st_option *option)
{
	if (id == ST_OPT_COLLECT)
		print_analyses();
	else if (id == ST_OPT_REPORT || id == ST_OPT_EXPORT || id == ST_OPT_COMMAND)
		print_name_list(option->commands);
	else if (id == ST_OPT_GROUP_BY)
		print_groupings("");
	else if (id == ST_OPT_FILTER)
		print_groupings("=");
	else if (id == ST_OPT_SORT_ASC || id == ST_OPT_SORT_DESC)
		print_metrics();
	else if (id == ST_OPT_KNOB)
		print_knobs();
	else if (id == ST_OPT_REPORT_KNOB)
		printf("bin-count= cpu-classes= min-percent= max-depth= torch-folding= %s",
		       st_torch_knob_names);
	else if (id == ST_OPT_CSV_DELIMITER)
		printf("comma tab semicolon colon");
	else if (id == ST_OPT_RESULT_DIR)
		printf("@result");
	else if (strchr(option->argument, '|'))
		print_choices(option->argument, "");
	else if (strcmp(option->argument, "DIR") == 0 || strcmp(option->argument, "PATH") == 0)
		printf("@folder");
	else if (strcmp(option->argument, "FILE") == 0)
		printf("@file");
	else
		printf("@any");
}

static void print_values(void)
{
	printf("# Sets REPLY to the possible values of a command's option; empty for a flag.\n"
	       "_strata_values() {\n"
	       "\tcase $1/$2 in\n"
	       "\tdoctor/format | command/format) REPLY='");
	print_choices(st_option_at(ST_OPT_FORMAT)->argument, "csv");
	printf("' ;;\n");
	for (enum st_option_id id = 0; id < ST_OPTIONS; id++) {
		const struct st_option *option = st_option_at(id);

		if (!option->argument)
			continue;
		printf("\t*/%s", option->name);
		if (option->letter)
			printf(" | */%c", option->letter);
		printf(") REPLY='");
		print_value(id, option);
		printf("' ;;\n");
	}
	printf("\t*) REPLY= ;;\n\tesac\n}\n\n");
}

static void print_script(const char *text)
{
	fputs(strchr(text, '\n') + 1, stdout);
}

int st_completion_print(const char *shell)
{
	bool bash = strcmp(shell, "bash") == 0;

	if (!bash && strcmp(shell, "zsh") != 0) {
		st_console_error("-completion: unsupported shell '%.60s'; expected bash or zsh",
				 shell);
		return ST_EXIT_USAGE;
	}
	printf("%s# Completion for strata %s in %s, generated by 'strata help -completion %s'.\n\n",
	       bash ? "" : "#compdef strata\n", ST_VERSION, shell, shell);
	print_commands();
	print_options();
	print_values();
	print_script(st_completion_common);
	print_script(bash ? st_completion_bash : st_completion_zsh);
	return ST_EXIT_OK;
}
