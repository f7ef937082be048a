/* SPDX-License-Identifier: Apache-2.0
 *
 * The work of an operator, derived from the shapes and types of its inputs: floating-point operations, and the
 * minimum of bytes that it reads and writes. Only where the inputs determine it; otherwise nothing, never a guess.
 */
#ifndef ST_ANALYZE_OPERATORS_OPERATOR_WORK_H
#define ST_ANALYZE_OPERATORS_OPERATOR_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "format/definitions.h"
#include "store/operators.h"

struct st_operator_work {
	bool has_flops, has_bytes;
	uint64_t flops, bytes;
};

/* How the work follows from the inputs (operator_rules.c says it for each operator). */
enum st_work_rule {
	ST_WORK_MATMUL, /* a[…, M, K] × b[…, K, N], leading sizes broadcast; vectors as torch.matmul */
	ST_WORK_LINEAR, /* x[…, K] × w[N, K]; `first` tensors stand between them */
	ST_WORK_CONVOLUTION, /* x[N, C, …] with w[C', C ÷ groups, …]; `places` says where the rest is */
	ST_WORK_CONVOLUTION_BACKWARD, /* the gradients that its mask asks for */
	ST_WORK_ATTENTION,	      /* q, k, v */
	ST_WORK_ATTENTION_BACKWARD,
	ST_WORK_ELEMENTS, /* so many operations for each element of the result: the inputs broadcast */
	ST_WORK_REDUCE,	   /* for each element of the input; a result of unknown size */
	ST_WORK_RECURRENT, /* x[T, N, K] × w[G, K], and h[T, N, H] × w[G, H]: `factor` times */
	ST_WORK_MOVE, /* no arithmetic: `inputs` operands are read or written, and `factor` results like the first */
	ST_WORK_GATHER, /* a row of w[…, D] for each index; of a table without `factor` one element */
	ST_WORK_CONCATENATE, /* a list of tensors, read and written */
};

struct st_work_entry {
	const char *name;
	enum st_work_rule rule;
	uint32_t first;	 /* the input with which the operands begin */
	uint32_t factor; /* of the rules by element, and of those that say so */
	/* Operands of the rules by element and of what is moved; those behind them are where results go. */
	uint32_t inputs;
	const struct st_convolution_places *places;
};

/* Which input is what; 0: there is none such (and dilation and groups are one). */
struct st_convolution_places {
	uint8_t bias, stride, padding, dilation, transposed, output_padding, groups, mask;
	bool is_transposed; /* always */
	bool has_batch;	    /* always: a kernel with one size more has been rearranged */
};
extern const struct st_work_entry st_work_entries[]; /* ends with a NULL name */

/* The first inputs by place; those that are no tensors too, a list of tensors as one. */
enum { ST_OPERANDS_MAX = 12 };
struct st_operands {
	struct st_input items[ST_OPERANDS_MAX];
	uint32_t count;
	/* Of the first list of tensors: bytes of all of them, and whether these are known and of one type. */
	uint64_t list_bytes;
	bool has_list_bytes;
};
void st_operands_read(struct st_operands *out, const struct st_signature *signature);

/* Of one operator with the operators inside of it. */
struct st_operator_work st_operator_work(struct st_text name, const struct st_signature *signature);

/* The operations that torch's profiler would count for it (with_flops=True); 0: none. */
uint64_t st_operator_flops_of_torch(struct st_text name, const struct st_signature *signature);

#endif
