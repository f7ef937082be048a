// SPDX-License-Identifier: Apache-2.0
//
// Operators whose work is known from the sizes of their inputs, as data. Conventions: a multiplication and an addition
// are two operations; what is added to a product (bias, beta) is not counted, as torch does not; any function of one
// number (exp, tanh) is one operation; all of attention's scores are computed, masked or not; normalising is a
// subtraction, a multiplication and both again for weight and bias, and the statistics of layer and group norm are four
// more (a sum; difference, square, sum). batch_norm has only the former: whether it computes statistics is not told by
// its inputs. An operator in place ("aten::add_") is listed as well: names are compared whole.
//
// Convolutions need stride, padding and the like, which the recording has kept or not ("padding='same'" is a text:
// there the work is that of the aten::convolution inside).
#include "analyze/operators/operator_work.h"

#include <stddef.h>

#define EACH(name, factor, inputs)                                                                 \
	{                                                                                          \
		"aten::" name, ST_WORK_ELEMENTS, 0, factor, inputs, NULL                           \
	}
#define EACH_TOO(name, factor, inputs) EACH(name, factor, inputs), EACH(name "_", factor, inputs)

static const struct st_convolution_places plain = {.stride = 3, .padding = 4, .dilation = 5};
static const struct st_convolution_places transposed = {
	.stride = 3, .padding = 4, .output_padding = 5, .dilation = 7, .is_transposed = true};
static const struct st_convolution_places either = {
	.stride = 3, .padding = 4, .dilation = 5, .transposed = 6, .output_padding = 7};

/* clang-format off */
const struct st_work_entry st_work_entries[] = {
	{"aten::mm", ST_WORK_MATMUL, 0, 0, 0, NULL},
	{"aten::bmm", ST_WORK_MATMUL, 0, 0, 0, NULL},
	{"aten::matmul", ST_WORK_MATMUL, 0, 0, 0, NULL},
	{"aten::mv", ST_WORK_MATMUL, 0, 0, 0, NULL},
	{"aten::dot", ST_WORK_MATMUL, 0, 0, 0, NULL},
	{"aten::addmm", ST_WORK_MATMUL, 1, 0, 0, NULL},
	{"aten::addmm_", ST_WORK_MATMUL, 1, 0, 0, NULL},
	{"aten::_addmm_activation", ST_WORK_MATMUL, 1, 0, 0, NULL},
	{"aten::addmv", ST_WORK_MATMUL, 1, 0, 0, NULL},
	{"aten::addmv_", ST_WORK_MATMUL, 1, 0, 0, NULL},
	{"aten::baddbmm", ST_WORK_MATMUL, 1, 0, 0, NULL},
	{"aten::baddbmm_", ST_WORK_MATMUL, 1, 0, 0, NULL},
	{"aten::linear", ST_WORK_LINEAR, 0, 0, 0, NULL},
	{"aten::conv1d", ST_WORK_CONVOLUTION, 0, 0, 0, &plain},
	{"aten::conv2d", ST_WORK_CONVOLUTION, 0, 0, 0, &plain},
	{"aten::conv3d", ST_WORK_CONVOLUTION, 0, 0, 0, &plain},
	{"aten::conv_transpose1d", ST_WORK_CONVOLUTION, 0, 0, 0, &transposed},
	{"aten::conv_transpose2d", ST_WORK_CONVOLUTION, 0, 0, 0, &transposed},
	{"aten::conv_transpose3d", ST_WORK_CONVOLUTION, 0, 0, 0, &transposed},
	{"aten::convolution", ST_WORK_CONVOLUTION, 0, 0, 0, &either},
	{"aten::_convolution", ST_WORK_CONVOLUTION, 0, 0, 0, &either},
	{"aten::convolution_overrideable", ST_WORK_CONVOLUTION, 0, 0, 0, &either},
	{"aten::convolution_backward", ST_WORK_CONVOLUTION_BACKWARD, 0, 0, 0, NULL},
	{"aten::convolution_backward_overrideable", ST_WORK_CONVOLUTION_BACKWARD, 0, 0, 0, NULL},
	{"aten::scaled_dot_product_attention", ST_WORK_ATTENTION, 0, 0, 0, NULL},
	{"aten::_scaled_dot_product_attention_math", ST_WORK_ATTENTION, 0, 0, 0, NULL},
	{"aten::_scaled_dot_product_flash_attention", ST_WORK_ATTENTION, 0, 0, 0, NULL},
	{"aten::_scaled_dot_product_flash_attention_for_cpu", ST_WORK_ATTENTION, 0, 0, 0, NULL},
	{"aten::_scaled_dot_product_efficient_attention", ST_WORK_ATTENTION, 0, 0, 0, NULL},
	{"aten::_scaled_dot_product_flash_attention_backward", ST_WORK_ATTENTION_BACKWARD, 0, 0, 0, NULL},
	{"aten::_scaled_dot_product_flash_attention_for_cpu_backward", ST_WORK_ATTENTION_BACKWARD, 0, 0, 0, NULL},
	{"aten::_scaled_dot_product_efficient_attention_backward", ST_WORK_ATTENTION_BACKWARD, 0, 0, 0, NULL},
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
	{"aten::sum", ST_WORK_REDUCE, 0, 1, 1, NULL},
	{"aten::mean", ST_WORK_REDUCE, 0, 1, 1, NULL},
	{"aten::cumsum", ST_WORK_REDUCE, 0, 1, 1, NULL},
	{"aten::var", ST_WORK_REDUCE, 0, 4, 1, NULL},
	{"aten::std", ST_WORK_REDUCE, 0, 4, 1, NULL},
	{NULL, ST_WORK_MATMUL, 0, 0, 0, NULL},
};
/* clang-format on */
