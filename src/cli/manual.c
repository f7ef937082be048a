/* SPDX-License-Identifier: Apache-2.0
 *
 * The manual page, in roff, made from the tables of commands, options, reports, metrics and exporters.
 * One page with everything: one search finds it.
 */
#include <stdio.h>

#include "analyze/tables/report.h"
#include "cli/commands.h"
#include "request/command.h"
#include "cli/help.h"
#include "cli/knobs.h"
#include "request/options.h"
#include "export/export.h"

/* roff treats '-' as a hyphen, and '.' or '\'' at the start of a line as a request. */
static void print_roff(const char *text)
{
	if (*text == '.' || *text == '\'')
		printf("\\&");
	for (; *text; text++) {
		if (*text == '-')
			printf("\\-");
		else if (*text == '\\')
			printf("\\e");
		else
			putchar(*text);
	}
}

static void print_entry(const char *head, const char *text)
{
	printf(".TP\n.B ");
	print_roff(head);
	putchar('\n');
	print_roff(text);
	putchar('\n');
}

static void print_default(const char *text)
{
	if (!text)
		return;
	printf("Default: ");
	print_roff(text);
	printf(".\n");
}

static void print_options(unsigned int command)
{
	const char *title = ".PP\nOptions:\n";

	for (enum st_option_id id = 0; id < ST_OPTIONS; id++) {
		const struct st_option *option = st_option_at(id);
		char head[96];

		if (!(option->commands & command) || (option->flags & ST_OPT_IS_COMMAND))
			continue;
		printf("%s", title);
		title = "";
		st_help_option_head(option, head, sizeof(head));
		print_entry(head, option->help);
		print_default(option->default_text);
	}
}

static void print_names(unsigned int command)
{
	const struct st_help_row *row;

	for (const struct st_help_list *list = st_help_lists; list->title; list++) {
		if (list->command != command)
			continue;
		printf(".PP\n%s:\n", list->title);
		for (size_t i = 0; (row = st_help_row_at(list, i)); i++)
			print_entry(row->name, row->text);
	}
	if (command != ST_IN_REPORT)
		return;
	printf(".PP\nGroupings:");
	for (unsigned int i = 0; i < ST_GROUPINGS; i++) {
		printf("\n.BR ");
		print_roff(st_grouping_info(i)->name);
		printf("%s", i + 1 < ST_GROUPINGS ? " ," : " .");
	}
	printf("\n"
	       ".PP\n"
	       "Sort metrics (for tasks; \\-sort\\-desc ? lists those of a report):\n");
	for (unsigned int i = 0; i < ST_METRICS; i++)
		print_entry(st_metric_info(i)->key, st_metric_info(i)->title);
}

static void print_knobs(void)
{
	printf(".PP\nKnobs (\\-knob name=value):\n");
	for (const struct st_knob *knob = st_knobs; knob->name; knob++) {
		char head[96];

		st_knob_head(knob, head, sizeof(head));
		print_entry(head, knob->help);
		print_default(knob->default_text);
	}
}

static void print_commands(void)
{
	printf(".SH COMMANDS\n");
	for (const struct st_command *command = st_commands; command->name; command++) {
		printf(".SS strata ");
		print_roff(command->usage);
		putchar('\n');
		print_roff(command->summary);
		putchar('\n');
		if (command->description) {
			print_roff(command->description);
			putchar('\n');
		}
		print_names(command->bit);
		print_options(command->bit);
		if (command->bit == ST_IN_COLLECT)
			print_knobs();
	}
}

void st_manual_print(void)
{
	printf(".TH STRATA 1 \"\" \"strata %s\" \"User commands\"\n", ST_VERSION);
	printf(".SH NAME\nstrata \\- record what a program does and show where its time goes\n");
	printf(".SH SYNOPSIS\n");
	for (const struct st_command *command = st_commands; command->name; command++) {
		printf("%s.B strata ", command == st_commands ? "" : ".br\n");
		print_roff(command->usage);
		putchar('\n');
	}
	printf(".SH DESCRIPTION\n"
	       "Options take one dash or two, and their value after a space or an equals sign;\n"
	       "long names can be shortened word by word. The command can also be written as an\n"
	       "option (\\-collect, \\-report, \\-query, \\-export, \\-command). The program "
	       "starts at the first argument\n"
	       "that is not an option.\n");
	print_commands();
	printf(".SH EXIT STATUS\n"
	       "collect exits with the program's own status; a fatal signal is raised again. "
	       "Before\n"
	       "the program has started: 2 wrong usage, 125 strata failed, 126 not executable,\n"
	       "127 not found. doctor: 1 if no tasks can be collected on this machine, otherwise "
	       "0.\n"
	       "Other commands: 0 success, 1 failure, 2 wrong usage; query interrupted by "
	       "Ctrl\\-C: 130.\n");
	printf(".SH ENVIRONMENT\n");
	print_entry("STRATA_DISABLE", "If set for a program, the collector does nothing in it.");
	print_entry("STRATA_COLLECTOR", "Alternative location of libstrata_collector.so.");
	print_entry("NO_COLOR", "If not empty, no colors are used.");
	printf(".SH FILES\n");
	print_entry("r000ta, r001ta, ...",
		    "Result folders, in the working folder unless -result-dir is given.");
	printf(".SH EXAMPLES\n");
	print_entry("strata -collect tasks -- python train.py",
		    "Run and record a program, print a summary.");
	print_entry("strata -collect operators -- python train.py",
		    "Same, with every PyTorch operator; then use strata report operators.");
	print_entry("strata report top-down", "Show where the time went, as a tree.");
	print_entry("strata export chrome -o trace.json.gz", "For ui.perfetto.dev.");
	print_entry("strata doctor", "Show what can be measured on this machine.");
}
