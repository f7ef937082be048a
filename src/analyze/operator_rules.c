// SPDX-License-Identifier: Apache-2.0
//
// Operators whose work is known from the sizes of their inputs, as data. Conventions: a multiplication and an addition
// are two operations; what is added to a product (bias, beta) is not counted, as torch does not; any function of one
// number (exp, tanh) is one operation; all of attention's scores are computed, masked or not; normalising is a
// subtraction, a multiplication and both again for weight and bias, and the statistics of layer and group norm are four
// more (a sum; difference, square, sum). batch_norm has only the former: whether it computes statistics is not told by
// its inputs. An operator in place ("aten::add_") is listed as well: names are compared whole.
//
// Not here because sizes do not decide it: convolutions, whose result depends on stride and padding, and their
// backward, which may leave out gradients.
#include "analyze/operator_work.h"

#include <stddef.h>

#define EACH(name, factor, inputs)                                                                 \
	{                                                                                          \
		"aten::" name, ST_WORK_ELEMENTS, 0, factor, inputs                                 \
	}
#define EACH_TOO(name, factor, inputs) EACH(name, factor, inputs), EACH(name "_", factor, inputs)

/* clang-format off */
const struct st_work_entry st_work_entries[] = {
	{"aten::mm", ST_WORK_MATMUL, 0, 0, 0},
	{"aten::bmm", ST_WORK_MATMUL, 0, 0, 0},
	{"aten::matmul", ST_WORK_MATMUL, 0, 0, 0},
	{"aten::mv", ST_WORK_MATMUL, 0, 0, 0},
	{"aten::dot", ST_WORK_MATMUL, 0, 0, 0},
	{"aten::addmm", ST_WORK_MATMUL, 1, 0, 0},
	{"aten::addmm_", ST_WORK_MATMUL, 1, 0, 0},
	{"aten::_addmm_activation", ST_WORK_MATMUL, 1, 0, 0},
	{"aten::addmv", ST_WORK_MATMUL, 1, 0, 0},
	{"aten::addmv_", ST_WORK_MATMUL, 1, 0, 0},
	{"aten::baddbmm", ST_WORK_MATMUL, 1, 0, 0},
	{"aten::baddbmm_", ST_WORK_MATMUL, 1, 0, 0},
	{"aten::linear", ST_WORK_LINEAR, 0, 0, 0},
	{"aten::conv_transpose1d", ST_WORK_TRANSPOSED, 0, 0, 0},
	{"aten::conv_transpose2d", ST_WORK_TRANSPOSED, 0, 0, 0},
	{"aten::conv_transpose3d", ST_WORK_TRANSPOSED, 0, 0, 0},
	{"aten::scaled_dot_product_attention", ST_WORK_ATTENTION, 0, 0, 0},
	{"aten::_scaled_dot_product_attention_math", ST_WORK_ATTENTION, 0, 0, 0},
	{"aten::_scaled_dot_product_flash_attention", ST_WORK_ATTENTION, 0, 0, 0},
	{"aten::_scaled_dot_product_flash_attention_for_cpu", ST_WORK_ATTENTION, 0, 0, 0},
	{"aten::_scaled_dot_product_efficient_attention", ST_WORK_ATTENTION, 0, 0, 0},
	{"aten::_scaled_dot_product_flash_attention_backward", ST_WORK_ATTENTION_BACKWARD, 0, 0, 0},
	{"aten::_scaled_dot_product_flash_attention_for_cpu_backward", ST_WORK_ATTENTION_BACKWARD, 0, 0, 0},
	{"aten::_scaled_dot_product_efficient_attention_backward", ST_WORK_ATTENTION_BACKWARD, 0, 0, 0},
	EACH_TOO("add", 1, 2), EACH_TOO("sub", 1, 2), EACH("rsub", 1, 2), EACH_TOO("mul", 1, 2), EACH_TOO("div", 1, 2),
	EACH_TOO("pow", 1, 2), EACH("maximum", 1, 2), EACH("minimum", 1, 2),
	EACH_TOO("addcmul", 3, 3), EACH_TOO("addcdiv", 3, 3), EACH_TOO("lerp", 3, 2),
	EACH_TOO("neg", 1, 1), EACH_TOO("abs", 1, 1), EACH_TOO("exp", 1, 1), EACH_TOO("log", 1, 1),
	EACH_TOO("sqrt", 1, 1), EACH_TOO("rsqrt", 1, 1), EACH_TOO("reciprocal", 1, 1), EACH_TOO("square", 1, 1),
	EACH_TOO("sin", 1, 1), EACH_TOO("cos", 1, 1), EACH_TOO("tanh", 1, 1), EACH_TOO("sigmoid", 1, 1),
	EACH_TOO("relu", 1, 1), EACH_TOO("clamp", 1, 1), EACH_TOO("clamp_min", 1, 1), EACH_TOO("erf", 1, 1),
	EACH("gelu", 1, 1), EACH_TOO("silu", 1, 1), EACH_TOO("leaky_relu", 1, 1), EACH_TOO("hardtanh", 1, 1),
	EACH_TOO("hardswish", 1, 1), EACH_TOO("elu", 1, 1), EACH("softplus", 1, 1),
	EACH("threshold_backward", 1, 2), EACH("gelu_backward", 1, 2), EACH("silu_backward", 1, 2),
	EACH("tanh_backward", 3, 2), EACH("sigmoid_backward", 3, 2),
	EACH("softmax", 5, 1), EACH("_softmax", 5, 1), EACH("log_softmax", 5, 1), EACH("_log_softmax", 5, 1),
	EACH("layer_norm", 8, 1), EACH("native_layer_norm", 8, 1), EACH("group_norm", 8, 1),
	EACH("native_group_norm", 8, 1),
	EACH("batch_norm", 4, 1), EACH("_batch_norm_impl_index", 4, 1), EACH("native_batch_norm", 4, 1),
	{"aten::sum", ST_WORK_REDUCE, 0, 1, 1},
	{"aten::mean", ST_WORK_REDUCE, 0, 1, 1},
	{"aten::cumsum", ST_WORK_REDUCE, 0, 1, 1},
	{"aten::var", ST_WORK_REDUCE, 0, 4, 1},
	{"aten::std", ST_WORK_REDUCE, 0, 4, 1},
	{NULL, ST_WORK_MATMUL, 0, 0, 0},
};
/* clang-format on */
