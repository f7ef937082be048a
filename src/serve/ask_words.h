/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of a request as a command line, and back as a request to the engine.
 */
#ifndef ST_SERVE_ASK_WORDS_H
#define ST_SERVE_ASK_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "request/options.h"
#include "request/request.h"

struct st_verb_call;

/* Zeroed: nothing. Owns copies of all texts, so that what was built from them may stay. Not to be moved once parsed. */
struct st_words {
	unsigned int command; /* ST_IN_* */
	char format[8];	      /* of a report: text, csv or json */
	char **argv;	      /* ends with NULL */
	size_t count;
	/* Set by st_words_parse. */
	struct st_args args;
	struct st_request request;
};

/* Reads command (the name otherwise when there is none), format and words of the request; fini is due also after a
 * failure. */
enum st_status st_words_read(struct st_words *words, const struct st_verb_call *call,
			     const char *otherwise, struct st_error *err);
/* One word more, at the end. */
enum st_status st_words_add(struct st_words *words, const char *word, struct st_error *err);
enum st_status st_words_parse(struct st_words *words, struct st_error *err);
bool st_words_equal(const struct st_words *a, const struct st_words *b);
void st_words_fini(struct st_words *words);

#endif
