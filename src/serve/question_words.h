/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of a request that only narrow a question (-filter, -time-filter, -call-stack-mode …), as the command line
 * takes them.
 */
#ifndef ST_SERVE_QUESTION_WORDS_H
#define ST_SERVE_QUESTION_WORDS_H

#include "serve/ask_words.h"

/* Reads and parses the list "words" of the call behind the name of a report or format that takes such words. Fini
 * (st_words_fini) is due also after a failure. */
enum st_status st_question_words(struct st_words *out, const struct st_verb_call *call,
				 const char *command, const char *name, struct st_error *err);

#endif
