/* SPDX-License-Identifier: Apache-2.0
 *
 * strata help: everything it prints, the manual page too, is made from the tables of commands, options,
 * reports, exporters and groupings.
 */
#include <stdio.h>
#include <string.h>

#include "analyze/report.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/options.h"
#include "export/export.h"

enum { HELP_WIDTH = 100, HELP_INDENT = 30 };

/* Prints text from column `column` on, broken at blanks, further lines indented by `indent`. */
static void print_wrapped(const char *text, size_t column, size_t indent)
{
	while (*text) {
		size_t size = strcspn(text, " ");

		if (column > indent && column + 1 + size > HELP_WIDTH) {
			printf("\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		printf("%.*s", (int)size, text);
		column += size;
		text += size;
		text += strspn(text, " ");
	}
	putchar('\n');
}

/* "-r, -result-dir DIR" */
static void option_head(const struct st_option *option, char *out, size_t out_size)
{
	char letter[8] = "";

	if (option->letter)
		snprintf(letter, sizeof(letter), "-%c, ", option->letter);
	snprintf(out, out_size, "%s-%s%s%s%s", letter,
		 option->flags & ST_OPT_NEGATABLE ? "[no-]" : "", option->name,
		 option->argument ? " " : "", option->argument ? option->argument : "");
}

static void print_option(const struct st_option *option)
{
	char head[96];
	char text[512];

	option_head(option, head, sizeof(head));
	snprintf(text, sizeof(text), "%s%s%s%s", option->help,
		 option->default_text ? " Default: " : "",
		 option->default_text ? option->default_text : "", option->default_text ? "." : "");
	if (strlen(head) + 4 > HELP_INDENT) {
		printf("  %s\n%*s", head, HELP_INDENT, "");
	} else {
		printf("  %-*s", HELP_INDENT - 2, head);
	}
	print_wrapped(text, HELP_INDENT, HELP_INDENT);
}

static bool has_options(unsigned int command)
{
	for (enum st_option_id id = 0; id < ST_OPTIONS; id++) {
		const struct st_option *option = st_option_at(id);

		if ((option->commands & command) && !(option->flags & ST_OPT_IS_COMMAND))
			return true;
	}
	return false;
}

static void print_options(unsigned int command)
{
	if (!has_options(command))
		return;
	printf("\nOptions (one dash or two; -name value or -name=value; words may be shortened: "
	       "-res-dir):\n");
	for (enum st_option_id id = 0; id < ST_OPTIONS; id++) {
		const struct st_option *option = st_option_at(id);

		if ((option->commands & command) && !(option->flags & ST_OPT_IS_COMMAND))
			print_option(option);
	}
}

static void print_names(unsigned int command)
{
	if (command == ST_IN_REPORT) {
		printf("\nReports:\n");
		for (const struct st_report_kind *kind = st_report_kinds; kind->name; kind++)
			printf("  %-12s %s\n", kind->name, kind->summary);
		printf("\nGroupings:\n ");
		for (unsigned int i = 0; i < ST_GROUPINGS; i++)
			printf(" %s", st_grouping_info(i)->name);
		printf("\n\nMetrics to sort by:\n");
		for (unsigned int i = 0; i < ST_METRICS; i++)
			printf("  %-14s %s\n", st_metric_info(i)->key, st_metric_info(i)->title);
	}
	if (command == ST_IN_EXPORT) {
		printf("\nFormats:\n");
		for (const struct st_exporter *exporter = st_exporters; exporter->name; exporter++)
			printf("  %-12s %s\n", exporter->name, exporter->summary);
	}
}

static void print_overview(void)
{
	printf("strata %s: records what a program does and shows where its time goes.\n\n",
	       ST_VERSION);
	for (const struct st_command *command = st_commands; command->name; command++)
		printf("  strata %-48s %s\n", command->usage, command->summary);
	printf("\nFor example:\n"
	       "  strata -collect tasks -- python train.py    run, record, print a summary\n"
	       "  strata report top-down                      where the time went, as a tree\n"
	       "  strata query \"SELECT task_type, count(*) FROM slices GROUP BY 1\"\n"
	       "  strata export chrome -o trace.json.gz       for ui.perfetto.dev or "
	       "chrome://tracing\n"
	       "  strata export perfetto -o trace.pftrace     the same, small and fast to open\n"
	       "\nstrata help COMMAND lists the options of a command. VTune's spelling works too:\n"
	       "-collect, -report, -query and -export with one dash, anywhere before the "
	       "program.\n");
}

int st_help_print(unsigned int bit)
{
	const struct st_command *command = bit ? st_command_of(bit) : NULL;

	if (!command) {
		print_overview();
		return ST_EXIT_OK;
	}
	printf("usage: strata %s\n\n", command->usage);
	print_wrapped(command->summary, 0, 0);
	if (command->description)
		print_wrapped(command->description, 0, 0);
	print_names(bit);
	print_options(bit);
	return ST_EXIT_OK;
}

/* roff treats '-' as a hyphen, and '.' or '\'' at the start of a line as a request. */
static void print_roff(const char *text)
{
	if (*text == '.' || *text == '\'')
		printf("\\&");
	for (; *text; text++) {
		if (*text == '-' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
}

static void print_man_options(unsigned int command)
{
	for (enum st_option_id id = 0; id < ST_OPTIONS; id++) {
		const struct st_option *option = st_option_at(id);
		char head[96];

		if (!(option->commands & command) || (option->flags & ST_OPT_IS_COMMAND))
			continue;
		option_head(option, head, sizeof(head));
		printf(".TP\n.B ");
		print_roff(head);
		putchar('\n');
		print_roff(option->help);
		if (option->default_text) {
			printf(" Default: ");
			print_roff(option->default_text);
			putchar('.');
		}
		putchar('\n');
	}
}

static void print_man(void)
{
	printf(".TH STRATA 1 \"\" \"strata %s\" \"User commands\"\n", ST_VERSION);
	printf(".SH NAME\nstrata \\- record what a program does and show where its time goes\n");
	printf(".SH SYNOPSIS\n");
	for (const struct st_command *command = st_commands; command->name; command++) {
		printf(".B strata ");
		print_roff(command->usage);
		printf("\n.br\n");
	}
	printf(".SH DESCRIPTION\n"
	       "Options take one dash or two, and their value after a blank or an equals sign; "
	       "long names\n"
	       "may be shortened word by word. The command may also be written as an option "
	       "(\\-collect,\n"
	       "\\-report, \\-query, \\-export). The program begins at the first argument that is "
	       "not an "
	       "option.\n");
	for (const struct st_command *command = st_commands; command->name; command++) {
		printf(".SH %s\n", command->name);
		print_roff(command->summary);
		putchar('\n');
		if (command->description) {
			print_roff(command->description);
			putchar('\n');
		}
		print_man_options(command->bit);
	}
	printf(".SH EXIT STATUS\n"
	       "collect ends with the program's own status, a fatal signal raised again. Before "
	       "the program\n"
	       "has started: 2 wrong usage, 125 strata failed, 126 not executable, 127 not found.\n"
	       "Other commands: 0 done, 1 failed, 2 wrong usage; query ended by Ctrl\\-C: 130.\n");
}

int st_cmd_help(const struct st_args *args)
{
	struct st_error err = {0};
	unsigned int bit = 0;

	if (st_args_flag(args, ST_OPT_MAN, false)) {
		print_man();
		return ST_EXIT_OK;
	}
	if (args->word_count && st_command_parse(args->words[0], &bit, &err)) {
		st_console_error("%s", err.text);
		return ST_EXIT_USAGE;
	}
	return st_help_print(bit);
}
