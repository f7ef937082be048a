// SPDX-License-Identifier: Apache-2.0
#include "fake_inputs.h"

#include <stdlib.h>

#include "format/operator.h"

enum { FLOAT = 6, DOUBLE = 7, LONG = 4 };

uint32_t fake_inputs(const char *words, uint8_t *out)
{
	uint32_t used = 0;

	while (*words) {
		char kind = *words++;
		uint32_t dims_at;

		if (kind == ' ')
			continue;
		if (kind == 's' || kind == 'o' || kind == 'u') {
			out[used++] = kind == 's'   ? ST_INPUT_SCALAR
				      : kind == 'o' ? ST_INPUT_OTHER
						    : ST_INPUT_UNDEFINED;
			continue;
		}
		if (kind == 'L') {
			out[used++] = ST_INPUT_TENSOR_LIST;
			out[used++] = (uint8_t)(*words++ - '0');
			out[used++] = 0;
			continue;
		}
		out[used++] = kind == 'n'   ? ST_INPUT_INTEGER
			      : kind == '(' ? ST_INPUT_INTEGER_LIST
					    : ST_INPUT_TENSOR;
		if (kind != 'n' && kind != '(')
			out[used++] = kind == 'f' ? FLOAT : kind == 'd' ? DOUBLE : LONG;
		dims_at = kind == 'n' ? FAKE_INPUTS_BYTES_MAX - 1 : used++;
		out[dims_at] = 0;
		if (kind == '(')
			out[used++] = 0;
		while (*words && *words != ' ') {
			uint64_t zigzag = strtoul(words, (char **)(uintptr_t)&words, 10) * 2;

			for (; zigzag >= 0x80; zigzag >>= 7)
				out[used++] = (uint8_t)(zigzag | 0x80);
			out[used++] = (uint8_t)zigzag;
			out[dims_at]++;
			words += *words == ',';
		}
	}
	return used;
}
