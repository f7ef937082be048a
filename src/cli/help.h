/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts that are made from the tables of commands and options: help, the manual page, and what the
 * shells need to complete a command line.
 */
#ifndef ST_CLI_HELP_H
#define ST_CLI_HELP_H

#include <stddef.h>

struct st_option;

/* "-r, -result-dir DIR" */
void st_help_option_head(const struct st_option *option, char *out, size_t out_size);
/* The manual page, in roff. */
void st_manual_print(void);
/* The completion script of "bash" or "zsh"; an exit code. */
int st_completion_print(const char *shell);

#endif
