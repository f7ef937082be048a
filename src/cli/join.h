/* SPDX-License-Identifier: Apache-2.0
 *
 * Serving a program that records itself.
 */
#ifndef ST_CLI_JOIN_H
#define ST_CLI_JOIN_H

#include <stdbool.h>

bool st_join_is_asked(int argc, char **argv);
/* Gives the exit code, when the program has ended. */
int st_join_run(char **argv);

#endif
