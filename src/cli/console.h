/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything strata says about itself: lines on standard error that begin with "strata: ", a progress
 * line on a terminal, and command lines quoted so that a shell would read them back.
 */
#ifndef ST_CLI_CONSOLE_H
#define ST_CLI_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct st_args;
struct st_buf;

/* Fills closed descriptors 0 to 2 with ones that refuse use and vanish at exec: no file of ours may
 * ever become somebody's standard output. To be called first. */
void st_console_init(void);

/* One line; control characters are shown, never sent to the terminal. */
void st_console_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "strata: error: …" */
void st_console_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A byte of a text that is not ours, for standard output: '?' for control characters, which would steer a terminal. */
char st_console_harmless(char byte);
/* The text of err, and the exit code that belongs to its status in report and export. */
int st_console_fail(const struct st_error *err);

/* Text on standard output from column `column` on, broken at blanks to 100 columns, further lines indented
 * by `indent`. */
void st_console_wrap(const char *text, size_t column, size_t indent);

/* What standard output can show, and progress, for a request. */
void st_console_equip(struct st_args *args);
/* A line for each of the lines, behind a word. */
void st_console_say_lines(const char *word, const struct st_buf *lines);

/* Columns of the terminal that fd is, or 0 when it is none. */
unsigned int st_console_width(int fd);

/* From now on a Ctrl-C, SIGTERM or SIGHUP (unless ignored) removes half-written files and the progress
 * line, calls `instead` if there is one, and else ends strata as the signal would have. */
void st_console_catch_ends(void (*instead)(int number));

/* For work that does not know how far it is: after two seconds a line on a terminal says what is being
 * done and for how long. Ends with st_busy_end. Progress of its parts is shown as well. */
void st_busy_begin(bool quiet, const char *what);
void st_busy_end(void);

/* From now on st_progress_show shows how far it is, but not before two seconds have passed, nor when standard error is
 * no terminal. Ends with st_progress_end. */
void st_progress_begin(bool quiet);
void st_progress_show(void *unused, double fraction, const char *what);
void st_progress_end(void);

#endif
