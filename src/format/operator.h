/* SPDX-License-Identifier: Apache-2.0
 *
 * What an operator of a framework was called with. A signature is a name, a scope and the kinds, types and sizes
 * of the inputs; a training loop has a few hundred. Bytes of one, in the definitions ring (ST_DEFINE_SIGNATURE)
 * and behind the id in ST_DEF_SIGNATURE:
 *
 *   u32 domain id, u32 name id, u8 enum st_operator_scope, u8 ST_SIGNATURE_* flags, u16 inputs, then each
 *   input: u8 enum st_operator_input; a tensor u8 dtype, u8 dimensions (at most 64), the sizes as zigzag
 *   varints; a list of tensors u16 count, then as many inputs; an integer its zigzag varint; a list of integers u16
 *   count (at most 64), then as many zigzag varints. Integers are kept of operators whose work depends on them.
 *
 * dtype is the framework's number of it (torch: ScalarType), 255 when it is not known. Header only: the collector includes it.
 */
#ifndef ST_FORMAT_OPERATOR_H
#define ST_FORMAT_OPERATOR_H

#include <stdbool.h>
#include <stdint.h>

/* Of torch, with its numbers. */
enum st_operator_scope {
	ST_SCOPE_FUNCTION = 0,
	ST_SCOPE_BACKWARD = 1,
	ST_SCOPE_SCRIPT = 2,
	ST_SCOPE_KERNEL_DTYPE = 3,
	ST_SCOPE_CUSTOM_CLASS = 4,
	ST_SCOPE_BUILD_FEATURE = 5,
	ST_SCOPE_LITE = 6,
	ST_SCOPE_USER = 7,
	ST_SCOPE_STATIC_OP = 8,
	ST_SCOPE_STATIC_MODEL = 9,
	ST_SCOPE_MODULE = 32, /* a call of an nn.Module: ours, no operator */
};

enum {
	ST_SIGNATURE_INPUTS = 1, /* they were asked for: none means that there are none */
	ST_SIGNATURE_CUT = 2,	 /* there were more than are kept */
};

enum st_operator_input {
	ST_INPUT_OTHER = 0, /* neither a tensor nor a list of them: nothing follows */
	ST_INPUT_TENSOR = 1,
	ST_INPUT_TENSOR_LIST = 2,
	ST_INPUT_UNDEFINED = 3, /* a tensor that is none */
	ST_INPUT_SCALAR = 4,	/* number or bool */
	ST_INPUT_INTEGER = 5,	/* one of which the value is kept; a bool is 0 or 1 */
	ST_INPUT_INTEGER_LIST = 6,
	ST_INPUT_SCALAR_LIST = 7, /* of numbers or bools that are not kept: nothing follows */
};

/* How operators come to us, best first. */
enum st_operator_level {
	ST_OPERATORS_NONE = 0,
	ST_OPERATORS_IN_PLACE = 1, /* inputs are read where they lie */
	ST_OPERATORS_ASKED = 2,	   /* by functions of the framework: the layout was not proven */
	ST_OPERATORS_NAMES = 3,	   /* no inputs */
	ST_OPERATORS_ITT = 4,	   /* the framework's own tasks */
};
enum {
	ST_OPERATORS_UNTESTED = 1
}; /* flags: the self-check passed in a version that nobody has tested */

enum { ST_SIGNATURE_BYTES_MAX = 2048, ST_INPUT_DIMENSIONS_MAX = 64 };

/* Domains of operators, of ranges that the program names (record_function), of nn.Module's calls. */
#define ST_OPERATOR_DOMAIN "torch.operator"
#define ST_RANGE_DOMAIN "torch.range"
#define ST_MODULE_DOMAIN "torch.module"
/* Of calls of tf.function, which are tasks. */
#define ST_TF_FUNCTION_DOMAIN "tf.function"

#endif
