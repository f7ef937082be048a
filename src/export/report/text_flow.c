// SPDX-License-Identifier: Apache-2.0
//
// Running text that keeps to a width.
#include "export/report/text_flow.h"

#include <string.h>

#include "export/report/show.h"

enum {
	PIECE_MAX_BYTES = 1 << 16,
	WORD_WIDTH_MIN = 12,
	KEPT = 3, /* columns for a mark and an ellipsis behind a word */
};

void st_flow_init(struct st_flow *flow, struct st_buf *out, unsigned int width, unsigned int indent)
{
	*flow = (struct st_flow){out, width, indent, indent, 1, {0}};
	st_buf_init(&flow->piece, PIECE_MAX_BYTES);
}

static bool is_full(const struct st_flow *flow, size_t more)
{
	return flow->width && flow->at > flow->indent && flow->at + more > flow->width;
}

/* Moves on to where a piece of this width goes. */
static void move_on(struct st_flow *flow, const char *gap, unsigned int width)
{
	if (flow->at == flow->indent)
		return;
	if (!is_full(flow, strlen(gap) + width)) {
		st_flow_mark(flow, gap);
		return;
	}
	st_show_end_line(flow->out);
	st_show_pad(flow->out, 0, flow->indent);
	flow->at = flow->indent;
	flow->lines++;
}

void st_flow_piece(struct st_flow *flow, const char *gap)
{
	unsigned int width = 0;

	for (size_t i = 0; i < flow->piece.size_bytes; i++)
		width += (flow->piece.data[i] & 0xc0) != 0x80;
	move_on(flow, gap, width);
	st_show_move(flow->out, &flow->piece);
	st_buf_init(&flow->piece, PIECE_MAX_BYTES);
	flow->at += width;
}

void st_flow_cell(struct st_flow *flow, const char *gap, const char *word,
		  const struct st_cell *cell, const char *unit)
{
	st_buf_append_text(&flow->piece, word);
	st_show_cell(&flow->piece, cell, unit, 0);
	st_flow_piece(flow, gap);
}

static bool add_word(struct st_flow *flow, struct st_text word, unsigned int lines_max)
{
	unsigned int room = 0, width;
	struct st_buf shown;

	if (flow->width)
		room = flow->width > flow->indent + KEPT + WORD_WIDTH_MIN
			       ? flow->width - flow->indent - KEPT
			       : WORD_WIDTH_MIN;
	st_buf_init(&shown, PIECE_MAX_BYTES);
	width = st_show_text(&shown, word, room);
	if (flow->lines == lines_max && is_full(flow, 1 + width + KEPT)) {
		st_buf_fini(&shown);
		return false;
	}
	move_on(flow, " ", width + KEPT);
	st_show_move(flow->out, &shown);
	flow->at += width;
	return true;
}

bool st_flow_words(struct st_flow *flow, struct st_text text, unsigned int lines_max)
{
	const char *at = text.bytes, *end = text.bytes + text.size_bytes;

	while (at < end) {
		const char *blank = memchr(at, ' ', (size_t)(end - at));
		const char *stop = blank ? blank : end;

		/* A figure stays with the word behind it. */
		if (at == text.bytes && blank && *at >= '0' && *at <= '9') {
			blank = memchr(blank + 1, ' ', (size_t)(end - blank - 1));
			stop = blank ? blank : end;
		}
		if (stop > at &&
		    !add_word(flow, (struct st_text){at, (size_t)(stop - at)}, lines_max))
			return false;
		at = stop + 1;
	}
	return true;
}

void st_flow_text(struct st_flow *flow, const char *text)
{
	st_flow_words(flow, (struct st_text){text, strlen(text)}, 0);
}

void st_flow_lines(struct st_buf *out, unsigned int width, const char *text)
{
	while (*text) {
		size_t size = strcspn(text, "\n");
		struct st_flow flow;

		st_flow_init(&flow, out, width, 0);
		st_flow_words(&flow, (struct st_text){text, size}, 0);
		st_flow_end(&flow);
		text += size + (text[size] == '\n');
	}
}

void st_flow_mark(struct st_flow *flow, const char *mark)
{
	st_buf_append_text(flow->out, mark);
	flow->at += (unsigned int)strlen(mark);
}

void st_flow_end(struct st_flow *flow)
{
	st_show_end_line(flow->out);
	st_buf_fini(&flow->piece);
}
