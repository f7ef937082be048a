// SPDX-License-Identifier: Apache-2.0
//
// Operators whose work is known from the sizes of their inputs, as data. Conventions: a multiplication and an addition
// are two operations; what is added to a product (bias, beta) is not counted, as torch does not; any function of one
// number (exp, tanh) is one operation; all of attention's scores are computed, masked or not; normalising is a
// subtraction, a multiplication and both again for weight and bias, and the statistics of layer and group norm are four
// more (a sum; difference, square, sum). batch_norm has only the former: whether it computes statistics is not told by
// its inputs. An operator in place ("aten::add_") is listed as well: names are compared whole.
//
// What is only moved (copies, fills, gradients of norms, whose operations nobody has agreed how to count) has bytes alone.
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

#define CONVOLUTION(name, places)                                                                  \
	{                                                                                          \
		name, ST_WORK_CONVOLUTION, 0, 0, 0, places                                         \
	}
#define MOVE(name, inputs, results)                                                                \
	{                                                                                          \
		"aten::" name, ST_WORK_MOVE, 0, results, inputs, NULL                              \
	}

static const struct st_convolution_places plain = {
	.bias = 2, .stride = 3, .padding = 4, .dilation = 5};
static const struct st_convolution_places transposed = {.bias = 2,
							.stride = 3,
							.padding = 4,
							.output_padding = 5,
							.groups = 6,
							.dilation = 7,
							.is_transposed = true};
static const struct st_convolution_places either = {.bias = 2,
						    .stride = 3,
						    .padding = 4,
						    .dilation = 5,
						    .transposed = 6,
						    .output_padding = 7,
						    .groups = 8};
static const struct st_convolution_places backward = {.transposed = 7, .mask = 10};
static const struct st_convolution_places overrideable_backward = {.transposed = 6, .mask = 9};

/* Of libraries: padding comes before stride. */
static const struct st_convolution_places library = {
	.bias = 2, .padding = 3, .stride = 4, .dilation = 5};
static const struct st_convolution_places library_transposed = {.bias = 2,
								.padding = 3,
								.output_padding = 4,
								.stride = 5,
								.dilation = 6,
								.groups = 7,
								.is_transposed = true};
static const struct st_convolution_places cudnn = {.padding = 2, .stride = 3, .dilation = 4};
static const struct st_convolution_places cudnn_transposed = {.padding = 2,
							      .output_padding = 3,
							      .stride = 4,
							      .dilation = 5,
							      .groups = 6,
							      .is_transposed = true};
static const struct st_convolution_places rearranged = {
	.bias = 2, .padding = 3, .stride = 4, .dilation = 5, .has_batch = true};

/* PyTorch's own kernels are told the size of the kernel once more, before the bias. */
static const struct st_convolution_places own = {.bias = 3, .stride = 4, .padding = 5};
static const struct st_convolution_places own_dilated = {
	.bias = 3, .stride = 4, .padding = 5, .dilation = 6};
static const struct st_convolution_places own_transposed = {.bias = 3,
							    .stride = 4,
							    .padding = 5,
							    .output_padding = 6,
							    .dilation = 7,
							    .is_transposed = true};
static const struct st_convolution_places own_backward = {.mask = 6};

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
	{"aten::mkldnn_linear", ST_WORK_LINEAR, 0, 0, 0, NULL},
	{"mkldnn::_linear_pointwise", ST_WORK_LINEAR, 0, 0, 0, NULL},
	{"mkl::_mkl_linear", ST_WORK_LINEAR, 1, 0, 0, NULL},
	CONVOLUTION("aten::conv1d", &plain),
	CONVOLUTION("aten::conv2d", &plain),
	CONVOLUTION("aten::conv3d", &plain),
	CONVOLUTION("aten::conv_transpose1d", &transposed),
	CONVOLUTION("aten::conv_transpose2d", &transposed),
	CONVOLUTION("aten::conv_transpose3d", &transposed),
	CONVOLUTION("aten::convolution", &either),
	CONVOLUTION("aten::_convolution", &either),
	CONVOLUTION("aten::convolution_overrideable", &either),
	CONVOLUTION("aten::mkldnn_convolution", &library),
	CONVOLUTION("mkldnn::_convolution_pointwise", &rearranged),
	CONVOLUTION("aten::miopen_convolution", &library),
	CONVOLUTION("aten::miopen_convolution_transpose", &library_transposed),
	CONVOLUTION("aten::cudnn_convolution", &cudnn),
	CONVOLUTION("aten::cudnn_convolution_transpose", &cudnn_transposed),
	CONVOLUTION("aten::cudnn_convolution_relu", &plain),
	CONVOLUTION("aten::thnn_conv2d", &own),
	CONVOLUTION("aten::_slow_conv2d_forward", &own),
	CONVOLUTION("aten::slow_conv3d", &own),
	CONVOLUTION("aten::slow_conv3d_forward", &own),
	CONVOLUTION("aten::slow_conv_dilated2d", &own_dilated),
	CONVOLUTION("aten::slow_conv_dilated3d", &own_dilated),
	CONVOLUTION("aten::_conv_depthwise2d", &own_dilated),
	CONVOLUTION("aten::conv_depthwise3d", &own_dilated),
	CONVOLUTION("aten::slow_conv_transpose2d", &own_transposed),
	CONVOLUTION("aten::slow_conv_transpose3d", &own_transposed),
	{"aten::convolution_backward", ST_WORK_CONVOLUTION_BACKWARD, 0, 0, 0, &backward},
	{"aten::convolution_backward_overrideable", ST_WORK_CONVOLUTION_BACKWARD, 0, 0, 0, &overrideable_backward},
	{"aten::_slow_conv2d_backward", ST_WORK_CONVOLUTION_BACKWARD, 0, 0, 0, &own_backward},
	{"aten::mkldnn_rnn_layer", ST_WORK_RECURRENT, 0, 1, 0, NULL},
	{"aten::mkldnn_rnn_layer_backward", ST_WORK_RECURRENT, 0, 2, 0, NULL},
	{"aten::scaled_dot_product_attention", ST_WORK_ATTENTION, 0, 0, 0, NULL},
	{"aten::_scaled_dot_product_attention_math", ST_WORK_ATTENTION, 0, 0, 0, NULL},
	{"aten::_scaled_dot_product_flash_attention", ST_WORK_ATTENTION, 0, 0, 0, NULL},
	{"aten::_scaled_dot_product_flash_attention_for_cpu", ST_WORK_ATTENTION, 0, 0, 0, NULL},
	{"aten::_scaled_dot_product_efficient_attention", ST_WORK_ATTENTION, 0, 0, 0, NULL},
	{"aten::_scaled_dot_product_cudnn_attention", ST_WORK_ATTENTION, 0, 0, 0, NULL},
	{"aten::_scaled_dot_product_fused_attention_overrideable", ST_WORK_ATTENTION, 0, 0, 0, NULL},
	{"aten::_scaled_dot_product_cudnn_attention_backward", ST_WORK_ATTENTION_BACKWARD, 0, 0, 0, NULL},
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
	MOVE("copy_", 2, 0), MOVE("clone", 1, 1), MOVE("fill_", 1, 0), MOVE("zero_", 1, 0),
	MOVE("uniform_", 1, 0), MOVE("normal_", 1, 0), MOVE("random_", 1, 0), MOVE("bernoulli_", 1, 0),
	MOVE("exponential_", 1, 0), MOVE("masked_fill", 2, 1), MOVE("masked_fill_", 2, 1),
	MOVE("native_dropout_backward", 2, 1), MOVE("native_batch_norm_backward", 2, 1),
	MOVE("native_layer_norm_backward", 2, 1), MOVE("native_group_norm_backward", 2, 1),
	MOVE("_softmax_backward_data", 2, 1), MOVE("_log_softmax_backward_data", 2, 1),
	MOVE("_adaptive_avg_pool2d_backward", 2, 0),
	{"aten::embedding", ST_WORK_GATHER, 1, 1, 0, NULL},
	{"aten::gather", ST_WORK_GATHER, 2, 0, 0, NULL},
	{"aten::cat", ST_WORK_CONCATENATE, 0, 0, 0, NULL},
	{NULL, ST_WORK_MATMUL, 0, 0, 0, NULL},
};
/* clang-format on */
