/* SPDX-License-Identifier: Apache-2.0
 *
 * The completion scripts of bash and zsh. Both begin with the same functions, made from the tables of
 * commands and options: which options a command has, and what the value of an option may be. They are
 * plain text at completion time; strata is not run.
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

/* Finds where the cursor stands; the arguments are the words between "strata" and the cursor. */
static const char walk_text[] =
	"# Sets st_command, st_typed (the command has its first word), st_pending (an option that\n"
	"# waits for its value) and st_program (where the program begins, or 0).\n"
	"_strata_walk() {\n"
	"\tlocal n=0 word name\n"
	"\tst_command='' st_typed='' st_pending='' st_program=0\n"
	"\twhile [ $# -gt 0 ]; do\n"
	"\t\tword=$1 n=$((n + 1))\n"
	"\t\tshift\n"
	"\t\tif [ \"$word\" = = ]; then\n"
	"\t\t\tcontinue\n"
	"\t\tfi\n"
	"\t\tif [ -n \"$st_pending\" ]; then\n"
	"\t\t\tcase $st_pending in collect | c | report | R | export | command) st_typed=$word ;; "
	"esac\n"
	"\t\t\tst_pending=\n"
	"\t\t\tcontinue\n"
	"\t\tfi\n"
	"\t\tcase $word in\n"
	"\t\t--)\n"
	"\t\t\tif [ \"$st_command\" = collect ] || [ \"$st_command\" = bottleneck ]; then\n"
	"\t\t\t\tst_program=$((n + 1))\n"
	"\t\t\t\treturn\n"
	"\t\t\tfi\n"
	"\t\t\t;;\n"
	"\t\t-?*)\n"
	"\t\t\tname=${word#-}\n"
	"\t\t\tname=${name#-}\n"
	"\t\t\tcase ${name%%=*} in\n"
	"\t\t\tcollect | c) st_command=collect ;;\n"
	"\t\t\treport | R) st_command=report ;;\n"
	"\t\t\texport) st_command='export' ;;\n"
	"\t\t\tcommand) st_command='command' ;;\n"
	"\t\t\tesac\n"
	"\t\t\tcase $name in\n"
	"\t\t\tcollect=* | c=* | report=* | R=* | export=* | command=*) st_typed=${name#*=} ;;\n"
	"\t\t\t*=*) ;;\n"
	"\t\t\t*)\n"
	"\t\t\t\t_strata_values \"$st_command\" \"$name\"\n"
	"\t\t\t\tif [ -n \"$REPLY\" ]; then st_pending=$name; fi\n"
	"\t\t\t\t;;\n"
	"\t\t\tesac\n"
	"\t\t\t;;\n"
	"\t\t*)\n"
	"\t\t\tif [ $n = 1 ]; then\n"
	"\t\t\t\tst_command=$word\n"
	"\t\t\telif [ \"$st_command\" = bottleneck ] ||\n"
	"\t\t\t\t{ [ \"$st_command\" = collect ] && [ -n \"$st_typed\" ]; }; then\n"
	"\t\t\t\tst_program=$n\n"
	"\t\t\t\treturn\n"
	"\t\t\telif [ -z \"$st_typed\" ]; then\n"
	"\t\t\t\tst_typed=$word\n"
	"\t\t\tfi\n"
	"\t\t\t;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"}\n"
	"\n";

static const char bash_text[] =
	"_strata_offer() {\n"
	"\tlocal cur=$1 prefix=$2 head='' folder\n"
	"\tcase $REPLY in\n"
	"\t@result*)\n"
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\twhile IFS= read -r folder; do\n"
	"\t\t\tif [ -f \"$folder/result.json\" ]; then COMPREPLY+=(\"$prefix$folder\"); fi\n"
	"\t\tdone < <(compgen -d -- \"$cur\")\n"
	"\t\tif [ ${#COMPREPLY[@]} = 0 ]; then\n"
	"\t\t\tmapfile -t COMPREPLY < <(compgen -P \"$prefix\" -d -- \"$cur\")\n"
	"\t\tfi\n"
	"\t\tREPLY=${REPLY#@result}\n"
	"\t\tif [ -n \"$REPLY\" ]; then\n"
	"\t\t\tlocal -a folders=(\"${COMPREPLY[@]}\")\n"
	"\t\t\tmapfile -t COMPREPLY < <(compgen -W \"$REPLY\" -- \"$cur\")\n"
	"\t\t\tCOMPREPLY+=(\"${folders[@]}\")\n"
	"\t\tfi\n"
	"\t\t;;\n"
	"\t@folder)\n"
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -P \"$prefix\" -d -- \"$cur\")\n"
	"\t\t;;\n"
	"\t@file)\n"
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -P \"$prefix\" -f -- \"$cur\")\n"
	"\t\t;;\n"
	"\t@any) ;;\n"
	"\t*)\n"
	"\t\tcase $cur in *,*) head=${cur%,*}, ;; esac\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -P \"$prefix$head\" -W \"$REPLY\" -- "
	"\"${cur#\"$head\"}\")\n"
	"\t\tcase ${COMPREPLY[0]-} in *=) compopt -o nospace 2>/dev/null ;; esac\n"
	"\t\t;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"_strata() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prefix='' REPLY st_command st_typed st_pending "
	"st_program\n"
	"\tCOMPREPLY=()\n"
	"\t_strata_walk \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"\n"
	"\tif [ \"$st_program\" = 0 ] && [ \"$st_command\" = collect ] && [ -n \"$st_typed\" ] &&\n"
	"\t\t[ -z \"$st_pending\" ] && [ \"${cur#-}\" = \"$cur\" ] && [ \"$cur\" != = ]; then\n"
	"\t\tst_program=$COMP_CWORD\n"
	"\tfi\n"
	"\tif [ \"$st_program\" != 0 ]; then\n"
	"\t\tif declare -F _command_offset >/dev/null; then\n"
	"\t\t\t_command_offset \"$st_program\"\n"
	"\t\telif [ \"$st_program\" = \"$COMP_CWORD\" ]; then\n"
	"\t\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	"\t\telse\n"
	"\t\t\tREPLY=@file\n"
	"\t\t\t_strata_offer \"$cur\"\n"
	"\t\tfi\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tcase $cur in\n"
	"\t=) cur= ;;\n"
	"\t-*=*)\n"
	"\t\tprefix=${cur%%=*}=\n"
	"\t\tst_pending=${cur%%=*}\n"
	"\t\tst_pending=${st_pending#-}\n"
	"\t\tst_pending=${st_pending#-}\n"
	"\t\tcur=${cur#*=}\n"
	"\t\t;;\n"
	"\tesac\n"
	"\t_strata_expect \"$cur\"\n"
	"\t_strata_offer \"$cur\" \"$prefix\"\n"
	"}\n"
	"complete -F _strata strata\n";

/* What may stand at the cursor, given what the walk found. */
static const char expect_text[] =
	"# Sets REPLY to the words that may stand here: a list, or @result, @folder, @file, @any.\n"
	"_strata_expect() {\n"
	"\tif [ -n \"$st_pending\" ]; then\n"
	"\t\t_strata_values \"$st_command\" \"$st_pending\"\n"
	"\t\tif [ -z \"$REPLY\" ]; then REPLY='true false'; fi\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tcase $1 in\n"
	"\t-*)\n"
	"\t\t_strata_options \"$st_command\"\n"
	"\t\treturn\n"
	"\t\t;;\n"
	"\tesac\n"
	"\tif [ -z \"$st_command\" ]; then\n"
	"\t\tREPLY=$st_commands\n"
	"\telif [ \"$st_command\" = help ]; then\n"
	"\t\tREPLY=$st_commands\n"
	"\telif [ \"$st_command\" = bottleneck ]; then\n"
	"\t\tREPLY=@file\n"
	"\telif [ -z \"$st_typed\" ]; then\n"
	"\t\t_strata_values \"$st_command\" \"$st_command\"\n"
	"\t\tif [ \"$st_command\" = report ]; then REPLY=\"@result $REPLY\"; fi\n"
	"\t\tif [ -z \"$REPLY\" ]; then REPLY=@any; fi\n"
	"\telse\n"
	"\t\tREPLY=@any\n"
	"\t\tcase $st_command in report | export | command) REPLY=@result ;; esac\n"
	"\tfi\n"
	"}\n"
	"\n";

static const char zsh_text[] =
	"_strata() {\n"
	"\tlocal cur=${words[CURRENT]} REPLY st_command st_typed st_pending st_program\n"
	"\t_strata_walk \"${(@)words[2,CURRENT-1]}\"\n"
	"\tif [[ $st_program = 0 && $st_command = collect && -n $st_typed && -z $st_pending &&\n"
	"\t\t$cur != -* ]]; then\n"
	"\t\tst_program=$((CURRENT - 1))\n"
	"\tfi\n"
	"\tif [[ $st_program != 0 ]]; then\n"
	"\t\twords=(\"${(@)words[st_program+1,-1]}\")\n"
	"\t\t((CURRENT -= st_program))\n"
	"\t\t_normal\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tif [[ $cur = -*=* ]]; then\n"
	"\t\tst_pending=${cur%%=*}\n"
	"\t\tst_pending=${st_pending#-}\n"
	"\t\tst_pending=${st_pending#-}\n"
	"\t\tcompset -P 1 '*='\n"
	"\tfi\n"
	"\t_strata_expect \"$cur\"\n"
	"\tcase $REPLY in\n"
	"\t@result*)\n"
	"\t\tREPLY=${REPLY#@result}\n"
	"\t\tif [[ -n $REPLY ]]; then compadd -- ${=REPLY}; fi\n"
	"\t\t_files -/\n"
	"\t\t;;\n"
	"\t@folder) _files -/ ;;\n"
	"\t@file) _files ;;\n"
	"\t@any) ;;\n"
	"\t*=) compadd -S '' -- ${=REPLY} ;;\n"
	"\t*)\n"
	"\t\tcompset -P '*,'\n"
	"\t\tcompadd -- ${=REPLY}\n"
	"\t\t;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"_strata \"$@\"\n";

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

static void print_reports(void)
{
	for (const struct st_report_kind *kind = st_report_kinds; kind->name; kind++)
		printf("%s%s", kind == st_report_kinds ? "" : " ", kind->name);
}

static void print_formats(void)
{
	for (const struct st_exporter *exporter = st_exporters; exporter->name; exporter++)
		printf("%s%s", exporter == st_exporters ? "" : " ", exporter->name);
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

static void print_verbs(void)
{
	for (const struct st_verb *verb = st_verbs; verb->name; verb++)
		printf("%s%s", verb == st_verbs ? "" : " ", verb->name);
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
	else if (id == ST_OPT_REPORT)
		print_reports();
	else if (id == ST_OPT_EXPORT)
		print_formats();
	else if (id == ST_OPT_COMMAND)
		print_verbs();
	else if (id == ST_OPT_GROUP_BY)
		print_groupings("");
	else if (id == ST_OPT_FILTER)
		print_groupings("=");
	else if (id == ST_OPT_SORT_ASC || id == ST_OPT_SORT_DESC)
		print_metrics();
	else if (id == ST_OPT_KNOB)
		print_knobs();
	else if (id == ST_OPT_REPORT_KNOB)
		printf("bin-count= cpu-classes= torch-folding= %s", st_torch_knob_names);
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
	fputs(walk_text, stdout);
	fputs(expect_text, stdout);
	fputs(bash ? bash_text : zsh_text, stdout);
	return ST_EXIT_OK;
}
