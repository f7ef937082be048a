/* SPDX-License-Identifier: Apache-2.0
 *
 * A command of ours (or ssh, or tar) run to its end, with what it printed.
 */
#ifndef ST_SERVE_HTTP_CAPTURE_H
#define ST_SERVE_HTTP_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

struct st_loop;
struct st_capture;

struct st_captured {
	int status;		/* of waitpid */
	bool is_ok;		/* it ended with 0 */
	struct st_buf out, err; /* each ends with a NUL that does not count */
};

/* Starts it; done is called once, later, unless it is ended before. NULL: it could not be started, err says why. */
struct st_capture *st_capture_start(struct st_loop *loop, const char *const *argv,
				    void (*done)(void *arg, const struct st_captured *captured),
				    void *arg, struct st_error *err);
/* Ends the process; done is called when it has ended. */
void st_capture_cancel(struct st_capture *capture);
/* The same; done is not called any more. */
void st_capture_end(struct st_capture *capture);

/* The last bytes of a file from its last line breaks on, at most max; for logs. */
void st_tail_read(int fd, size_t max, struct st_buf *out);
/* A file without a name that several processes append to; -1: none. */
int st_log_file(void);
/* The last line that says something, of what a command printed on standard error, without "strata: error: ". */
void st_last_line(const struct st_buf *text, char *out, size_t out_size);

#endif
