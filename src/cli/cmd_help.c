/* SPDX-License-Identifier: Apache-2.0
 *
 * strata help: everything it prints is made from the tables of commands, options, reports, exporters
 * and groupings. The manual page is in manual.c, the completion scripts in completion.c.
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
#include "export/export.h"

enum { HELP_INDENT = 30 };

void st_help_option_head(const struct st_option *option, char *out, size_t out_size)
{
	char letter[8] = "";

	if (option->letter)
		snprintf(letter, sizeof(letter), "-%c, ", option->letter);
	snprintf(out, out_size, "%s-%s%s%s%s", letter,
		 option->flags & ST_OPT_NEGATABLE ? "[no-]" : "", option->name,
		 option->argument ? " " : "", option->argument ? option->argument : "");
}

static void print_entry(const char *head, const struct st_option *option)
{
	char text[512];

	snprintf(text, sizeof(text), "%s%s%s%s", option->help,
		 option->default_text ? " Default: " : "",
		 option->default_text ? option->default_text : "", option->default_text ? "." : "");
	if (strlen(head) + 4 > HELP_INDENT) {
		printf("  %s\n%*s", head, HELP_INDENT, "");
	} else {
		printf("  %-*s", HELP_INDENT - 2, head);
	}
	st_console_wrap(text, HELP_INDENT, HELP_INDENT);
}

static void print_option(const struct st_option *option)
{
	char head[96];

	st_help_option_head(option, head, sizeof(head));
	print_entry(head, option);
}

static void print_knobs(void)
{
	printf("\nKnobs (-knob name=value):\n");
	for (const struct st_knob *knob = st_knobs; knob->name; knob++) {
		struct st_option row = {.default_text = knob->default_text, .help = knob->help};
		char head[96];

		st_knob_head(knob, head, sizeof(head));
		print_entry(head, &row);
	}
}

static void print_options(unsigned int command)
{
	const char *title = "\nOptions (one dash or two; -name value or -name=value; words can be "
			    "shortened: -res-dir):\n";

	for (enum st_option_id id = 0; id < ST_OPTIONS; id++) {
		const struct st_option *option = st_option_at(id);

		if (!(option->commands & command) || (option->flags & ST_OPT_IS_COMMAND))
			continue;
		printf("%s", title);
		title = "";
		print_option(option);
	}
}

static void print_groupings(void)
{
	char text[1024] = "";
	size_t used = 0;

	for (unsigned int i = 0; i < ST_GROUPINGS && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
					 st_grouping_info(i)->name);
	printf("\nGroupings:\n  ");
	st_console_wrap(text, 2, 2);
}

const struct st_help_list st_help_lists[] = {
	{ST_IN_REPORT, "Reports", 12, st_report_kinds, sizeof(*st_report_kinds)},
	{ST_IN_COMMAND, "Verbs", 12, st_verbs, sizeof(*st_verbs)},
	{ST_IN_EXPORT, "Formats", 16, st_exporters, sizeof(*st_exporters)},
	{0, NULL, 0, NULL, 0},
};

const struct st_help_row *st_help_row_at(const struct st_help_list *list, size_t index)
{
	const struct st_help_row *row =
		(const void *)((const char *)list->rows + index * list->row_bytes);

	return row->name ? row : NULL;
}

static void print_names(unsigned int command)
{
	const struct st_help_row *row;

	for (const struct st_help_list *list = st_help_lists; list->title; list++) {
		if (list->command != command)
			continue;
		printf("\n%s:\n", list->title);
		for (size_t i = 0; (row = st_help_row_at(list, i)); i++)
			printf("  %-*s %s\n", list->width, row->name, row->text);
	}
	if (command != ST_IN_REPORT)
		return;
	print_groupings();
	printf("\nSort metrics (for tasks; -sort-desc '?' lists those of a report):\n");
	for (unsigned int i = 0; i < ST_METRICS; i++)
		printf("  %-22s %s\n", st_metric_info(i)->key, st_metric_info(i)->title);
}

static void print_overview(void)
{
	printf("strata %s: records what a program does and shows where its time goes.\n\n",
	       ST_VERSION);
	for (const struct st_command *command = st_commands; command->name; command++)
		printf("  strata %-48s %s\n", command->usage, command->summary);
	printf("\n"
	       "Examples:\n"
	       "  strata -collect hotspots -- python train.py run and sample a program, print a "
	       "summary\n"
	       "  strata report top-down                      show where the time went, as a tree\n"
	       "  strata query \"SELECT task_type, count(*) FROM slices GROUP BY 1\"\n"
	       "  strata export chrome -o trace.json.gz       for ui.perfetto.dev or "
	       "chrome://tracing\n"
	       "  strata export perfetto -o trace.pftrace     same, smaller and faster to open\n"
	       "\n"
	       "'strata help COMMAND' lists the options of a command. VTune's spelling works too:\n"
	       "-collect, -report, -query, -export and -command, anywhere before the program.\n");
}

int st_help_print(unsigned int bit)
{
	const struct st_command *command = bit ? st_command_of(bit) : NULL;

	if (!command) {
		print_overview();
		return ST_EXIT_OK;
	}
	printf("usage: strata %s\n\n", command->usage);
	st_console_wrap(command->summary, 0, 0);
	if (command->description)
		st_console_wrap(command->description, 0, 0);
	print_names(bit);
	print_options(bit);
	if (bit == ST_IN_COLLECT)
		print_knobs();
	return ST_EXIT_OK;
}

int st_cmd_help(const struct st_args *args)
{
	struct st_error err = {0};
	const char *shell = st_args_value(args, ST_OPT_COMPLETION);
	unsigned int bit = 0;

	if (st_args_flag(args, ST_OPT_MAN, false)) {
		st_manual_print();
		return ST_EXIT_OK;
	}
	if (shell)
		return st_completion_print(shell);
	if (args->word_count && st_command_parse(args->words[0], &bit, &err)) {
		st_console_error("%s", err.text);
		return ST_EXIT_USAGE;
	}
	return st_help_print(bit);
}
