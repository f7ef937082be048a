/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of commands: name, bit in the option table and what help says.
 */
#ifndef ST_REQUEST_COMMAND_H
#define ST_REQUEST_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct st_command {
	const char *name;
	unsigned int bit;
	const char *usage; /* after "strata " */
	const char *summary;
	const char *description; /* a paragraph for help, or NULL */
};
extern const struct st_command st_commands[]; /* ends with a NULL name */

const struct st_command *st_command_of(unsigned int bit);
const char *st_command_name(unsigned int bit);
/* Whether word is a program that a shell would run: somebody left out what strata is to do with it. */
bool st_command_is_program(const char *word);
/* The file that the shell finds for a plain name; false: none. */
bool st_command_on_path(const char *word, char *path, size_t capacity);
/* ST_EUSAGE, with near names, when word is no command of this version. */
enum st_status st_command_parse(const char *word, unsigned int *bit, struct st_error *err);
/* A command that a later version has. */
bool st_command_is_later(const char *word);

#endif
