/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of a signature by hand (format/operator.h), for tests.
 */
#ifndef ST_TESTS_SIGNATURE_MAKER_H
#define ST_TESTS_SIGNATURE_MAKER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/operator.h"

struct made_signature {
	uint8_t bytes[2 * ST_SIGNATURE_BYTES_MAX];
	size_t size_bytes;
};

static inline void sig_add(struct made_signature *s, const void *bytes, size_t size_bytes)
{
	memcpy(s->bytes + s->size_bytes, bytes, size_bytes);
	s->size_bytes += size_bytes;
}

static inline void sig_u8(struct made_signature *s, unsigned int value)
{
	uint8_t byte = (uint8_t)value;

	sig_add(s, &byte, 1);
}

static inline void sig_begin(struct made_signature *s, uint32_t domain, uint32_t name,
			     enum st_operator_scope scope, uint16_t inputs)
{
	s->size_bytes = 0;
	sig_add(s, &domain, 4);
	sig_add(s, &name, 4);
	sig_u8(s, scope);
	sig_u8(s, ST_SIGNATURE_INPUTS);
	sig_add(s, &inputs, 2);
}

/* Sizes below 64 take one byte: their double. */
static inline void sig_tensor(struct made_signature *s, unsigned int dtype, unsigned int count,
			      const uint8_t *sizes)
{
	sig_u8(s, ST_INPUT_TENSOR);
	sig_u8(s, dtype);
	sig_u8(s, count);
	for (unsigned int i = 0; i < count; i++)
		sig_u8(s, sizes[i] * 2u);
}

static inline void sig_list(struct made_signature *s, uint16_t count)
{
	sig_u8(s, ST_INPUT_TENSOR_LIST);
	sig_add(s, &count, 2);
}

#endif
