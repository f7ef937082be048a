/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of formatted metadata, as they are: the text is made outside (format/conversion.h). Safe in handlers.
 */
#ifndef ST_COLLECT_INPROC_ITT_ARGUMENTS_H
#define ST_COLLECT_INPROC_ITT_ARGUMENTS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/inproc/core/state.h"

#pragma GCC visibility push(hidden)

enum { ST_ARGUMENT_WORDS = 96 };

/* Pieces of the data, to be written before the program goes on: strings and the format stay where they are. */
struct st_arguments {
	struct st_part parts[2 * ST_ARGUMENT_WORDS + 2];
	uint64_t words[ST_ARGUMENT_WORDS];
	uint32_t part_count, word_count;
	bool cut; /* more than there is room for */
};

void st_arguments_pack(struct st_arguments *out, const char *format, va_list list);

#pragma GCC visibility pop

#endif
