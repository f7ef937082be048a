/* SPDX-License-Identifier: Apache-2.0
 *
 * What an operator has to do, told from the sizes and types of its inputs: floating-point operations, and the bytes
 * that it reads and writes at least. Only where the inputs decide it; else nothing, never a guess.
 */
#ifndef ST_ANALYZE_OPERATOR_WORK_H
#define ST_ANALYZE_OPERATOR_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "format/definitions.h"

struct st_signature;

struct st_operator_work {
	bool has_flops, has_bytes;
	uint64_t flops, bytes;
};

/* How the work follows from the inputs (operator_rules.c says it for each operator). */
enum st_work_rule {
	ST_WORK_MATMUL, /* a[…, M, K] × b[…, K, N], leading sizes broadcast; vectors as torch.matmul */
	ST_WORK_LINEAR, /* x[…, K] × w[N, K] */
	ST_WORK_TRANSPOSED, /* x[N, C, …] with w[C, C' ÷ groups, …]: each element meets the whole kernel */
	ST_WORK_ATTENTION, /* q, k, v */
	ST_WORK_ATTENTION_BACKWARD,
	ST_WORK_ELEMENTS, /* so many operations for each element of the result: the inputs broadcast */
	ST_WORK_REDUCE, /* for each element of the input; a result of unknown size */
};

struct st_work_entry {
	const char *name;
	enum st_work_rule rule;
	uint32_t first;	 /* the input with which the operands begin */
	uint32_t factor; /* of the rules by element */
	uint32_t
		inputs; /* operands of the rules by element; those behind them are where results go */
};
extern const struct st_work_entry st_work_entries[]; /* ends with a NULL name */

struct st_operator_work st_operator_work(struct st_text name, const struct st_signature *signature);

#endif
