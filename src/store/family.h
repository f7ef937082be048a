/* SPDX-License-Identifier: Apache-2.0
 *
 * The family of a label: its name with each number folded to '*', so that iteration_0, iteration_1 …
 * are one row. Digits between two letters (conv2d) are part of a word and stay.
 */
#ifndef ST_STORE_FAMILY_H
#define ST_STORE_FAMILY_H

#include <stdbool.h>

#include "store/result.h"
#include "store/text_table.h"

/* Writes the folded name, at most as long as the text, and returns its length. */
size_t st_family_fold(struct st_text text, char *out);
bool st_family_of(struct st_text_table *texts, st_string_id name, st_string_id *out);

#endif
