// SPDX-License-Identifier: Apache-2.0
//
// The work that follows from an operator's inputs: FLOPs and bytes, and the FLOPs that torch counts, against numbers
// counted by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/operators/operator_work.h"
#include "fake_inputs.h"
#include "store/operators.h"

/* Valid until the next one. */
static struct st_signature signature(const char *inputs)
{
	static uint8_t bytes[FAKE_INPUTS_BYTES_MAX];

	return (struct st_signature){.scope = ST_SCOPE_FUNCTION,
				     .flags = inputs ? ST_SIGNATURE_INPUTS : 0,
				     .inputs = bytes,
				     .inputs_bytes = inputs ? fake_inputs(inputs, bytes) : 0};
}

static const struct {
	const char *name, *inputs;
	int64_t flops, bytes; /* -1: none */
} truths[] = {
	{"aten::mm", "f5,7 f7,11", 2 * 5 * 7 * 11, 4 * (35 + 77 + 55)},
	{"aten::mm", "f5,7 f8,11", -1, -1}, /* no product */
	{"aten::mm", "i5,7 i7,11", -1, -1}, /* no floating point */
	{"aten::mm", "f5,7", -1, -1},
	{"aten::mm", "f5,7 d7,11", 770, -1}, /* of which type is the result? */
	{"aten::bmm", "d2,3,4 d2,4,5", 2 * 2 * 3 * 4 * 5, 8 * (24 + 40 + 30)},
	{"aten::addmm", "f11 f5,7 f7,11 s s", 770, 4 * (35 + 77 + 55)},
	{"aten::addmm", "u f5,7 f7,11 s s", 770, 4 * (35 + 77 + 55)},
	{"aten::baddbmm", "f f2,3,4 f2,4,5 s s", 240, 4 * (24 + 40 + 30)},
	{"aten::mv", "f5,7 f7", 70, 4 * (35 + 7 + 5)},
	{"aten::dot", "f9 f9", 18, 4 * 19},
	{"aten::matmul", "f6,1,3,4 f2,4,5", 2 * 12 * 3 * 4 * 5, 4 * (72 + 40 + 180)},
	{"aten::matmul", "f4 f2,4,5", 2 * 2 * 4 * 5, 4 * (4 + 40 + 10)},
	{"aten::linear", "f2,3,7 f11,7 f11", 2 * 6 * 7 * 11, 4 * (42 + 77 + 11 + 66)},
	{"aten::linear", "f7 f11,7 u", 2 * 7 * 11, 4 * (7 + 77 + 11)},
	{"aten::conv_transpose2d", "f2,3,4,5 f3,6,2,2 o o o o s o", 2 * 120 * 6 * 4, -1},
	/* 2 × 12 × 9 × 10: (4 - 1) · 3 - 2 + 2 · (2 - 1) - … as torch's documentation has it */
	{"aten::conv_transpose2d", "f2,3,4,5 f3,6,2,2 f12 (3,2 (1,0 (1,0 n2 (1,1", 2 * 120 * 6 * 4,
	 4 * (120 + 72 + 12 + 2 * 12 * 10 * 10)},
	{"aten::conv_transpose1d", "f3,9 f3,1,5", 2 * 27 * 5, -1},
	{"aten::conv2d", "f2,3,8,8 f4,3,3,3 f4 o o o s", -1, -1}, /* stride is not told */
	{"aten::conv2d", "f2,3,8,9 f4,3,3,3 f4 (1,1 (0,0 (1,1 n1", 2 * (2 * 4 * 6 * 7) * 27,
	 4 * (432 + 108 + 4 + 336)},
	{"aten::conv2d", "f2,3,8,9 f4,3,3,3 u (2,1 (1,0 (1,2 n1", 2 * (2 * 4 * 4 * 5) * 27,
	 4 * (432 + 108 + 160)},
	{"aten::conv2d", "f3,8,9 f4,3,3,3 u (2 (1 (1 n1", 2 * (4 * 4 * 5) * 27,
	 4 * (216 + 108 + 80)}, /* no batch; one number for all dimensions */
	{"aten::conv2d", "f2,4,8,8 f8,1,3,3 u (1,1 (0,0 (1,1 n4", 2 * (2 * 8 * 36) * 9,
	 4 * (512 + 72 + 576)},
	{"aten::conv2d", "f2,3,2,9 f4,3,3,3 u (1,1 (0,0 (1,1 n1", -1,
	 -1}, /* larger than its input */
	{"aten::conv2d", "f2,3,8,9 f4,3,3,3 u (0,1 (0,0 (1,1 n1", -1, -1},
	{"aten::conv2d", "f2,3,8,9 f4,3,3,3 u (1,1 o (1,1 n1", -1, -1}, /* padding="same" */
	{"aten::conv1d", "d2,3,9 d4,3,3 u (2 (0 (1 n1", 2 * (2 * 4 * 4) * 9, 8 * (54 + 36 + 32)},
	{"aten::conv3d", "f1,2,4,5,6 f3,2,2,2,2 u (1,1,1 (0,0,0 (1,1,1 n1", 2 * (3 * 60) * 16,
	 4 * (240 + 48 + 180)},
	{"aten::convolution", "f2,3,8,9 f4,3,3,3 u (1,1 (0,0 (1,1 n0 (0,0 n1", 2 * 336 * 27,
	 4 * (432 + 108 + 336)},
	{"aten::convolution", "f2,3,8,9 f4,3,3,3 u (1,1 (0,0 (1,1 s (0,0 n1", -1,
	 -1}, /* which way? */
	{"aten::convolution", "f2,4,3,3 f4,6,2,2 u (2,2 (0,0 (1,1 n1 (1,1 n1", 2 * 72 * 24,
	 4 * (72 + 96 + 2 * 6 * 49)},
	/* Of the forward pass: 2 × 336 × 27. */
	{"aten::convolution_backward",
	 "f2,4,6,7 f2,3,8,9 f4,3,3,3 (4 (1,1 (0,0 (1,1 n0 (0,0 n1 (1,1,1", 2 * 2 * 336 * 27,
	 4 * (336 + 432 + 108 + 432 + 108 + 4)},
	{"aten::convolution_backward",
	 "f2,4,6,7 f2,3,8,9 f4,3,3,3 o (1,1 (0,0 (1,1 n0 (0,0 n1 (0,1,0", 2 * 336 * 27,
	 4 * (336 + 432 + 108)},
	{"aten::convolution_backward", "f2,4,6,7 f2,3,8,9 f4,3,3,3 o (1,1 (0,0 (1,1 n0 (0,0 n1", -1,
	 -1},
	{"aten::convolution_backward",
	 "f2,6,7,7 f2,4,3,3 f4,6,2,2 o (2,2 (0,0 (1,1 n1 (1,1 n1 (1,0,0", 2 * 72 * 24,
	 4 * (588 + 96 + 72)},
	{"aten::convolution_backward_overrideable",
	 "f2,4,6,7 f2,3,8,9 f4,3,3,3 (1,1 (0,0 (1,1 n0 (0,0 n1 (1,1,1", 2 * 2 * 336 * 27,
	 4 * (336 + 432 + 108 + 432 + 108 + 4)},
	{"aten::_slow_conv2d_backward", "f2,4,6,7 f2,3,8,9 f4,3,3,3 (3,3 (1,1 (0,0 (1,1,1",
	 2 * 2 * 336 * 27, 4 * (336 + 432 + 108 + 432 + 108 + 4)},
	/* The same convolutions, by what runs inside of them: stride (2, 1), padding (1, 0), dilation (1, 2). */
	{"aten::mkldnn_convolution", "f2,3,8,9 f4,3,3,3 f4 (1,0 (2,1 (1,2 n1",
	 2 * (2 * 4 * 4 * 5) * 27, 4 * (432 + 108 + 4 + 160)},
	{"aten::mkldnn_convolution", "f2,3,8,9 f4,3,3,3 f4 o o o s", -1,
	 -1}, /* an older recording */
	{"mkldnn::_convolution_pointwise", "f2,3,8,9 f4,3,3,3 u (1,0 (2,1 (1,2 n1 o o o",
	 2 * (2 * 4 * 4 * 5) * 27, 4 * (432 + 108 + 160)},
	{"mkldnn::_convolution_pointwise", "f2,4,8,8 f4,2,1,3,3 u (0,0 (1,1 (1,1 n4 o o o", -1, -1},
	{"aten::cudnn_convolution", "f2,3,8,9 f4,3,3,3 (1,0 (2,1 (1,2 n1 s s s",
	 2 * (2 * 4 * 4 * 5) * 27, 4 * (432 + 108 + 160)},
	{"aten::cudnn_convolution_transpose", "f2,3,4,5 f3,6,2,2 (1,0 (1,0 (3,2 (1,1 n2 s s s",
	 2 * 120 * 6 * 4, 4 * (120 + 72 + 2 * 12 * 10 * 10)},
	{"aten::_slow_conv2d_forward", "d2,3,8,9 d4,3,3,3 (3,3 d4 (2,1 (1,0",
	 2 * (2 * 4 * 4 * 7) * 27, 8 * (432 + 108 + 4 + 224)},
	{"aten::slow_conv_dilated2d", "d2,3,8,9 d4,3,3,3 (3,3 u (2,1 (1,0 (1,2",
	 2 * (2 * 4 * 4 * 5) * 27, 8 * (432 + 108 + 160)},
	{"aten::slow_conv_transpose2d", "d2,3,4,5 d3,6,2,2 (2,2 d6 (3,2 (1,0 (1,0 (1,1",
	 2 * 120 * 6 * 4, 8 * (120 + 72 + 6 + 2 * 6 * 10 * 10)},
	{"aten::mkldnn_linear", "f2,3,7 f11,7 f11", 2 * 6 * 7 * 11, 4 * (42 + 77 + 11 + 66)},
	{"mkl::_mkl_linear", "f6,7 f500 f11,7 f11 n6", 2 * 6 * 7 * 11, 4 * (42 + 77 + 11 + 66)},
	/* Five steps of three rows: 4 gates of 8, from 7 inputs and from 8 of the step before. */
	{"aten::mkldnn_rnn_layer", "f5,3,7 f32,7 f32,8 f32 f32 f1,3,8 f1,3,8 s o s s s",
	 2 * 15 * 32 * (7 + 8), -1},
	{"aten::mkldnn_rnn_layer_backward", "f5,3,7 f32,7 f32,8 f32 f32", 4 * 15 * 32 * (7 + 8),
	 -1},
	{"aten::scaled_dot_product_attention", "f2,3,5,8 f2,3,7,8 f2,3,7,4 u s s u",
	 2 * (6 * 5 * 7) * (8 + 4), 4 * (240 + 336 + 168 + 120)},
	{"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
	 "f2,3,5,4 f2,3,5,8 f2,3,7,8 f2,3,7,4 f f s s", 2 * (6 * 5 * 7) * (3 * 8 + 2 * 4), -1},
	{"aten::add", "f2,1,4 f3,1 s", 24, 4 * (8 + 3 + 24)},
	{"aten::add", "f2,4 s s", 8, 4 * 16},
	{"aten::add", "f2,4 d s", 8, 4 * 16}, /* a number in a tensor's place */
	{"aten::add", "f2,4 f3 s", -1, -1},
	{"aten::mul_", "f2,4 f4", 8, 4 * (8 + 4 + 8)},
	{"aten::addcdiv_", "f6 f6 f6 s", 18, 4 * 24},
	{"aten::relu", "f10 f10", 10, 4 * 20}, /* the second is where the result goes */
	{"aten::layer_norm", "f2,8 o f8 f8 s s", 128, 4 * 32},
	{"aten::batch_norm", "f2,3,4 f3 f3 f3 f3 s s s s", 96, 4 * 48},
	{"aten::_softmax", "f2,8 s s", 80, 4 * 32},
	{"aten::sum", "f2,8 o", 16, -1},
	{"aten::copy_", "d2,8 f2,8 s", -1, 16 * (8 + 4)},
	{"aten::copy_", "f2,8 f8 s", -1, 4 * (16 + 8)},
	{"aten::copy_", "f2,8 s s", -1, -1},
	{"aten::clone", "i9 u", -1, 8 * 18},
	{"aten::zero_", "f9", -1, 36},
	{"aten::native_layer_norm_backward", "f2,8 f2,8 o f2 f2 f8 f8 o", -1, 4 * 48},
	{"aten::embedding", "f100,8 i2,3 s s s", -1, 8 * 6 + 4 * 2 * 6 * 8},
	{"aten::gather", "f100,8 s i2,3 s", -1, 8 * 6 + 4 * 2 * 6},
	{"aten::cat", "L2 f2,8 f3,8 s", -1, 2 * 4 * 40},
	{"aten::cat", "L2 f2,8 d3,8 s", -1, -1}, /* of which type is the result? */
	{"aten::cat", "L0 s", -1, -1},
	{"aten::mul", "f4294967296,4294967296 s", -1, -1}, /* more than can be counted */
	{"aten::unheard_of", "f2,8", -1, -1},
	{"aten::mm", NULL, -1, -1},
};

static void test_work(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(truths) / sizeof(truths[0]); i++) {
		struct st_signature made = signature(truths[i].inputs);
		struct st_operator_work work = st_operator_work(
			(struct st_text){truths[i].name, strlen(truths[i].name)}, &made);

		if (work.has_flops != (truths[i].flops >= 0) ||
		    work.has_bytes != (truths[i].bytes >= 0) ||
		    (work.has_flops && (int64_t)work.flops != truths[i].flops) ||
		    (work.has_bytes && (int64_t)work.bytes != truths[i].bytes))
			fail_msg("%s %s: %d %llu, %d %llu", truths[i].name, truths[i].inputs,
				 work.has_flops, (unsigned long long)work.flops, work.has_bytes,
				 (unsigned long long)work.bytes);
	}
}

static const struct {
	const char *name, *inputs;
	uint64_t flops;
} torch_truths[] = {
	{"aten::mm", "f5,7 f7,11", 2 * 5 * 7 * 11},
	{"aten::mm", "i5,7 i7,11", 2 * 5 * 7 * 11},
	{"aten::mm", "f5,0 f0,11", 0},
	{"aten::addmm", "f11 f5,7 f7,11 s s", 2 * 5 * 7 * 11},
	{"aten::bmm", "f2,3,4 f2,4,5", 2 * 2 * 3 * 4 * 5},
	{"aten::baddbmm", "f f2,3,4 f2,4,5 s s", 2 * 2 * 3 * 4 * 5},
	{"aten::mul", "f3,1 f1,5", 3}, /* the first of them, not the result */
	{"aten::add", "f f5 s", 1},
	{"aten::add", "s f5 s", 0},
	{"aten::add_", "f5 f5 s", 0},
	{"aten::conv2d", "f2,3,8,9 f4,3,3,3 u (2,1 (1,0 (1,2 n1", 2 * (2 * 4 * 4 * 5) * 27},
	{"aten::conv2d", "f2,4,8,8 f8,1,3,3 u (1,1 (0,0 (1,1 n4", 2 * (2 * 8 * 36) * 9},
	{"aten::conv2d", "f3,8,9 f4,3,3,3 u (2,1 (1,0 (1,2 n1", 0},
	{"aten::conv2d", "f2,3,8,9 f4,3,3,3 u (1,1 o (1,1 n1", 0},
	{"aten::conv1d", "d2,3,9 d4,3,3 u (2 (0 (1 n1", 0},
	{"aten::convolution", "f2,3,8,9 f4,3,3,3 u (1,1 (0,0 (1,1 n0 (0,0 n1", 0},
	{"aten::mm", NULL, 0},
};

static void test_flops_of_torch(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(torch_truths) / sizeof(torch_truths[0]); i++) {
		const char *name = torch_truths[i].name;
		struct st_signature made = signature(torch_truths[i].inputs);

		assert_int_equal(
			st_operator_flops_of_torch((struct st_text){name, strlen(name)}, &made),
			torch_truths[i].flops);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work),
		cmocka_unit_test(test_flops_of_torch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
