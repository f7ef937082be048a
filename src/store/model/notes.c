// SPDX-License-Identifier: Apache-2.0
//
// The bounded list of sentences of store/model/notes.h. A note that finds no memory is counted as left out.
#include "store/model/notes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void st_notes_fini(struct st_notes *notes)
{
	if (!notes)
		return;
	for (size_t i = 0; i < notes->count; i++)
		free(notes->items[i]);
	memset(notes, 0, sizeof(*notes));
}

static void keep(struct st_notes *notes, const char *text)
{
	char *copy = strdup(text);

	if (!copy) {
		notes->left_out++;
		return;
	}
	for (char *c = copy; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	}
	notes->items[notes->count++] = copy;
}

void st_notes_add(struct st_notes *notes, const char *fmt, ...)
{
	char text[ST_NOTE_BYTES_MAX];
	va_list args;

	if (notes->count >= ST_NOTES_MAX) {
		notes->left_out++;
		return;
	}
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	keep(notes, text);
}

void st_notes_append(struct st_notes *notes, const struct st_notes *more)
{
	for (size_t i = 0; i < more->count; i++)
		st_notes_add(notes, "%s", more->items[i]);
	notes->left_out += more->left_out;
}

void st_notes_close(struct st_notes *notes)
{
	char text[64];

	if (!notes->left_out || notes->count > ST_NOTES_MAX)
		return;
	snprintf(text, sizeof(text), "and %" PRIu64 " more notes", notes->left_out);
	notes->left_out = 0;
	keep(notes, text);
}
