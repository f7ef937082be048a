/* SPDX-License-Identifier: Apache-2.0
 *
 * Sentences about a result that a report shows: damage, what is missing, warnings of the collector. A
 * fixed number of them, because a badly damaged file would otherwise say the same thing forever.
 */
#ifndef ST_STORE_MODEL_NOTES_H
#define ST_STORE_MODEL_NOTES_H

#include <stddef.h>
#include <stdint.h>

enum { ST_NOTES_MAX = 64, ST_NOTE_BYTES_MAX = 1024 };

struct st_notes {
	char *items[ST_NOTES_MAX + 1]; /* owned; one more for "and N further notes" */
	size_t count;
	uint64_t left_out;
};

void st_notes_fini(struct st_notes *notes);
/* Control characters become '?', so that a note never changes a terminal. */
void st_notes_add(struct st_notes *notes, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void st_notes_append(struct st_notes *notes, const struct st_notes *more);
/* Adds the sentence about what was left out; once, at the end. */
void st_notes_close(struct st_notes *notes);

#endif
