/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrapped text: pieces are placed on a line while they fit; the next one starts a new line. Nothing
 * is lost at any width; a piece longer than a line makes a longer line.
 */
#ifndef ST_EXPORT_REPORT_TEXT_FLOW_H
#define ST_EXPORT_REPORT_TEXT_FLOW_H

#include <stdbool.h>

#include "analyze/tables/report.h"
#include "base/buf.h"

struct st_flow {
	struct st_buf *out;
	unsigned int width;  /* of a line; 0: unlimited */
	unsigned int indent; /* of every line */
	unsigned int at;     /* the column reached */
	unsigned int lines;  /* begun so far */
	struct st_buf piece; /* the next one; st_flow_piece takes what is in it */
};

/* The caller has written the first line up to the indent. */
void st_flow_init(struct st_flow *flow, struct st_buf *out, unsigned int width,
		  unsigned int indent);
/* Appends what the piece holds, behind gap if it is not the first of its line. */
void st_flow_piece(struct st_flow *flow, const char *gap);
/* A piece: a word of ours and a value. */
void st_flow_cell(struct st_flow *flow, const char *gap, const char *word,
		  const struct st_cell *cell, const char *unit);
/* A sentence, word by word, made harmless. False when lines_max (0: any) were not enough: the rest is
 * not there. */
bool st_flow_words(struct st_flow *flow, struct st_text text, unsigned int lines_max);
void st_flow_text(struct st_flow *flow, const char *text); /* the same, of ours */
/* Whole lines of ours, each broken where it is wider than that (0: nowhere). */
void st_flow_lines(struct st_buf *out, unsigned int width, const char *text);
/* A mark directly behind the last piece. */
void st_flow_mark(struct st_flow *flow, const char *mark);
/* Ends the line; a piece that was not taken goes. */
void st_flow_end(struct st_flow *flow);

#endif
