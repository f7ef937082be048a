// SPDX-License-Identifier: Apache-2.0
#include "operators_result.h"

#include <string.h>

struct made {
	const char *name;
	int64_t begin_ns, end_ns;
	uint32_t parent;
	uint32_t scope;
	int64_t sequence;
	const uint8_t *inputs;
	uint32_t inputs_bytes, input_count;
	uint32_t track;
};

/* As format/operator.h has them: two floats [2, 3] and [3, 70], a scalar, something else. */
static const uint8_t product[] = {
	ST_INPUT_TENSOR, 6, 2, 4, 6, ST_INPUT_TENSOR, 6, 2, 6, 0x8c, 1, ST_INPUT_SCALAR,
	ST_INPUT_OTHER};
/* A list of a double [5] and an undefined one; a scalar. */
static const uint8_t list[] = {
	ST_INPUT_TENSOR_LIST, 2, 0, ST_INPUT_TENSOR, 7, 1, 10, ST_INPUT_UNDEFINED, ST_INPUT_SCALAR};

static const struct made rows[OPERATORS_ROWS] = {
	[OPERATORS_RANGE] = {"a \"range\"\n", 1000, 9000, ST_NO_ROW, ST_SCOPE_USER, -1, NULL, 0, 0,
			     0},
	[OPERATORS_MODULE] = {"Net.head", 1100, 3000, OPERATORS_RANGE, ST_SCOPE_MODULE, -1, NULL, 0,
			      0, 0},
	[OPERATORS_OUTER] = {"aten::linear", 1200, 2900, OPERATORS_MODULE, ST_SCOPE_FUNCTION, 7,
			     product, sizeof(product), 4, 0},
	[OPERATORS_FORWARD] = {"aten::addmm", 1300, 2800, OPERATORS_OUTER, ST_SCOPE_FUNCTION, 7,
			       product, sizeof(product), 4, 0},
	[OPERATORS_WRAPPER] = {"autograd::engine::evaluate_function: AddmmBackward0", 4000, 6000,
			       OPERATORS_RANGE, ST_SCOPE_FUNCTION, -1, NULL, 0, 0, 0},
	[OPERATORS_BACKWARD] = {"AddmmBackward0", 4100, 5900, OPERATORS_WRAPPER, ST_SCOPE_BACKWARD,
				7, product, sizeof(product), 4, 0},
	[OPERATORS_INSIDE] = {"aten::mm", 4200, 5000, OPERATORS_BACKWARD, ST_SCOPE_FUNCTION, -1,
			      product, sizeof(product), 4, 0},
	[OPERATORS_CAT] = {"aten::cat", 6500, 7000, OPERATORS_RANGE, ST_SCOPE_FUNCTION, -1, list,
			   sizeof(list), 2, 0},
	[OPERATORS_CROSSING] = {"crossing", 8000, 9500, OPERATORS_RANGE, ST_SCOPE_USER, -1, NULL, 0,
				0, 0},
	[OPERATORS_CROSSED] = {"aten::relu", 8100, 8200, OPERATORS_CROSSING, ST_SCOPE_FUNCTION, -1,
			       NULL, 0, 0, 0},
	[OPERATORS_OTHER] = {"aten::ones", 1500, 1600, ST_NO_ROW, ST_SCOPE_FUNCTION, -1, NULL, 0, 0,
			     1},
};

static void add_row(struct st_result *fake, const struct made *made)
{
	const char *domain = made->scope == ST_SCOPE_USER     ? ST_RANGE_DOMAIN
			     : made->scope == ST_SCOPE_MODULE ? ST_MODULE_DOMAIN
							      : ST_OPERATOR_DOMAIN;
	uint32_t label = fake_label(fake, domain, made->name);
	uint32_t row = fake_slice(fake, label, made->begin_ns, made->end_ns, made->parent);

	fake->signatures[fake->signature_count] =
		(struct st_signature){.name = fake_text(fake, made->name),
				      .scope = made->scope,
				      .flags = ST_SIGNATURE_INPUTS,
				      .input_count = made->input_count,
				      .inputs = made->inputs,
				      .inputs_bytes = made->inputs_bytes};
	fake->operators[fake->operator_count++] = (struct st_operator){
		.row = row, .signature = fake->signature_count++, .sequence = made->sequence};
}

struct st_result *operators_create(void)
{
	static const struct st_memory_moment moments[] = {
		{1400, 0, OPERATORS_FORWARD, 500, 0, 0, 0, 0, 0},
		{2000, 0, OPERATORS_FORWARD, 300, 200, 300, 0, 0, 0}, /* up, then down */
		{4300, 0, OPERATORS_INSIDE, 100, 400, 0, 0, 0, 0},    /* down first */
		{5000, 0, OPERATORS_INSIDE, 90, 50, 60, 0, 0, 0},     /* up to the peak, down, up */
		{6600, 0, OPERATORS_CAT, 0, 10, 0, 0, 0, 0},
	};
	struct st_result *fake = fake_create();

	fake_process(fake, "train.py", 100);
	fake_track(fake, 0, "", 100);
	for (uint32_t i = 0; i < OPERATORS_ROWS; i++) {
		if (rows[i].track != (i ? rows[i - 1].track : 0))
			fake_track(fake, 0, "wor\"ker", 101);
		add_row(fake, &rows[i]);
	}
	memcpy(fake->moments, moments, sizeof(moments));
	fake->moment_count = sizeof(moments) / sizeof(moments[0]);
	fake->info.start_wall_ns = UINT64_C(1790857026000000000) + 5000;
	fake->info.collected_ns = 10000;
	fake_finish(fake);
	return fake;
}
