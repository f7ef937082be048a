/* SPDX-License-Identifier: Apache-2.0
 *
 * Running text: pieces stand one behind the other while they fit the line, the next one begins a line
 * of its own. Nothing is lost at any width; a piece longer than a line makes a longer line.
 */
#ifndef ST_EXPORT_REPORT_TEXT_FLOW_H
#define ST_EXPORT_REPORT_TEXT_FLOW_H

#include <stdbool.h>

#include "analyze/tables/report.h"

struct st_buf;

struct st_flow {
	struct st_buf *out;
	unsigned int width;  /* of a line; 0: unlimited */
	unsigned int indent; /* of every line */
	unsigned int at;     /* the column reached */
	unsigned int lines;  /* begun so far */
};

/* The caller has written the first line up to the indent. */
void st_flow_init(struct st_flow *flow, struct st_buf *out, unsigned int width,
		  unsigned int indent);
/* Appends what piece holds, behind gap if it is not the first of its line, and frees it. */
void st_flow_piece(struct st_flow *flow, const char *gap, struct st_buf *piece);
/* A sentence, word by word, made harmless. False when lines_max (0: any) were not enough: the rest is
 * not there. */
bool st_flow_words(struct st_flow *flow, struct st_text text, unsigned int lines_max);
/* A mark directly behind the last piece. */
void st_flow_mark(struct st_flow *flow, const char *mark);

#endif
