// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a signature (format/signature.h).
#include "format/signature.h"

#include <string.h>

#include "format/varint.h"

static bool read_u8(const uint8_t **at, const uint8_t *end, uint32_t *out)
{
	if (*at == end)
		return false;
	*out = *(*at)++;
	return true;
}

static bool read_u16(const uint8_t **at, const uint8_t *end, uint32_t *out)
{
	uint16_t value;

	if (end - *at < (ptrdiff_t)sizeof(value))
		return false;
	memcpy(&value, *at, sizeof(value));
	*at += sizeof(value);
	*out = value;
	return true;
}

bool st_input_read(const uint8_t **at, const uint8_t *end, struct st_input_head *out)
{
	uint32_t kind;

	*out = (struct st_input_head){.kind = ST_INPUT_OTHER};
	if (!read_u8(at, end, &kind))
		return false;
	out->kind = (enum st_operator_input)kind;
	switch (kind) {
	case ST_INPUT_TENSOR:
		return read_u8(at, end, &out->dtype) && read_u8(at, end, &out->count) &&
		       out->count <= ST_INPUT_DIMENSIONS_MAX;
	case ST_INPUT_TENSOR_LIST:
		return read_u16(at, end, &out->count);
	case ST_INPUT_INTEGER:
		out->count = 1;
		return true;
	case ST_INPUT_INTEGER_LIST:
		return read_u16(at, end, &out->count) && out->count <= ST_INPUT_DIMENSIONS_MAX;
	case ST_INPUT_OTHER:
	case ST_INPUT_UNDEFINED:
	case ST_INPUT_SCALAR:
	case ST_INPUT_SCALAR_LIST:
		return true;
	default:
		return false;
	}
}

bool st_input_has_numbers(enum st_operator_input kind)
{
	return kind == ST_INPUT_TENSOR || kind == ST_INPUT_INTEGER || kind == ST_INPUT_INTEGER_LIST;
}

bool st_input_size(const uint8_t **at, const uint8_t *end, int64_t *out)
{
	uint64_t value;

	if (!st_varint_get(at, end, &value))
		return false;
	*out = st_unzigzag(value);
	return true;
}

bool st_signature_read(struct st_signature_head *out, const void *bytes, size_t size_bytes)
{
	const uint8_t *at = bytes, *end = at + size_bytes;
	struct st_input_head input;
	uint32_t listed = 0;
	int64_t size;

	_Static_assert(sizeof(*out) == ST_SIGNATURE_HEAD_BYTES,
		       "it lies in the ring as it lies in memory");
	if (size_bytes < sizeof(*out) || size_bytes > ST_SIGNATURE_BYTES_MAX)
		return false;
	memcpy(out, at, sizeof(*out));
	at += sizeof(*out);
	for (uint32_t left = out->inputs; left || listed;) {
		bool is_listed = listed > 0;

		if (!st_input_read(&at, end, &input))
			return false;
		if (is_listed)
			listed--;
		else
			left--;
		/* A list holds tensors, no lists. */
		if (input.kind == ST_INPUT_TENSOR_LIST) {
			if (is_listed)
				return false;
			listed = input.count;
		}
		for (uint32_t i = 0; st_input_has_numbers(input.kind) && i < input.count; i++)
			if (!st_input_size(&at, end, &size))
				return false;
	}
	return at == end;
}
