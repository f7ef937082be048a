/* SPDX-License-Identifier: Apache-2.0
 *
 * Words as they would be typed into a shell, so that a reader can copy a command.
 */
#ifndef ST_BASE_QUOTE_H
#define ST_BASE_QUOTE_H

struct st_buf;

/* Appends text; in single quotes when a shell would take it apart. */
void st_quote_word(struct st_buf *out, const char *text);
/* Words with blanks between them. */
void st_quote_command(struct st_buf *out, int argc, char *const *argv);

#endif
