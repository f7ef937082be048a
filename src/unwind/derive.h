/* SPDX-License-Identifier: Apache-2.0
 *
 * Unwind rules read off the code of a function: its pushes and pops, what it does to the stack pointer and
 * where it keeps the caller's frame pointer are followed from instruction to instruction and along its jumps. For
 * functions without call frame information whose bounds are known: by a symbol, or because a JIT compiler said so.
 */
#ifndef ST_UNWIND_DERIVE_H
#define ST_UNWIND_DERIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rt/table.h"

enum { ST_DERIVE_STATES_MAX = 512, ST_DERIVE_CODE_MAX_BYTES = 4 << 20 };

typedef void (*st_derive_row_fn)(void *arg, uint64_t address, const struct st_unwind_rule *rule);

struct st_derive; /* memory that is used again for each function */

struct st_derive *st_derive_create(uint16_t machine); /* NULL: no memory, or no such machine */
void st_derive_destroy(struct st_derive *derive);
/* Calls row for every change of rule, the first at `address`. Where the code cannot be followed the rule is
 * ST_CFA_UNKNOWN. False: nothing is known at all. */
bool st_derive_run(struct st_derive *derive, const uint8_t *code, size_t size_bytes,
		   uint64_t address, st_derive_row_fn row, void *arg);

#endif
