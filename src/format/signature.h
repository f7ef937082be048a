/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the bytes of a signature (format/operator.h): from a ring or from a file, so never trusted.
 */
#ifndef ST_FORMAT_SIGNATURE_H
#define ST_FORMAT_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/operator.h"

enum { ST_SIGNATURE_HEAD_BYTES = 12 };

struct st_signature_head {
	uint32_t domain, name; /* ids of the process */
	uint8_t scope, flags;
	uint16_t inputs;
};

/* One input; the sizes are at *at when it is a tensor, the values when it is an integer or a list of them. */
struct st_input_head {
	enum st_operator_input kind;
	uint32_t
		count; /* tensor: dimensions; list of tensors: inputs that follow; integers: values */
	uint32_t dtype;
};

/* Whether these bytes are a signature, to the last one. */
bool st_signature_read(struct st_signature_head *out, const void *bytes, size_t size_bytes);
/* The next input; false: there is none. Its sizes, or values, must be read next, one by one. */
bool st_input_read(const uint8_t **at, const uint8_t *end, struct st_input_head *out);
/* Whether `count` numbers follow it. */
bool st_input_has_numbers(enum st_operator_input kind);
bool st_input_size(const uint8_t **at, const uint8_t *end, int64_t *out);

#endif
