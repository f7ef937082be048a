/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything strata says about itself: lines on standard error that begin with "strata: ", a progress
 * line on a terminal, and command lines quoted so that a shell would read them back.
 */
#ifndef ST_REQUEST_CONSOLE_H
#define ST_REQUEST_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Fills closed descriptors 0 to 2 with ones that refuse use and vanish at exec: no file of ours may
 * ever become somebody's standard output. To be called first. */
void st_console_init(void);

/* One line; control characters are shown, never sent to the terminal. */
void st_console_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "strata: error: …" */
void st_console_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The text of err, and the exit code that belongs to its status in report and export. */
int st_console_fail(const struct st_error *err);

/* Text on standard output from column `column` on, broken at blanks to 100 columns, further lines indented
 * by `indent`. */
void st_console_wrap(const char *text, size_t column, size_t indent);

/* Columns of the terminal that fd is, or 0 when it is none. */
unsigned int st_console_width(int fd);

/* From now on a Ctrl-C, SIGTERM or SIGHUP (unless ignored) removes half-written files and the progress
 * line, calls `instead` if there is one, and else ends strata as the signal would have. */
void st_console_catch_ends(void (*instead)(int number));

/* For work that does not know how far it is: after two seconds a line on a terminal says what is being
 * done and for how long. Ends with st_busy_end. */
void st_busy_begin(bool quiet, const char *what);
void st_busy_end(void);

struct st_progress {
	uint64_t begin_ns;
	bool on;    /* there is somebody to show it to */
	bool shown; /* a line is on the screen */
};
/* Shows nothing before two seconds have passed, nor when standard error is no terminal. */
void st_progress_init(struct st_progress *progress, bool quiet);
void st_progress_show(void *progress, double fraction, const char *what);
void st_progress_fini(struct st_progress *progress);

#endif
