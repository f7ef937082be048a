/* SPDX-License-Identifier: Apache-2.0
 *
 * Values formatted for a terminal: durations, sizes, counts, and untrusted texts made harmless.
 * Widths are terminal columns.
 */
#ifndef ST_EXPORT_REPORT_SHOW_H
#define ST_EXPORT_REPORT_SHOW_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/tables/report.h"

struct st_buf;

/* Appends text: control characters as escapes, what is not UTF-8 as U+FFFD, at most max_width columns
 * (0: any), the last of them an ellipsis when something was cut. Returns the columns it takes. */
unsigned int st_show_text(struct st_buf *out, struct st_text text, unsigned int max_width);
void st_show_duration(struct st_buf *out, uint64_t ns); /* "601.2 ms" */
void st_show_bytes(struct st_buf *out, uint64_t bytes); /* "38.1 MB" */
void st_show_percent(struct st_buf *out, double ratio); /* "12.3 %" */
/* A path, cut at its front: the program's name is at its end. */
unsigned int st_show_path(struct st_buf *out, struct st_text path, unsigned int max_width);
/* A command line, cut at its end; a long path in front of the program's name goes first, so that the name
 * is always there. */
unsigned int st_show_command(struct st_buf *out, struct st_text command, unsigned int max_width);
/* A cell by its kind and the unit of its column; returns the columns it takes. */
unsigned int st_show_cell(struct st_buf *out, const struct st_cell *cell, const char *unit,
			  unsigned int max_width);
/* The same for a cell that names its row: a name without a letter is shown as "[no name]". */
unsigned int st_show_name(struct st_buf *out, const struct st_cell *cell, unsigned int max_width);
/* A cell, right-aligned. */
void st_show_right(struct st_buf *out, const struct st_cell *cell, const char *unit,
		   unsigned int width);
/* Appends what scratch holds and frees it; a scratch that ran out of memory fails out as well. */
void st_show_move(struct st_buf *out, struct st_buf *scratch);
void st_show_pad(struct st_buf *out, unsigned int from, unsigned int to); /* spaces */
void st_show_end_line(struct st_buf *out); /* without blanks at its end */
void st_show_bar(struct st_buf *out, double ratio, unsigned int width); /* "###   " */

#endif
