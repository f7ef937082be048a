/* SPDX-License-Identifier: Apache-2.0
 *
 * An answer that is a file: written to a temporary folder, since some formats can only be written to files, opened,
 * and removed from the folder at once.
 */
#ifndef ST_SERVE_ASK_FILE_H
#define ST_SERVE_ASK_FILE_H

#include "base/error.h"

struct st_request;
struct st_verb_call;
struct st_words;

struct st_answer_file {
	char folder[256], path[512];
};

/* Names the file in the call, and adds its place to the words. Fini is due also after a failure. */
enum st_status st_answer_file_init(struct st_answer_file *file, struct st_verb_call *call,
				   struct st_words *words, struct st_error *err);
enum st_status st_answer_file_write(struct st_answer_file *file, struct st_verb_call *call,
				    const struct st_request *request, struct st_error *err);
void st_answer_file_fini(struct st_answer_file *file);

#endif
