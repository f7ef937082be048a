/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and work of the groups of an answer about operators. They follow the engine's rules. Memory counts, like
 * total time, once for every group of which a row is open. The work of an operator that is known from its inputs
 * holds that of the operators inside of it ("aten::linear" is its "aten::addmm"), so that a group counts only the
 * outermost of its rows whose work is known.
 */
#ifndef ST_ANALYZE_OPERATORS_OPERATOR_FIGURES_H
#define ST_ANALYZE_OPERATORS_OPERATOR_FIGURES_H

#include "analyze/operators/dataset_operators.h"

struct st_operator_work;

struct st_operator_figures {
	uint64_t allocated, self_allocated, freed, self_freed;
	uint64_t flops, flops_ns, bytes, bytes_ns; /* and the time of the rows that did it */
	uint64_t both_flops, both_bytes;	   /* of rows of which both are known */
	bool has_flops, has_bytes, has_both;
};

struct st_operator_sums {
	const struct st_result *result;
	const struct st_dataset *dataset;
	const struct st_operator_rows *rows;
	const struct st_answer *answer;
	struct st_operator_figures *figures; /* by answer row; the last are the totals */
	uint32_t *stamps;		     /* by answer row: what was counted there last, + 1 */
	struct st_operator_work *work;	     /* by signature; the last is none */
	bool has_memory;
	uint64_t outside_bytes; /* given out where no operator was open */
};

/* False: no memory, and nothing to free. */
bool st_operator_sums_init(struct st_operator_sums *sums, const struct st_result *result,
			   const struct st_dataset *operators);
void st_operator_sums_fini(struct st_operator_sums *sums);
/* Of this answer from now on, which has row_of and stays where it is. False: no memory. */
bool st_operator_sums_make(struct st_operator_sums *sums, const struct st_answer *answer);
double st_operator_figure(const struct st_operator_figures *figures, enum st_metric metric);

#endif
