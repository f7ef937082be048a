// SPDX-License-Identifier: Apache-2.0
//
// Inputs of a signature one after the other, and torch's types of numbers (store/operators.h).
#include "store/operators.h"

#include "format/signature.h"

void st_input_begin(struct st_input_reader *reader, const struct st_signature *signature)
{
	reader->at = signature->inputs;
	reader->end = signature->inputs + signature->inputs_bytes;
}

bool st_input_next(struct st_input_reader *reader, struct st_input *out)
{
	struct st_input_head head;

	if (!st_input_read(&reader->at, reader->end, &head))
		return false;
	out->kind = head.kind;
	out->list = head.kind == ST_INPUT_TENSOR_LIST ? head.count : 0;
	out->dtype = head.dtype;
	out->dimension_count = head.kind == ST_INPUT_TENSOR ? head.count : 0;
	out->integer_count = 0;
	if (st_input_has_numbers(head.kind) && head.kind != ST_INPUT_TENSOR)
		out->integer_count = head.count;
	for (uint32_t i = 0; i < out->dimension_count + out->integer_count; i++)
		if (!st_input_size(&reader->at, reader->end, &out->sizes[i]))
			return false;
	return true;
}

struct dtype {
	const char *name;
	uint8_t bytes;
};

/* By torch's ScalarType. */
static const struct dtype dtypes[] = {
	{"unsigned char", 1},
	{"signed char", 1},
	{"short int", 2},
	{"int", 4},
	{"long int", 8},
	{"c10::Half", 2},
	{"float", 4},
	{"double", 8},
	{"c10::complex<c10::Half>", 4},
	{"c10::complex<float>", 8},
	{"c10::complex<double>", 16},
	{"bool", 1},
	{"c10::qint8", 1},
	{"c10::quint8", 1},
	{"c10::qint32", 4},
	{"c10::BFloat16", 2},
	{"c10::quint4x2", 1},
	{"c10::quint2x4", 1},
	{"c10::bits1x8", 1},
	{"c10::bits2x4", 1},
	{"c10::bits4x2", 1},
	{"c10::bits8", 1},
	{"c10::bits16", 2},
	{"c10::Float8_e5m2", 1},
	{"c10::Float8_e4m3fn", 1},
	{"c10::Float8_e5m2fnuz", 1},
	{"c10::Float8_e4m3fnuz", 1},
	{"short unsigned int", 2},
	{"unsigned int", 4},
	{"long unsigned int", 8},
	{"c10::dummy_uint1_7_t<1>", 1},
	{"c10::dummy_uint1_7_t<2>", 1},
	{"c10::dummy_uint1_7_t<3>", 1},
	{"c10::dummy_uint1_7_t<4>", 1},
	{"c10::dummy_uint1_7_t<5>", 1},
	{"c10::dummy_uint1_7_t<6>", 1},
	{"c10::dummy_uint1_7_t<7>", 1},
	{"c10::dummy_int1_7_t<1>", 1},
	{"c10::dummy_int1_7_t<2>", 1},
	{"c10::dummy_int1_7_t<3>", 1},
	{"c10::dummy_int1_7_t<4>", 1},
	{"c10::dummy_int1_7_t<5>", 1},
	{"c10::dummy_int1_7_t<6>", 1},
	{"c10::dummy_int1_7_t<7>", 1},
	{"c10::Float8_e8m0fnu", 1},
	{"c10::Float4_e2m1fn_x2", 1},
};

const char *st_dtype_name(uint32_t dtype)
{
	return dtype < sizeof(dtypes) / sizeof(dtypes[0]) ? dtypes[dtype].name : "?";
}

uint32_t st_dtype_bytes(uint32_t dtype)
{
	return dtype < sizeof(dtypes) / sizeof(dtypes[0]) ? dtypes[dtype].bytes : 0;
}
