/* SPDX-License-Identifier: Apache-2.0
 *
 * The unwind table of code that was made at run time: a JIT compiler says where each piece begins and how long it is,
 * the rules are read off the bytes (derive.h). Addresses in such a table are those of the process: its bias is 0.
 */
#ifndef ST_UNWIND_CODE_H
#define ST_UNWIND_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "unwind/build.h"

struct st_unwind_code {
	uint64_t address;
	const uint8_t *bytes;
	size_t size_bytes;
};

/* One table for pieces that lie near each other; ascending and disjoint. */
enum st_status st_unwind_build_code(struct st_unwind_image *image,
				    const struct st_unwind_code *codes, size_t count,
				    struct st_error *err);

#endif
