/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the CFI decoder: a reader that never leaves its bytes, and the few expressions that are rules.
 */
#ifndef ST_UNWIND_CFI_READ_H
#define ST_UNWIND_CFI_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"

/* Once failed, everything read is 0. */
struct st_cfi_reader {
	const uint8_t *at, *stop;
	bool failed;
};

/* Millions of both are read: they are here so that they are no calls. */
static inline uint8_t st_cfi_u8(struct st_cfi_reader *reader)
{
	uint8_t value = 0;

	if (reader->failed || reader->at == reader->stop)
		reader->failed = true;
	else
		value = *reader->at++;
	return value;
}

uint16_t st_cfi_u16(struct st_cfi_reader *reader);
uint32_t st_cfi_u32(struct st_cfi_reader *reader);
uint64_t st_cfi_u64(struct st_cfi_reader *reader);
uint64_t st_cfi_uleb_long(struct st_cfi_reader *reader);
static inline uint64_t st_cfi_uleb(struct st_cfi_reader *reader)
{
	/* Nearly all have one byte. */
	if (!reader->failed && reader->at < reader->stop && *reader->at < 0x80)
		return *reader->at++;
	return st_cfi_uleb_long(reader);
}

int64_t st_cfi_sleb(struct st_cfi_reader *reader);
/* A length and that many bytes, as a reader of their own. */
struct st_cfi_reader st_cfi_block(struct st_cfi_reader *reader);

/* Sets the CFA of a state: register, dereferenced register, or the shape that linkers give to the PLT. */
bool st_cfi_cfa_expression(const struct st_unwind_arch *arch, struct st_cfi_reader block,
			   struct st_cfi_state *state);
/* Whether an expression is "frame pointer + offset". */
bool st_cfi_fp_expression(const struct st_unwind_arch *arch, struct st_cfi_reader block,
			  int64_t *offset);

#endif
