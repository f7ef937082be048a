/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts generated from the tables of commands and options: help, the manual page, and shell
 * completion.
 */
#ifndef ST_CLI_HELP_H
#define ST_CLI_HELP_H

#include <stddef.h>

struct st_option;

/* "-r, -result-dir DIR" */
void st_help_option_head(const struct st_option *option, char *out, size_t out_size);

/* Names that the first word of a command may be, each with a sentence: rows that begin with both, and end with one that
 * has no name. */
struct st_help_row {
	const char *name, *text;
};
struct st_help_list {
	unsigned int command;
	const char *title;
	int width; /* of the names in help */
	const void *rows;
	size_t row_bytes;
};
extern const struct st_help_list st_help_lists[]; /* ends with a NULL title */
/* NULL: no more. */
const struct st_help_row *st_help_row_at(const struct st_help_list *list, size_t index);

/* The manual page, in roff. */
void st_manual_print(void);
/* The completion script of "bash" or "zsh"; an exit code. */
int st_completion_print(const char *shell);
/* The scripts that do the completing (completion/), below a line about their licence. */
extern const char st_completion_common[], st_completion_bash[], st_completion_zsh[];

#endif
