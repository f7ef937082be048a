// SPDX-License-Identifier: Apache-2.0
//
// The decoder of pf_decode.h.
#include "pf_decode.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

static uint64_t take_varint(struct pf_message *message)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		uint8_t byte;

		assert_true(message->at < message->end);
		byte = *message->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			assert_true(byte || !shift); /* as short as can be */
			return value;
		}
	}
	fail_msg("a number without an end");
	return 0;
}

bool pf_take_field(struct pf_message *message, struct pf_field *field)
{
	uint64_t tag;

	if (message->at == message->end)
		return false;
	tag = take_varint(message);
	*field = (struct pf_field){.number = tag >> 3, .has_bytes = (tag & 7) == 2};
	assert_true((tag & 7) <= 2);
	if ((tag & 7) == 1) { /* eight bytes */
		assert_true(message->end - message->at >= 8);
		for (unsigned int i = 0; i < 8; i++)
			field->value |= (uint64_t)*message->at++ << 8 * i;
		return true;
	}
	field->value = take_varint(message);
	if (field->has_bytes) {
		assert_true(field->value <= (uint64_t)(message->end - message->at));
		field->bytes = (struct pf_message){message->at, message->at + field->value};
		message->at += field->value;
	}
	return true;
}

bool pf_find(struct pf_message message, uint64_t number, struct pf_field *found)
{
	struct pf_field field;
	bool has = false;

	while (pf_take_field(&message, &field)) {
		if (field.number != number)
			continue;
		assert_false(has);
		*found = field;
		has = true;
	}
	return has;
}

uint64_t pf_number_of(struct pf_message message, uint64_t number, uint64_t otherwise)
{
	struct pf_field field;

	return pf_find(message, number, &field) ? field.value : otherwise;
}

double pf_double_of(struct pf_message message, uint64_t number)
{
	uint64_t bits = pf_number_of(message, number, 0);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

void pf_check_text(struct pf_message message, uint64_t number, const void *bytes, size_t size)
{
	struct pf_field field;

	assert_true(pf_find(message, number, &field) && field.has_bytes);
	assert_int_equal(field.value, size);
	assert_memory_equal(field.bytes.at, bytes, size);
}
