/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the protobuf wire format for tests; shares nothing with what writes it. Whatever is not as short
 * or as whole as it must be fails the test.
 */
#ifndef ST_TESTS_UNIT_PF_DECODE_H
#define ST_TESTS_UNIT_PF_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pf_message {
	const uint8_t *at, *end;
};

struct pf_field {
	uint64_t number, value;
	struct pf_message bytes; /* of a field with a length */
	bool has_bytes;
};

bool pf_take_field(struct pf_message *message, struct pf_field *field);
/* The field of that number, which must be there once at most. */
bool pf_find(struct pf_message message, uint64_t number, struct pf_field *found);
uint64_t pf_number_of(struct pf_message message, uint64_t number, uint64_t otherwise);
double pf_double_of(struct pf_message message, uint64_t number);
void pf_check_text(struct pf_message message, uint64_t number, const void *bytes, size_t size);

#endif
