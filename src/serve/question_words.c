/* SPDX-License-Identifier: Apache-2.0
 *
 * Words that narrow a question (serve/question_words.h).
 */
#include "serve/question_words.h"

#include <json-c/json.h>

#include "serve/verbs.h"

enum { WORDS_MAX = 1024 };

/* {"words": [name, ...those of the request]}; NULL: no memory. */
static json_object *behind_name(json_object *list, const char *name)
{
	json_object *made = json_object_new_object(), *words = json_object_new_array();
	size_t count = list ? json_object_array_length(list) : 0;

	if (!made || !words || json_object_object_add(made, "words", words)) {
		json_object_put(made);
		json_object_put(words);
		return NULL;
	}
	json_object_array_add(words, json_object_new_string(name));
	for (size_t i = 0; i < count; i++)
		json_object_array_add(words, json_object_get(json_object_array_get_idx(list, i)));
	return made;
}

enum st_status st_question_words(struct st_words *out, const struct st_verb_call *call,
				 const char *command, const char *name, struct st_error *err)
{
	struct st_verb_call inner = *call;
	json_object *list = NULL, *made;
	enum st_status status;

	json_object_object_get_ex(call->ask, "words", &list);
	if (list && (!json_object_is_type(list, json_type_array) ||
		     json_object_array_length(list) > WORDS_MAX))
		return st_error_set(err, ST_EUSAGE, 0,
				    "'words': expected a list of at most %d texts", WORDS_MAX);
	made = behind_name(list, name);
	if (!made)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	inner.ask = made;
	inner.counts[0] = 1;
	inner.counts[1] = 0;
	status = st_words_read(out, &inner, command, err);
	json_object_put(made);
	/* An export has a file to go to; nothing is written into this one. */
	if (!status && out->command == ST_IN_EXPORT)
		status = st_words_add(out, "-output", err);
	if (!status && out->command == ST_IN_EXPORT)
		status = st_words_add(out, "-", err);
	return status ? status : st_words_parse(out, err);
}
