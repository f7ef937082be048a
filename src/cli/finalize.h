/* SPDX-License-Identifier: Apache-2.0
 *
 * Gives the stacks of a result their names and keeps them in its folder: at the end of a collection, and by
 * strata finalize.
 */
#ifndef ST_CLI_FINALIZE_H
#define ST_CLI_FINALIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct st_args;
struct st_result;

struct st_finalized {
	uint32_t stacks, functions, modules;
	uint64_t unknown_frames, no_symbol_frames, modules_missing, modules_changed;
};

/* With the search folders of args; redo: whatever was kept before. A result without samples is left alone. */
enum st_status st_finalize(const struct st_result *result, const struct st_args *args, bool redo,
			   struct st_finalized *out, struct st_error *err);

#endif
