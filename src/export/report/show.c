// SPDX-License-Identifier: Apache-2.0
//
// Values for people.
#include "export/report/show.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_out.h"

enum { FIGURE_MAX_BYTES = 4096 };

/* Decodes one character of clean UTF-8. */
static uint32_t decode(const uint8_t *p, size_t *length)
{
	if (p[0] < 0x80) {
		*length = 1;
		return p[0];
	}
	if (p[0] < 0xe0) {
		*length = 2;
		return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
	}
	if (p[0] < 0xf0) {
		*length = 3;
		return (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
	}
	*length = 4;
	return (p[0] & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
}

/* Columns of a character on common terminals: enough for East Asian text and emoji; rare scripts may be
 * a column off. */
static unsigned int character_width(uint32_t c)
{
	if ((c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200f) || c == 0xfeff ||
	    (c >= 0xfe00 && c <= 0xfe0f))
		return 0;
	if ((c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
	    (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
	    (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
	    (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd))
		return 2;
	return 1;
}

/* One character as shown, into piece; returns its columns. C1 controls and the marks that turn the
 * direction of writing around could disturb the terminal as much as an escape does. */
static unsigned int show_character(const uint8_t *p, size_t length, uint32_t c, char *piece,
				   size_t capacity)
{
	if (c == '\n' || c == '\r' || c == '\t')
		snprintf(piece, capacity, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
	else if (c < 0x20 || c == 0x7f)
		snprintf(piece, capacity, "\\x%02x", c);
	else if ((c >= 0x80 && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
		 (c >= 0x2066 && c <= 0x2069) || c == 0x2028 || c == 0x2029)
		snprintf(piece, capacity, "\\u%04x", c);
	else {
		snprintf(piece, capacity, "%.*s", (int)length, (const char *)p);
		return character_width(c);
	}
	return (unsigned int)strlen(piece);
}

unsigned int st_show_text(struct st_buf *out, struct st_text text, unsigned int max_width)
{
	struct st_buf clean;
	size_t start = out->size_bytes, fits = start;
	unsigned int width = 0, fit_width = 0;
	/* More bytes than these cannot be shown in that width, combining characters aside. */
	size_t look = max_width ? (size_t)max_width * 16 + 64 : text.size_bytes;

	st_buf_init(&clean, SIZE_MAX / 4);
	st_utf8_append_clean(&clean, text.bytes, text.size_bytes < look ? text.size_bytes : look);
	for (size_t at = 0; at < clean.size_bytes;) {
		char piece[16];
		size_t length;
		uint32_t c = decode(clean.data + at, &length);
		unsigned int mine =
			show_character(clean.data + at, length, c, piece, sizeof(piece));

		if (max_width && width + mine > max_width) {
			/* Back to where an ellipsis still fits. */
			out->size_bytes = fits;
			st_buf_append_text(out, "…");
			width = fit_width + 1;
			break;
		}
		st_buf_append_text(out, piece);
		width += mine;
		if (width + 1 <= max_width) {
			fits = out->size_bytes;
			fit_width = width;
		}
		at += length;
	}
	if (clean.failed)
		out->failed = true;
	st_buf_fini(&clean);
	return width;
}

unsigned int st_show_path(struct st_buf *out, struct st_text path, unsigned int max_width)
{
	size_t start;
	const char *slash;

	if (path.size_bytes <= max_width)
		return st_show_text(out, path, max_width);
	start = path.size_bytes - (max_width - 1);
	slash = memchr(path.bytes + start, '/', path.size_bytes - start);
	if (slash)
		start = (size_t)(slash - path.bytes);
	while (start < path.size_bytes && ((uint8_t)path.bytes[start] & 0xc0) == 0x80)
		start++;
	st_buf_append_text(out, "…");
	path.bytes += start;
	path.size_bytes -= start;
	return 1 + st_show_text(out, path, max_width - 1);
}

unsigned int st_show_command(struct st_buf *out, struct st_text command, unsigned int max_width)
{
	const char *blank = memchr(command.bytes, ' ', command.size_bytes);
	size_t program_size = blank ? (size_t)(blank - command.bytes) : command.size_bytes;
	size_t name = program_size;

	if (max_width && command.size_bytes > max_width && program_size > max_width / 2) {
		while (name > 0 && command.bytes[name - 1] != '/')
			name--;
		command.bytes += name;
		command.size_bytes -= name;
	}
	return st_show_text(out, command, max_width);
}

void st_show_duration(struct st_buf *out, uint64_t ns)
{
	static const struct {
		uint64_t limit;
		double scale;
		const char *unit;
	} units[] = {{1000000, 1e3, "us"}, {1000000000, 1e6, "ms"}, {UINT64_MAX, 1e9, "s"}};
	unsigned int i = 0;
	double value;

	if (ns < 1000) {
		st_buf_printf(out, "%llu ns", (unsigned long long)ns);
		return;
	}
	/* 999,950 ns would be shown as 1000.0 us: take the next unit before that. */
	while (ns >= units[i].limit - units[i].limit / 20000 && units[i].limit != UINT64_MAX)
		i++;
	value = (double)ns / units[i].scale;
	st_buf_printf(out, "%.*f %s", value < 10 ? 2 : 1, value, units[i].unit);
}

void st_show_bytes(struct st_buf *out, uint64_t bytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
	double value = (double)bytes / 1000.0;
	unsigned int i = 0;

	if (bytes < 1000) {
		st_buf_printf(out, "%llu B", (unsigned long long)bytes);
		return;
	}
	while (value >= 999.95 && i < 5) {
		value /= 1000.0;
		i++;
	}
	st_buf_printf(out, "%.1f %s", value, units[i]);
}

void st_show_percent(struct st_buf *out, double ratio)
{
	if (ratio > 0 && ratio < 0.0005)
		st_buf_append_text(out, "<0.1 %");
	else
		st_buf_printf(out, "%.1f %%", ratio * 100.0);
}

static void show_number(struct st_buf *out, uint64_t value, const char *unit)
{
	if (strcmp(unit, "ns") == 0)
		st_show_duration(out, value);
	else if (strcmp(unit, "bytes") == 0)
		st_show_bytes(out, value);
	else if (strcmp(unit, "id") == 0)
		st_buf_printf(out, "%llu", (unsigned long long)value);
	else
		st_buf_append_count(out, value);
}

unsigned int st_show_cell(struct st_buf *out, const struct st_cell *cell, const char *unit,
			  unsigned int max_width)
{
	size_t before = out->size_bytes;

	switch (cell->kind) {
	case ST_CELL_TEXT:
		return st_show_text(out, cell->as.text, max_width);
	case ST_CELL_U64:
		show_number(out, cell->as.u64, unit);
		break;
	case ST_CELL_I64:
		if (cell->as.i64 < 0)
			st_buf_append_u8(out, '-');
		show_number(out,
			    cell->as.i64 < 0 ? 0 - (uint64_t)cell->as.i64 : (uint64_t)cell->as.i64,
			    unit);
		break;
	case ST_CELL_DOUBLE:
		if (strcmp(unit, "ratio") == 0)
			st_show_percent(out, cell->as.number);
		else if (*unit && cell->as.number >= 0.0 && cell->as.number < 1e18)
			show_number(out, (uint64_t)(cell->as.number + 0.5), unit);
		else
			st_buf_printf(out, "%.3f", cell->as.number);
		break;
	case ST_CELL_BOOL:
		st_buf_append_text(out, cell->as.truth ? "yes" : "no");
		break;
	default:
		break;
	}
	return (unsigned int)(out->size_bytes - before);
}

unsigned int st_show_name(struct st_buf *out, const struct st_cell *cell, unsigned int max_width)
{
	static const struct st_cell none = {.kind = ST_CELL_TEXT, .as.text = {"[no name]", 9}};

	if (cell->kind == ST_CELL_TEXT && cell->as.text.size_bytes == 0)
		cell = &none;
	return st_show_cell(out, cell, "", max_width);
}

void st_show_right(struct st_buf *out, const struct st_cell *cell, const char *unit,
		   unsigned int width)
{
	struct st_buf scratch;

	st_buf_init(&scratch, FIGURE_MAX_BYTES);
	st_show_pad(out, st_show_cell(&scratch, cell, unit, 0), width);
	st_show_move(out, &scratch);
}

void st_show_move(struct st_buf *out, struct st_buf *scratch)
{
	st_buf_append(out, scratch->data, scratch->size_bytes);
	if (scratch->failed)
		out->failed = true;
	st_buf_fini(scratch);
}

void st_show_pad(struct st_buf *out, unsigned int from, unsigned int to)
{
	for (; from < to; from++)
		st_buf_append_u8(out, ' ');
}

void st_show_end_line(struct st_buf *out)
{
	while (out->size_bytes && out->data[out->size_bytes - 1] == ' ')
		out->size_bytes--;
	st_buf_append_u8(out, '\n');
}

void st_show_bar(struct st_buf *out, double ratio, unsigned int width)
{
	unsigned int filled = ratio <= 0 ? 0 : (unsigned int)(ratio * width + 0.5);

	for (unsigned int i = 0; i < width; i++)
		st_buf_append_u8(out, i < filled ? '#' : ' ');
}
