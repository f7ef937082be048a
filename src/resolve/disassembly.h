/* SPDX-License-Identifier: Apache-2.0
 *
 * The instructions of a function, from the file that ran.
 */
#ifndef ST_RESOLVE_DISASSEMBLY_H
#define ST_RESOLVE_DISASSEMBLY_H

#include "resolve/named.h"

struct st_instruction {
	uint64_t address;
	uint32_t size_bytes;
	bool starts_block;  /* something jumps here, or the instruction before it goes elsewhere */
	const char *text;   /* "call 0x1139 <part_plain>" */
	const char *source; /* "" and 0: not known */
	uint32_t line;
};

struct st_disassembly {
	struct st_instruction *items; /* by address */
	uint32_t count;
	void *memory;
};

/* ST_ENOTFOUND, saying why, when the code cannot be had: no bounds, file gone or changed. */
enum st_status st_disassembly_open(struct st_disassembly *out, const struct st_named *named,
				   uint32_t function, const struct st_named_options *options,
				   struct st_error *err);
void st_disassembly_close(struct st_disassembly *disassembly);

#endif
